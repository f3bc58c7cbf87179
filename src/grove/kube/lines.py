"""Cuts a stream of chunks into lines. A watch event is a line of any length: no reader with a limit will do."""

from __future__ import annotations

from grove.kube.errors import UnexpectedAnswer

# etcd takes objects of 1.5 MB, an event holds one; a stream without line ends is not a watch.
LONGEST = 64 * 1024 * 1024


class LineSplitter:
    """Takes chunks as they come and gives the lines that they complete, without line ends and without empty lines.

    Linear in the size of the input however it is cut: a piece is looked at once and joined once.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        *ended, rest = chunk.split(b"\n")
        if ended:
            ended[0] = b"".join([*self._pieces, ended[0]])
            self._pieces.clear()
            self._size = 0
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > self._longest:
                raise UnexpectedAnswer(f"a line of more than {self._longest} bytes: this is no watch")
        return [line for one in ended if (line := one.removesuffix(b"\r"))]

    @property
    def unfinished(self) -> int:
        """Bytes of a line whose end has not come."""
        return self._size

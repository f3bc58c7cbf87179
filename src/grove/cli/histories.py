"""Histories of the scheduler's engine as files: plain or compressed, whole or cut off while they were written."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, cast

from grove.scheduler import lines
from grove.scheduler.lines import Line, NotAHistory

STDIN: Final = "-"
_MAGIC: Final = b"\x1f\x8b"


def read(path: str) -> Iterator[Line]:
    """The lines of a history. One that a process left behind in the middle of a line ends before it.

    Raises OSError and NotAHistory.
    """
    if path == STDIN:
        yield from _lines(cast("io.BufferedReader", sys.stdin.buffer))
        return
    with open(path, "rb") as file:
        yield from _lines(file)


def _lines(file: io.BufferedReader) -> Iterator[Line]:
    texts: Iterable[bytes] = _unpacked(file) if file.peek(2).startswith(_MAGIC) else file
    for number, text in enumerate(texts, start=1):
        if not text.endswith(b"\n"):
            return
        try:
            yield lines.decode(text)
        except NotAHistory as error:
            raise NotAHistory(f"line {number}: {error}") from error


def _unpacked(file: io.BufferedReader) -> Iterator[bytes]:
    try:
        yield from gzip.GzipFile(fileobj=file)
    except EOFError:
        return  # it is still being written, or its process was killed
    except (zlib.error, gzip.BadGzipFile) as error:
        raise NotAHistory(f"it cannot be unpacked: {error}") from error

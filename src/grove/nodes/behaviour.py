"""What containers are told to do by annotations: of their pod, of its node, or else by the defaults of the fleet. Pure.

    simulate.grove.io/crash-after: 10s            every regular container of the pod exits with 1 after 10 s
    worker.simulate.grove.io/crash-after: 10s     the container `worker` alone; init containers and sidecars need this

A pod's word counts more than its node's, and a container's name more than none. A word that is not understood is told
as a problem and passed over: the pod runs as if it were not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from grove.api import durations
from grove.nodes import marks

LARGEST_EXIT_CODE: Final = 255
MOST_CRASHES: Final = 2**31 - 1


class Span(msgspec.Struct, frozen=True):
    """Seconds, or by chance between two numbers of seconds."""

    shortest: float = 0.0
    longest: float = 0.0

    def choose(self, seed: str) -> float:
        """The same for the same seed, so that a simulator that was started again decides as before."""
        if self.longest <= self.shortest:
            return self.shortest
        digest = hashlib.sha256(seed.encode()).digest()
        share = int.from_bytes(digest[:8], "big") / 2**64
        return self.shortest + share * (self.longest - self.shortest)


NO_TIME: Final = Span()


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """How one container behaves."""

    start_delay: Span = NO_TIME
    """Until it runs, once it is its turn: pulling the image, creating the container."""
    ready_delay: Span = NO_TIME
    """Until it is ready, once it has started."""
    stop_delay: Span = NO_TIME
    """Until it ends, once it is told to; what takes longer than the grace period is killed."""
    exit_after: Span | None = None
    """How long it runs; None: until it is told to end."""
    exit_code: int = 0
    crashes: int | None = None
    """How many runs end by themselves, before one goes on; None: all."""
    never_ready: bool = False
    image_pull_error: str = ""
    """What the registry says; empty: the image is there."""

    def ends(self, run: int) -> bool:
        """Whether a run, counted from 0, ends by itself."""
        return self.exit_after is not None and (self.crashes is None or run < self.crashes)


REGULAR: Final = Behaviour()
ONE_SHOT: Final = Behaviour(exit_after=NO_TIME)
"""An init container does its work at once, unless it is told otherwise."""


class Problem(msgspec.Struct, frozen=True):
    """An annotation that says nothing we understand."""

    annotation: str
    value: str
    remedy: str

    def __str__(self) -> str:
        return f'annotation {self.annotation}: "{self.value}" is not understood: {self.remedy}'


def behaviour(
    container: str, *, is_regular: bool, default: Behaviour, told: Sequence[Mapping[str, str]]
) -> tuple[Behaviour, tuple[Problem, ...]]:
    """How a container behaves, and which annotations were not understood. `told` is the pod's before the node's."""
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    for word, read in _READERS.items():
        for annotation, text in _spoken(word, container, is_regular, told):
            try:
                found[word] = read(text)
            except ValueError as error:
                problems.append(Problem(annotation, text, str(error)))
                continue
            break
    changes = {word.replace("-", "_"): value for word, value in found.items() if word not in _ENDS}
    for word, code in _ENDS.items():
        if word in found:
            changes = {"exit_code": code} | changes | {"exit_after": found[word]}
    return msgspec.structs.replace(default, **changes), tuple(problems)


def unknown(annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Annotations of ours that name no behaviour: a typing error would otherwise do nothing, silently."""
    for annotation, value in annotations.items():
        place, _, word = annotation.partition("/")
        if (place == marks.DOMAIN or place.endswith(f".{marks.DOMAIN}")) and word not in marks.BEHAVIOURS:
            yield Problem(annotation, value, f"use one of {', '.join(marks.BEHAVIOURS)}")


def span(text: str) -> Span:
    """`2s`, or `1s-3s` for by chance in between. Raises ValueError."""
    first, dash, last = text.partition("-")
    try:
        shortest = durations.parse(first.strip())
        longest = durations.parse(last.strip()) if dash else shortest
    except durations.InvalidDuration as error:
        raise ValueError("write a duration as in 500ms or 2s, or two as in 1s-3s") from error
    if not 0 <= shortest <= longest:
        raise ValueError("write durations that are not negative, the shorter one first")
    return Span(shortest / durations.SECOND, longest / durations.SECOND)


def _spoken(
    word: str, container: str, is_regular: bool, told: Sequence[Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    """The annotations that are about a word, what counts most first."""
    names = [f"{container}.{marks.DOMAIN}/{word}"]
    if is_regular:
        names.append(f"{marks.DOMAIN}/{word}")
    for words in told:
        for name in names:
            if (text := words.get(name)) is not None:
                yield name, text


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("write true or false")
    return text == "true"


def _whole(text: str, largest: int) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= largest):
        raise ValueError(f"write a whole number from 0 to {largest}")
    return int(text)


def _pull_error(text: str) -> str:
    if text == "false":
        return ""
    return "the image is not to be had" if text in ("true", "") else text


_ENDS: Final[Mapping[str, int]] = {marks.COMPLETE_AFTER: 0, marks.CRASH_AFTER: 1}
"""With which code a container ends unless another is named; of both, the crash counts."""

_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    marks.START_DELAY: span,
    marks.READY_DELAY: span,
    marks.STOP_DELAY: span,
    marks.COMPLETE_AFTER: span,
    marks.CRASH_AFTER: span,
    marks.EXIT_CODE: lambda text: _whole(text, LARGEST_EXIT_CODE),
    marks.CRASHES: lambda text: _whole(text, MOST_CRASHES),
    marks.NEVER_READY: _flag,
    marks.IMAGE_PULL_ERROR: _pull_error,
}

"""What containers are told to do by annotations: of their pod, of its node, or else by the defaults of the fleet. Pure.

    simulate.grove.io/crash-after: 10s            every regular container of the pod exits with 1 after 10 s
    worker.simulate.grove.io/crash-after: 10s     the container `worker` alone; init containers and sidecars need this

A pod's word counts more than its node's, and a container's name more than none. What crashes only so many times
(`crashes`) does afterwards what it was to do without: it runs on, or completes (`complete-after`). A word that is not
understood is told as a problem and passed over: the pod runs as if it were not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

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


class End(NamedTuple):
    """How a run ends by itself: after what time, and with which code."""

    after: Span
    code: int


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """How one container behaves."""

    start_delay: Span = NO_TIME
    """Until it runs, once it is its turn: pulling the image, creating the container."""
    ready_delay: Span = NO_TIME
    """Until it is ready, once it has started."""
    stop_delay: Span = NO_TIME
    """Until it ends, once it is told to; what takes longer than the grace period is killed."""
    complete_after: Span | None = None
    """How long a good run lasts; None: until it is told to end."""
    crash_after: Span | None = None
    """How long a run lasts that crashes; None: as long as a good one, if an exit code is named."""
    exit_code: int | None = None
    """With what a crash ends; None: with 1, if it was said after what time."""
    crashes: int | None = None
    """How many runs crash, before those that follow are good ones; None: all."""
    never_ready: bool = False
    image_pull_error: str = ""
    """What the registry says; empty: the image is there."""

    def end(self, run: int) -> End | None:
        """How a run, counted from 0, ends by itself; None: it does not."""
        if self.crashes is None or run < self.crashes:
            if self.crash_after is not None:
                return End(self.crash_after, 1 if self.exit_code is None else self.exit_code)
            if self.complete_after is not None and self.exit_code is not None:
                return End(self.complete_after, self.exit_code)
        return None if self.complete_after is None else End(self.complete_after, 0)


REGULAR: Final = Behaviour()
ONE_SHOT: Final = Behaviour(complete_after=NO_TIME)
"""An init container does its work at once, unless it is told otherwise."""


class Problem(msgspec.Struct, frozen=True):
    """An annotation that says nothing we understand."""

    annotation: str
    value: str
    remedy: str

    def __str__(self) -> str:
        return f'annotation {self.annotation}: "{self.value}" is not understood: {self.remedy}'


def of_container(
    container: str, *, is_regular: bool, default: Behaviour, told: Sequence[Mapping[str, str]]
) -> tuple[Behaviour, tuple[Problem, ...]]:
    """How a container behaves, and which annotations were not understood.

    `told` are annotations of ours only (`ours`), the pod's before the node's.
    """
    if not any(told):
        return default, ()
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    for word, read in _READERS.items():
        for annotation, text in _spoken(word, container, is_regular, told):
            try:
                found[word.replace("-", "_")] = read(text)
            except ValueError as error:
                problems.append(Problem(annotation, text, str(error)))
                continue
            break
    return msgspec.structs.replace(default, **found), tuple(problems)


def ours(annotations: Mapping[str, str] | None) -> Mapping[str, str]:
    """The annotations among all that are for simulated nodes."""
    return {name: text for name, text in (annotations or {}).items() if _place(name) is not None}


def unknown(annotations: Mapping[str, str], containers: Collection[str]) -> Iterator[Problem]:
    """A pod's annotations, of ours, that say nothing: a typing error would otherwise do nothing, silently."""
    for annotation, value in annotations.items():
        place, _, word = annotation.partition("/")
        container = place.removesuffix(marks.DOMAIN).removesuffix(".")
        if word not in marks.BEHAVIOURS:
            yield Problem(annotation, value, f"use one of {', '.join(marks.BEHAVIOURS)}")
        elif container and container not in containers:
            yield Problem(annotation, value, f"name one of the pod's containers: {', '.join(containers)}")


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


def _place(annotation: str) -> str | None:
    """What stands before the word, if the annotation is one of ours."""
    place, slash, _ = annotation.partition("/")
    return place if slash and (place == marks.DOMAIN or place.endswith(f".{marks.DOMAIN}")) else None


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
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(largest)) and int(text) <= largest):
        raise ValueError(f"write a whole number from 0 to {largest}")
    return int(text)


def _pull_error(text: str) -> str:
    if text == "false":
        return ""
    return "the image is not to be had" if text in ("true", "") else text


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

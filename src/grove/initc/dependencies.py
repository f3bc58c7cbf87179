"""What a waiter waits for, and whether it is there: pure, from the arguments of its container and counts of pods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from grove.api import grammar, labels

Wanted: TypeAlias = Mapping[str, int]
"""How many ready pods each parent PodClique must have, by its name."""

FLAGS: Final = ("--podcliques", "-p")
MAX_NAMED: Final = 64
"""Up to so many parents are named in the selector; beyond, the URL of a request could become too long for a proxy."""

_COUNT: Final = re.compile(r"[0-9]{1,9}")


class InvalidInputError(ValueError):
    """The arguments are none that a waiter understands."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"ERR_INVALID_INPUT: {what}: {why}; "
            "write --podcliques=<PodClique>:<ready pods needed>, as in --podcliques=router-0-frontend:2"
        )


class Count(msgspec.Struct, frozen=True):
    """The ready pods of a parent, and how many it must have."""

    have: int
    want: int


def parse(args: Sequence[str]) -> Wanted:
    """The parents that the arguments name. One that is named twice must satisfy both: the greater count holds."""
    wanted: dict[str, int] = {}
    for entry in _entries(args):
        name, count = _parent(entry)
        wanted[name] = max(count, wanted.get(name, 0))
    return wanted


def counts(wanted: Wanted, ready: Callable[[str], int]) -> Mapping[str, Count]:
    """All parents with what they have and need; `ready` tells the number of ready pods of one."""
    return {name: Count(ready(name), want) for name, want in wanted.items()}


def missing(found: Mapping[str, Count]) -> Mapping[str, Count]:
    """The parents that have too few. If there are none, the wait is over."""
    return {name: count for name, count in found.items() if count.have < count.want}


def selector(gang: str, wanted: Wanted) -> str:
    """Selects the pods of the parents in this gang.

    Where there are not too many, the parents are named: most pods of a gang are often those that wait, and every waiter
    would be told of every change of all of them.
    """
    chosen = f"{labels.POD_GANG}={gang}"
    return chosen if len(wanted) > MAX_NAMED else f"{chosen},{labels.POD_CLIQUE} in ({','.join(sorted(wanted))})"


def _entries(args: Sequence[str]) -> Iterator[str]:
    """The entries in the values of the flag, in any of its spellings: apart, after `=`, right after `-p`, in a list."""
    words = iter(args)
    for word in words:
        value = _value(word, words)
        yield from filter(None, (entry.strip() for entry in value.split(",")))


def _value(word: str, following: Iterator[str]) -> str:
    name, is_joined, value = word.partition("=")
    if name in FLAGS:
        if is_joined:
            return value
        for value in following:
            return value
        raise InvalidInputError(f'argument "{word}"', "nothing follows it")
    if word.startswith("-p"):
        return word.removeprefix("-p")
    raise InvalidInputError(f'argument "{word}"', "it is not known")


def _parent(entry: str) -> tuple[str, int]:
    what = f'--podcliques "{entry}"'
    parts = entry.split(":")
    if len(parts) != 2:
        raise InvalidInputError(what, "it is not one name and one number with a colon between them")
    name, count = parts
    if not name or not grammar.is_label_value(name):
        raise InvalidInputError(what, f'"{name}" cannot be the name of a PodClique')
    if not _COUNT.fullmatch(count) or int(count) == 0:
        raise InvalidInputError(what, f'"{count}" is not a whole number of at least 1')
    return name, int(count)

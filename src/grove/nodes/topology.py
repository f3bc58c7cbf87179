"""Where the nodes of a fleet stand: levels nested in each other, and the labels that say so. Pure.

    zones=2,blocks=2,racks=5      2 zones, in each 2 blocks, in each 5 racks: 20 racks

Nodes are dealt out evenly and in order, so that neighbours by number are neighbours on the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from grove.api import grammar
from grove.nodes.unusable import Unusable

HOST: Final = "host"
HOST_KEY: Final = "kubernetes.io/hostname"
DOMAIN: Final = "topology.kubernetes.io"
OPTION: Final = "--topology"
KEY_OPTION: Final = "--topology-key"

_LEVEL: Final = re.compile(r"(?P<word>[a-z][a-z0-9-]*)=(?P<each>[0-9]{1,9})")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", ""))


class Level(msgspec.Struct, frozen=True):
    """A level: how many of it there are in each domain of the level above."""

    word: str
    each: int
    key: str
    """Of the label that names a node's domain."""


def levels(text: str, keys: Mapping[str, str]) -> tuple[Level, ...]:
    """What is written after --topology, broadest first; `keys` are label keys by level where they are not the usual."""
    found: dict[str, Level] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        match = _LEVEL.fullmatch(part)
        if match is None or int(match["each"]) == 0:
            raise Unusable(OPTION, text, f'"{part}" is no level', "write levels as in zones=2,blocks=2,racks=5")
        word = singular(match["word"])
        if word == HOST:
            raise Unusable(OPTION, text, "hosts are the nodes themselves", "leave the level out; --count is for nodes")
        if word in found:
            raise Unusable(OPTION, text, f"the level {word} is there twice", "name each level once")
        found[word] = Level(word, int(match["each"]), keys.get(word, f"{DOMAIN}/{word}"))
    for word in keys:
        if word not in found:
            known = ", ".join(found) or "there are none"
            raise Unusable(KEY_OPTION, word, f"{OPTION} has no such level", f"use one of its levels ({known})")
    _check_keys(found.values())
    return tuple(found.values())


def keys(texts: Sequence[str]) -> dict[str, str]:
    """Label keys by level, as written after --topology-key: `rack=example.com/rack`."""
    found: dict[str, str] = {}
    for text in texts:
        word, is_pair, key = text.partition("=")
        fault = grammar.qualified(key) if is_pair else grammar.Fault("is not LEVEL=KEY", "write rack=example.com/rack")
        if fault is not None:
            raise Unusable(KEY_OPTION, text, fault.detail, fault.remedy)
        found[singular(word)] = key
    return found


def singular(word: str) -> str:
    """`racks` and `rack` are one level."""
    for plural, one in _ENDINGS:
        if word.endswith(plural) and not word.endswith("ss") and len(word) > len(plural):
            return word.removesuffix(plural) + one
    return word


def sizes(row: Sequence[Level]) -> tuple[int, ...]:
    """How many domains each level has in all."""
    found: list[int] = []
    for level in row:
        found.append(level.each * (found[-1] if found else 1))
    return tuple(found)


def check(row: Sequence[Level], nodes: int) -> None:
    """Raises Unusable where domains would stay empty, or their names would not fit into a label."""
    counts = sizes(row)
    if counts and counts[-1] > nodes:
        inner = row[-1].word
        raise Unusable(
            OPTION,
            ",".join(f"{level.word}={level.each}" for level in row),
            f"{counts[-1]} domains of the level {inner} for {nodes} nodes: some would be empty",
            f"use fewer domains, or --count {counts[-1]} or more",
        )
    if row and len(_path(row, counts, nodes - 1, nodes)[-1]) > grammar.LABEL_LENGTH:
        raise Unusable(OPTION, row[-1].word, "names of its domains are too long for a label", "use fewer levels")


def labels(row: Sequence[Level], number: int, nodes: int) -> dict[str, str]:
    """The labels of a node by its number, from 0, of so many nodes."""
    return {level.key: name for level, name in zip(row, _path(row, sizes(row), number, nodes), strict=True)}


def _path(row: Sequence[Level], counts: Sequence[int], number: int, nodes: int) -> list[str]:
    """The names of a node's domains, broadest first. A name holds those above it: there is no other of the name."""
    names: list[str] = []
    for level, index in zip(row, _indexes(row, counts, number, nodes), strict=True):
        own = f"{level.word}-{index + 1}"
        names.append(f"{names[-1]}-{own}" if names else own)
    return names


def _indexes(row: Sequence[Level], counts: Sequence[int], number: int, nodes: int) -> Iterator[int]:
    for level, count in zip(row, counts, strict=True):
        yield number * counts[-1] // nodes // (counts[-1] // count) % level.each


def _check_keys(row: Iterable[Level]) -> None:
    seen: dict[str, str] = {HOST_KEY: HOST}
    for level in row:
        if level.key in seen:
            raise Unusable(
                KEY_OPTION, level.key, f"the label is that of the level {seen[level.key]}", "use one label a level"
            )
        seen[level.key] = level.word

"""Domains of a topology as contiguous ranges. Pure.

Sorted by their path of label values, the nodes of a domain lie side by side at every level: what a domain has is a
difference of two running totals. A domain is its whole path: racks of one name in two blocks are two racks. A node
without the label of a level belongs to no domain of that level, and to those of broader and narrower ones as its other
labels say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from grove.scheduler.columns import Column
from grove.scheduler.predicates.rule import Array, Counts, Slots


class Level:
    """The domains of one level, numbered in the order of their paths."""

    __slots__ = ("covers", "domain_of", "ends", "key", "paths", "starts")

    def __init__(
        self, key: str, starts: Slots, ends: Slots, domain_of: Slots, paths: list[tuple[str, ...]], nodes: int
    ) -> None:
        self.key: Final = key
        self.starts: Final = starts
        """Where each domain begins in `Tree.order`."""
        self.ends: Final = ends
        self.domain_of: Final = domain_of
        """By slot: the number of its domain, or -1."""
        self.paths: Final = paths
        """By domain: the values of the labels from the broadest level down to this; empty where one is missing."""
        self.covers: Final = int((ends - starts).sum()) == nodes
        """Whether every node is in a domain."""

    def __len__(self) -> int:
        return len(self.starts)

    def name(self, domain: int) -> str:
        """The domain as people call it: its own label's value, with those above it where that is not unique."""
        return "/".join(part for part in self.paths[domain] if part)


class Tree:
    """The domains of a topology's levels, broadest first, over the nodes there are."""

    def __init__(
        self, keys: tuple[str, ...], columns: Sequence[Column], slots: Slots, names: Sequence[str], size: int
    ) -> None:
        self.keys: Final = keys
        by_name = np.empty(len(slots), np.int64)
        found = slots.tolist()
        by_name[sorted(range(len(slots)), key=lambda at: names[found[at]])] = np.arange(len(slots))
        sort_by: list[Array] = [by_name]  # the last one counts most
        sort_by += [column.ranks()[column.codes[slots]] for column in reversed(columns)]
        order = np.lexsort(sort_by)
        self.order: Final[Slots] = slots[order]
        """Slots, so that every domain is a range."""
        self.position: Final[Slots] = np.full(size, -1, np.int64)
        """By slot where it is in the order; -1: it is vacant."""
        self.position[self.order] = np.arange(len(slots))
        self.levels: Final[list[Level]] = []
        breaks = np.zeros(len(slots), np.bool_)
        if len(slots):
            breaks[0] = True
        for at, (key, column) in enumerate(zip(keys, columns, strict=True)):
            codes = column.codes[self.order]
            breaks = breaks.copy()
            breaks[1:] |= codes[1:] != codes[:-1]
            self.levels.append(self._level(key, breaks, columns[: at + 1], codes, size))

    def _level(self, key: str, breaks: Array, columns: Sequence[Column], codes: Array, size: int) -> Level:
        starts = np.flatnonzero(breaks)
        ends = np.append(starts[1:], len(breaks)).astype(np.int64)
        labelled = codes[starts] != 0
        number = np.where(labelled, np.cumsum(labelled) - 1, -1)
        domain_of = np.full(size, -1, np.int64)
        domain_of[self.order] = np.repeat(number, ends - starts)
        starts, ends = starts[labelled], ends[labelled]
        first = self.order[starts]
        paths = [tuple(column.values[column.codes[slot]] for column in columns) for slot in first]
        return Level(key, starts, ends, domain_of, paths, len(breaks))

    def level(self, key: str) -> int | None:
        """The number of the level that a label key carries."""
        return self.keys.index(key) if key in self.keys else None

    def sums(self, values: Counts) -> list[Counts]:
        """For every level the totals of its domains, of something that every slot has."""
        totals = self.totals(values)
        return [totals[level.ends] - totals[level.starts] for level in self.levels]

    def totals(self, values: Counts) -> Counts:
        """Running totals along the order: what a range has is a difference of two."""
        found = np.zeros(len(self.order) + 1, np.int64)
        np.cumsum(values[self.order], out=found[1:])
        return found

    def slots(self, level: int, domain: int) -> Slots:
        """The slots of a domain."""
        found = self.levels[level]
        return self.order[found.starts[domain] : found.ends[domain]]

    def children(self, level: int, domain: int, at: int) -> range:
        """The domains of a narrower level `at` that lie in a domain."""
        outer, inner = self.levels[level], self.levels[at]
        first = int(np.searchsorted(inner.starts, outer.starts[domain], "left"))
        return range(first, int(np.searchsorted(inner.starts, outer.ends[domain], "left")))

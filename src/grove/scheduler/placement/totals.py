"""How many pods of a class each domain takes, kept from one decision to the next. Pure.

Computed as a whole once, then only for the slots that changed: a decision costs what it touches, not what there is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.topology import Tree

_FEWEST: Final = 64
_CELLS: Final = 4_000_000
"""Of classes times nodes so many are remembered; each takes about 25 bytes."""
FEW: Final = 24
"""Slots up to which a loop is faster than arrays."""


class Totals:
    """Of one class over one tree; `sums` has for every level the totals by domain, and one more entry for nodes that
    are in none."""

    __slots__ = ("_mine", "_position", "_revision", "_shape", "_tree", "sums", "whole")

    def __init__(self) -> None:
        self.sums: list[Counts] = []
        self.whole = 0
        """Of all nodes."""
        self._tree: Tree | None = None
        self._mine: Counts = np.zeros(0, np.int64)
        self._position = -1
        self._revision = -1
        self._shape: object = None

    def update(self, cluster: Cluster, cls: PodClass, tree: Tree, only: Mask | None, shape: object) -> Counts:
        """Follows the cluster; gives the capacity by slot. `only` are the slots to count, `shape` changes with it."""
        capacity = cluster.by_resources(cls)
        revision = cluster.revision(cls)
        position = cluster.touched.position
        slots = None
        if self._tree is tree and self._revision == revision and self._shape == shape:
            if self._position == position:
                return self._mine
            slots = cluster.touched.since(self._position)
        if slots is None or len(slots) * 8 > len(capacity) + 64:
            self._anew(capacity if only is None else np.where(only, capacity, 0), tree)
        elif len(slots) <= FEW:
            self._one_by_one(capacity, tree, slots, only)
        else:
            self._together(capacity, tree, np.unique(slots), only)
        self._tree, self._revision, self._position, self._shape = tree, revision, position, shape
        return self._mine

    def _anew(self, capacity: Counts, tree: Tree) -> None:
        self._mine = capacity.copy()
        totals = tree.totals(capacity)
        self.whole = int(totals[-1])
        self.sums = [np.append(totals[level.ends] - totals[level.starts], 0) for level in tree.levels]

    def _one_by_one(self, capacity: Counts, tree: Tree, slots: Slots, only: Mask | None) -> None:
        mine = self._mine
        for slot in dict.fromkeys(slots.tolist()):
            new = int(capacity[slot]) if only is None or only[slot] else 0
            more = new - int(mine[slot])
            if more:
                mine[slot] = new
                self.whole += more
                for level, sums in zip(tree.levels, self.sums, strict=True):
                    sums[level.domain_of[slot]] += more

    def _together(self, capacity: Counts, tree: Tree, slots: Slots, only: Mask | None) -> None:
        new = capacity[slots] if only is None else np.where(only[slots], capacity[slots], 0)
        more = new - self._mine[slots]
        changed = np.flatnonzero(more)
        if not len(changed):
            return
        slots, more = slots[changed], more[changed]
        self._mine[slots] = new[changed]
        self.whole += int(more.sum())
        for level, sums in zip(tree.levels, self.sums, strict=True):
            np.add.at(sums, level.domain_of[slots], more)


def remember(cluster: Cluster, cls: PodClass) -> None:
    """A class is looked at: what is known of those that were not for longest is forgotten when it becomes too much."""
    known = cluster.memory.get("classes")
    if not isinstance(known, _Known):
        known = cluster.memory["classes"] = _Known()
    known.classes.pop(cls, None)
    known.classes[cls] = None
    if len(known.classes) > max(_FEWEST, _CELLS // max(cluster.size, 1)):
        oldest = next(iter(known.classes))
        del known.classes[oldest]
        oldest.memory.clear()
        oldest.state = None


class _Known:
    """Classes, the one looked at last at the end."""

    def __init__(self) -> None:
        self.classes: dict[PodClass, None] = {}


def totals(
    cluster: Cluster, cls: PodClass, tree: Tree, only: Mask | None = None, shape: object = None
) -> tuple[Totals, Counts]:
    """The totals of a plain class as they are now, and its capacity by slot; neither is to be changed or kept."""
    remember(cluster, cls)
    key = (tree.keys, only is None)
    found = cls.memory.get(key)
    if not isinstance(found, Totals):
        found = cls.memory[key] = Totals()
    return found, found.update(cluster, cls, tree, only, shape)

"""Which nodes and domains have devices in use, so that clean ones are kept for those who need them whole. Pure.

Opening a clean rack costs something, a clean block more; nodes without devices cost nothing. Counted as `Totals` are:
once as a whole, then only where something changed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.placement.totals import FEW
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.resources import is_device
from grove.scheduler.topology import Tree

MANY: Final = 1 << 40


class Devices:
    """The rows of devices, and the nodes that have any."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.has: Mask = np.zeros(0, np.bool_)
        """By slot whether the node has devices."""
        self.some = False
        """Whether some nodes have devices and some have none."""
        self.position = -1

    def update(self, cluster: Cluster) -> None:
        if self.position == cluster.reshaped.position:
            return
        self.position = cluster.reshaped.position
        self.rows = [row for row, name in enumerate(cluster.resources.names) if is_device(name)]
        self.rows = [row for row in self.rows if row < cluster.allocatable.shape[0]]
        self.has = np.any(cluster.allocatable[self.rows, : cluster.size] > 0, axis=0)
        alive = cluster.alive[: cluster.size]
        self.some = bool(self.has.any() and (alive & ~self.has).any())


class Wear:
    """Over one tree: `busy` has for every level how many nodes of each domain have devices in use, or have none."""

    __slots__ = ("_ancestors", "_mine", "_position", "_reshaped", "_tree", "busy")

    def __init__(self) -> None:
        self.busy: list[Counts] = []
        self._tree: Tree | None = None
        self._ancestors: list[Slots] = []
        self._mine: Mask = np.zeros(0, np.bool_)
        self._position = -1
        self._reshaped = -1

    def update(self, cluster: Cluster, devices: Devices, tree: Tree) -> None:
        position = cluster.touched.position
        slots = None
        if self._tree is tree and self._reshaped == devices.position:
            if self._position == position:
                return
            slots = cluster.touched.since(self._position)
        self._position, self._reshaped = position, devices.position
        if slots is None or len(slots) * 8 > cluster.size + 64:
            self._anew(cluster, devices, tree)
            return
        self._follow(cluster, devices.rows, tree, dict.fromkeys(slots.tolist()))

    def _anew(self, cluster: Cluster, devices: Devices, tree: Tree) -> None:
        self._tree = tree
        size, rows = cluster.size, devices.rows
        used = (cluster.free[rows, :size] < cluster.allocatable[rows, :size]).any(axis=0)
        self._mine = used | ~devices.has
        totals = tree.totals(self._mine.astype(np.int64))
        self.busy = [np.append(totals[level.ends] - totals[level.starts], MANY) for level in tree.levels]
        self._ancestors = [
            np.append(outer.domain_of[tree.order[inner.starts]], -1)
            for outer, inner in zip(tree.levels, tree.levels[1:], strict=False)
        ]

    def _follow(self, cluster: Cluster, rows: list[int], tree: Tree, slots: dict[int, None]) -> None:
        mine, free, allocatable = self._mine, cluster.free, cluster.allocatable
        if len(slots) > FEW:
            some = np.fromiter(slots, np.int64, len(slots))
            there_are = allocatable[rows][:, some]
            used = (free[rows][:, some] < there_are).any(axis=0)
            none = ~(there_are > 0).any(axis=0)
            slots = dict.fromkeys(some[(used | none) != mine[some]].tolist())
        for slot in slots:
            has = False
            now = False
            for row in rows:
                there = allocatable[row, slot]
                has = has or there > 0
                now = now or free[row, slot] < there
            now = now or not has
            if now != mine[slot]:
                mine[slot] = now
                more = 1 if now else -1
                for level, busy in zip(tree.levels, self.busy, strict=True):
                    busy[level.domain_of[slot]] += more

    def costs(self, level: int) -> Counts:
        """By domain of a level what is opened by going there: 0 where it is in use already."""
        found: Counts = (self.busy[level][:-1] == 0).astype(np.int64)
        weight = 2
        at: Slots | None = None
        for outer in range(level - 1, -1, -1):
            at = self._ancestors[outer][:-1] if at is None else self._ancestors[outer][at]
            if not self.busy[outer].all():
                found += weight * (self.busy[outer][at] == 0)
            weight *= 2
        return found


def devices(cluster: Cluster) -> Devices:
    """As they are now."""
    found = cluster.memory.get("devices")
    if not isinstance(found, Devices):
        found = cluster.memory["devices"] = Devices()
    found.update(cluster)
    return found


def wear(cluster: Cluster, tree: Tree) -> Wear:
    """As it is now."""
    key = ("wear", tree.keys)
    found = cluster.memory.get(key)
    if not isinstance(found, Wear):
        found = cluster.memory[key] = Wear()
    found.update(cluster, devices(cluster), tree)
    return found

"""Gangs of one class of pods in one scope: the most common ones, in closed form. Pure.

For pods that are all alike and only use resources, capacities are exact: a domain takes the gang if and only if its
total is large enough. So the answer is proven, and the placement is the best.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.placement.fill import Ground, Shares, fill, nodes
from grove.scheduler.placement.totals import Totals, totals
from grove.scheduler.placement.wear import devices, wear
from grove.scheduler.predicates.rule import Counts
from grove.scheduler.topology import Tree

_CLEAN: Final = 1 << 40
"""Opening a clean domain costs more than any looseness."""
_NEVER: Final = 1 << 60


class Wish(NamedTuple):
    """What is placed: so many pods of a class, and as many more as there is room for."""

    cls: PodClass
    many: int
    extras: int
    tree: Tree
    required: int
    """Level; -1: none."""
    preferred: int
    """Level; that of `required` where nothing is preferred."""


class Spot(NamedTuple):
    """Where: a domain of a level; -1, -1: everything."""

    level: int
    domain: int


def place_flat(cluster: Cluster, wish: Wish) -> Shares | None:
    """Nodes for the pods; None: there is no place."""
    dev = devices(cluster)
    if not wish.cls.accelerators and dev.some:
        # Keep off the nodes with devices, unless that makes the placement worse.
        total, capacity = totals(cluster, wish.cls, wish.tree, ~dev.has, dev.position)
        if total.whole >= wish.many + wish.extras:
            everywhere, _ = totals(cluster, wish.cls, wish.tree)
            if _reached(wish, total) == _reached(wish, everywhere):
                found = _place(cluster, wish, total, capacity)
                if found is not None:
                    return found
    total, capacity = totals(cluster, wish.cls, wish.tree)
    return _place(cluster, wish, total, capacity)


def _reached(wish: Wish, total: Totals) -> int | None:
    """The level at which one domain can take all, between the preferred one and the required one."""
    for level in range(wish.preferred, wish.required - 1, -1):
        if level < 0:
            return -1 if total.whole >= wish.many else None
        if total.sums[level].max(initial=0) >= wish.many:
            sums = total.sums[level][:-1]
            if sums.max(initial=0) >= wish.many:
                return level
    return None


def _place(cluster: Cluster, wish: Wish, total: Totals, capacity: Counts) -> Shares | None:
    tree, count = wish.tree, wish.many
    reached = _reached(wish, total)
    if reached is None:
        return None
    if not tree.levels:
        return nodes(Ground(tree, capacity, total.sums), tree.order, count)
    worn = wear(cluster, tree)
    spot = Spot(-1, -1)
    if wish.extras and wish.required >= 0:
        spot = _roomiest(wish, total, reached, worn.costs(wish.required))
    level = reached
    within = None
    for at in range(len(tree.levels) - 1, max(reached, 0) - 1, -1):
        room = total.sums[at][:-1]
        if spot.domain >= 0:
            within = tree.children(spot.level, spot.domain, at)
            room = room[within.start : within.stop]
        if room.max(initial=0) < count:
            continue
        cost = worn.costs(at)
        if within is not None:
            cost = cost[within.start : within.stop]
        chosen = int(np.where(room >= count, cost * _CLEAN + room, _NEVER).argmin())
        level, domain = at, chosen + (within.start if within is not None else 0)
        break
    else:
        return fill(Ground(tree, capacity, total.sums), -1, 0, len(tree.order), count)
    found = tree.levels[level]
    start, end = int(found.starts[domain]), int(found.ends[domain])
    return fill(Ground(tree, capacity, total.sums), level, start, end, count)


def _roomiest(wish: Wish, total: Totals, reached: int, costs: Counts) -> Spot:
    """The domain of the required level that has room for most extras, among those that have a domain of the level
    reached for the gang."""
    tree = wish.tree
    room = np.minimum(total.sums[wish.required][:-1], wish.many + wish.extras)
    if reached > wish.required:
        fits = np.flatnonzero(total.sums[reached][:-1] >= wish.many)
        at = tree.levels[wish.required].domain_of[tree.order[tree.levels[reached].starts[fits]]]
        good = np.zeros(len(room) + 1, np.bool_)
        good[at] = True
        room = np.where(good[:-1], room, -1)
    most = room.max()
    key = np.where(room == most, costs * _CLEAN + total.sums[wish.required][:-1], _NEVER)
    return Spot(wish.required, int(key.argmin()))

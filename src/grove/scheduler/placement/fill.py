"""Which nodes of a range take pods that are all alike: few domains first, then few nodes, then tight ones. Pure.

Closed forms: nothing is tried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from grove.scheduler.predicates.rule import Counts, Slots
from grove.scheduler.topology import Tree

Shares: TypeAlias = list[tuple[int, int]]
"""Slots and how many pods each takes; in the order of the tree."""

MANY: Final = 1 << 40
_SHORT: Final = 48


class Ground:
    """What there is to fill: capacities over a tree, and what speaks against nodes and domains."""

    __slots__ = ("capacity", "dislike", "sums", "tree")

    def __init__(
        self, tree: Tree, capacity: Counts, sums: Sequence[Counts] | None = None, dislike: Counts | None = None
    ) -> None:
        self.tree: Final = tree
        self.capacity: Final = capacity
        self.sums: Final = tree.sums(capacity) if sums is None else sums
        self.dislike: Final = dislike
        """By slot; where given it counts more than that few nodes are used."""


def fill(ground: Ground, level: int, start: int, end: int, count: int) -> Shares:
    """Pods over the range of a domain of a level (-1: over everything). There is room for them."""
    tree = ground.tree
    if ground.dislike is None:
        for at in range(level + 1, len(tree.levels)):
            domains = _inside(tree, at, start, end)
            found = ground.sums[at][domains.start : domains.stop]
            if not len(found):
                continue
            largest = int(found.max())
            if largest >= count:
                # A narrower level may have one as well: the narrowest counts.
                level = at
                domain = domains.start + tightest(found, count)
                start, end = int(tree.levels[at].starts[domain]), int(tree.levels[at].ends[domain])
            elif largest:
                return _divide(ground, at, domains, start, end, count)
    return nodes(ground, tree.order[start:end], count)


def _inside(tree: Tree, level: int, start: int, end: int) -> range:
    """The domains of a level that lie in a range."""
    found = tree.levels[level]
    if start == 0 and end == len(tree.order):
        return range(len(found))
    first, last = (int(at) for at in found.starts.searchsorted((start, end), "left"))
    if first < last and found.ends[first] > end:  # a broader one that begins where the range does
        first += 1
    return range(first, last)


def tightest(room: Counts, count: int) -> int:
    """The index of the smallest that is large enough."""
    return int(np.where(room >= count, room, MANY).argmin())


def _divide(ground: Ground, level: int, domains: range, start: int, end: int, count: int) -> Shares:
    """No domain of the level takes all: the largest are filled, and the rest goes where it fits best."""
    tree = ground.tree
    room = ground.sums[level][domains.start : domains.stop]
    if int(room.sum()) < count:  # nodes without a label of this level are needed too
        return nodes(ground, tree.order[start:end], count)
    order = np.argsort(-room, kind="stable").tolist()
    shares: list[tuple[int, Shares]] = []
    rest = count
    for at, index in enumerate(order):
        here = int(room[index])
        if here >= rest:
            index = order[at + tightest(room[order[at:]], rest)]
            here = rest
        domain = domains.start + index
        first, last = int(tree.levels[level].starts[domain]), int(tree.levels[level].ends[domain])
        shares.append((first, fill(ground, level, first, last, here)))
        rest -= here
        if not rest:
            break
    shares.sort()
    return [share for _, found in shares for share in found]


def nodes(ground: Ground, slots: Slots, count: int) -> Shares:
    """The fewest nodes, the last one as tight as possible; the first ones of the slots where all is equal."""
    room = ground.capacity[slots]
    dislike = None if ground.dislike is None else ground.dislike[slots]
    if len(slots) <= _SHORT:
        taken = _few(room.tolist(), count, None if dislike is None else dislike.tolist())
        return [(slot, many) for slot, many in zip(slots.tolist(), taken, strict=True) if many]
    if dislike is not None:
        order = np.lexsort((-room, dislike))
    else:
        best = tightest(room, count)
        if room[best] >= count:
            return [(int(slots[best]), count)]
        order = np.argsort(-room, kind="stable")
    sorted_room = room[order]
    running = np.cumsum(sorted_room)
    full = int(running.searchsorted(count, "left"))
    taken_of = np.zeros(len(slots), np.int64)
    taken_of[order[:full]] = sorted_room[:full]
    rest = count - (int(running[full - 1]) if full else 0)
    if rest:
        last = sorted_room[full:]
        if dislike is not None:
            last = np.where(dislike[order[full:]] == dislike[order[full]], last, 0)
        taken_of[order[full + tightest(last, rest)]] = rest
    chosen = np.flatnonzero(taken_of)
    return list(zip(slots[chosen].tolist(), taken_of[chosen].tolist(), strict=True))


def _few(room: list[int], count: int, dislike: list[int] | None) -> list[int]:
    taken = [0] * len(room)
    if dislike is None:
        if count == sum(room):
            return room
        order = sorted(range(len(room)), key=lambda at: -room[at])
    else:
        order = sorted(range(len(room)), key=lambda at: (dislike[at], -room[at]))
    rest = count
    for place, at in enumerate(order):
        here = room[at]
        if here >= rest:
            for other in order[place + 1 :]:
                if room[other] < rest or (dislike is not None and dislike[other] != dislike[at]):
                    break
                if room[other] < here:
                    at, here = other, room[other]
            taken[at] = rest
            return taken
        taken[at] = here
        rest -= here
    return taken

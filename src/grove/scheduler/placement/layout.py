"""Puts pods of one kind on nodes once every scope has its region. Pure.

The smallest regions come first: what they leave is enough for those around them, because the search has counted it.
"""

from __future__ import annotations

from collections.abc import Sequence

from grove.scheduler.placement.fill import Ground, Shares, fill, nodes
from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.region import Region


def lay_out(problem: Problem, regions: Sequence[Region]) -> list[tuple[int, int, Shares]]:
    """By scope and kind which slots take how many."""
    (kind,) = problem.kinds
    capacity = kind.capacity.copy()
    grounds: dict[tuple[str, ...], Ground] = {}
    asks = [ask for ask in problem.asks if ask.own]
    asks.sort(key=lambda ask: (regions[ask.number].end - regions[ask.number].start, ask.number))
    found: list[tuple[int, int, Shares]] = []
    for ask in asks:
        region, count = regions[ask.number], ask.own[0]
        ground = grounds.get(region.tree.keys)
        if ground is None:
            ground = grounds[region.tree.keys] = Ground(region.tree, capacity, None, kind.dislike)
        if kind.dislike is not None:
            shares = nodes(ground, region.slots, count)
        else:
            shares = fill(ground, -1, region.start, region.end, count)
        for slot, many in shares:
            capacity[slot] -= many
            for other in grounds.values():
                for level, sums in zip(other.tree.levels, other.sums, strict=True):
                    domain = level.domain_of[slot]
                    if domain >= 0:
                        sums[domain] -= many
        found.append((ask.number, 0, shares))
    return found

"""Packing unlike pods on few nodes exactly, node by node. Pure.

A node is given a set of pods to which none of the rest could be added: wherever there is a packing there is one of
such sets, because a pod of a later node may as well be on the earlier one. What is left over after so many nodes
decides how it goes on, so every such state is tried once.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.placement.budget import Budget
from grove.scheduler.predicates.rule import Counts

_COST: Final = 3
_TURN: Final = 60
"""Steps of the first turn."""
_PATTERNS: Final = 4_000
"""Sets looked at for one node and one rest; with more the search is not exact."""


class Item(NamedTuple):
    """So many equal pods."""

    many: int
    request: tuple[int, ...]
    """By row."""
    nodes: frozenset[int]
    """Where they may go."""


class Packed(NamedTuple):
    """By item and node how many; None: none was found, and whether that is certain."""

    counts: list[list[int]] | None
    proven: bool


def pack(free: Sequence[tuple[int, ...]], items: Sequence[Item], budget: Budget, steps: int) -> Packed:
    """Items on nodes with so much free by row."""
    if not free:
        return Packed(None, True)
    return _Packing(free, items, budget, steps).run()


class _Packing:
    def __init__(self, free: Sequence[tuple[int, ...]], items: Sequence[Item], budget: Budget, steps: int) -> None:
        self._items = items
        self._budget = budget
        self._steps = steps
        self._cut = False
        kinds = range(len(items))
        # Nodes where little may go come first; equal nodes side by side.
        types = {
            node: (tuple(node in item.nodes for item in items), tuple(max(0, found) for found in free[node]))
            for node in range(len(free))
        }
        rows = range(len(free[0])) if free else range(0)
        total = [sum(item.many * item.request[row] for item in items) for row in rows]
        have = [sum(max(0, node[row]) for node in free) for row in rows]
        self._scarcity = [total[row] / have[row] / have[row] if have[row] else 0.0 for row in rows]
        self._order = sorted(types, key=lambda node: (sum(types[node][0]), self._value(types[node][1]), types[node]))
        self._types = [types[node] for node in self._order]
        self._by_size = sorted(kinds, key=lambda at: (-self._value(items[at].request), at))
        self._taste = self._scarcity
        self._noise = 0.0
        self._dice = random.Random(len(items))  # noqa: S311 - the same every time
        self._turn = 0
        self._patterns: dict[tuple[object, ...], tuple[list[tuple[int, ...]], bool]] = {}
        self._failed: set[tuple[int, tuple[int, ...]]] = set()
        self._weights, self._suffix = self._bounds(free)

    def _value(self, amounts: tuple[int, ...]) -> float:
        return sum(scarcity * amount for scarcity, amount in zip(self._scarcity, amounts, strict=True))

    def _bounds(self, free: Sequence[tuple[int, ...]]) -> tuple[list[list[int]], list[list[int]]]:
        """By row of a bound what each item takes, and what nodes have from each place in the order on."""
        items, order = self._items, self._order
        weights: list[list[int]] = []
        supplies: list[list[int]] = []
        for at, item in enumerate(items):
            weights.append([int(other == at) for other in range(len(items))])
            supplies.append([_fits(free[node], item.request) if node in item.nodes else 0 for node in order])
        for row in range(len(free[0]) if free else 0):
            amounts = [item.request[row] for item in items]
            for least in (0, *sorted({amount for amount in amounts if amount > 0})[:8]):
                users = [at for at, amount in enumerate(amounts) if amount >= max(least, 1)]
                if len(users) < 2:
                    continue
                weights.append([(1 if least else amounts[at]) if at in users else 0 for at in range(len(items))])
                supplies.append([
                    (max(0, free[node][row]) // least if least else max(0, free[node][row]))
                    if any(node in items[at].nodes for at in users)
                    else 0
                    for node in order
                ])  # fmt: skip
        suffixes = []
        for supply in supplies:
            running = [0]
            for found in reversed(supply):
                running.append(running[-1] + found)
            suffixes.append(running[::-1])
        return weights, suffixes

    def run(self) -> Packed:
        """In several turns, each with another taste for sets: bad luck with first choices is forgotten, what was proven
        is not."""
        start = tuple(item.many for item in self._items)
        if not self._possible(0, start):
            return Packed(None, True)
        for number in itertools.count():
            # Now and then a long one in the best order, so that small cases are settled.
            thorough = number % 4 == 3
            before = self._turn = min(_TURN << number // 2 if thorough else _TURN + 10 * number, self._steps)
            answer = self._once(start)
            self._steps -= before - max(self._turn, 0)
            if answer is not None or self._steps <= 0 or self._budget.is_spent:
                return answer or Packed(None, False)
            self._patterns.clear()
            self._taste = [scarcity * self._dice.uniform(0.5, 2.0) for scarcity in self._scarcity]
            self._noise = self._dice.choice((0.05, 0.1, 0.2))
            if number % 4 == 2:
                self._taste, self._noise = self._scarcity, 0.0
        raise AssertionError("counting has no end")

    def _once(self, start: tuple[int, ...]) -> Packed | None:
        """None: the turn is over."""
        # Iterative: there may be many nodes.
        chosen: list[tuple[int, ...]] = []
        rests = [start]
        stack = [iter(self._at(0, start))]
        while stack:
            pattern = next(stack[-1], None)
            if pattern is None:
                stack.pop()
                self._failed.add((len(stack), rests.pop()))
                if chosen:
                    chosen.pop()
                continue
            self._turn -= 1
            if self._turn < 0 or not self._budget.spend(_COST):
                return None
            rest = tuple(left - taken for left, taken in zip(rests[-1], pattern, strict=True))
            place = len(stack)
            if not any(rest):
                return Packed(self._result([*chosen, pattern]), True)
            if place == len(self._order) or (place, rest) in self._failed or not self._possible(place, rest):
                continue
            chosen.append(pattern)
            rests.append(rest)
            stack.append(iter(self._at(place, rest)))
        return Packed(None, not self._cut)

    def _possible(self, place: int, rest: tuple[int, ...]) -> bool:
        for weights, suffix in zip(self._weights, self._suffix, strict=True):
            need = 0
            for weight, left in zip(weights, rest, strict=True):
                if weight and left:
                    need += weight * left
            if need > suffix[place]:
                return False
        return True

    def _at(self, place: int, rest: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The fullest sets for a node, fullest first."""
        admits, free = self._types[place]
        most = tuple(
            min(left, _fits(free, item.request)) if left and admitted else 0
            for left, item, admitted in zip(rest, self._items, admits, strict=True)
        )
        key = (free, most)
        known = self._patterns.get(key)
        if known is None:
            found: list[tuple[int, ...]] = []
            complete = self._enumerate(free, most, 0, [0] * len(most), found)
            found.sort(key=lambda pattern: (-self._filled(pattern), [-pattern[at] for at in self._by_size]))
            known = self._patterns[key] = (found, complete)
        if not known[1]:
            self._cut = True
        return known[0]

    def _filled(self, pattern: tuple[int, ...]) -> float:
        total = 0.0
        for count, item in zip(pattern, self._items, strict=True):
            if count:
                total += count * sum(taste * asked for taste, asked in zip(self._taste, item.request, strict=True))
        return total * (1.0 - self._noise * self._dice.random()) if self._noise else total

    def _enumerate(
        self, free: tuple[int, ...], most: tuple[int, ...], depth: int, taken: list[int], found: list[tuple[int, ...]]
    ) -> bool:
        """All sets to which nothing can be added; False: there are too many."""
        if depth == len(self._by_size):
            for at, limit in enumerate(most):
                if taken[at] < limit and _fits(free, self._items[at].request):
                    return True
            found.append(tuple(taken))
            return len(found) < _PATTERNS
        at = self._by_size[depth]
        request = self._items[at].request
        largest = min(most[at], _fits(free, request)) if most[at] else 0
        for count in range(largest, -1, -1):
            taken[at] = count
            rest = tuple(have - count * asked for have, asked in zip(free, request, strict=True)) if count else free
            if not self._enumerate(rest, most, depth + 1, taken, found):
                taken[at] = 0
                return False
        taken[at] = 0
        return True

    def _result(self, patterns: list[tuple[int, ...]]) -> list[list[int]]:
        counts = [[0] * len(self._order) for _ in self._items]
        for node, pattern in zip(self._order, patterns, strict=False):
            for at, count in enumerate(pattern):
                counts[at][node] = count
        return counts


def _fits(free: tuple[int, ...], request: tuple[int, ...]) -> int:
    """How many times a request is in what is free."""
    found = -1
    for have, asked in zip(free, request, strict=True):
        if asked:
            times = have // asked if have > 0 else 0
            if found < 0 or times < found:
                found = times
    return max(found, 0)


def as_tuples(free: Counts) -> list[tuple[int, ...]]:
    """Columns as tuples."""
    found: list[tuple[int, ...]] = [tuple(column) for column in np.ascontiguousarray(free.T).tolist()]
    return found

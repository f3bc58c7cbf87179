"""Packs the pods of scopes, one scope after the other, into their regions; unlike pods side by side. Pure.

What is packed is a witness that the scopes chosen so far go together. When a scope finds no room beside it, all pods
that could be in the way are packed anew together: first by rules of thumb in several orders, then exactly. So a refusal
is a proof, unless the exact packing was given up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from grove.scheduler.placement.binpack import Item, as_tuples, pack
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.fill import Ground, Shares, fill, nodes
from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.region import Region
from grove.scheduler.predicates.rule import Array, Counts, Mask, Slots

_EXACT_NODES: Final = 256
_EXACT_STEPS: Final = 300
"""Of an exact packing at the first turn."""
_NEAR: Final = 64
"""Nodes up to which it does not matter which domains inside a region are used."""


class Load(NamedTuple):
    """Pods of one kind of one scope."""

    ask: int
    kind: int
    many: int
    region: Region


Packed: TypeAlias = list[tuple[Load, Shares]]


class Packing:
    """See the top of the module."""

    turns = 8
    """After so many it becomes no more patient."""

    def __init__(self, problem: Problem, budget: Budget, turn: int) -> None:
        self._exact_steps = _EXACT_STEPS << 2 * turn
        self._problem = problem
        self._budget = budget
        rows = sorted({row for kind in problem.kinds for row, _ in kind.cls.requests})
        at = {row: index for index, row in enumerate(rows)}
        # What a rule limits besides resources is a row of its own.
        limited = [kind for kind in problem.kinds if not problem.cluster.is_plain(kind.cls)]
        self._free: Counts = np.maximum(problem.cluster.free[rows, : problem.cluster.size], 0)
        self._free = np.vstack([self._free, *(kind.capacity for kind in limited)])
        self._requests: Counts = np.zeros((len(problem.kinds), len(self._free)), np.int64)
        for kind in problem.kinds:
            for row, amount in kind.cls.requests:
                self._requests[kind.number, at[row]] = amount
        for index, kind in enumerate(limited):
            self._requests[kind.number, len(rows) + index] = 1
        self._asked = [np.flatnonzero(asked) for asked in self._requests]
        self._allowed: list[Mask] = [kind.capacity > 0 for kind in problem.kinds]
        self._devices = [sum(amount for _, amount in kind.cls.accelerators) for kind in problem.kinds]
        have = np.maximum(self._free.sum(axis=1, dtype=np.float64), 1.0)
        self._sizes: Array = self._requests / have
        """By kind and row which part of all there is a pod takes."""
        self.packed: Packed = []
        self.kept: Packed = []
        """What was packed at the best placement."""
        self._saved: list[tuple[Packed, Slots, Counts]] = []

    def put(self, ask: int, region: Region) -> bool | None:
        """Packs the pods of a scope; None: perhaps they fit, but nobody found out."""
        loads = [Load(ask, kind, count, region) for kind, count in self._problem.asks[ask].own.items()]
        slots = region.slots
        found = self._beside(loads, slots)
        if found is not None:
            self._note([*self.packed, *found], slots, found)
            return True
        return self._anew(loads)

    def undo(self) -> None:
        """Takes back what was packed last."""
        self.packed, slots, free = self._saved.pop()
        self._free[:, slots] = free

    def keep(self) -> None:
        self.kept = self.packed

    def _note(self, packed: Packed, slots: Slots, new: Packed) -> None:
        self._saved.append((self.packed, slots, self._free[:, slots].copy()))
        self.packed = packed
        self._charge(new, -1)

    def _charge(self, packed: Packed, sign: int) -> None:
        for load, shares in packed:
            request = self._requests[load.kind]
            for slot, many in shares:
                self._free[:, slot] += sign * many * request

    def _room(self, kind: int, slots: Slots | slice) -> Counts:
        """How many pods of a kind go to each slot beside what is packed."""
        found: Counts | None = None
        for row in self._asked[kind].tolist():
            times = self._free[row, slots] // self._requests[kind, row]
            found = times if found is None else np.minimum(found, times)
        assert found is not None
        return np.where(self._allowed[kind][slots], found, 0)

    def _beside(self, loads: Sequence[Load], slots: Slots) -> Packed | None:
        """As it reads best: devices first, near each other, few nodes."""
        order = sorted(loads, key=lambda load: (-self._devices[load.kind], -self._sizes[load.kind].max(), load.kind))
        before = self._free[:, slots].copy() if len(loads) > 1 else None
        found: Packed = []
        for load in order:
            shares = self._shares(load, slots)
            if shares is None:
                break
            found.append((load, shares))
            if before is not None:
                self._charge(found[-1:], -1)
        if before is not None:
            self._free[:, slots] = before
        return found if len(found) == len(loads) else None

    def _shares(self, load: Load, slots: Slots) -> Shares | None:
        region, dislike = load.region, self._problem.kinds[load.kind].dislike
        room = self._room(load.kind, slots)
        if int(room.sum()) < load.many:
            return None
        everywhere = np.zeros(self._free.shape[1], np.int64)
        everywhere[slots] = room
        if len(slots) <= _NEAR or dislike is not None:
            return nodes(Ground(region.tree, everywhere, (), dislike), slots, load.many)
        return fill(Ground(region.tree, everywhere), -1, region.start, region.end, load.many)

    # All anew

    def _anew(self, loads: list[Load]) -> bool | None:
        """Packs pods together with all that could be in their way."""
        involved, others, slots = self._involved(loads)
        self._charge(involved, 1)
        free = self._free[:, slots].copy()
        self._charge(involved, -1)
        together = [*(load for load, _ in involved), *loads]
        counts, proven = self._together(together, slots, free)
        if counts is None:
            return False if proven else None
        new = [
            (load, [(slot, many) for slot, many in zip(slots.tolist(), taken, strict=True) if many])
            for load, taken in zip(together, counts, strict=True)
        ]
        self._saved.append((self.packed, slots, self._free[:, slots].copy()))
        self._charge(involved, 1)
        self._charge(new, -1)
        self.packed = [*others, *new]
        return True

    def _involved(self, loads: Sequence[Load]) -> tuple[Packed, Packed, Slots]:
        inside = loads[0].region.inside
        involved: Packed = []
        others = self.packed
        while True:
            near = [(load, shares) for load, shares in others if inside[load.region.slots].any()]
            if not near:
                return involved, others, np.flatnonzero(inside)
            kept = {id(load) for load, _ in near}
            others = [(load, shares) for load, shares in others if id(load) not in kept]
            involved = [*involved, *near]
            inside = inside.copy()
            for load, _ in near:
                inside[load.region.slots] = True

    def _together(self, loads: Sequence[Load], slots: Slots, free: Counts) -> tuple[list[list[int]] | None, bool]:
        """By load and slot how many; None: there is none, and whether that is certain."""
        good: list[Mask] = [self._allowed[load.kind][slots] & load.region.inside[slots] for load in loads]
        useful = np.flatnonzero(np.logical_or.reduce(good))
        for order, tight in self._orders(loads, good):
            if not self._budget.spend(1 + len(loads) // 4):
                return None, False
            taken = self._by_thumb(loads, good, free.copy(), order, tight)
            if taken is not None:
                return taken, True
        if len(useful) > _EXACT_NODES:
            return None, False
        return self._exactly(loads, good, free, useful)

    def _orders(self, loads: Sequence[Load], good: Sequence[Mask]) -> Iterator[tuple[list[int], bool]]:
        """Orders to pack in, and whether nodes are taken tightest first, instead of those that take most."""
        sizes = [self._sizes[load.kind] for load in loads]
        wide = [int(found.sum()) for found in good]
        places = range(len(loads))
        dominant = sorted(places, key=lambda at: (-sizes[at].max(), at))
        total = sorted(places, key=lambda at: (-sizes[at].sum(), at))
        narrow = sorted(places, key=lambda at: (wide[at], -sizes[at].max(), at))
        for order in (narrow, dominant, total):
            yield order, True
            yield order, False
        dice = random.Random(len(loads))  # noqa: S311 - the same every time
        for _ in range(2):
            mixed = [*places]
            dice.shuffle(mixed)
            yield mixed, True

    def _by_thumb(
        self, loads: Sequence[Load], good: Sequence[Mask], free: Counts, order: Sequence[int], tight: bool
    ) -> list[list[int]] | None:
        found: list[list[int]] = [[] for _ in loads]
        scale = 1.0 / np.maximum(free.max(axis=1, initial=1), 1)
        for at in order:
            load = loads[at]
            room = np.full(free.shape[1], load.many, np.int64)
            for row in self._asked[load.kind].tolist():
                np.minimum(room, free[row] // self._requests[load.kind, row], out=room)
            room[~good[at]] = 0
            key = scale @ free if tight else -room
            sequence = np.argsort(key, kind="stable")
            running = np.cumsum(room[sequence])
            if not len(running) or running[-1] < load.many:
                return None
            taken = np.zeros_like(room)
            taken[sequence] = np.clip(load.many - (running - room[sequence]), 0, room[sequence])
            free -= self._requests[load.kind][:, None] * taken
            found[at] = taken.tolist()
        return found

    def _exactly(
        self, loads: Sequence[Load], good: Sequence[Mask], free: Counts, useful: Slots
    ) -> tuple[list[list[int]] | None, bool]:
        merged: dict[tuple[int, bytes], list[int]] = {}
        for at, load in enumerate(loads):
            merged.setdefault((load.kind, good[at].tobytes()), []).append(at)
        number = {slot: at for at, slot in enumerate(useful.tolist())}
        items = [
            Item(
                sum(loads[at].many for at in members),
                tuple(self._requests[kind].tolist()),
                frozenset(number[slot] for slot in np.flatnonzero(good[members[0]]).tolist()),
            )
            for (kind, _), members in merged.items()
        ]
        answer = pack(as_tuples(free[:, useful]), items, self._budget, self._exact_steps)
        if answer.counts is None:
            return None, answer.proven
        found: list[list[int]] = [[0] * free.shape[1] for _ in loads]
        for members, counts in zip(merged.values(), answer.counts, strict=True):
            waiting = [[at, loads[at].many] for at in members]
            for place, many in enumerate(counts):
                while many:
                    at, left = waiting[-1]
                    taken = min(left, many)
                    found[at][int(useful[place])] += taken
                    many -= taken
                    waiting[-1][1] -= taken
                    if not waiting[-1][1]:
                        waiting.pop()
        return found, True

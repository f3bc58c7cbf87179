"""Puts pods whose places depend on each other on nodes one by one, in the cluster itself, to be taken back. Pure.

Affinity, spread, ports and volumes: what a node takes is asked anew after every pod. The class with the fewest nodes
left goes first; dead ends are taken back within a number of steps. A refusal is a proof only where all was tried.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Pending
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.region import Region
from grove.scheduler.predicates.rule import Counts, Mask, Slots

_STEPS: Final = 40
"""Pods put in vain in the first attempt for one scope in one region."""
_AT_ONCE: Final = 16
"""Classes among which the next is chosen."""
_COST: Final = 10
"""Steps that a pod costs."""


class _Taste(NamedTuple):
    """Which nodes are tried first."""

    spread: bool = False
    """Emptier ones, else fuller ones."""
    noise: float = 0.0
    by_nodes: bool = False
    """Whether the class with the fewest nodes goes first, instead of the one with the fewest places."""


_BRIEF: Final = 2
_TASTES: Final = (
    _Taste(),
    _Taste(spread=True),
    _Taste(by_nodes=True),
    *(_Taste(noise=noise, by_nodes=number % 2 == 1) for number, noise in enumerate((1.0, 1.0, 0.05, 3.0, 0.5) * 8)),
)


class Trial:
    """See the top of the module."""

    turns = 3
    """After so many it becomes no more patient."""

    def __init__(self, problem: Problem, budget: Budget, turn: int) -> None:
        self._tastes = _TASTES[: _BRIEF << 2 * turn]
        self._problem = problem
        self._budget = budget
        self.put_so_far: list[list[tuple[Pending, int]]] = []
        self.kept: list[tuple[Pending, int]] = []
        """What was put at the best placement."""
        self._marks: list[int] = []

    def put(self, ask: int, region: Region) -> bool | None:
        """Puts the pods of a scope; None: perhaps they fit."""
        cluster = self._problem.cluster
        mark = cluster.mark()
        pods = _by_class(self._problem.asks[ask].pods)
        slots = region.slots
        if self._problem.gang.within is not None:
            slots = slots[self._problem.gang.within[slots]]
        dice = random.Random(len(slots))  # noqa: S311 - the same every time
        for number, taste in enumerate(self._tastes):
            steps = _STEPS + number * _STEPS // 4
            attempt = _Attempt(self._problem, self._budget, slots, pods, taste, dice, steps)
            found = attempt.run()
            if found is not None:
                self.put_so_far.append(found)
                self._marks.append(mark)
                return True
            if attempt.exhausted:
                break
        cluster.rollback(mark)
        return False if attempt.exhausted and self._is_alone(pods) else None

    def _is_alone(self, pods: list[list[Pending]]) -> bool:
        """Whether nothing put before could be put otherwise, and no order of the pods is better than another."""
        return not self.put_so_far and all(self._problem.cluster.only_shrinks(one[0].cls) for one in pods)

    def undo(self) -> None:
        self.put_so_far.pop()
        self._problem.cluster.rollback(self._marks.pop())

    def keep(self) -> None:
        self.kept = [one for many in self.put_so_far for one in many]


def _by_class(pods: Sequence[Pending]) -> list[list[Pending]]:
    found: dict[int, list[Pending]] = {}
    for pod in pods:
        found.setdefault(pod.cls.number, []).append(pod)
    return [*found.values()]


class _Level(NamedTuple):
    """A decision: the next pod of a class goes to one of these slots, given by their place among all."""

    which: int
    places: list[int]
    tried: list[int]
    mark: int


class _Attempt:
    """A search in depth over pods, each class's in their order."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        slots: Slots,
        pods: list[list[Pending]],
        taste: _Taste,
        dice: random.Random,
        steps: int,
    ) -> None:
        self._problem = problem
        self._cluster: Cluster = problem.cluster
        self._budget = budget
        self._slots = slots
        self._pods = pods
        self._taste = taste
        self._dice = dice
        self._steps = steps
        self._banned: list[Mask] = [np.zeros(len(slots), np.bool_) for _ in pods]
        self.exhausted = False
        """Whether everything was tried."""
        self._next = [0] * len(pods)
        self._shrinks = [self._cluster.only_shrinks(one[0].cls) for one in pods]
        self._rows = sorted({row for one in pods for row, _ in one[0].cls.requests})
        self._requests = np.array([[dict(one[0].cls.requests).get(row, 0) for row in self._rows] for one in pods])
        self._scale = 1.0 / np.maximum(self._cluster.allocatable[self._rows][:, slots].max(axis=1, initial=1), 1)

    def run(self) -> list[tuple[Pending, int]] | None:
        """Pods and slots, put; None: nothing is put."""
        cluster = self._cluster
        chosen: list[tuple[Pending, int]] = []
        stack: list[_Level] = []
        wanted = sum(len(pods) for pods in self._pods)
        vain = 0
        while True:
            if len(chosen) == wanted:
                for level in reversed(stack):
                    cluster.commit(level.mark)
                return chosen
            decided = self._decide()
            if decided is not None:
                stack.append(_Level(*decided, [], cluster.mark()))
            # Forward with the next slot of the last decision, back where it has none left.
            while stack:
                level = stack[-1]
                if len(chosen) == len(stack):
                    self._take_back(level, chosen)
                    vain += 1
                if vain <= self._steps and level.places and self._budget.spend(_COST):
                    break
                self._banned[level.which][level.tried] = False
                cluster.rollback(level.mark)
                stack.pop()
            else:
                self.exhausted = vain <= self._steps and not self._budget.is_spent
                return None
            place = level.places.pop()
            level.tried.append(place)
            slot = int(self._slots[place])
            pod = self._pods[level.which][self._next[level.which]]
            cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, slot, gang=self._problem.gang.key))
            self._next[level.which] += 1
            chosen.append((pod, slot))

    def _take_back(self, level: _Level, chosen: list[tuple[Pending, int]]) -> None:
        pod, _ = chosen.pop()
        self._next[level.which] -= 1
        self._cluster.take(pod.uid)
        if all(self._shrinks):
            # With a pod of this class there nothing was found, whatever the others did: no other pod of it goes there.
            self._banned[level.which][level.tried[-1]] = True

    def _decide(self) -> tuple[int, list[int]] | None:
        """The class with the fewest places, and its slots, the best last; None: this leads nowhere."""
        waiting = [which for which, pods in enumerate(self._pods) if self._next[which] < len(pods)]
        rooms = {
            which: np.where(self._banned[which], 0, self._cluster.capacity(self._pods[which][0].cls)[self._slots])
            for which in waiting[:_AT_ONCE]
        }
        left = {which: len(self._pods[which]) - self._next[which] for which in rooms}
        places = {
            which: self._cluster.places(self._pods[which][0].cls, self._slots, room) for which, room in rooms.items()
        }
        if any(self._shrinks[which] and count < left[which] for which, count in places.items()):
            return None
        free = self._cluster.free[self._rows][:, self._slots]
        if len(rooms) == len(waiting) and all(self._shrinks) and self._is_wasted(rooms, left, free):
            return None
        by_nodes = self._taste.by_nodes
        candidates = [
            (int(np.count_nonzero(rooms[which])) - left[which] if by_nodes else count - left[which], which)
            for which, count in places.items()
            if count
        ]
        if not candidates:
            return None
        which = min(candidates)[1]
        at = np.flatnonzero(rooms[which])
        looseness = self._scale @ free[:, at]
        if self._taste.noise:
            looseness += [self._taste.noise * self._dice.random() for _ in range(len(at))]
        keys = [-at, looseness if self._taste.spread else -looseness]
        dislike = self._problem.kinds[self._problem.kind_of[self._pods[which][0].cls]].dislike
        if dislike is not None:
            keys.append(-dislike[self._slots[at]])
        return which, at[np.lexsort(keys)].tolist()

    def _is_wasted(self, rooms: dict[int, Counts], left: dict[int, int], free: Counts) -> bool:
        """Whether the nodes on which anything can still go have too little of a resource for all."""
        useful = np.logical_or.reduce([room > 0 for room in rooms.values()])
        need = sum(self._requests[which] * count for which, count in left.items())
        return bool((np.where(useful, np.maximum(free, 0), 0).sum(axis=1) < need).any())

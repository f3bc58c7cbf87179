"""Puts pods whose places depend on each other on nodes one by one, in the cluster itself, to be taken back. Pure.

Affinity, spread, ports and volumes: what a node takes is asked anew after every pod. The class with the fewest nodes
left goes first; dead ends are taken back within a number of steps. A refusal proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Pending
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.region import Region
from grove.scheduler.predicates.rule import Slots

_STEPS: Final = 400
"""Pods put in vain for one scope in one region."""


class Trial:
    """See the top of the module."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
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
        for spread in (False, True):
            found = _Attempt(self._problem, self._budget, slots, pods, spread).run()
            if found is not None:
                self.put_so_far.append(found)
                self._marks.append(mark)
                return True
        cluster.rollback(mark)
        return None

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
    """A decision: the next pod of a class goes to one of these slots."""

    which: int
    slots: list[int]
    mark: int


class _Attempt:
    """A search in depth over pods, each class's in their order."""

    def __init__(self, problem: Problem, budget: Budget, slots: Slots, pods: list[list[Pending]], spread: bool) -> None:
        self._problem = problem
        self._cluster: Cluster = problem.cluster
        self._budget = budget
        self._slots = slots
        self._pods = pods
        self._spread = spread
        self._next = [0] * len(pods)
        self._shrinks = [self._cluster.only_shrinks(one[0].cls) for one in pods]

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
                stack.append(_Level(*decided, cluster.mark()))
            # Forward with the next slot of the last decision, back where it has none left.
            while True:
                if not stack:
                    return None
                level = stack[-1]
                if len(chosen) == len(stack):
                    pod, _ = chosen.pop()
                    self._next[level.which] -= 1
                    cluster.take(pod.uid)
                    vain += 1
                    if vain > _STEPS:
                        cluster.rollback(level.mark)
                        stack.pop()
                        while stack:
                            cluster.rollback(stack.pop().mark)
                        return None
                if level.slots and self._budget.spend():
                    break
                cluster.rollback(level.mark)
                stack.pop()
            slot = level.slots.pop()
            pod = self._pods[level.which][self._next[level.which]]
            cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, slot, gang=self._problem.gang.key))
            self._next[level.which] += 1
            chosen.append((pod, slot))

    def _decide(self) -> tuple[int, list[int]] | None:
        """The class with the fewest places, and its slots, the best last; None: some class has too few."""
        best: tuple[int, int] | None = None
        best_room = np.zeros(0, np.int64)
        for which, pods in enumerate(self._pods):
            left = len(pods) - self._next[which]
            if not left:
                continue
            room = self._cluster.capacity(pods[0].cls)[self._slots]
            total = int(room.sum())
            if total < left and self._shrinks[which]:
                return None
            open_slots = int(np.count_nonzero(room))
            if open_slots and (best is None or (open_slots - left, which) < best):
                best = (open_slots - left, which)
                best_room = room
        if best is None:
            return None
        which = best[1]
        at = np.flatnonzero(best_room)
        dislike = self._problem.kinds[self._problem.kind_of[self._pods[which][0].cls]].dislike
        keys = [-at, best_room[at] if self._spread else -best_room[at]]
        if dislike is not None:
            keys.append(-dislike[self._slots[at]])
        return which, self._slots[at][np.lexsort(keys)].tolist()

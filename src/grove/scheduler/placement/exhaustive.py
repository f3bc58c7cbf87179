"""Tries every placement of few pods whose places depend on each other, in every order. Pure.

What pods allow each other depends on who is where, not on who came first, so each state is looked at once. When all
were looked at, that no placement was found, or no better one, is proven.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.cluster import Placed
from grove.scheduler.gangs import Pending
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.problem import Ask, Problem
from grove.scheduler.predicates.rule import Counts, Mask

MOST_PODS: Final = 12
MOST_NODES: Final = 12
_STEPS: Final = 4_000
_COST: Final = 10


class Exhaustive:
    """One run of it. `kept` is the best placement, `quality` its score's numerator, -1: there is none."""

    def __init__(self, problem: Problem, budget: Budget, bound: int) -> None:
        self._problem = problem
        self._budget = budget
        self._bound = bound
        self._cluster = problem.cluster
        self._items = [*_items(problem)]
        self._next = [0] * len(self._items)
        self._chosen: list[tuple[int, Pending, int]] = []
        self._seen: set[tuple[tuple[int, int], ...]] = set()
        self._steps = 0
        self.kept: list[tuple[Pending, int]] = []
        self.quality = -1
        self.complete = True

    def run(self) -> None:
        self._deepen()

    def _deepen(self) -> bool:
        """Whether to stop altogether."""
        if len(self._chosen) == sum(len(pods) for _, pods in self._items):
            return self._found()
        for which, (ask, pods) in enumerate(self._items):
            at = self._next[which]
            if at == len(pods):
                continue
            pod = pods[at]
            room = np.where(self._open(ask), self._cluster.capacity(pod.cls), 0)
            for slot in np.flatnonzero(room).tolist():
                state = tuple(sorted([*((item, place) for item, _, place in self._chosen), (which, slot)]))
                if state in self._seen:
                    continue
                self._seen.add(state)
                self._steps += 1
                if self._steps > _STEPS or not self._budget.spend(_COST):
                    self.complete = False
                    return True
                self._cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, slot, gang=self._problem.gang.key))
                self._chosen.append((which, pod, slot))
                self._next[which] += 1
                stop = self._deepen()
                self._next[which] -= 1
                self._chosen.pop()
                self._cluster.take(pod.uid)
                if stop:
                    return True
        return False

    def _found(self) -> bool:
        slots_of: list[list[int]] = [[] for _ in self._problem.asks]
        for which, _, slot in self._chosen:
            slots_of[self._items[which][0].number].append(slot)
        quality = self._problem.quality(slots_of)
        if quality > self.quality:
            self.quality = quality
            self.kept = [(pod, slot) for _, pod, slot in self._chosen]
        return quality >= self._bound

    def _open(self, ask: Ask) -> Mask:
        """The slots that the levels required by a scope, and by those around it, leave to its next pod."""
        problem = self._problem
        found: Mask = np.ones(self._cluster.size, np.bool_)
        if problem.gang.within is not None:
            found &= problem.gang.within
        at = ask.number
        while at >= 0:
            one = problem.asks[at]
            if one.required >= 0:
                domain_of: Counts = one.tree.levels[one.required].domain_of
                there = [slot for which, _, slot in self._chosen if self._belongs(which, at)]
                used = {int(domain_of[slot]) for slot in [*there, *one.pins.tolist()]} - {-1}
                if used:
                    found &= np.isin(domain_of, [*used])
                elif not len(one.pins):
                    found &= domain_of >= 0
            at = one.parent
        return found

    def _belongs(self, which: int, number: int) -> bool:
        at = self._items[which][0].number
        while at >= 0:
            if at == number:
                return True
            at = self._problem.asks[at].parent
        return False


def is_small(problem: Problem) -> bool:
    """Whether it is worth while."""
    pods = sum(len(ask.pods) for ask in problem.asks)
    useful = np.logical_or.reduce([kind.capacity > 0 for kind in problem.kinds])
    return pods <= MOST_PODS and int(useful.sum()) <= MOST_NODES


def _items(problem: Problem) -> list[tuple[Ask, list[Pending]]]:
    found: dict[tuple[int, int], tuple[Ask, list[Pending]]] = {}
    for ask in problem.asks:
        for pod in ask.pods:
            found.setdefault((ask.number, pod.cls.number), (ask, []))[1].append(pod)
    return [*found.values()]

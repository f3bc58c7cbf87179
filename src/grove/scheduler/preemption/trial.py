"""Tries a gang on the cluster as it would be with some gone: by the true placement, and by every rule. Pure.

It leaves the cluster as it found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.units import Unit
from grove.scheduler.verdicts import Answer, Found

Place: TypeAlias = Callable[[Cluster, Gang, Budget], Answer]

STEPS: Final = 5_000
"""What one try may cost; a placement that needs longer is taken for none, without proof."""


class Trial:
    """The tries of one search, each made once."""

    def __init__(self, cluster: Cluster, gang: Gang, place: Place, budget: Budget) -> None:
        self._cluster = cluster
        self._gang = gang
        self._place = place
        self._budget = budget
        self._known: dict[frozenset[int], Answer] = {}
        self.tries = 0

    def answer(self, units: Iterable[Unit]) -> Answer:
        """Where the gang goes with these gone."""
        gone = [*units]
        key = frozenset(unit.index for unit in gone)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._try(gone)
        return known

    def found(self, units: Iterable[Unit]) -> Found | None:
        found = self.answer(units)
        return found if isinstance(found, Found) else None

    def _try(self, units: Sequence[Unit]) -> Answer:
        self.tries += 1
        budget = Budget(max(0, min(STEPS, self._budget.left)))
        mark = self._cluster.mark()
        try:
            remove(self._cluster, units)
            found = self._place(self._cluster, self._gang, budget)
        finally:
            self._cluster.rollback(mark)
        self._budget.spend(max(1, budget.spent) + sum(len(unit.pods) for unit in units) // 4)
        return found


def remove(cluster: Cluster, units: Iterable[Unit]) -> None:
    """Takes their pods away, as far as they are there."""
    for uid in dict.fromkeys(member.pod.uid for unit in units for member in unit.pods):
        if uid in cluster.pods:
            cluster.take(uid)


def holds_good(cluster: Cluster, gang: Gang, found: Found) -> bool:
    """Whether a placement is complete and keeps every rule: pod by pod, by nothing that made it."""
    puts = {put.pod.uid: put.slot for put in found.puts}
    mark = cluster.mark()
    try:
        for put in found.puts:
            pod = put.pod
            if not cluster.capacity(pod.cls)[put.slot]:
                return False
            if gang.within is not None and not gang.within[put.slot]:
                return False
            cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, put.slot, gang=gang.key))
    finally:
        cluster.rollback(mark)
    if any(sum(pod.uid in puts for pod in group.waiting) < group.missing for group in gang.groups()):
        return False
    return _packed(cluster, gang.root, puts)


def _packed(cluster: Cluster, scope: Scope, puts: dict[str, int]) -> bool:
    key = scope.pack.required
    if key is not None and key in scope.keys:
        # Where a pod broke the rule before, it stays broken: only new ones must not break it further.
        old = {pod.slot for group in scope.all_groups() for pod in group.placed}
        new = {puts[pod.uid] for group in scope.all_groups() for pod in group.waiting if pod.uid in puts}
        domain_of = cluster.tree(scope.keys).levels[scope.keys.index(key)].domain_of
        domains = {int(domain_of[slot]) for slot in new}
        there = {int(domain_of[slot]) for slot in old}
        if -1 in domains or (len(domains) > 1 and not there) or (there and not domains <= there):
            return False
    return all(_packed(cluster, part, puts) for part in scope.scopes)

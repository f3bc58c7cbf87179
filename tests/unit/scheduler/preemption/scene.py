"""Clusters with gangs that run, and a placement that is slow and certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grove.kube.objects import PodSpec
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Pending, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.plan import plan
from grove.scheduler.preemption.running import Crew, Member, Outcome, Plan, Running
from grove.scheduler.verdicts import Answer, Found, NotFound, Put
from tests.unit.scheduler.fleets import pod

NOW = 100_000.0
STEPS = 10_000_000


class Scene:
    """A cluster and what runs on it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.running: dict[str, Running] = {}

    def run(
        self,
        name: str,
        *crews: tuple[int, PodSpec, Sequence[int]],
        priority: int = 0,
        started: float = NOW - 600,
        grace: float = 30.0,
        labels: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Running:
        """A gang on its nodes; of each crew the minimum, what its pods are, and their slots."""
        key = f"default/{name}"
        made = []
        for number, (minimum, spec, slots) in enumerate(crews):
            members = []
            for index, slot in enumerate(slots):
                view = pod(f"{name}-{number}-{index}", spec, labels=labels)
                cls = self.cluster.classes.of(view)
                placed = Placed(view.metadata.uid or "", "default", view.metadata.name, cls, slot, gang=key)
                self.cluster.put(placed)
                members.append(Member(placed, started, grace))
            made.append(Crew(f"{name}-{number}", minimum, tuple(members)))
        base = more.pop("base", "")
        gang = Running(key, priority, tuple(made), started, base and f"default/{base}", **more)
        self.running[key] = gang
        return gang

    def plan(self, gang: Gang, **more: Any) -> Outcome:
        more.setdefault("place", certain)
        more.setdefault("now", NOW)
        return plan(self.cluster, gang, self.running, budget=Budget(STEPS), **more)

    def victims(self, gang: Gang, **more: Any) -> list[str]:
        """The names of the pods that go."""
        found = self.plan(gang, **more)
        assert isinstance(found, Plan), found
        return [victim.name for victim in found.victims]


def certain(cluster: Cluster, gang: Gang, budget: Budget) -> Answer:
    """Finds a place if there is one, by trying everything."""
    puts: list[Put] = []
    mark = cluster.mark()
    try:
        if _scope(cluster, gang, [gang.root], {}, puts):
            return Found(tuple(puts))
    finally:
        cluster.rollback(mark)
    return NotFound(True, gang.root.name, gang.root.pack.required or "")


def _scope(cluster: Cluster, gang: Gang, scopes: list[Scope], kept: dict[str, frozenset[int]], puts: list[Put]) -> bool:
    """Places scope after scope; `kept` are the slots that the groups must keep to."""
    if not scopes:
        pods = [
            (waiting, kept.get(group.name)) for group in gang.groups() for waiting in group.waiting[: group.missing]
        ]
        return _pods(cluster, gang, pods, 0, {}, puts)
    scope, rest = scopes[0], [*scopes[0].scopes, *scopes[1:]]
    key = scope.pack.required
    if key is None:
        return _scope(cluster, gang, rest, kept, puts)
    level = cluster.tree(scope.keys).levels[scope.keys.index(key)]
    pinned = {int(level.domain_of[pod.slot]) for group in scope.all_groups() for pod in group.placed}
    for domain in range(len(level)):
        if pinned and pinned != {domain}:
            continue
        slots = frozenset(slot for slot in range(cluster.size) if level.domain_of[slot] == domain)
        inside = {group.name: kept.get(group.name, slots) & slots for group in scope.all_groups()}
        if _scope(cluster, gang, rest, {**kept, **inside}, puts):
            return True
    return False


def _pods(
    cluster: Cluster,
    gang: Gang,
    pods: list[tuple[Pending, frozenset[int] | None]],
    at: int,
    last: dict[tuple[PodClass, frozenset[int] | None], int],
    puts: list[Put],
) -> bool:
    if at == len(pods):
        return True
    waiting, kept = pods[at]
    for slot in range(last.get((waiting.cls, kept), 0), cluster.size):
        if kept is not None and slot not in kept:
            continue
        if gang.within is not None and not gang.within[slot]:
            continue
        if not cluster.capacity(waiting.cls)[slot]:
            continue
        mark = cluster.mark()
        cluster.put(Placed(waiting.uid, waiting.namespace, waiting.name, waiting.cls, slot))
        puts.append(Put(waiting, slot))
        found = _pods(cluster, gang, pods, at + 1, {**last, (waiting.cls, kept): slot}, puts)
        cluster.rollback(mark)
        if found:
            return True
        puts.pop()
    return False

"""All plans of preemption there are, by the rules as people know them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.running import Guards, Plan, Policy, Running
from grove.scheduler.verdicts import Found
from tests.unit.scheduler.preemption.scene import NOW, Scene, certain


class Case(NamedTuple):
    scene: Scene
    wanted: Gang
    guards: Guards
    policy: Policy


class Way(NamedTuple):
    key: tuple[int, ...]
    pods: frozenset[str]


def ways(case: Case) -> Iterator[Way]:
    """All sets of pods that may go, by the rules as people know them."""
    running = [*case.scene.running.values()]
    dependents = {one.key: [other for other in running if other.base == one.key] for one in running}
    for stops in itertools.product([False, True], repeat=len(running)):
        going = {one.key for one, stop in zip(running, stops, strict=True) if stop}
        if any(not one.preemptible for one in running if one.key in going):
            continue
        if any(other.key not in going for key in going for other in dependents[key]):
            continue
        crews = [
            (one, crew)
            for one in running
            if one.key not in going and one.preemptible
            for crew in one.crews
            if crew.surplus
        ]
        choices = [
            [few for count in range(crew.surplus + 1) for few in itertools.combinations(crew.members, count)]
            for _, crew in crews
        ]
        for few in itertools.product(*choices):
            yield _way(case, going, [(one, members) for (one, _), members in zip(crews, few, strict=True)])


def _way(case: Case, going: set[str], few: list) -> Way:  # type: ignore[type-arg]
    running = case.scene.running
    priority, gangs, scaled, work, surplus, youth, grace = -(2**63), 0, 0, 0, 0, 0, 0
    pods: list[str] = []

    def lost(one: Running) -> int:
        seconds = one.restart_cost if one.restart_cost is not None else min(3600, max(60, int(NOW - one.started)))
        return int(seconds)

    def gpus(member: object) -> int:
        cluster = case.scene.cluster
        return sum(n for row, n in member.pod.requests if "/" in cluster.resources.names[row])  # type: ignore[attr-defined]

    for key in going:
        one = running[key]
        priority = max(priority, one.priority)
        alone = one.pods == 1 and not one.base
        gangs += not one.base and not alone
        scaled += bool(one.base)
        surplus += alone
        youth += int(NOW - one.started)
        for crew in one.crews:
            for member in crew.members:
                pods.append(member.pod.uid)
                work += 1000 * lost(one) * gpus(member)
                grace = max(grace, int(member.grace))
    for one, members in few:
        for member in members:
            priority = max(priority, one.priority)
            surplus += 1
            youth += int(NOW - member.started)
            pods.append(member.pod.uid)
            work += 1000 * lost(one) * gpus(member)
            grace = max(grace, int(member.grace))
    counts = Counter(name for uid in pods for name in case.guards.of.get(uid, ()))
    violations = sum(max(0, count - case.guards.allowed[name]) for name, count in counts.items())
    rest = (work, surplus, 0, youth, grace)
    if case.policy.order == "minGangs":
        key_: tuple[int, ...] = (len(going), priority, violations, *rest)
    else:
        key_ = (priority, violations, gangs, scaled, *rest)
    return Way(key_, frozenset(pods))


def fits(case: Case, pods: frozenset[str]) -> bool:
    cluster = case.scene.cluster
    mark = cluster.mark()
    for uid in sorted(pods):
        cluster.take(uid)
    found = certain(cluster, case.wanted, Budget(1))
    cluster.rollback(mark)
    return isinstance(found, Found)


def violations(case: Case, way: Way) -> int:
    return way.key[2 if case.policy.order == "minGangs" else 1]


def best(case: Case) -> Way | None:
    """The way that costs least, without breaking budgets if there is one."""
    every = sorted(ways(case), key=lambda way: (way.key, sorted(way.pods)))
    found = next((way for way in every if way.pods and not violations(case, way) and fits(case, way.pods)), None)
    if found is None and case.policy.break_budgets:
        found = next((way for way in every if way.pods and fits(case, way.pods)), None)
    return found


def assert_nobody_goes_in_vain(case: Case, plan: Plan) -> None:
    """The gang fits with all victims gone, and not if any of them stayed."""
    running = case.scene.running
    pods = frozenset(victim.uid for victim in plan.victims)
    assert fits(case, pods)
    stopped = set()
    for key in plan.gangs:
        tree = [one for one in running.values() if key in (one.key, one.base)]
        mine = {member.pod.uid for one in tree for crew in one.crews for member in crew.members}
        stopped |= mine
        if running[key].base not in plan.gangs:
            assert not fits(case, pods - mine)
    for uid in pods - stopped:
        assert not fits(case, pods - {uid})

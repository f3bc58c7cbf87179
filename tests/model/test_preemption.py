"""Plans of preemption against all plans there are, on small clusters."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from grove.scheduler.gangs import Gang, Pack, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.running import Guards, NoPlan, Plan, Policy, Running
from grove.scheduler.verdicts import Found
from tests.unit.scheduler.fleets import BLOCK, KEYS, RACK, fleet, gang, group, spec
from tests.unit.scheduler.preemption.scene import NOW, Scene, certain

GPUS = 4
PRIORITY = 10


class Case(NamedTuple):
    scene: Scene
    wanted: Gang
    guards: Guards
    policy: Policy


@st.composite
def cases(draw: st.DrawFn) -> Case:
    racks, nodes = draw(st.sampled_from([(1, 2), (1, 3), (2, 2), (2, 3), (3, 2)]))
    scene = Scene(fleet(racks, nodes, gpus=GPUS, blocks=2 if racks > 1 else 1))
    cluster = scene.cluster
    room = dict.fromkeys(range(cluster.size), GPUS)
    units = 0
    names: list[str] = []
    guarded: dict[str, tuple[str, ...]] = {}
    for number in range(draw(st.integers(1, 7))):
        crews = []
        total = surplus = 0
        for _ in range(draw(st.integers(1, 2))):
            size = draw(st.sampled_from([1, 1, 2, 4]))
            slots = []
            for _ in range(draw(st.integers(1, 3))):
                fits = [slot for slot, left in room.items() if left >= size]
                if fits:
                    slot = draw(st.sampled_from(fits))
                    room[slot] -= size
                    slots.append(slot)
            if slots:
                spare = draw(st.sampled_from([0, 0, 0, 1]))
                minimum = max(0, len(slots) - spare)
                crews.append((minimum, spec(gpus=size), slots))
                total += len(slots)
                surplus += len(slots) if len(slots) > minimum else 0
        if not crews or units + 1 + surplus > 12:
            continue
        units += 1 + surplus
        name = f"g{number}"
        base = draw(st.sampled_from(["", "", *names])) if names else ""
        made = scene.run(
            name,
            *crews,
            priority=draw(st.sampled_from([0, 1, 2])) if not base else 1,
            started=NOW - draw(st.sampled_from([10, 600, 5000])),
            grace=draw(st.sampled_from([0.0, 30.0])),
            base=base,
            preemptible=draw(st.sampled_from([True, True, True, False])),
            restart_cost=draw(st.sampled_from([None, 60.0, 600.0])),
        )
        if not base:
            names.append(name)
        for crew in made.crews:
            for member in crew.members:
                if draw(st.integers(0, 9)) == 0:
                    guarded[member.pod.uid] = (draw(st.sampled_from(["p", "q"])),)
    required = draw(st.sampled_from([None, RACK, RACK, BLOCK]))
    groups = [
        group(cluster, f"w{index}", draw(st.integers(1, 3)), spec(gpus=draw(st.sampled_from([1, 2, 3, 4]))))
        for index in range(draw(st.sampled_from([1, 1, 2])))
    ]
    if draw(st.booleans()) and required != RACK:
        inner = [Scope(one.name, Pack(RACK), KEYS, (), (one,)) for one in groups]
        wanted = gang(required=required, scopes=inner, name="wanted")
    else:
        wanted = gang(*groups, required=required, name="wanted")
    allowed = {"p": draw(st.integers(0, 1)), "q": 1}
    order = draw(st.sampled_from(["minDisruption", "minGangs"]))
    return Case(
        scene,
        wanted._replace(priority=PRIORITY),
        Guards(guarded, allowed) if guarded else Guards({}, {}),
        Policy(order=order, break_budgets=draw(st.booleans())),  # type: ignore[arg-type]
    )


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


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(cases())
def test_a_plan_costs_as_little_as_the_best_of_all(case: Case) -> None:
    scene = case.scene
    if fits(case, frozenset()):
        event("fits already")
        return
    before = scene.cluster.free.copy()
    plan = scene.plan(case.wanted, guards=case.guards, policy=case.policy)
    assert (scene.cluster.free == before).all()
    assert [*scene.cluster.recount()] == []
    wanted = best(case)
    if wanted is None:
        assert isinstance(plan, NoPlan)
        event(plan.reason)
        return
    assert isinstance(plan, Plan), (plan, wanted)
    pods = frozenset(victim.uid for victim in plan.victims)
    assert fits(case, pods)
    mine = next(way for way in ways(case) if way.pods == pods)
    event(f"proven: {plan.proven}")
    if plan.proven:
        assert mine.key == wanted.key
    event(f"best: {mine.key == wanted.key}")
    # Nobody goes in vain.
    for gang_key in plan.gangs:
        one = scene.running[gang_key]
        if one.base in plan.gangs:
            continue
        kept = {
            member.pod.uid
            for other in scene.running.values()
            if other.key == gang_key or other.base == gang_key
            for crew in other.crews
            for member in crew.members
        }
        assert not fits(case, pods - kept)
    stopped = {member.pod.uid for key in plan.gangs for crew in scene.running[key].crews for member in crew.members}
    for uid in pods - stopped:
        assert not fits(case, pods - {uid})

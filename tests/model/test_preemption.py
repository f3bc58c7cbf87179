"""Plans of preemption against all plans there are, on small clusters."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from grove.scheduler.gangs import Pack, Scope
from grove.scheduler.preemption.running import Guards, NoPlan, Plan, Policy
from tests.unit.scheduler.fleets import BLOCK, KEYS, RACK, fleet, gang, group, spec
from tests.unit.scheduler.preemption.brute import Case, assert_nobody_goes_in_vain, best, fits, ways
from tests.unit.scheduler.preemption.scene import NOW, Scene

GPUS = 4
PRIORITY = 10


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
    mine = next(way for way in ways(case) if way.pods == pods)
    event(f"proven: {plan.proven}")
    if plan.proven:
        assert mine.key == wanted.key
    event(f"best: {mine.key == wanted.key}")
    assert_nobody_goes_in_vain(case, plan)

"""Plans of preemption where pods are in each other's way for other reasons than what they use."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.cluster import Cluster
from grove.scheduler.placement.place import place
from grove.scheduler.predicates.all import rules
from grove.scheduler.preemption.running import Guards, Plan, Policy
from grove.scheduler.surroundings import Surroundings
from tests.unit.scheduler.fleets import BLOCK, HOST, RACK, gang, group, node, spec
from tests.unit.scheduler.preemption.brute import Case, assert_nobody_goes_in_vain, best, fits
from tests.unit.scheduler.preemption.scene import Scene, certain

PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}


def apart(key: str, app: str) -> dict[str, Any]:
    """Not in one domain with pods of an app."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def wants(gpus: int, *, port: bool, **more: Any) -> Any:
    container = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": gpus}}, **(PORT if port else {})}
    return spec(containers=[container], **more)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    cluster = Cluster()
    cluster.obey(rules(cluster, Surroundings(), SchedulerConfiguration()))
    cluster.classes.speak_of(["app"])
    for rack, at in itertools.product(range(2), range(2)):
        labels = {BLOCK: "b", RACK: f"r{rack}"}
        cluster.node(node(f"n{rack}-{at}", labels, gpus=4))
    scene = Scene(cluster)
    for number in range(draw(st.integers(1, 6))):
        slots = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2))
        one = wants(1, port=False)
        scene.run(
            f"g{number}",
            (len(slots) - draw(st.sampled_from([0, 0, 1])), one, slots),
            priority=draw(st.sampled_from([0, 1])),
            labels={"app": draw(st.sampled_from(["x", "y"]))},
        )
    if draw(st.booleans()):
        scene.run("porter", (1, wants(1, port=True), [draw(st.integers(0, 3))]))
    affinity = draw(st.sampled_from([{}, apart(HOST, "x"), apart(RACK, "x"), apart(BLOCK, "y")]))
    wanted = gang(
        group(
            cluster, "w", draw(st.integers(1, 3)), wants(draw(st.integers(1, 3)), port=draw(st.booleans()), **affinity)
        ),
        required=draw(st.sampled_from([None, RACK])),
        name="wanted",
    )
    return Case(scene, wanted._replace(priority=5), Guards({}, {}), Policy())


@pytest.mark.slow
@pytest.mark.parametrize("search", [certain, place], ids=["certain", "real"])
def test_a_plan_is_found_wherever_there_is_one_and_nobody_goes_in_vain(search: Any) -> None:
    @settings(max_examples=150, deadline=None)
    @given(cases())
    def holds(case: Case) -> None:
        if fits(case, frozenset()):
            return
        plan = case.scene.plan(case.wanted, policy=case.policy, place=search)
        assert [*case.scene.cluster.recount()] == []
        wanted = best(case)
        assert isinstance(plan, Plan) == (wanted is not None), (plan, wanted)
        event(f"plan {isinstance(plan, Plan)}")
        if isinstance(plan, Plan):
            assert_nobody_goes_in_vain(case, plan)

    holds()

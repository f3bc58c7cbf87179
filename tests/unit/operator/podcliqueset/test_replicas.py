"""How replicas fare, by statuses and by pods."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from grove.api import labels
from grove.kube.objects import Condition, PodStatus, PodView, SchedulingGate
from grove.operator import pods
from grove.operator.podcliqueset import replicas, rollout
from grove.operator.podcliqueset.termination import Decision
from tests.unit.operator.podcliqueset.builders import Stage, clique, condition, group, pcs, pod


def demo(image: str = "main:v1", **rest: Any) -> Stage:
    cliques = [clique("a", 2, minAvailable=1, image=image), clique("b", 2)]
    return Stage(pcs(*cliques, groups=[group("g", ["b"], replicas=3, minAvailable=2)], **rest))


def standing(stage: Stage) -> rollout.Replica:
    return replicas.standing(stage.snapshot(), 0, Decision())


def test_a_whole_replica_is_available_updated_and_done() -> None:
    stage = demo().whole()
    assert replicas.is_available(stage.snapshot(), 0)
    assert replicas.is_updated(stage.snapshot(), 0)
    assert standing(stage).is_done


def test_a_replica_is_available_with_the_minimum_of_each_part() -> None:
    stage = demo().whole()
    stage.tell("demo-0-a", ready=1)
    stage.tell_groups(availableReplicas=2)
    assert replicas.is_available(stage.snapshot(), 0)
    stage.tell_groups(availableReplicas=1)
    assert not replicas.is_available(stage.snapshot(), 0)


def test_what_is_missing_or_goes_is_not_available() -> None:
    stage = demo().whole()
    stage.cliques["demo-0-a"]["metadata"]["deletionTimestamp"] = "2026-11-19T12:00:00Z"
    assert not replicas.is_available(stage.snapshot(), 0)
    assert not standing(stage).is_done
    del stage.cliques["demo-0-a"]
    assert not replicas.is_available(stage.snapshot(), 0)
    assert not standing(stage).is_done


def test_what_is_scaled_to_zero_needs_nothing() -> None:
    stage = demo().whole()
    stage.cliques["demo-0-a"]["spec"]["replicas"] = 0
    stage.fill("demo-0-a")
    assert replicas.is_available(stage.snapshot(), 0)
    assert standing(stage).is_done


def test_a_replica_is_not_done_while_a_pod_of_an_older_template_is_left() -> None:
    stage = demo().whole()
    held = stage.cliques["demo-0-a"]
    stage.pods["demo-0-a"].append(pod(held, 2, "older"))
    found = standing(stage)
    assert (found.is_new, found.is_available) == (False, True)
    assert found.waits_for == "waits for PodClique demo-0-a"


def test_an_old_pod_that_an_update_on_delete_has_kept_holds_nobody_up() -> None:
    stage = demo().whole()
    held = stage.cliques["demo-0-a"]
    kept = pod(held, 2, "older", creationTimestamp="2026-11-19T12:00:00Z")
    stage.pods["demo-0-a"].append(kept)
    progress = {
        "updateStartedAt": "2026-11-19T12:00:05Z",
        "updateEndedAt": "2026-11-19T12:00:05Z",
        "podCliqueSetGenerationHash": "h",
        "podTemplateHash": held["metadata"]["labels"][labels.POD_TEMPLATE_HASH],
    }
    stage.tell("demo-0-a", ready=2, updateProgress=progress)
    assert standing(stage).is_done


def test_an_old_pod_on_its_way_out_holds_nobody_up() -> None:
    stage = demo().whole()
    held = stage.cliques["demo-0-a"]
    stage.pods["demo-0-a"].append(pod(held, 2, "older", deletionTimestamp="2026-11-19T12:00:00Z"))
    assert standing(stage).is_done


def test_a_replica_without_pods_is_not_done() -> None:
    stage = demo().whole()
    stage.pods = {}
    found = standing(stage)
    assert (found.is_new, found.is_available, found.has_scheduled, found.has_started) == (True, False, False, True)


def test_a_replica_is_not_done_before_its_podcliques_have_the_template() -> None:
    stage = demo().whole()
    stage.pcs = demo("main:v2").pcs
    assert not standing(stage).is_new
    assert not replicas.is_updated(stage.snapshot(), 0)


def test_a_scaling_group_is_not_done_while_a_copy_is_missing() -> None:
    stage = demo().whole()
    del stage.members["demo-0-g-2-b"]
    found = standing(stage)
    assert (found.is_new, found.is_available) == (False, True)


def without_room(found: PodView) -> PodView:
    lacking = Condition(type="PodScheduled", status="False", reason="Unschedulable")
    return replace(found, node_name="", status=replace(found.status, conditions=(lacking,)))


def test_a_replica_is_not_done_while_a_pod_is_on_its_way_though_the_minimum_serves() -> None:
    stage = demo().whole()
    first, second = stage.pods["demo-0-a"]
    stage.pods["demo-0-a"] = [first]
    assert not standing(stage).is_done
    held = stage.cliques["demo-0-a"]
    stage.pods["demo-0-a"] = [first, pod(held, 1, pods.template_hash(first), ready=False)]
    assert not standing(stage).is_done
    stage.pods["demo-0-a"] = [first, second]
    assert standing(stage).is_done


def test_pods_for_which_there_is_no_room_hold_nobody_up() -> None:
    stage = demo().whole()
    first, second = stage.pods["demo-0-a"]
    stage.pods["demo-0-a"] = [first, without_room(second)]
    assert standing(stage).is_done
    stage.pods["demo-0-a"] = [without_room(first), without_room(second)]
    assert not standing(stage).is_done


@pytest.mark.parametrize(("gate", "done"), [("example.com/quota", True), (labels.SCHEDULING_GATE, False)])
def test_pods_that_somebody_else_holds_back_hold_nobody_up(gate: str, done: bool) -> None:
    stage = demo().whole()
    first, second = stage.pods["demo-0-a"]
    spec = replace(second.spec, scheduling_gates=(SchedulingGate(name=gate),))
    stage.pods["demo-0-a"] = [first, replace(second, spec=spec, node_name="", status=PodStatus(phase="Pending"))]
    assert standing(stage).is_done is done


def test_a_scaling_group_needs_its_minimum_of_copies() -> None:
    stage = demo().whole()
    for copy, done in ((2, True), (1, False)):
        name = f"demo-0-g-{copy}-b"
        stage.pods[name] = [without_room(one) for one in stage.pods[name]]
        assert standing(stage).is_done is done


def test_nothing_that_was_never_on_a_node_has_started() -> None:
    stage = demo()
    stage.settle()
    stage.tell_groups(conditions=[condition("MinAvailableBreached", "True", 0)])
    assert not standing(stage).has_started


def test_updated_is_what_the_pods_are_whatever_the_statuses_still_say() -> None:
    stage = demo().whole()
    stage.tell("demo-0-g-2-b", ready=0, currentPodTemplateHash="older")
    stage.tell("demo-0-a", ready=0, updatedReplicas=0)
    stage.tell_groups(availableReplicas=0)
    assert replicas.is_updated(stage.snapshot(), 0)
    for name in ("demo-0-g-2-b", "demo-0-a"):
        stage.pods[name].append(pod((stage.cliques | stage.members)[name], 2, "older"))
        assert not replicas.is_updated(stage.snapshot(), 0)
        stage.pods[name].pop()


def test_a_replica_is_not_updated_while_a_copy_has_no_pods_or_too_few_copies_serve() -> None:
    stage = demo().whole()
    stage.fill("demo-0-g-2-b", ready=False)
    assert replicas.is_updated(stage.snapshot(), 0), "two of three copies are enough"
    stage.fill("demo-0-g-1-b", ready=False)
    assert not replicas.is_updated(stage.snapshot(), 0)
    stage.fill()
    stage.pods["demo-0-g-2-b"] = []
    assert not replicas.is_updated(stage.snapshot(), 0)
    del stage.members["demo-0-g-2-b"]
    assert not replicas.is_updated(stage.snapshot(), 0)


@pytest.mark.parametrize(("count", "more"), [(5, ""), (7, " and 2 more")])
def test_not_everything_that_is_waited_for_is_named(count: int, more: str) -> None:
    stage = Stage(pcs(*(clique(f"c{number}") for number in range(count))))
    stage.settle()
    named = ", ".join(f"PodClique demo-0-c{number}" for number in range(5))
    assert standing(stage).waits_for == f"waits for {named}{more}"

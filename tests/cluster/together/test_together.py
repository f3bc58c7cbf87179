"""Stories of operator and scheduler: what users apply is placed in gangs, near each other, and kept so."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from grove.testing.waiting import eventually
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator.manifests import clique, group, workload
from tests.cluster.operator.workloads import GANGS, PATIENCE, SETS, Workloads, condition, label, name_of
from tests.cluster.scheduling.scheduler import Scheduler

JSON = dict[str, Any]
EXAMPLES = ("single-node-aggregated", "single-node-disaggregated", "multi-node-aggregated", "multi-node-disaggregated")
BLOCK, RACK = "topology.kubernetes.io/block", "topology.kubernetes.io/rack"
BINDING = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "default"},
    "spec": {
        "levels": [
            {"domain": "zone", "key": "topology.kubernetes.io/zone"},
            {"domain": "block", "key": BLOCK},
            {"domain": "rack", "key": RACK},
            {"domain": "host", "key": "kubernetes.io/hostname"},
        ]
    },
}
WHOLE = {"resources": {"requests": {"nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}}}


def gpus(name: str, replicas: int, *, least: int | None = None, image: str = "main:v1") -> JSON:
    """A clique whose pods take a whole node each."""
    made = clique(name, replicas, least=least, image=image)
    made["spec"]["podSpec"]["containers"][0] |= WHOLE
    return made


def racks(workloads: Workloads, pods: list[JSON]) -> dict[str, str]:
    """By node of these pods its rack."""
    nodes = workloads.cluster.request("GET", "/api/v1/nodes")[1]["items"]
    where = {name_of(one): "/".join(one["metadata"]["labels"].get(key, "") for key in (BLOCK, RACK)) for one in nodes}
    return {pod["spec"]["nodeName"]: where[pod["spec"]["nodeName"]] for pod in pods}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_tutorial_come_up(workloads: Workloads, example: str) -> None:
    pcs = name_of(workloads.example(example))
    workloads.settled(pcs)
    assert {pod["spec"]["schedulerName"] for pod in workloads.pods(pcs)} == {"grove-scheduler"}
    for gang in workloads.all(GANGS, pcs):
        workloads.when(GANGS, name_of(gang), lambda one: one["status"]["phase"] == "Running")
        found = workloads.get(GANGS, name_of(gang))
        assert found is not None
        assert condition(found, "Scheduled") == "True"
        assert found["status"]["placementScore"] == 1.0
    workloads.delete(pcs)


def test_gangs_are_packed_into_racks_and_scale_near_their_base(workloads: Workloads) -> None:
    workloads.kubectl.run("apply", "-f", "-", stdin=json.dumps(BINDING))
    packed = {"topologyConstraint": {"topologyName": "default", "pack": {"required": "block"}}}
    copies: JSON = {"topologyConstraint": {"topologyName": "default", "pack": {"required": "rack"}}}
    workloads.apply(
        workload(
            "packed",
            [gpus("leader", 1), gpus("worker", 3)],
            groups=[group("model", ["leader", "worker"], 2, **copies)],
            template=packed,
        )
    )
    workloads.settled("packed")
    workloads.scale("pcsg", "packed-0-model", 4)
    expected = {
        f"packed-0-model-{copy}-{role}": count for copy in range(4) for role, count in (("leader", 1), ("worker", 3))
    }
    pods = workloads.ready("packed", expected)
    for copy in range(4):
        mine = [pod for pod in pods if label(pod, "grove.io/podclique").startswith(f"packed-0-model-{copy}-")]
        assert len(set(racks(workloads, mine).values())) == 1
    assert len({rack.split("/")[0] for rack in racks(workloads, pods).values()}) == 1
    workloads.delete("packed")


def test_twenty_sets_that_compete_for_more_than_there_is_are_placed_whole_or_not_at_all(
    workloads: Workloads, fleet: Fleet
) -> None:
    names = [f"set-{index:02}" for index in range(20)]
    for name in names:
        workloads.apply(workload(name, [gpus("leader", 1), gpus("worker", 29)]))

    def placed() -> Counter[str]:
        return Counter(label(pod, "grove.io/podgang") for pod in workloads.pods() if pod["spec"].get("nodeName"))

    # 20 gangs of 30 nodes on 500: 16 fit.
    eventually(placed, lambda found: sorted(found.values()) == [30] * 16, timeout=PATIENCE, message="16 of 20")
    waiting = {f"{name}-0" for name in names} - set(placed())
    for gang in waiting:
        found = workloads.when(GANGS, gang, lambda one: condition(one, "Scheduled") == "False")
        said = next(one for one in found["status"]["conditions"] if one["type"] == "Scheduled")
        assert "proven" in said["message"]
    first = sorted(placed())[0].removesuffix("-0")
    workloads.delete(first)
    eventually(placed, lambda found: sorted(found.values()) == [30] * 16, timeout=PATIENCE, message="another one")
    for name in names:
        workloads.kubectl.run("delete", "pcs", name, "--wait=false", "--ignore-not-found")
    eventually(lambda: workloads.all("pods"), lambda left: not left, timeout=PATIENCE)


def test_an_update_keeps_its_place(workloads: Workloads) -> None:
    workloads.apply(workload("updated", [gpus("worker", 4, least=3)]))
    workloads.settled("updated")
    before = {pod["spec"]["nodeName"] for pod in workloads.pods("updated")}
    workloads.apply(workload("updated", [gpus("worker", 4, least=3, image="main:v2")]))
    workloads.when(SETS, "updated", lambda one: one["status"].get("updatedReplicas") == 1)
    workloads.settled("updated")

    def images() -> set[str]:
        return {pod["spec"]["containers"][0]["image"] for pod in workloads.pods("updated")}

    eventually(images, lambda found: found == {"main:v2"}, timeout=PATIENCE)
    workloads.ready("updated", {"updated-0-worker": 4})
    assert {pod["spec"]["nodeName"] for pod in workloads.pods("updated")} == before
    workloads.delete("updated")


def test_a_lost_node_is_replaced_in_the_gangs_own_rack(workloads: Workloads, fleet: Fleet) -> None:
    packed = {"topologyConstraint": {"topologyName": "default", "pack": {"required": "rack"}}}
    workloads.kubectl.run("apply", "-f", "-", stdin=json.dumps(BINDING))
    workloads.apply(workload("repaired", [gpus("worker", 3)], template=packed))
    workloads.settled("repaired")
    pods = workloads.pods("repaired")
    [rack] = set(racks(workloads, pods).values())
    lost = pods[0]["spec"]["nodeName"]
    fleet.annotate(lost, fail="dead")

    def is_ready() -> str:
        return condition(workloads.cluster.request("GET", f"/api/v1/nodes/{lost}")[1], "Ready")

    eventually(is_ready, lambda status: status != "True", timeout=PATIENCE, message=f"{lost} is not missed")
    workloads.kubectl.run("delete", "pod", name_of(pods[0]), "--force", "--grace-period=0")
    try:

        def where() -> set[str]:
            return {pod["spec"].get("nodeName", "") for pod in workloads.pods("repaired")}

        eventually(where, lambda found: len(found) == 3 and not found & {lost, ""}, timeout=PATIENCE)
        assert set(racks(workloads, workloads.pods("repaired")).values()) == {rack}
    finally:
        fleet.annotate(lost, fail=None)
    workloads.delete("repaired")


def test_the_scheduler_is_killed_while_sets_come_up(workloads: Workloads, scheduler: Scheduler) -> None:
    names = [f"killed-{index}" for index in range(6)]
    for index, name in enumerate(names):
        workloads.apply(workload(name, [gpus("leader", 1), gpus("worker", 19)]))
        if index % 2:
            scheduler.kill()
            scheduler.start()
    for name in names:
        workloads.settled(name)
    for name in names:
        workloads.delete(name)

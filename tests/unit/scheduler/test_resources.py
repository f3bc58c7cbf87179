"""What pods ask for and use."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grove.kube.objects import PodSpec, PodView
from grove.scheduler.cluster import Cluster
from grove.scheduler.resources import LARGEST, Resources, amounts, is_device, is_resized, requested, used
from tests.unit.scheduler.fleets import GPU, node, pod, spec

GI = 2**30


def asking(cpu: str = "", memory: str = "", name: str = "c", **more: Any) -> dict[str, Any]:
    requests = {key: text for key, text in (("cpu", cpu), ("memory", memory)) if text}
    return {"name": name, "resources": {"requests": requests}, **more}


def a_spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return msgspec.convert({"containers": [*containers], **more}, PodSpec)


def test_containers_add_up_and_the_pod_itself_counts() -> None:
    found = requested(a_spec(asking("500m", "1Gi"), asking("1", name="d")))
    assert found == {"cpu": 1500, "memory": GI, "pods": 1}


def test_init_containers_count_at_their_hungriest_moment_beside_the_sidecars_before_them() -> None:
    always = {"restartPolicy": "Always"}
    init = [asking("3", name="i"), asking("1", name="s", **always), asking("4", name="j")]
    assert requested(a_spec(asking("2"), initContainers=init))["cpu"] == 5000
    assert requested(a_spec(asking("6"), initContainers=init))["cpu"] == 7000


def test_what_a_pod_asks_for_as_a_whole_takes_the_place_of_its_containers() -> None:
    found = requested(
        a_spec(
            {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "4Gi", GPU: 2}}},
            resources={"requests": {"cpu": "3"}},
            overhead={"cpu": "250m"},
        )
    )
    assert found == {"cpu": 3250, "memory": 4 * GI, GPU: 2, "pods": 1}


def running(body: PodSpec, **status: Any) -> PodView:
    view = pod("p", body)
    return PodView(metadata=view.metadata, spec=body, status=msgspec.convert(status, type(view.status)))


def granted(actual: str, allocated: str | None = None, name: str = "c") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "resources": {"requests": {"cpu": actual}}}
    return found if allocated is None else {**found, "allocatedResources": {"cpu": allocated}}


@pytest.mark.parametrize(
    ("asked", "actual", "allocated", "condition", "cpu"),
    [
        ("2", "2", "2", "", 2000),
        ("2", "4", "3", "", 4000),
        ("2", "1", "3", "", 3000),
        ("5", "1", "3", "Deferred", 5000),
        ("5", "1", "3", "Infeasible", 3000),
        ("5", "4", None, "Infeasible", 4000),
        ("5", "1", None, "", 5000),
    ],
)
def test_while_it_is_resized_a_container_uses_the_greatest_of_what_it_asks_for_was_granted_and_has(
    asked: str, actual: str, allocated: str | None, condition: str, cpu: int
) -> None:
    conditions = [{"type": "PodResizePending", "status": "True", "reason": condition}] if condition else []
    one = running(a_spec(asking(asked)), conditions=conditions, containerStatuses=[granted(actual, allocated)])
    assert used(one) == {"cpu": cpu, "pods": 1}
    assert is_resized(one) == (cpu != amounts({"cpu": asked})["cpu"] or actual != asked)


def test_what_was_granted_says_nothing_before_the_container_has_something() -> None:
    one = running(a_spec(asking("1")), containerStatuses=[{"name": "c", "allocatedResources": {"cpu": "3"}}])
    assert used(one)["cpu"] == 1000
    assert not is_resized(one)


def test_sidecars_are_resized_and_init_containers_are_not() -> None:
    body = a_spec(asking("1"), initContainers=[asking("1", name="s", restartPolicy="Always"), asking("1", name="i")])
    one = running(body, initContainerStatuses=[granted("3", name="s"), granted("9", name="i")])
    assert used(one)["cpu"] == 4000


def test_a_pod_is_resized_as_a_whole_too() -> None:
    body = a_spec(asking("1"), resources={"requests": {"cpu": "2", "memory": "1Gi"}})
    status = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"memory": "2Gi"}}
    assert used(running(body, **status)) == {"cpu": 3000, "memory": 2 * GI, "pods": 1}
    assert used(running(body)) == {"cpu": 2000, "memory": GI, "pods": 1}


def test_what_others_count_is_in_no_vector() -> None:
    resources = Resources(ignored=["example.com/license"])
    assert resources.vector({"cpu": 5, "example.com/license": 7, "memory": 0, "pods": 1}) == ((0, 5), (2, 1))
    cluster = Cluster(ignored_resources=["example.com/license"])
    cluster.node(node("n"))
    body = a_spec({"name": "c", "resources": {"requests": {"example.com/license": 1}}})
    assert cluster.capacity(cluster.classes.of(pod("p", body))).tolist() == [110]


def test_a_resource_that_a_node_does_not_have_is_lacking_and_zero_of_it_is_not() -> None:
    cluster = Cluster()
    cluster.node(node("n"))
    for amount, room in ((1, 0), (0, 32)):
        body = a_spec({"name": "c", "resources": {"requests": {"cpu": "1", "example.com/fpga": amount}}})
        assert cluster.capacity(cluster.classes.of(pod("p", body))).tolist() == [room]


def test_amounts_beyond_all_measure_are_counted_as_the_largest() -> None:
    assert amounts({"memory": "9E", "cpu": "9E"}) == {"memory": LARGEST, "cpu": LARGEST}
    body = a_spec(*(asking(memory="7E", name=name) for name in "ab"))
    assert max(amount for _, amount in Resources().vector(requested(body))) == LARGEST


def test_devices_are_resources_with_a_vendors_name() -> None:
    assert is_device(GPU)
    assert not any(map(is_device, ("cpu", "hugepages-2Mi", "kubernetes.io/batch")))
    assert requested(spec(gpus=2))[GPU] == 2

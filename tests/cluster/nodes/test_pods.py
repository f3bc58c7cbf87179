"""Pods on simulated nodes, bound by Kubernetes' own scheduler: what their statuses tell of their lives."""

import ipaddress

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.nodes.conftest import Start
from tests.cluster.nodes.fleet import PATIENCE, Fleet, Pods, container, status_of, waiting_for

CRASH = "simulate.grove.io/crash-after"
COMPLETE = "simulate.grove.io/complete-after"


@pytest.fixture(scope="module")
def fleet(start: Start) -> Fleet:
    return start("life", "--count", "3", "--cpu", "8", "--memory", "16Gi", "--gpus", "8").started()


def test_pods_that_the_scheduler_binds_run_and_are_ready_with_addresses_of_their_nodes(
    cluster: ControlPlane, fleet: Fleet, pods: Pods
) -> None:
    asked = container("main", resources={"limits": {"nvidia.com/gpu": "8"}})
    for index in range(3):
        pods.create(f"gpu-{index}", containers=[asked])
    found = [pods.ready(f"gpu-{index}") for index in range(3)]
    assert {pod["spec"]["nodeName"] for pod in found} == {node["metadata"]["name"] for node in fleet.nodes()}
    ranges = {node["metadata"]["name"]: node["metadata"]["annotations"] for node in fleet.nodes()}
    for pod in found:
        mine = ipaddress.ip_network(ranges[pod["spec"]["nodeName"]]["simulate.grove.io/pod-range"])
        assert ipaddress.ip_address(pod["status"]["podIP"]) in mine
        assert pod["status"]["phase"] == "Running"
        assert pod["status"]["hostIP"].startswith("198.18.")
        assert status_of(pod, "main")["state"]["running"]["startedAt"]


def test_a_pod_too_many_waits_for_room_as_on_any_cluster(pods: Pods) -> None:
    pods.create("large", containers=[container("main", resources={"requests": {"cpu": "9"}})])
    found = pods.when("large", lambda pod: pod["status"].get("conditions"))
    assert "Insufficient cpu" in found["status"]["conditions"][0]["message"]


def test_pods_of_one_node_have_different_addresses(fleet: Fleet, pods: Pods) -> None:
    name = fleet.nodes()[0]["metadata"]["name"]
    for index in range(20):
        pods.create(f"small-{index}", nodeName=name)
    addresses = {pods.ready(f"small-{index}")["status"]["podIP"] for index in range(20)}
    assert len(addresses) == 20


def test_init_containers_run_one_after_the_other_and_sidecars_beside_them(pods: Pods) -> None:
    pods.create(
        "row",
        annotations={"first.simulate.grove.io/complete-after": "2s", "second.simulate.grove.io/complete-after": "2s"},
        initContainers=[container("first"), container("side", restartPolicy="Always"), container("second")],
    )
    early = pods.when("row", lambda pod: pod["status"].get("initContainerStatuses"))
    assert early["status"]["phase"] == "Pending"
    found = pods.ready("row")
    first, second = (status_of(found, name)["state"]["terminated"] for name in ("first", "second"))
    side, main = (status_of(found, name)["state"]["running"]["startedAt"] for name in ("side", "main"))
    assert first["startedAt"] < first["finishedAt"] <= side <= second["startedAt"] < second["finishedAt"] <= main


def test_a_pod_that_crashes_is_started_again_and_backs_off(kubectl: Kubectl, pods: Pods) -> None:
    pods.create("crash", annotations={CRASH: "500ms", "simulate.grove.io/exit-code": "7"})
    found = pods.when("crash", lambda pod: waiting_for(pod, "main") == "CrashLoopBackOff")
    main = status_of(found, "main")
    assert main["restartCount"] >= 1
    assert main["lastState"]["terminated"]["exitCode"] == 7
    assert not main["ready"]
    eventually(
        lambda: kubectl.run("get", "events", "--field-selector", "reason=BackOff").stdout,
        lambda text: "Back-off restarting failed container main" in text,
        timeout=PATIENCE,
    )


def test_a_pod_that_is_to_crash_twice_runs_after_that(pods: Pods) -> None:
    pods.create("twice", annotations={CRASH: "0s", "simulate.grove.io/crashes": "2"})
    assert status_of(pods.ready("twice"), "main")["restartCount"] == 2


def test_a_pod_that_completes_has_succeeded(pods: Pods) -> None:
    pods.create("job", annotations={COMPLETE: "1s"}, restartPolicy="Never")
    found = pods.when("job", lambda pod: pod["status"]["phase"] == "Succeeded")
    assert status_of(found, "main")["state"]["terminated"]["reason"] == "Completed"


def test_a_pod_that_fails_and_does_not_restart_has_failed(pods: Pods) -> None:
    pods.create("broken", annotations={CRASH: "0s"}, restartPolicy="Never")
    found = pods.when("broken", lambda pod: pod["status"]["phase"] == "Failed")
    assert status_of(found, "main")["state"]["terminated"]["exitCode"] == 1


def test_delays_hold_a_pod_back(pods: Pods) -> None:
    pods.create("slow", annotations={"simulate.grove.io/start-delay": "2s", "simulate.grove.io/ready-delay": "2s"})
    pods.when("slow", lambda pod: waiting_for(pod, "main") == "ContainerCreating")
    running = pods.when("slow", lambda pod: pod["status"]["phase"] == "Running")
    assert not status_of(running, "main")["ready"]
    pods.ready("slow")


def test_a_pod_that_is_never_ready_runs_until_it_is_told_otherwise(kubectl: Kubectl, pods: Pods) -> None:
    pods.create("unready", annotations={"simulate.grove.io/never-ready": "true"})
    found = pods.when("unready", lambda pod: pod["status"]["phase"] == "Running")
    assert not status_of(found, "main")["ready"]
    kubectl.run("annotate", "pod", "unready", "simulate.grove.io/never-ready-")
    pods.ready("unready")


def test_an_image_that_is_not_to_be_had_is_told_and_pulled_again_when_it_is_there(kubectl: Kubectl, pods: Pods) -> None:
    pods.create("imageless", annotations={"simulate.grove.io/image-pull-error": "manifest unknown"})
    pods.when("imageless", lambda pod: waiting_for(pod, "main") == "ErrImagePull")
    found = pods.when("imageless", lambda pod: waiting_for(pod, "main") == "ImagePullBackOff")
    assert "manifest unknown" in status_of(found, "main")["state"]["waiting"]["message"]
    kubectl.run("annotate", "pod", "imageless", "simulate.grove.io/image-pull-error-")
    pods.ready("imageless")


def test_a_pod_that_does_not_fit_its_node_fails_as_at_a_kubelet(fleet: Fleet, pods: Pods) -> None:
    name = fleet.nodes()[1]["metadata"]["name"]
    pods.create("misfit", nodeName=name, containers=[container("main", resources={"requests": {"cpu": "9"}})])
    found = pods.when("misfit", lambda pod: pod["status"]["phase"] == "Failed")
    assert found["status"]["reason"] == "OutOfcpu"
    assert "requested: 9000" in found["status"]["message"]


def test_a_deleted_pod_takes_the_time_that_it_needs_to_stop(pods: Pods) -> None:
    pods.create("stubborn", annotations={"simulate.grove.io/stop-delay": "2s"}, terminationGracePeriodSeconds=30)
    pods.ready("stubborn")
    pods.delete("stubborn")
    found = pods.get("stubborn")
    assert found is not None
    assert found["metadata"]["deletionTimestamp"]
    pods.gone("stubborn")


def test_a_deleted_pod_is_killed_when_its_grace_is_over(pods: Pods) -> None:
    pods.create("deaf", annotations={"simulate.grove.io/stop-delay": "1h"}, terminationGracePeriodSeconds=1)
    pods.ready("deaf")
    pods.delete("deaf")
    pods.gone("deaf")


def test_a_word_that_is_not_understood_is_told(kubectl: Kubectl, pods: Pods) -> None:
    pods.create("misread", annotations={CRASH: "soon"})
    pods.ready("misread")
    eventually(
        lambda: kubectl.run("get", "events", "--field-selector", "reason=SimulationMisread").stdout,
        lambda text: '"soon" is not understood' in text,
        timeout=PATIENCE,
    )


def test_kubectl_describes_what_happened(kubectl: Kubectl, pods: Pods) -> None:
    pods.create("plain")
    pods.ready("plain")
    described = kubectl.run("describe", "pod", "plain").stdout
    assert "Ready                       True" in described or "Ready             True" in described

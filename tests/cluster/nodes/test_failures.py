"""Nodes that fail, come back and drain, as Kubernetes' node lifecycle controller and disruption budgets see them."""

import subprocess
import sys

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.nodes.conftest import Start
from tests.cluster.nodes.fleet import PATIENCE, Fleet, Pods, condition, node, status_of


@pytest.fixture(scope="module")
def fleet(start: Start) -> Fleet:
    return start("frail", "--count", "8").started()


def grove(cluster: ControlPlane, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "grove.cli.main", "nodes", *arguments, "--kubeconfig", str(cluster.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def becomes(cluster: ControlPlane, name: str, ready: str) -> None:
    eventually(
        lambda: condition(node(cluster, name), "Ready"),
        lambda status: status == ready,
        timeout=PATIENCE,
        message=f"Ready of {name} is not {ready}",
    )


def test_a_dead_node_is_found_out_and_its_pods_begin_anew_when_it_is_back(
    cluster: ControlPlane, fleet: Fleet, pods: Pods
) -> None:
    pods.create("lost", nodeName="frail-001")
    before = status_of(pods.ready("lost"), "main")
    assert grove(cluster, "fail", "frail-001").stdout == "node/frail-001 fails: dead\n"
    becomes(cluster, "frail-001", "Unknown")
    pods.when("lost", lambda pod: condition(pod, "Ready") == "False")
    assert grove(cluster, "recover", "frail-001").stdout == "node/frail-001 recovers\n"
    becomes(cluster, "frail-001", "True")
    after = status_of(pods.ready("lost"), "main")
    assert after["restartCount"] == before["restartCount"] + 1
    assert after["lastState"]["terminated"]["exitCode"] == 255


def test_pods_of_an_unreachable_node_run_on_unseen(cluster: ControlPlane, fleet: Fleet, pods: Pods) -> None:
    pods.create("unseen", nodeName="frail-002")
    pods.create("crashing", nodeName="frail-002", annotations={"simulate.grove.io/crash-after": "4s"})
    before = status_of(pods.ready("unseen"), "main")
    pods.ready("crashing")
    fleet.annotate("frail-002", fail="unreachable")
    becomes(cluster, "frail-002", "Unknown")
    crashing = pods.get("crashing")
    assert crashing is not None
    assert status_of(crashing, "main")["restartCount"] == 0
    fleet.annotate("frail-002", fail=None)
    becomes(cluster, "frail-002", "True")
    assert status_of(pods.ready("unseen"), "main") == before
    pods.when("crashing", lambda pod: status_of(pod, "main")["restartCount"] > 0)


def test_a_node_that_is_not_ready_says_so_itself(cluster: ControlPlane, fleet: Fleet) -> None:
    assert grove(cluster, "fail", "frail-003", "--how", "not-ready").returncode == 0
    becomes(cluster, "frail-003", "False")
    eventually(
        lambda: [taint["key"] for taint in node(cluster, "frail-003")["spec"].get("taints", [])],
        lambda keys: "node.kubernetes.io/not-ready" in keys,
        timeout=PATIENCE,
    )
    assert grove(cluster, "recover", "frail-003").returncode == 0
    becomes(cluster, "frail-003", "True")


def test_a_drain_cordons_and_evicts_as_far_as_budgets_allow(
    cluster: ControlPlane, namespace: str, fleet: Fleet, pods: Pods
) -> None:
    budget = {"metadata": {"name": "keep"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"name": "kept"}}}}
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    cluster.create(path, budget)
    pods.create("kept", nodeName="frail-004")
    pods.create("free", nodeName="frail-004")
    for name in ("kept", "free"):
        pods.ready(name)
    eventually(
        lambda: cluster.request("GET", f"{path}/keep")[1].get("status", {}),
        lambda status: status.get("currentHealthy") == 1,
        timeout=PATIENCE,
    )
    assert grove(cluster, "drain", "frail-004").stdout == "node/frail-004 drains\n"
    pods.gone("free")
    assert node(cluster, "frail-004")["spec"]["unschedulable"] is True
    eventually(
        lambda: cluster.request("GET", f"/api/v1/namespaces/{namespace}/events?fieldSelector=reason=EvictionBlocked")[
            1
        ],
        lambda events: events["items"],
        timeout=PATIENCE,
    )
    assert condition(pods.ready("kept"), "Ready") == "True"
    assert cluster.request("DELETE", f"{path}/keep")[0] == 200
    pods.gone("kept")
    assert grove(cluster, "recover", "frail-004").returncode == 0
    eventually(
        lambda: node(cluster, "frail-004"),
        lambda one: not one["spec"].get("unschedulable") and "simulate.grove.io/cordoned" not in str(one["metadata"]),
        timeout=PATIENCE,
    )


def test_who_cordoned_a_node_uncordons_it(cluster: ControlPlane, fleet: Fleet) -> None:
    kubectl = cluster.kubectl()
    kubectl.run("cordon", "frail-005")
    fleet.annotate("frail-005", drain="true")
    eventually(
        lambda: node(cluster, "frail-005")["metadata"]["annotations"],
        lambda found: found.get("simulate.grove.io/cordoned") == "false",
        timeout=PATIENCE,
    )
    fleet.annotate("frail-005", drain=None)
    found = eventually(
        lambda: node(cluster, "frail-005"),
        lambda one: "simulate.grove.io/cordoned" not in one["metadata"]["annotations"],
        timeout=PATIENCE,
    )
    assert found["spec"]["unschedulable"] is True


def test_nodes_may_be_chosen_by_labels(cluster: ControlPlane, fleet: Fleet) -> None:
    done = grove(cluster, "fail", "-l", "kubernetes.io/hostname in (frail-006,frail-007)", "--how", "not-ready")
    assert done.stdout == "node/frail-006 fails: not-ready\nnode/frail-007 fails: not-ready\n"
    for name in ("frail-006", "frail-007"):
        becomes(cluster, name, "False")


def test_only_simulated_nodes_can_fail(cluster: ControlPlane) -> None:
    cluster.create("/api/v1/nodes", {"metadata": {"name": "solid"}})
    done = grove(cluster, "fail", "solid")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: node solid is not simulated: it has no label simulate.grove.io/fleet\n" in done.stderr
    assert "error: there is no node nowhere\n" in grove(cluster, "fail", "nowhere").stderr
    cluster.request("DELETE", "/api/v1/nodes/solid")


def test_a_failure_that_is_not_understood_is_told(cluster: ControlPlane, fleet: Fleet) -> None:
    fleet.annotate("frail-008", fail="exploded")
    eventually(
        lambda: cluster.request("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=SimulationMisread")[1],
        lambda events: any("exploded" in one["message"] for one in events["items"]),
        timeout=PATIENCE,
    )
    assert condition(node(cluster, "frail-008"), "Ready") == "True"

"""`grove nodes` as a command: what it makes of a cluster, and what becomes of it when processes come and go."""

import functools
import subprocess
import sys

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.nodes.conftest import Start
from tests.cluster.nodes.fleet import PATIENCE, Fleet, Pods, condition, node, status_of
from tests.cluster.objects import MERGE

SHAPE = ("--topology", "zones=2,racks=2", "--gpus", "8", "--gpu-model", "h100", "--taint", "fake-node=true:NoSchedule")


@pytest.fixture
def fleet(start: Start) -> Fleet:
    return start("restarted", "--count", "2")


def renewed(cluster: ControlPlane, name: str) -> str:
    lease = cluster.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")[1]
    assert lease["metadata"]["ownerReferences"][0]["kind"] == "Node"
    assert lease["spec"]["holderIdentity"] == name
    return str(lease["spec"]["renewTime"])


def is_later(cluster: ControlPlane, name: str, before: str) -> bool:
    return renewed(cluster, name) > before


def test_it_makes_nodes_as_asked_and_keeps_them_until_ctrl_c(cluster: ControlPlane, start: Start) -> None:
    fleet = start("shaped", "--count", "8", *SHAPE, "--label", "team=blue", "--resource", "example.com/nic=4").start()
    assert fleet.says("ready") == "8 nodes ready: 2 zones, 4 racks, 64 GPUs (h100)"
    nodes = fleet.nodes()
    assert [one["metadata"]["name"] for one in nodes] == [f"shaped-{number:03}" for number in range(1, 9)]
    racks = [one["metadata"]["labels"]["topology.kubernetes.io/rack"] for one in nodes]
    assert racks == [f"zone-{zone}-rack-{rack}" for zone in (1, 2) for rack in (1, 2) for _ in range(2)]
    assert {one["metadata"]["labels"]["team"] for one in nodes} == {"blue"}
    assert nodes[0]["status"]["allocatable"] == {
        "cpu": "128",
        "memory": "2Ti",
        "pods": "110",
        "ephemeral-storage": "1Ti",
        "nvidia.com/gpu": "8",
        "example.com/nic": "4",
    }
    # The API server taints every new node, and the node lifecycle controller trusts it after a look.
    eventually(
        lambda: node(cluster, "shaped-001")["spec"]["taints"],
        lambda taints: taints == [{"key": "fake-node", "value": "true", "effect": "NoSchedule"}],
        timeout=PATIENCE,
    )
    first = renewed(cluster, "shaped-001")
    eventually(lambda: renewed(cluster, "shaped-001"), lambda later: later > first, timeout=PATIENCE)
    assert fleet.interrupt() == 0
    assert len(fleet.nodes()) == 8


def test_nodes_that_are_not_asked_for_any_more_are_pruned_and_all_are_removed_at_the_end(start: Start) -> None:
    first = start("pruned", "--count", "3").started()
    assert first.interrupt() == 0
    second = start("pruned", "--count", "2").started()
    assert len(second.nodes()) == 3
    assert second.interrupt() == 0
    third = start("pruned", "--count", "1", "--prune", "--remove", "--cpu", "4").started()
    eventually(lambda: [one["status"]["allocatable"]["cpu"] for one in third.nodes()], lambda cpus: cpus == ["4"])
    assert third.interrupt() == 0
    assert third.nodes() == []


def test_a_node_of_somebody_else_is_never_taken(cluster: ControlPlane, start: Start) -> None:
    cluster.create("/api/v1/nodes", {"metadata": {"name": "foreign-001"}})
    fleet = start("foreign", "--count", "1").start()
    assert fleet.ended() == 2
    written = fleet.log.read_text()
    assert "error: node foreign-001 is there already, and not of the fleet foreign\n" in written
    assert "help: choose other names with --name" in written
    assert "status" not in node(cluster, "foreign-001") or not node(cluster, "foreign-001")["status"].get("capacity")
    cluster.request("DELETE", "/api/v1/nodes/foreign-001")


def test_a_node_of_any_origin_joins_by_its_label(cluster: ControlPlane, start: Start) -> None:
    body = {
        "metadata": {"name": "adopted", "labels": {"simulate.grove.io/fleet": "joined"}},
        "status": {"capacity": {"cpu": "3"}, "allocatable": {"cpu": "3"}},
    }
    cluster.create("/api/v1/nodes", body)
    start("joined", "--count", "1").started()
    found = eventually(
        lambda: node(cluster, "adopted"), lambda one: condition(one, "Ready") == "True", timeout=PATIENCE
    )
    assert found["status"]["allocatable"] == {"cpu": "3"}
    assert found["status"]["addresses"][0] == {"type": "InternalIP", "address": "198.18.0.2"}


def test_a_node_that_was_deleted_stays_deleted(cluster: ControlPlane, start: Start) -> None:
    fleet = start("deleted", "--count", "2").started()
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/deleted-001"
    assert cluster.request("DELETE", "/api/v1/nodes/deleted-001")[0] == 200
    # The garbage collector takes the lease, and nobody makes it again while the other node's is renewed twice.
    eventually(lambda: cluster.request("GET", lease)[0] == 404, timeout=PATIENCE)
    for _ in range(2):
        before = renewed(cluster, "deleted-002")
        eventually(functools.partial(is_later, cluster, "deleted-002", before), timeout=PATIENCE)
    assert cluster.request("GET", lease)[0] == 404
    assert len(fleet.nodes()) == 1


def test_a_second_process_waits_and_takes_over_when_the_first_ends(start: Start) -> None:
    first = start("relay", "--count", "1").started()
    second = start("relay", "--count", "1").start()
    assert "is kept by" in second.says("standing by")
    assert first.interrupt() == 0
    assert second.says("ready") == "1 node ready"
    assert second.interrupt() == 0


def test_a_process_that_was_killed_and_started_again_takes_up_the_running_pods(
    fleet: Fleet, pods: Pods, start: Start
) -> None:
    fleet.started()
    pods.create("steady")
    pods.create("twice", annotations={"simulate.grove.io/crash-after": "0s", "simulate.grove.io/crashes": "1"})
    before = [status_of(pods.ready(name), "main") for name in ("steady", "twice")]
    fleet.kill()
    pods.create("later")
    again = start("restarted", "--count", "2").started()  # once the lease of the one that was killed has run out
    pods.ready("later")
    assert [status_of(pods.ready(name), "main") for name in ("steady", "twice")] == before
    pods.delete("steady")
    pods.gone("steady")
    assert again.interrupt() == 0


def test_a_process_that_lost_its_lease_begins_anew(cluster: ControlPlane, start: Start) -> None:
    fleet = start("stolen", "--count", "1").started()
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/grove-nodes-stolen"
    theirs = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 1}}
    assert cluster.request("PATCH", path, theirs, content_type=MERGE)[0] == 200
    assert "lost kube-system/grove-nodes-stolen" in fleet.says("starting again")
    eventually(
        lambda: cluster.request("GET", path)[1]["spec"]["holderIdentity"],
        lambda holder: holder not in ("", "thief"),
        timeout=PATIENCE,
    )
    eventually(lambda: fleet.log.read_text().count("1 node ready") == 2, timeout=PATIENCE)
    assert fleet.interrupt() == 0


def grove(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "grove.cli.main", "nodes", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_a_cluster_that_is_not_there_is_a_clear_error(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("nowhere") / "kubeconfig"
    path.write_text(cluster.kubeconfig.read_text().replace(cluster.url, "https://127.0.0.1:1"))
    done = grove("--kubeconfig", str(path), "--count", "1")
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "127.0.0.1:1" in done.stderr
    assert "help: check that the cluster runs" in done.stderr


def test_a_user_without_rights_is_told_which(cluster: ControlPlane) -> None:
    done = grove("--kubeconfig", str(cluster.kubeconfig_as("nobody")), "--count", "1")
    assert done.returncode == 2
    assert 'User "nobody" cannot list resource "nodes"' in done.stderr

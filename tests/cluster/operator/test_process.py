"""`grove operator` as a process: it becomes ready, answers, stands by, and ends as it should."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grove.api.kinds import catalog
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.audit import NAMESPACE
from tests.cluster.objects import smallest
from tests.cluster.operator.conftest import StartOperator
from tests.cluster.operator.operator import CONFIGURATION, PATIENCE, Operator

ELECTION = {"leaderElection": {"enabled": True, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}}


def run(kubeconfig: Path, directory: Path, **changes: Any) -> tuple[int, str]:
    """Exit code and standard error of an operator that ends by itself."""
    file = directory / "wrong.yaml"
    file.write_text(json.dumps(CONFIGURATION | changes))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "grove.cli.main", "operator"),
            *("--config", str(file), "--kubeconfig", str(kubeconfig), "--webhooks", "none"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.returncode, done.stderr


def test_it_becomes_ready_and_ends_in_order_on_sigterm(start_operator: StartOperator) -> None:
    operator = start_operator().started()
    assert operator.get("health", "/healthz") == (200, "ok\n")
    assert "+ caches: ok" in operator.get("health", "/readyz")[1]
    assert operator.says("caches synced")["objects"] >= 0
    for controller in ("podcliqueset", "podclique", "podcliquescalinggroup"):
        operator.says("controller started", controller=f"{controller}-controller")
    assert operator.terminate() == 0
    assert operator.says("operator ended")["level"] == "info"


def test_its_metrics_carry_its_name(start_operator: StartOperator) -> None:
    operator = start_operator().started()
    found = operator.metrics()
    assert {"grove_operator_reconciles_total", "grove_operator_pods", "grove_operator_gangs"} <= found.keys()
    assert all(name.startswith("grove_operator_") for name in found)
    assert operator.value("grove_operator_cache_synced", resource="pods") == 1


def test_two_that_are_elected_take_turns(cluster: ControlPlane, start_operator: StartOperator) -> None:
    first = start_operator(configuration=ELECTION).started()
    eventually(lambda: first.value("grove_operator_leader"), timeout=PATIENCE)
    second = start_operator(configuration=ELECTION).started()  # one that stands by is ready
    assert second.value("grove_operator_leader") == 0
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/grove-operator-leader-election"
    holder = cluster.request("GET", path)[1]["spec"]["holderIdentity"]
    first.kill()
    eventually(lambda: second.value("grove_operator_leader"), timeout=PATIENCE)
    assert cluster.request("GET", path)[1]["spec"]["holderIdentity"] != holder
    assert second.terminate() == 0
    assert cluster.request("GET", path)[1]["spec"].get("holderIdentity", "") == ""  # given back


def test_one_that_slept_through_its_lease_ends_with_6(start_operator: StartOperator) -> None:
    first = start_operator(configuration=ELECTION).started()
    eventually(lambda: first.value("grove_operator_leader"), timeout=PATIENCE)
    second = start_operator(configuration=ELECTION).started()
    os.kill(first.pid, signal.SIGSTOP)
    eventually(lambda: second.value("grove_operator_leader"), timeout=PATIENCE)
    os.kill(first.pid, signal.SIGCONT)
    assert first.ended() == 6
    assert "stands by until the lease is free" in first.text()


def test_it_can_be_looked_into(start_operator: StartOperator) -> None:
    operator = start_operator(configuration={"debugging": {"enableProfiling": True, "pprofBindPort": 0}}).started()
    status, text = operator.get("profiling", "/debug/profile?seconds=0.2")
    assert status == 200
    assert text.startswith("# 40 samples")
    assert "grove.runtime" in text
    assert "Task" in operator.get("profiling", "/debug/tasks")[1]
    assert "bytes" in operator.get("profiling", "/debug/memory?seconds=0.2")[1]
    assert operator.get("profiling", "/debug/profile?seconds=x")[0] == 400


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"logLevel": "loud"}, 2, "logLevel"),
        ({"leaderElection": {"enabled": True, "retryPeriod": "9s"}}, 2, "leaderElection.leaseDuration"),
        ({"scheduler": {"profiles": [{"name": "kai-scheduler"}]}}, 5, "kai"),
        ({"network": {"autoMNNVLEnabled": True}}, 7, "network.autoMNNVLEnabled"),
    ],
)
def test_a_configuration_that_cannot_be_had_is_told(
    kubeconfig: Path, tmp_path: Path, changes: dict[str, Any], code: int, message: str
) -> None:
    ended, text = run(kubeconfig, tmp_path, **changes)
    assert (ended, message in text, "\nhelp: " in text) == (code, True, True), text


def test_a_port_that_is_taken_ends_it_with_4(kubeconfig: Path, tmp_path: Path, start_operator: StartOperator) -> None:
    other = start_operator().started()
    port = other.says("listening", server="health")["port"]
    server = CONFIGURATION["server"] | {"healthProbes": {"bindAddress": "127.0.0.1", "port": port}}
    code, text = run(kubeconfig, tmp_path, server=server)
    assert code == 4
    assert f"health: cannot listen on 127.0.0.1:{port}" in text


def test_a_cluster_that_it_may_not_use_ends_it_with_4(cluster: ControlPlane, grove_crds: None, tmp_path: Path) -> None:
    code, text = run(cluster.kubeconfig_as("nobody"), tmp_path)
    assert code == 4
    assert "help: run grove manifests operator-rbac" in text


def test_it_serves_webhooks_that_the_api_server_trusts(cluster: ControlPlane, operator: Operator) -> None:
    """The operator of the session issues its certificate and registers them; here one of them is asked."""
    body = smallest(catalog.POD_CLIQUE_SET, "wrong")
    body["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = 3  # of 2 replicas
    path = "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets?dryRun=All"
    status, answer = cluster.request("POST", path, body)
    assert status >= 400
    assert "admission webhook" in answer["message"]

"""What `grove why`, `plan` and `replay` say on a real API server, and what the scheduler's debug server shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.scheduling.conftest import StartScheduler
from tests.cluster.scheduling.gangs import GPU, PATIENCE, RACK, Gangs
from tests.cluster.scheduling.scheduler import CONFIGURATION, Scheduler

ROOT = Path(__file__).parents[3]


def grove(cluster: ControlPlane, *arguments: str, kubeconfig: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grove.cli.main", *arguments]
    command += ["--kubeconfig", kubeconfig or str(cluster.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), cwd=ROOT)


def pcs(workers: int) -> dict[str, Any]:
    """A set of one gang that is to be in one rack; racks have three nodes."""
    container = {"name": "main", "image": "main:v1", "resources": {"limits": {GPU: 8}}}
    spec = {"roleName": "worker", "replicas": workers, "podSpec": {"containers": [container]}}
    pack = {"topologyName": "racks", "pack": {"required": "rack"}}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "train"},
        "spec": {
            "replicas": 1,
            "template": {"cliques": [{"name": "worker", "spec": spec}], "topologyConstraint": pack},
        },
    }


TOPOLOGY = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"domain": "rack", "key": RACK}]},
}


def planned(cluster: ControlPlane, gangs: Gangs, tmp_path: Path, workers: int) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "train.yaml"
    file.write_text(yaml.safe_dump_all([TOPOLOGY, pcs(workers)]))
    return grove(cluster, "plan", "-f", str(file), "-n", gangs.namespace, "-o", "json")


def test_why_tells_where_a_gang_is(cluster: ControlPlane, gangs: Gangs, scheduler: Scheduler) -> None:
    where = gangs.placed(*gangs.gang("train", {"worker": 2}))
    gangs.running("train")
    (rack,) = {gangs.rack_of(node) for node in where.values()}
    done = grove(cluster, "why", "podgang/train", "-n", gangs.namespace)
    assert done.returncode == 0, done.stderr
    assert f"PodGang {gangs.namespace}/train has its place for" in done.stdout
    assert "score 1.00, ready" in done.stdout
    assert "nobody" not in done.stdout
    data = json.loads(grove(cluster, "why", "train-worker-0", "-n", gangs.namespace, "-o", "json").stdout)
    assert data["gangs"][0]["domains"].get("rack", rack) == rack
    assert data["scheduler"]["standing"] == "leads"


def test_why_tells_what_a_gang_waits_for(cluster: ControlPlane, gangs: Gangs, scheduler: Scheduler) -> None:
    gangs.gang("large", {"worker": 4})
    written = gangs.waits("large", "Unschedulable")
    data = json.loads(grove(cluster, "why", "large", "-n", gangs.namespace, "-o", "json").stdout)
    (one,) = data["gangs"]
    assert one["explanation"]["sentence"] == written["message"]
    assert one["explanation"]["nearest"][0]["fits"] == 3
    assert {suggestion["kind"] for suggestion in one["explanation"]["suggestions"]} == {"relax", "fewer", "nodes"}


def test_plan_creates_nothing_and_says_what_would_fit(
    cluster: ControlPlane, gangs: Gangs, scheduler: Scheduler, tmp_path: Path
) -> None:
    done = planned(cluster, gangs, tmp_path, workers=3)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(done.stdout)["gangs"]
    assert (one["gang"], one["outcome"]) == (f"{gangs.namespace}/train-0", "fits")
    assert len({gangs.rack_of(node) for node in one["groups"][0]["nodes"]}) == 1
    done = planned(cluster, gangs, tmp_path, workers=4)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["gangs"][0]["explanation"]["proven"]
    assert gangs.pods() == {}


def test_who_may_not_read_the_cluster_is_told_which_right_is_missing(
    cluster: ControlPlane, gangs: Gangs, scheduler: Scheduler
) -> None:
    nobody = str(cluster.kubeconfig_for(gangs.namespace, "nobody"))
    done = grove(cluster, "why", "train", "-n", gangs.namespace, kubeconfig=nobody)
    assert done.returncode == 2
    assert "help: ask for the right to list nodes in the whole cluster" in done.stderr


def test_the_debug_server_and_the_history_tell_what_was_decided(
    cluster: ControlPlane, gangs: Gangs, start_scheduler: StartScheduler, tmp_path: Path
) -> None:
    history = tmp_path / "history.gz"
    own = start_scheduler(
        configuration={
            "leaderElection": CONFIGURATION["leaderElection"] | {"resourceName": "answers"},
            "schedulerNames": ["answers"],
            "debugging": {"enableProfiling": True, "pprofBindPort": 0, "recordHistory": str(history)},
        }
    ).started()
    gangs.placed(*gangs.gang("train", {"worker": 2}, schedulerName="answers"))
    gangs.gang("large", {"worker": 4}, schedulerName="answers")
    gangs.waits("large", "Unschedulable")
    gangs.running("train")
    status, text = own.get("profiling", f"/debug/gangs/{gangs.namespace}/large")
    assert (status, json.loads(text)["explanation"]["reason"]) == (200, "Unschedulable")
    eventually(
        lambda: json.loads(own.get("profiling", f"/debug/gangs/{gangs.namespace}/train")[1])["state"],
        lambda found: found == "placed",
        timeout=PATIENCE,
    )
    port = own.says("listening", server="profiling")["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/snapshot") as answer:
        (tmp_path / "snapshot.gz").write_bytes(answer.read())
    assert own.terminate() == 0
    compared = replayed(history, "--compare")
    assert (compared.returncode, compared.stdout) == (0, "all decisions are as recorded\n")
    rows = json.loads(replayed(history, "--gang", f"{gangs.namespace}/train", "-o", "json").stdout)
    assert rows[-1]["what"] == "bind"
    assert replayed(tmp_path / "snapshot.gz").returncode == 0


def replayed(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grove.cli.main", "replay", str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))

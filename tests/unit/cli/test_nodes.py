"""`grove nodes` without a cluster: what it makes of its options, and what it says of wrong ones."""

from pathlib import Path
from typing import Any

import pytest

from grove.cli import nodes
from grove.kube.objects import Taint
from grove.nodes.behaviour import Span
from grove.nodes.shape import Accelerator
from tests.unit.cli.conftest import Run

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The settings with which a fleet would have been kept."""
    found: list[Any] = []
    monkeypatch.setattr(nodes, "_keep", lambda connection, settings, level: found.append((connection, settings, level)))
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(path))
    return found


def test_the_tutorials_fleet(run: Run, kept: list[Any]) -> None:
    result = run(
        *("nodes", "--count", "40", "--topology", "zones=2,blocks=2,racks=5", "--gpus", "8", "--gpu-model", "h100"),
        *("--taint", "fake-node=true:NoSchedule"),
    )
    assert result.exit_code == 0, result.stderr
    [(connection, settings, level)] = kept
    assert (connection.server, level) == ("https://127.0.0.1:1", "info")
    shape = settings.shape
    assert (shape.fleet, shape.prefix, shape.count, shape.gpus) == ("default", "fake-node", 40, 8)
    assert [(one.word, one.each, one.key) for one in shape.levels] == [
        ("zone", 2, "topology.kubernetes.io/zone"),
        ("block", 2, "topology.kubernetes.io/block"),
        ("rack", 5, "topology.kubernetes.io/rack"),
    ]
    assert shape.accelerator == Accelerator("h100", "NVIDIA-H100-80GB-HBM3", 81559)
    assert shape.taints == (Taint(key="fake-node", value="true", effect="NoSchedule"),)
    assert shape.resources == {
        "cpu": "128",
        "memory": "2Ti",
        "pods": "110",
        "ephemeral-storage": "1Ti",
        "nvidia.com/gpu": "8",
    }
    assert (settings.prune, settings.remove, settings.lease_interval, settings.metrics_port) == (False, False, None, 0)


def test_everything_may_be_chosen(run: Run, kept: list[Any]) -> None:
    result = run(
        *("nodes", "--count", "4", "--name", "n", "--fleet", "blue", "--topology", "zones=1,racks=2"),
        *("--topology-key", "rack=example.com/rack", "--gpus", "4", "--gpu-resource", "amd.com/gpu"),
        *("--gpu-model", "mi300x", "--gpu-memory", "192Gi", "--cpu", "64", "--memory", "1Ti", "--pods", "500"),
        *("--resource", "example.com/nic=8", "--resource", "ephemeral-storage=2Ti", "--label", "team=blue"),
        *("--start-delay", "1s-3s", "--ready-delay", "2s", "--prune", "--remove", "--lease-interval", "15"),
        *("--pod-cidr", "10.0.0.0/16", "--node-cidr", "192.0.2.0/24", "--metrics-port", "9000", "--log-level", "debug"),
    )
    assert result.exit_code == 0, result.stderr
    [(_, settings, level)] = kept
    shape = settings.shape
    assert level == "debug"
    assert (shape.fleet, shape.prefix, shape.labels) == ("blue", "n", {"team": "blue"})
    assert shape.levels[1].key == "example.com/rack"
    assert shape.resources == {
        "cpu": "64",
        "memory": "1Ti",
        "pods": "500",
        "ephemeral-storage": "2Ti",
        "amd.com/gpu": "4",
        "example.com/nic": "8",
    }
    assert shape.accelerator == Accelerator("mi300x", "mi300x", 192 * 1024)
    assert (shape.ranges.nodes, shape.ranges.pods, shape.ranges.prefix) == ("192.0.2.0/24", "10.0.0.0/16", 23)
    assert (settings.defaults.start_delay, settings.defaults.ready_delay) == (Span(1, 3), Span(2, 2))
    assert (settings.prune, settings.remove, settings.lease_interval, settings.metrics_port) == (True, True, 15, 9000)


@pytest.mark.parametrize(
    ("arguments", "error", "remedy"),
    [
        (("--count", "0"), "--count 0: a fleet has nodes", "write 1 or more"),
        (("--cpu", "many"), "--cpu many: is not a quantity", "write a number as in 500m, 2 or 4Gi"),
        (("--memory", "-1Gi"), "--memory -1Gi: is negative", "write 0 or more"),
        (("--gpus", "-1"), "--gpus -1: is negative", "write 0 or more"),
        (("--gpu-model", "h100"), "--gpu-model h100: the nodes have no GPUs", "add --gpus 8"),
        (
            ("--topology", "racks"),
            '--topology racks: "racks" is no level',
            "write levels as in zones=2,blocks=2,racks=5",
        ),
        (
            ("--start-delay", "soon"),
            "--start-delay soon: is not understood",
            "write a duration as in 500ms or 2s, or two as in 1s-3s",
        ),
        (
            ("--taint", "fake-node"),
            "--taint fake-node: is no taint",
            "write KEY=VALUE:EFFECT with one of NoSchedule, PreferNoSchedule, NoExecute",
        ),
        (("--resource", "nic"), "--resource nic: is not NAME=QUANTITY", "write example.com/nic=4"),
    ],
)
def test_wrong_options_are_told_before_a_cluster_is_asked(
    run: Run, kept: list[Any], arguments: tuple[str, ...], error: str, remedy: str
) -> None:
    result = run("nodes", *arguments)
    assert (result.exit_code, kept) == (2, [])
    assert result.stderr == f"error: {error}\nhelp: {remedy}\n"


def test_without_a_kubeconfig_it_says_where_it_looked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("nodes", "--kubeconfig", "/nowhere/config")
    assert result.exit_code == 2
    assert "error: no kubeconfig: /nowhere/config is not there" in result.stderr
    assert "help: check that the cluster runs" in result.stderr


@pytest.mark.parametrize("verb", ["fail", "recover", "drain"])
def test_verbs_need_nodes_or_labels(run: Run, kept: list[Any], verb: str) -> None:
    for arguments in ((), ("fake-node-001", "-l", "a=b")):
        result = run("nodes", verb, *arguments)
        assert result.exit_code == 2
        assert "error: name nodes, or choose them with --selector\n" in result.stderr
    assert kept == []


def test_the_help_names_the_verbs(run: Run) -> None:
    text = run("nodes", "--help").stdout
    for verb, line in (("fail", "Let nodes fail."), ("recover", "Bring failed"), ("drain", "Cordon nodes")):
        assert f"  {verb}" in text
        assert line in text
    assert "--how [dead|unreachable|not-ready]" in run("nodes", "fail", "--help").stdout

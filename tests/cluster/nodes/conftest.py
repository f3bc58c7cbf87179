"""A cluster as real ones are, with everything that watches over nodes, only quicker to lose patience."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane
from tests.cluster.conftest import LOGS, install_crds
from tests.cluster.nodes.fleet import Fleet, Pods

FLAGS = ("--node-monitor-period=1s", "--node-monitor-grace-period=6s")

Start = Callable[..., Fleet]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    """Instead of the cluster of the other tests."""
    logs = request.config.rootpath / "build" / "cluster-logs" / f"nodes-{os.getpid()}"
    request.config.stash[LOGS].append(logs)
    try:
        running = ControlPlane.start(
            scheduler=True, disabled_admission=(), disabled_controllers=(), controller_manager_flags=FLAGS, logs=logs
        )
    except BinaryError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with running:
        yield running


@pytest.fixture(scope="session")
def grove_crds(cluster: ControlPlane) -> None:
    """Grove's kinds in this cluster."""
    install_crds(cluster)


@pytest.fixture(scope="module")
def start(
    cluster: ControlPlane, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Makes fleets, named as the test says; they end with the module, and their nodes with them."""
    directory: Path = tmp_path_factory.mktemp("fleets")
    made: list[Fleet] = []

    def make(name: str, *options: str) -> Fleet:
        made.append(Fleet(cluster, directory, name, *options))
        return made[-1]

    yield make
    for fleet in made:
        fleet.kill()
    for name in {fleet.name for fleet in made}:
        cluster.request("DELETE", f"/api/v1/nodes?labelSelector=simulate.grove.io/fleet={name}")


@pytest.fixture
def pods(cluster: ControlPlane, namespace: str, fleet: Fleet) -> Pods:
    """Pods in the test's namespace, for the nodes of the module's fleet."""
    return Pods(cluster, namespace, fleet.name)

"""One scheduler, with exactly the rights that it says it needs, and one fleet of simulated nodes for all tests here.

There is no operator: tests make PodGangs and pods themselves. kube-scheduler runs beside, for pods that do not name
Grove's. The API server writes down what the scheduler asks of it; `test_zz_permissions.py` reads that.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grove.install import rbac
from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane
from tests.cluster.audit import NAMESPACE, Audit
from tests.cluster.conftest import LOGS, install_crds
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.scheduling.gangs import Gangs
from tests.cluster.scheduling.scheduler import ACCOUNT, Scheduler

FLAGS = ("--node-monitor-period=1s", "--node-monitor-grace-period=6s")
NODES = ("--count", "12", "--topology", "racks=4", "--gpus", "8")

StartScheduler = Callable[..., Scheduler]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    """Instead of the cluster of the other tests: what the scheduler asks is written down."""
    logs = request.config.rootpath / "build" / "cluster-logs" / f"scheduling-{os.getpid()}"
    request.config.stash[LOGS].append(logs)
    try:
        running = ControlPlane.start(
            scheduler=True,
            disabled_controllers=(),
            controller_manager_flags=FLAGS,
            apiserver_flags=Audit(logs, ACCOUNT).flags(),
            logs=logs,
        )
    except BinaryError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with running:
        yield running


@pytest.fixture(scope="session")
def grove_crds(cluster: ControlPlane) -> None:
    """Grove's kinds in this cluster."""
    install_crds(cluster)


@pytest.fixture(scope="session")
def audit(cluster: ControlPlane) -> Audit:
    """What the scheduler has asked of the API server so far."""
    return Audit(cluster.logs, ACCOUNT)


@pytest.fixture(scope="session")
def kubeconfig(cluster: ControlPlane, grove_crds: None) -> Path:
    """The way to the cluster as the scheduler's service account, with the rights that are rendered for it."""
    cluster.create_namespace(NAMESPACE)
    items = rbac.manifests(NAMESPACE, rights=rbac.SCHEDULER)
    cluster.kubectl().run("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return cluster.kubeconfig_for(NAMESPACE, ACCOUNT)


@pytest.fixture(scope="session")
def fleet(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """12 nodes of 8 GPUs in 4 racks."""
    fleet = Fleet(cluster, tmp_path_factory.mktemp("fleet"), "fake-node", *NODES)
    yield fleet.started()
    fleet.kill()


@pytest.fixture(scope="session")
def scheduler(cluster: ControlPlane, kubeconfig: Path, request: pytest.FixtureRequest) -> Iterator[Scheduler]:
    """The scheduler of the session. Who kills it starts it again."""
    running = Scheduler(kubeconfig, cluster.logs)
    yield running.started()
    running.kill()


@pytest.fixture
def start_scheduler(kubeconfig: Path, tmp_path: Path) -> Iterator[StartScheduler]:
    """Makes schedulers of the test's own; they end with it."""
    made: list[Scheduler] = []

    def make(**options: object) -> Scheduler:
        made.append(Scheduler(kubeconfig, tmp_path, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.kill()


@pytest.fixture
def gangs(cluster: ControlPlane, grove_crds: None, fleet: Fleet, namespace: str) -> Iterator[Gangs]:
    """PodGangs and pods in the test's namespace; they are gone when the next test begins."""
    found = Gangs(cluster, namespace)
    yield found
    found.clear()

"""One scheduler, with exactly the rights that it says it needs, and one fleet of simulated nodes for all tests here.

There is no operator: tests make PodGangs and pods themselves. kube-scheduler runs beside, for pods that do not name
Grove's. The API server writes down what the scheduler asks of it; `test_zz_permissions.py` reads that.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grove.install import rbac
from grove.testing.controlplane import ControlPlane
from tests.cluster.audit import Audit, audited, authorized
from tests.cluster.conftest import install_crds
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.scheduling.gangs import Gangs
from tests.cluster.scheduling.scheduler import ACCOUNT, Scheduler

FLAGS = ("--node-monitor-period=1s", "--node-monitor-grace-period=6s")
NODES = ("--count", "12", "--topology", "racks=4", "--gpus", "8")

StartScheduler = Callable[..., Scheduler]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    """Instead of the cluster of the other tests: what the scheduler asks is written down."""
    with audited(request, ACCOUNT, controller_manager_flags=FLAGS) as running:
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
    return authorized(cluster, rbac.SCHEDULER)


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

"""One operator, with exactly the rights that it says it needs, and one fleet of simulated nodes for all tests here.

kube-scheduler binds the pods: the operator's default profile is `default-scheduler`. The API server writes down what
the operator asks of it; `test_permissions.py` reads that.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grove.install import rbac
from grove.testing.controlplane import ControlPlane
from tests.cluster.audit import Audit, audited, authorized
from tests.cluster.conftest import install_crds
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator.operator import ACCOUNT, Operator
from tests.cluster.operator.workloads import Workloads

FLAGS = ("--node-monitor-period=1s", "--node-monitor-grace-period=6s")
NODES = ("--count", "40", "--topology", "zones=2,blocks=2,racks=5", "--gpus", "8", "--gpu-model", "h100")
TAINT = ("--taint", "fake-node=true:NoSchedule")

StartOperator = Callable[..., Operator]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    """Instead of the cluster of the other tests: nodes are watched, and what the operator asks is written down."""
    with audited(
        request,
        ACCOUNT,
        controller_manager_flags=FLAGS,
        disabled_admission=(),
        # Who names an owner that blocks deletion must be allowed to update the owner's finalizers.
        flags=("--enable-admission-plugins=OwnerReferencesPermissionEnforcement",),
    ) as running:
        yield running


@pytest.fixture(scope="session")
def grove_crds(cluster: ControlPlane) -> None:
    """Grove's kinds in this cluster."""
    install_crds(cluster)


@pytest.fixture(scope="session")
def audit(cluster: ControlPlane) -> Audit:
    """What the operator has asked of the API server so far."""
    return Audit(cluster.logs, ACCOUNT)


@pytest.fixture(scope="session")
def kubeconfig(cluster: ControlPlane, grove_crds: None) -> Path:
    """The way to the cluster as the operator's service account, with the rights that are rendered for it."""
    return authorized(cluster, rbac.OPERATOR)


@pytest.fixture(scope="session")
def fleet(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """40 nodes of 8 GPUs in 20 racks, as the tutorial has them."""
    fleet = Fleet(cluster, tmp_path_factory.mktemp("fleet"), "fake-node", *NODES, *TAINT)
    yield fleet.started()
    fleet.kill()


@pytest.fixture(scope="session")
def operator(cluster: ControlPlane, kubeconfig: Path, request: pytest.FixtureRequest) -> Iterator[Operator]:
    """The operator of the session. Who kills it starts it again."""
    running = Operator(kubeconfig, cluster.logs)
    yield running.started()
    running.kill()


@pytest.fixture
def start_operator(kubeconfig: Path, tmp_path: Path) -> Iterator[StartOperator]:
    """Makes operators of the test's own, without webhooks; they end with it."""
    made: list[Operator] = []

    def make(**options: object) -> Operator:
        made.append(Operator(kubeconfig, tmp_path, **({"webhooks": "none"} | options)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.kill()


@pytest.fixture
def workloads(cluster: ControlPlane, operator: Operator, fleet: Fleet, namespace: str) -> Iterator[Workloads]:
    """Workloads in the test's namespace; when the test is done, nothing may be out of order."""
    found = Workloads(cluster, namespace)
    yield found
    found.check()

"""Operator and scheduler as users run them, on 500 simulated GPU nodes; a witness sees every state of every pod."""

import json
import os
from collections.abc import Iterator

import pytest

from grove.api import quantities
from grove.install import rbac
from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane
from tests.cluster.conftest import LOGS, install_crds
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator import operator as operators
from tests.cluster.operator.operator import Operator
from tests.cluster.operator.workloads import Workloads
from tests.cluster.scheduling import scheduler as schedulers
from tests.cluster.scheduling.scheduler import Scheduler
from tests.cluster.together.watching import Watching
from tests.cluster.together.witness import GPU, Witness

NAMESPACE = "grove-system"
FLAGS = ("--node-monitor-period=1s", "--node-monitor-grace-period=6s")
NODES = ("--count", "500", "--topology", "zones=2,blocks=4,racks=8", "--gpus", "8", "--gpu-model", "h100")
TAINT = ("--taint", "fake-node=true:NoSchedule")
LONGEST_TEAR = 60.0
"""Seconds that a gang may be half bound."""


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    logs = request.config.rootpath / "build" / "cluster-logs" / f"together-{os.getpid()}"
    request.config.stash[LOGS].append(logs)
    try:
        running = ControlPlane.start(
            scheduler=True,  # for pods that do not name Grove's
            disabled_admission=(),
            disabled_controllers=(),
            controller_manager_flags=FLAGS,
            logs=logs,
        )
    except BinaryError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with running:
        yield running


@pytest.fixture(scope="session")
def grove_crds(cluster: ControlPlane) -> None:
    """Grove's kinds, and the rights of both programs, in this cluster."""
    install_crds(cluster)
    cluster.create_namespace(NAMESPACE)
    items = [*rbac.manifests(NAMESPACE), *rbac.manifests(NAMESPACE, rights=rbac.SCHEDULER)]
    cluster.kubectl().run("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


@pytest.fixture(scope="session")
def fleet(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """500 nodes of 8 GPUs."""
    fleet = Fleet(cluster, tmp_path_factory.mktemp("fleet"), "fake-node", *NODES, *TAINT)
    yield fleet.started()
    fleet.kill()


@pytest.fixture(scope="session")
def operator(cluster: ControlPlane, grove_crds: None) -> Iterator[Operator]:
    """The operator, whose default profile is our scheduler."""
    profiles = {"profiles": [{"name": "grove-scheduler"}], "defaultProfileName": "grove-scheduler"}
    kubeconfig = cluster.kubeconfig_for(NAMESPACE, operators.ACCOUNT)
    running = Operator(kubeconfig, cluster.logs, configuration={"scheduler": profiles})
    yield running.started()
    running.kill()


@pytest.fixture(scope="session")
def scheduler(cluster: ControlPlane, grove_crds: None) -> Iterator[Scheduler]:
    running = Scheduler(cluster.kubeconfig_for(NAMESPACE, schedulers.ACCOUNT), cluster.logs)
    yield running.started()
    running.kill()


@pytest.fixture
def workloads(
    cluster: ControlPlane, operator: Operator, scheduler: Scheduler, fleet: Fleet, namespace: str
) -> Iterator[Workloads]:
    """Workloads in the test's namespace; no gang may have been half placed, and no node too full, at any instant."""
    has = {
        one["metadata"]["name"]: (
            quantities.whole(one["status"]["allocatable"][GPU]),
            quantities.milli(one["status"]["allocatable"]["cpu"]),
        )
        for one in fleet.nodes()
    }
    assert len(has) == 500
    found = Workloads(cluster, namespace)
    with Watching(cluster, namespace, Witness(has)) as watching:
        yield found
        found.check()
    witness = watching.witness
    assert witness.overcommitted == []
    assert witness.longest_tear() < LONGEST_TEAR, witness.torn
    assert witness.torn_now() == []

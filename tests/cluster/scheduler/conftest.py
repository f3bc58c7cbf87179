"""One control plane with kube-scheduler for all worlds that are judged here, and one judge.

No controllers run: what is in a world stays as the test wrote it.
"""

import os
from collections.abc import Iterator

import pytest

from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane
from tests.cluster.conftest import LOGS
from tests.cluster.scheduler.judge import Judge


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    """Instead of the cluster of the other tests."""
    logs = request.config.rootpath / "build" / "cluster-logs" / f"scheduler-{os.getpid()}"
    request.config.stash[LOGS].append(logs)
    try:
        running = ControlPlane.start(controller_manager=False, scheduler=True, logs=logs)
    except BinaryError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with running:
        yield running


@pytest.fixture(scope="session")
def judge(cluster: ControlPlane) -> Judge:
    """Asks kube-scheduler and Grove the same."""
    return Judge(cluster)

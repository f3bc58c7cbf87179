"""The operator and the scheduler together: what the operator makes gets its nodes, gang by gang."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.operator.operator import CONFIGURATION, Operator
from tests.cluster.operator.workloads import Workloads
from tests.cluster.scheduling.gangs import PATIENCE, Gangs
from tests.cluster.scheduling.scheduler import Scheduler

GROVE = {"profiles": [{"name": "grove-scheduler"}], "defaultProfileName": "grove-scheduler"}


@pytest.fixture
def operator(cluster: ControlPlane, tmp_path: Path) -> Iterator[Operator]:
    """An operator of the administrator's, without webhooks, that leaves the placing to Grove's scheduler."""
    running = Operator(
        cluster.kubeconfig, tmp_path, configuration=CONFIGURATION | {"scheduler": GROVE}, webhooks="none"
    )
    yield running.started()
    running.kill()


def test_an_example_comes_up_and_says_so(
    cluster: ControlPlane, gangs: Gangs, scheduler: Scheduler, operator: Operator
) -> None:
    workloads = Workloads(cluster, gangs.namespace)
    workloads.example("multi-node-disaggregated")
    path = f"/apis/scheduler.grove.io/v1alpha1/namespaces/{gangs.namespace}/podgangs"

    def phases() -> dict[str, str]:
        found = cluster.request("GET", path)[1]["items"]
        return {one["metadata"]["name"]: one.get("status", {}).get("phase", "") for one in found}

    found = eventually(phases, lambda seen: seen and set(seen.values()) == {"Running"}, timeout=2 * PATIENCE)
    for name in found:
        status = gangs.status(name)
        told = {(one["type"], one["status"]) for one in status["conditions"]}
        assert told >= {("Initialized", "True"), ("Scheduled", "True"), ("Ready", "True")}
        assert status["placementScore"] > 0
    assert all(pod["spec"]["nodeName"] for pod in gangs.pods().values())
    cluster.kubectl(gangs.namespace).run("delete", "pcs", "--all")
    eventually(lambda: not gangs.pods(), timeout=PATIENCE)

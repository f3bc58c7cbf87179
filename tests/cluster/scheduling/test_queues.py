"""Queues on a real API server: what their gangs use stands in their status."""

from collections.abc import Iterator

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.scheduling.gangs import GPU, PATIENCE, Gangs
from tests.cluster.scheduling.scheduler import Scheduler

QUEUES = "/apis/scheduler.grove.io/v1alpha1/queues"


@pytest.fixture
def queue(cluster: ControlPlane, grove_crds: None, namespace: str) -> Iterator[str]:
    """A queue that may use two nodes' GPUs."""
    body = {"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "Queue", "metadata": {"name": namespace}}
    cluster.create(QUEUES, {**body, "spec": {"limit": {GPU: "16"}}})
    yield namespace
    cluster.request("DELETE", f"{QUEUES}/{namespace}")


def test_a_gang_beyond_the_limit_of_its_queue_waits_and_says_so(
    cluster: ControlPlane, gangs: Gangs, scheduler: Scheduler, queue: str
) -> None:
    first = gangs.gang("first", {"worker": 2}, queue=queue)
    gangs.placed(*first)
    gangs.gang("second", {"worker": 1}, queue=queue)
    condition = gangs.waits("second", "QueueLimit")
    assert queue in condition["message"]
    status = eventually(
        lambda: cluster.request("GET", f"{QUEUES}/{queue}")[1].get("status", {}),
        lambda found: (found.get("runningGangs"), found.get("pendingGangs")) == (1, 1),
        timeout=PATIENCE,
    )
    assert str(status["usage"][GPU]) == "16"
    gangs.remove("first", first)
    gangs.running("second")

"""Gangs that make room for more important ones."""

from collections.abc import Iterator

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.scheduling.gangs import PATIENCE, Gangs
from tests.cluster.scheduling.scheduler import Scheduler

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def important(cluster: ControlPlane, namespace: str) -> Iterator[str]:
    """A priority class."""
    name = f"{namespace}-important"
    cluster.create(CLASSES, {"metadata": {"name": name}, "value": 1000})
    yield name
    cluster.request("DELETE", f"{CLASSES}/{name}")


def test_a_gang_makes_room_for_a_more_important_one(gangs: Gangs, scheduler: Scheduler, important: str) -> None:
    low = [gangs.gang(f"low-{number}", {"worker": 3}) for number in range(4)]
    for names in low:
        gangs.placed(*names)
    high = gangs.gang("high", {"worker": 2}, priorityClassName=important)
    where = gangs.placed(*high)
    assert len({gangs.rack_of(node) for node in where.values()}) == 1
    gangs.running("high")
    disrupted = [
        number for number in range(4) if gangs.condition(f"low-{number}", "DisruptionTarget").get("status") == "True"
    ]
    assert len(disrupted) == 1
    [number] = disrupted
    assert gangs.condition(f"low-{number}", "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    assert "high" in gangs.condition(f"low-{number}", "DisruptionTarget")["message"]
    eventually(lambda: not set(low[number]) & set(gangs.where()), timeout=PATIENCE)
    for other in set(range(4)) - {number}:
        assert set(low[other]) <= set(gangs.where())
    assert "scheduler.grove.io/preemption" in gangs.view("high")["metadata"]["annotations"]
    assert scheduler.value("grove_scheduler_preemption_victims_total", unit="pod") >= 2

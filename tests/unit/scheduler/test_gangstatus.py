"""The status of a gang, from its pods and what was said of it."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from grove.api.kinds.meta import Condition
from grove.api.kinds.podgang import PodGangStatus
from grove.kube.objects import PodView
from grove.runtime.pace import Patience
from grove.scheduler import gangstatus
from grove.scheduler.gangstatus import LOST, REFUSED, REWORDED, STARTING, WAITING, Count, Said

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
LATER = NOW + datetime.timedelta(hours=1)
REFUSAL = Said("Unschedulable", "no rack has room")


def counts(scheduled: int, ready: int = 0) -> list[Count]:
    return [Count("a", 2, scheduled, ready), Count("b", 1, 1, 1)]


def wanted(
    held: PodGangStatus | None,
    scheduled: int,
    ready: int = 0,
    said: Said | None = None,
    now: datetime.datetime = NOW,
) -> PodGangStatus:
    found = gangstatus.wanted(held, counts(scheduled, ready), said, 0.75, now)
    assert found is not None
    return found


def told(status: PodGangStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in status.conditions}


def test_of_a_gang_that_nobody_has_looked_at_nothing_is_said() -> None:
    assert gangstatus.wanted(None, counts(0), None, None, NOW) is None
    assert gangstatus.wanted(PodGangStatus(phase="Pending"), counts(1), None, None, NOW) is None


def test_a_gang_goes_from_waiting_to_running() -> None:
    refused = wanted(None, 0, said=REFUSAL)
    assert (refused.phase, refused.placement_score, refused.last_scheduled) == ("Pending", None, None)
    assert told(refused)["Scheduled"] == ("False", "Unschedulable")
    placed = wanted(refused, 2)
    assert (placed.phase, placed.placement_score) == ("Starting", 0.75)
    assert told(placed) == {
        "Initialized": ("True", "PodGangPodsCreated"),
        "Scheduled": ("True", "PodGangScheduled"),
        "Ready": ("False", "PodGangNotReady"),
    }
    running = wanted(placed, 2, 2, now=LATER)
    assert running.phase == "Running"
    assert running.last_scheduled == placed.last_scheduled
    assert running.last_ready is not None
    assert running.last_ready > (placed.last_scheduled or "")


def test_a_gang_that_is_not_all_there_is_not_called_initialized() -> None:
    assert "Initialized" not in told(wanted(None, 0, said=Said("WaitingForPods", "1 of 2")))


def test_a_gang_that_loses_pods_says_so_and_since_when_it_was_whole() -> None:
    running = wanted(None, 2, 2)
    broken = wanted(running, 1, 1, now=LATER)
    assert (broken.phase, broken.placement_score) == ("Pending", None)
    assert told(broken)["Scheduled"] == ("False", "PodGangNotScheduled")
    assert (broken.last_scheduled, broken.last_ready) == (running.last_scheduled, running.last_ready)
    again = wanted(broken, 2, 2, now=LATER)
    assert again.last_scheduled != running.last_scheduled


def test_the_conditions_of_others_are_kept_and_a_disruption_ends_with_a_new_place() -> None:
    def condition(type: str) -> Condition:
        since = "2029-01-01T00:00:00Z"
        return Condition(type=type, status="True", reason="Said", message="", last_transition_time=since)

    held = PodGangStatus(phase="Pending", conditions=(condition("Unhealthy"), condition("DisruptionTarget")))
    assert told(wanted(held, 1, said=REFUSAL))["DisruptionTarget"] == ("True", "Said")
    assert told(wanted(held, 2))["DisruptionTarget"] == ("True", "Said")
    placed = gangstatus.wanted(held, counts(2), None, None, NOW, recovered=True)
    assert placed is not None
    assert told(placed)["Unhealthy"] == ("True", "Said")
    assert told(placed)["DisruptionTarget"] == ("False", "PlacedAgain")


def test_a_disruption_is_over_when_all_pods_are_others_or_nobody_goes_any_more() -> None:
    since = "2030-01-01T00:00:00Z"
    told = Condition(type="DisruptionTarget", status="True", reason="Said", message="", last_transition_time=since)
    held = PodGangStatus(phase="Running", conditions=(told,))

    def recovered(created: str, seconds: float = 1, **metadata: str) -> bool:
        body = {"metadata": {"name": "p", "creationTimestamp": created, **metadata}, "spec": {"nodeName": "n"}}
        pods = [msgspec.convert(body, PodView)]
        return gangstatus.has_recovered(held, [("a", 1, pods)], NOW + datetime.timedelta(seconds=seconds))

    assert recovered("2030-01-01T00:00:01Z")
    assert not recovered("2029-12-31T00:00:00Z")
    assert recovered("2029-12-31T00:00:00Z", 61)
    assert not recovered("2029-12-31T00:00:00Z", 61, deletionTimestamp=since)
    assert not gangstatus.has_recovered(None, [], NOW)


@pytest.mark.parametrize(
    ("before", "after", "patience"),
    [
        (None, wanted(None, 2, 2), None),
        (None, wanted(None, 2), STARTING),
        (None, wanted(None, 0, said=REFUSAL), REFUSED),
        (None, wanted(None, 0, said=Said("WaitingForPods", "")), WAITING),
        (wanted(None, 0, said=REFUSAL), wanted(None, 0, said=Said("Unschedulable", "other words")), REWORDED),
        (wanted(None, 2, 2), wanted(wanted(None, 2, 2), 1), LOST),
        (wanted(None, 2), wanted(wanted(None, 2), 1), LOST),
        (wanted(None, 0, said=REFUSAL), wanted(wanted(None, 0, said=REFUSAL), 2), STARTING),
    ],
)
def test_how_long_a_status_is_held_back(
    before: PodGangStatus | None, after: PodGangStatus, patience: Patience | None
) -> None:
    assert gangstatus.patience(before, after) == patience

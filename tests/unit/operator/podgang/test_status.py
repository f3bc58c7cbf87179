"""The status of a PodGang: what Grove says itself, and what it works out where the scheduler says nothing."""

import datetime

import pytest

from grove.api import conditions, statuses
from grove.api.kinds.meta import Condition
from grove.api.kinds.podgang import PodGangStatus
from grove.operator.podgang import status
from grove.operator.podgang.status import Count
from grove.runtime.pace import STEADY
from tests.unit.operator.podgang.builders import NOW, Cluster, clique, pcs, pod, unschedulable

LATER = NOW + datetime.timedelta(minutes=1)
THEIRS = Condition(
    type="Scheduled", status="True", reason="Placed", message="", last_transition_time="2026-01-02T03:00:00Z"
)


def counts(scheduled: int, ready: int) -> list[Count]:
    return [Count("set-0-a", 2, scheduled, ready), Count("set-0-b", 1, 1, 1)]


def said(found: PodGangStatus, type: str) -> tuple[str, str]:
    one = conditions.find(found.conditions, type)
    assert one is not None
    return one.status, one.reason


def test_a_gang_that_is_not_whole_is_pending_and_not_initialized() -> None:
    found = status.wanted(None, False, None, NOW)
    assert found.phase == "Pending"
    assert [one.type for one in found.conditions] == ["Initialized"]
    assert said(found, "Initialized") == ("False", "PodGangPodsCreationPending")


def test_it_is_initialized_once_and_for_all() -> None:
    whole = status.wanted(status.wanted(None, False, None, NOW), True, None, LATER)
    assert said(whole, "Initialized") == ("True", "PodGangPodsCreated")
    assert conditions.find(whole.conditions, "Initialized").last_transition_time == "2026-01-02T03:05:05Z"  # type: ignore[union-attr]
    assert status.wanted(whole, False, None, LATER) == whole


def test_what_a_scheduler_reports_is_kept() -> None:
    held = PodGangStatus(phase="Running", conditions=(THEIRS,), placement_score=0.5)
    found = status.wanted(held, True, None, NOW)
    assert (found.phase, found.placement_score) == ("Running", 0.5)
    assert THEIRS in found.conditions
    patch = statuses.patch(held, found)
    assert patch is not None
    assert patch["status"].keys() == {"conditions"}
    assert [one["type"] for one in patch["status"]["conditions"]] == ["Scheduled", "Initialized"]


def test_an_empty_phase_is_filled_in() -> None:
    assert status.wanted(PodGangStatus(phase=""), True, None, NOW).phase == "Pending"


@pytest.mark.parametrize(
    ("scheduled", "ready", "phase", "is_scheduled", "is_ready"),
    [
        (1, 0, "Pending", "False", "False"),
        (2, 1, "Starting", "True", "False"),
        (2, 2, "Running", "True", "True"),
        (1, 2, "Pending", "False", "False"),
        (3, 3, "Running", "True", "True"),
    ],
)
def test_phase_and_conditions_follow_from_the_pods(
    scheduled: int, ready: int, phase: str, is_scheduled: str, is_ready: str
) -> None:
    found = status.wanted(None, True, counts(scheduled, ready), NOW)
    assert found.phase == phase
    assert said(found, "Scheduled")[0] == is_scheduled
    assert said(found, "Ready")[0] == is_ready
    assert (found.last_scheduled is not None) == (is_scheduled == "True")
    assert (found.last_ready is not None) == (is_ready == "True")
    assert status.wanted(found, True, counts(scheduled, ready), LATER) == found


def test_it_says_which_pods_are_missing() -> None:
    many = [Count(f"g{number}", 2, 1, 0) for number in range(7)]
    found = conditions.find(status.wanted(None, True, many, NOW).conditions, "Scheduled")
    assert found is not None
    assert found.message == (
        "Not enough pods are scheduled: g0 1 of 2, g1 1 of 2, g2 1 of 2, g3 1 of 2, g4 1 of 2 and 2 more"
    )


FULL = "0/3 nodes are available: 3 Insufficient cpu."
TAINTED = "0/3 nodes are available: 3 node(s) had untolerated taints."


def lacking(*refusals: str, minimum: int = 3, name: str = "set-0-a") -> Count:
    return Count(name, minimum, 1, 0, refusals)


@pytest.mark.parametrize(
    ("found", "quoted"),
    [
        ([lacking(TAINTED, FULL, FULL)], FULL),
        ([lacking(TAINTED, FULL)], FULL),
        ([lacking(TAINTED), lacking(TAINTED, FULL)], TAINTED),
        ([lacking(FULL), lacking(TAINTED, TAINTED, minimum=1)], FULL),
        ([lacking("x" * 600)], "x" * 500 + "…"),
    ],
)
def test_it_quotes_what_the_scheduler_says_most_often_of_groups_that_lack_pods(found: list[Count], quoted: str) -> None:
    for order in (found, found[::-1]):
        condition = conditions.find(status.wanted(None, True, order, NOW).conditions, "Scheduled")
        assert condition is not None
        assert condition.message.endswith(f"; the scheduler says: {quoted}")


def test_what_the_scheduler_says_is_taken_from_pods_without_a_node() -> None:
    cluster = Cluster(pcs([clique("a", 3)]))
    cluster.pods["set-0-a"] = [unschedulable(pod("x"), FULL), unschedulable(pod("y", node="n"), TAINTED), pod("z")]
    assert status.count(cluster.members()) == [Count("set-0-a", 3, 1, 0, (FULL,))]


def test_other_words_for_the_same_state_wait_longer() -> None:
    first = status.wanted(None, True, [lacking(FULL)], NOW)
    assert (
        status.patience(first, status.wanted(first, True, [lacking(TAINTED)], NOW), reported=False) == status.REWORDED
    )
    up = status.wanted(first, True, counts(2, 0), NOW)
    assert status.patience(first, up, reported=False) == STEADY


def test_the_last_times_stay_when_the_gang_breaks_and_move_when_it_is_back() -> None:
    up = status.wanted(None, True, counts(2, 2), NOW)
    down = status.wanted(up, True, counts(1, 1), LATER)
    assert (down.last_scheduled, down.last_ready) == (up.last_scheduled, up.last_ready)
    back = status.wanted(down, True, counts(2, 2), LATER)
    assert (back.last_scheduled, back.last_ready) == ("2026-01-02T03:05:05Z", "2026-01-02T03:05:05Z")


def test_only_being_initialized_and_losing_readiness_are_urgent() -> None:
    first = status.wanted(None, True, counts(0, 0), NOW)
    assert status.is_urgent(None, first)
    scheduled = status.wanted(first, True, counts(2, 0), NOW)
    assert not status.is_urgent(first, scheduled)
    ready = status.wanted(scheduled, True, counts(2, 2), NOW)
    assert not status.is_urgent(scheduled, ready)
    assert status.is_urgent(ready, status.wanted(ready, True, counts(2, 1), NOW))
    pending = status.wanted(None, False, None, NOW)
    assert status.is_urgent(pending, status.wanted(pending, True, None, NOW))


def test_the_gist_leaves_times_out() -> None:
    one, other = (status.wanted(None, True, counts(2, 2), now) for now in (NOW, LATER))
    assert one != other
    assert status.gist(one) == status.gist(other)
    assert status.gist(one) != status.gist(status.wanted(None, True, counts(1, 1), NOW))


def test_pods_that_are_done_count_as_ready() -> None:
    cluster = Cluster(pcs([clique("a", 3)]))
    cluster.pods["set-0-a"] = [
        pod("done", node="n", phase="Succeeded", restart="Never"),
        pod("ready", node="n", phase="Running", ready=True),
        pod("waits"),
    ]
    assert status.count(cluster.members()) == [Count("set-0-a", 3, 2, 2)]

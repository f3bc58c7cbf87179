"""The least that must be sent to make one tree another, and what a status says apart from when."""

from msgspec.structs import replace

from grove.api import statuses
from grove.api.kinds.meta import Condition, LastError
from grove.api.kinds.podclique import PodCliqueStatus


def test_changes_name_only_what_differs() -> None:
    before = {"kept": 1, "gone": 2, "list": [1, 2], "object": {"kept": 1, "gone": 2}}
    after = {"kept": 1, "list": [1], "object": {"kept": 1, "new": 3}, "added": {"x": 1}}
    assert statuses.changes(before, after) == {
        "gone": None,
        "list": [1],
        "object": {"gone": None, "new": 3},
        "added": {"x": 1},
    }


def test_equal_trees_need_no_change() -> None:
    assert statuses.changes({"a": {"b": [1]}}, {"a": {"b": [1]}}) == {}


HELD = PodCliqueStatus(
    replicas=2,
    conditions=(
        Condition(type="A", status="True", reason="B", message="", last_transition_time="2026-11-19T12:00:00Z"),
    ),
)


def test_a_status_that_says_the_same_is_not_sent() -> None:
    assert statuses.patch(HELD, replace(HELD)) is None


def test_a_first_status_is_sent_even_if_it_is_empty() -> None:
    assert statuses.patch(None, PodCliqueStatus()) == {
        "status": {"readyReplicas": 0, "updatedReplicas": 0, "scheduleGatedReplicas": 0, "scheduledReplicas": 0}
    }


def test_a_patch_takes_back_what_is_not_so_any_more() -> None:
    error = LastError(code="ERR_X", description="x", observed_at="2026-11-19T12:00:00Z")
    before = replace(HELD, last_errors=(error,), phase="Running")
    assert statuses.patch(before, replace(HELD, ready_replicas=1)) == {
        "status": {"lastErrors": None, "phase": None, "readyReplicas": 1}
    }

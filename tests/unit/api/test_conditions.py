"""Conditions, and the errors and operations of a status: what says nothing new is not said again."""

import datetime

from grove.api import conditions
from grove.api.conditions import find, is_true, moment, put, timestamp, without
from grove.api.kinds.meta import Condition
from grove.operator.failures import StepError, last_errors, last_operation

NOON = datetime.datetime(2026, 11, 19, 12, tzinfo=datetime.UTC)
LATER = NOON + datetime.timedelta(minutes=5)


def ready(status: conditions.Status, message: str = "", now: datetime.datetime = NOON) -> tuple[Condition, ...]:
    return put((), "Ready", status, "Because", message, now=now, generation=1)


def test_times_are_read_as_they_are_written_in_any_zone() -> None:
    there = datetime.timezone(datetime.timedelta(hours=5))
    assert timestamp(NOON.astimezone(there)) == "2026-11-19T12:00:00Z"
    assert moment(timestamp(NOON)) == NOON
    assert moment("2026-11-19T12:00:00.000000Z") == NOON


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    held = ready("False")
    (other,) = put(held, "Ready", "False", "Because", "3 of 4", now=LATER, generation=2)
    assert (other.message, other.last_transition_time) == ("3 of 4", timestamp(NOON))
    (turned,) = put(held, "Ready", "True", "Because", "", now=LATER)
    assert turned.last_transition_time == timestamp(LATER)


def test_what_says_nothing_new_is_the_very_same() -> None:
    held = ready("True")
    assert put(held, "Ready", "True", "Because", "", now=LATER, generation=1) is held


def test_others_keep_their_place() -> None:
    held = (*ready("True"), *put((), "Other", "False", "Because", "", now=NOON))
    assert [one.type for one in put(held, "Ready", "False", "Because", "", now=LATER)] == ["Ready", "Other"]
    assert [one.type for one in without(held, "Ready")] == ["Other"]
    assert without(held, "Missing") is held


def test_only_true_is_true() -> None:
    assert is_true(ready("True"), "Ready")
    assert not is_true(ready("Unknown"), "Ready")
    assert not is_true((), "Ready")
    assert find((), "Ready") is None


def test_an_error_says_where_it_happened_and_why() -> None:
    error = StepError("ERR_SYNC_HPA", "could not write", cause=ValueError("no room"))
    assert str(error) == "[Operation: Sync, Code: ERR_SYNC_HPA] message: could not write, cause: no room"
    assert str(StepError("ERR_X", "bad", operation="Delete")) == "[Operation: Delete, Code: ERR_X] message: bad"


def test_an_error_that_stays_keeps_its_time_and_one_that_is_gone_goes() -> None:
    first, second = StepError("ERR_A", "a"), StepError("ERR_B", "b")
    held = last_errors((), [first], NOON)
    both = last_errors(held, [first, second], LATER)
    assert [one.observed_at for one in both] == [timestamp(NOON), timestamp(LATER)]
    assert last_errors(both, [], LATER) == ()


def test_an_operation_is_written_when_it_says_something_new() -> None:
    held = last_operation(None, "Reconcile", "Processing", "applies", NOON)
    assert last_operation(held, "Reconcile", "Processing", "applies", LATER) is held
    assert last_operation(held, "Reconcile", "Succeeded", "applied", LATER).last_update_time == timestamp(LATER)

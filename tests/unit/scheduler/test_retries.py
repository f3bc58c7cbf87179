"""How long a gang is left alone whose pods could not be bound."""

from __future__ import annotations

import pytest

from grove.scheduler.outcomes import BindFailure, Reason
from grove.scheduler.retries import LONGEST, Retries

REFUSED = BindFailure("Refused", "admission says no")


def test_pauses_grow_up_to_a_bound_and_end_with_a_success() -> None:
    retries, now, pauses = Retries(), 0.0, []
    for _ in range(9):
        retries.failed("g", REFUSED)
        retries.failed("g", REFUSED)  # another pod of the same decision
        found = retries.waits("g", now)
        assert found is not None
        assert found.why == REFUSED
        pauses.append(found.until - now)
        now = found.until
        assert retries.waits("g", now) is None
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, LONGEST]
    retries.done("g")
    assert retries.waits("g", now) is None
    assert len(retries) == 0


def test_a_pause_counts_from_the_next_look() -> None:
    """Nobody knows the time when a failure is told."""
    retries = Retries()
    retries.failed("g", REFUSED)
    found = retries.waits("g", 1000.0)
    assert found is not None
    assert found.until == 1001.0
    assert retries.waits("g", 1000.5) is found


@pytest.mark.parametrize("reason", ["Gone", "Foreign"])
def test_pods_that_are_gone_or_elsewhere_are_no_reason_to_wait(reason: Reason) -> None:
    retries = Retries()
    retries.failed("g", BindFailure(reason))
    assert retries.waits("g", 0.0) is None


def test_a_place_that_was_lost_under_our_hands_is_looked_for_again_at_once() -> None:
    retries = Retries()
    retries.failed("g", BindFailure("Changed"))
    assert retries.waits("g", 0.0) is None
    retries.failed("g", BindFailure("Changed"))
    assert retries.waits("g", 0.0) is not None

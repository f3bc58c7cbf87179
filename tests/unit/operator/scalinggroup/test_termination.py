"""Which copies are stopped and started anew."""

from __future__ import annotations

import datetime

from grove.operator.scalinggroup.copies import Copy
from grove.operator.scalinggroup.termination import Termination, decide
from tests.unit.operator.scalinggroup.builders import after

HOUR = datetime.timedelta(hours=1)


def copies(*broken_since: float | None) -> list[Copy]:
    return [
        Copy(index=index, breached_since=None if since is None else after(since))
        for index, since in enumerate(broken_since)
    ]


def test_nothing_is_done_while_all_are_well() -> None:
    assert decide(copies(None, None), 1, HOUR, after(9999)) == Termination()


def test_a_copy_goes_exactly_when_its_delay_is_over() -> None:
    assert decide(copies(None, 0), 1, HOUR, after(3599)) == Termination((), after(3600))
    assert decide(copies(None, 0), 1, HOUR, after(3600)) == Termination((1,), None)


def test_the_next_one_that_is_due_is_waited_for() -> None:
    assert decide(copies(None, 0, 900, 600), 1, HOUR, after(3600)) == Termination((1,), after(4200))


def test_too_many_broken_copies_are_left_to_the_set() -> None:
    assert decide(copies(None, 0, 0), 2, HOUR, after(9999)) == Termination()
    assert decide(copies(0), 1, HOUR, after(9999)) == Termination()


def test_a_shorter_delay_counts_at_once() -> None:
    assert decide(copies(None, 0), 1, HOUR / 2, after(1800)).terminate == (1,)

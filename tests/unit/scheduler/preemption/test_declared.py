"""What gangs say of themselves."""

from __future__ import annotations

from math import inf

import pytest

from grove.scheduler.preemption.declared import ends, preemptible, restart_cost


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("1h30m", 5400.0), ("45", 45.0), ("soon", None), ("-5s", None), ("", None)]
)
def test_a_cost_is_a_duration_or_a_number_of_seconds(text: str, seconds: float | None) -> None:
    assert restart_cost({"grove.io/restart-cost": text}) == seconds


def test_a_gang_that_does_not_say_runs_for_ever() -> None:
    assert ends(None, 100.0) == inf
    assert ends({"grove.io/expected-duration": "1m"}, 100.0) == 160.0


def test_only_never_forbids_to_go() -> None:
    assert preemptible(None)
    assert preemptible({"grove.io/preemption": "yes"})
    assert not preemptible({"grove.io/preemption": "never"})

"""What the configuration makes of the scheduler."""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import Placement, Preemption, SchedulerConfiguration, Starvation
from grove.scheduler import settings
from grove.scheduler.preemption.running import Policy


def test_the_budget_of_a_search_is_counted_in_steps() -> None:
    assert settings.search_steps(Placement()) == 25_000
    assert settings.search_steps(Placement(search_budget="2s")) == 200_000
    assert settings.search_steps(Placement(search_budget="1ns")) == 1


def test_preemption_can_be_switched_off() -> None:
    assert settings.policy(Preemption(enabled=False)) is None
    given = Preemption(policy="minGangs", delay="90s", foreign_pods=True)
    assert settings.policy(given) == Policy(order="minGangs", delay=90.0, foreign_pods=True)


def test_the_engine_is_told_what_is_configured() -> None:
    found = settings.rules(
        SchedulerConfiguration(
            scheduler_names=("a", "b"),
            placement=Placement(search_budget="1s", replica_affinity="required"),
            starvation=Starvation(after="1m", max_reserved_percent=25),
        )
    )
    assert tuple(found.scheduler_names) == ("a", "b")
    assert (found.search_steps, found.search_budget, found.replica_affinity) == (100_000, "1s", "required")
    assert (found.starves_after, found.held_percent) == (60.0, 25)

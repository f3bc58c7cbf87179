"""What is remembered of plans."""

from __future__ import annotations

from grove.scheduler.preemption.ledger import Ledger


def test_after_two_more_plans_a_gang_cools_down_twice_as_long_each_time() -> None:
    ledger = Ledger()
    pauses = []
    for _ in range(9):
        ledger.planned("a", [], [], 1000.0)
        pauses.append(max(0.0, ledger.case("a").not_before - 1000.0))
    assert pauses == [0, 0, 60, 60, 60, 120, 120, 120, 240]


def test_who_went_for_a_gang_counts_until_it_is_placed() -> None:
    ledger = Ledger()
    ledger.planned("a", ["x"], ["v"], 0.0)
    ledger.planned("a", ["y"], ["v"], 1.0)
    assert ledger.case("a").sunk == {"x", "y"}
    ledger.placed("a")
    assert ledger.case("a").sunk == frozenset()


def test_only_those_who_went_often_and_lately_are_spared() -> None:
    ledger = Ledger()
    ledger.planned("a", [], ["v"], 0.0)
    assert ledger.repeats("v", 10.0) == 0
    ledger.planned("b", [], ["v", "v"], 100.0)
    assert ledger.repeats("v", 200.0) == 2
    assert ledger.repeats("v", 3650.0) == 0
    ledger.expire(10_000.0)
    assert ledger.statistics() == {"cases": 2, "remembered": 0}

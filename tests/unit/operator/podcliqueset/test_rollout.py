"""Which replica is updated now."""

from __future__ import annotations

from typing import Any

import pytest

from grove.api.conditions import timestamp
from grove.api.kinds.podcliqueset import PodCliqueSetSpec
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus, ReplicaUpdate, UpdateProgress
from grove.operator.podcliqueset import rollout
from grove.operator.podcliqueset.rollout import Replica
from tests.unit.operator.podcliqueset.builders import at, clique, pcs

RUNNING = UpdateProgress(update_started_at=timestamp(at(0)))


def spec(strategy: str = "") -> PodCliqueSetSpec:
    return pcs(clique("a"), replicas=3, strategy=strategy).spec


def known(hash: str, progress: UpdateProgress | None = None) -> PodCliqueSetStatus:
    return PodCliqueSetStatus(current_generation_hash=hash, update_progress=progress)


def old(index: int, **rest: Any) -> Replica:
    return Replica(index, is_new=False, is_available=True, **rest)


def done(index: int) -> Replica:
    return Replica(index, is_new=True, is_available=True)


def chosen(progress: UpdateProgress | None) -> list[int]:
    return [] if progress is None else [one.replica_index for one in progress.currently_updating]


def at_work(index: int) -> UpdateProgress:
    return UpdateProgress(update_started_at=timestamp(at(0)), currently_updating=(ReplicaUpdate(replica_index=index),))


def test_the_first_template_is_no_update() -> None:
    assert rollout.progressed(spec(), None, "h1", [old(0)], at(0)) is None


def test_a_changed_template_starts_an_update_with_the_first_replica() -> None:
    found = rollout.progressed(spec(), known("h1"), "h2", [old(0), old(1)], at(5))
    assert found is not None
    assert (found.update_started_at, found.update_ended_at) == (timestamp(at(5)), None)
    assert chosen(found) == [0]


def test_what_costs_nothing_goes_first_and_then_what_is_broken() -> None:
    idle = [old(0), old(1, is_breached=True), old(2, has_scheduled=False)]
    assert chosen(rollout.progressed(spec(), known("h2", RUNNING), "h2", idle, at(9))) == [2]
    assert chosen(rollout.progressed(spec(), known("h2", RUNNING), "h2", idle[:2], at(9))) == [1]


def test_a_replica_stays_selected_until_it_is_done() -> None:
    waiting = Replica(1, is_new=True, is_available=False, waits_for="waits for PodClique x")
    found = rollout.progressed(spec(), known("h2", at_work(1)), "h2", [old(0), waiting], at(9))
    assert chosen(found) == [1]
    assert found is not None
    assert found.currently_updating[0].message == "waits for PodClique x"
    after = rollout.progressed(spec(), known("h2", at_work(1)), "h2", [old(0), done(1)], at(9))
    assert chosen(after) == [0]


def test_a_replica_stays_selected_when_the_template_changes_again() -> None:
    found = rollout.progressed(spec(), known("h2", at_work(1)), "h3", [old(0), old(1)], at(9))
    assert chosen(found) == [1]
    assert found is not None
    assert found.update_started_at == timestamp(at(9))


def test_a_selected_replica_that_was_scaled_away_is_dropped() -> None:
    assert chosen(rollout.progressed(spec(), known("h2", at_work(2)), "h2", [old(0), done(1)], at(9))) == [0]


def test_a_replica_that_gang_termination_takes_apart_is_not_chosen() -> None:
    going = old(0, is_recycled=True)
    assert chosen(rollout.progressed(spec(), known("h2", RUNNING), "h2", [going, old(1)], at(9))) == [1]
    found = rollout.progressed(spec(), known("h2", RUNNING), "h2", [going], at(9))
    assert found is not None
    assert (chosen(found), found.update_ended_at) == ([], None)


def test_an_update_ends_when_every_replica_is_done() -> None:
    found = rollout.progressed(spec(), known("h2", at_work(1)), "h2", [done(0), done(1)], at(9))
    assert found is not None
    assert (chosen(found), found.update_ended_at) == ([], timestamp(at(9)))


def test_a_new_replica_that_finds_no_room_holds_nobody_up() -> None:
    pending = Replica(2, is_new=True, is_available=False, has_scheduled=False, has_started=False)
    assert chosen(rollout.progressed(spec(), known("h2", RUNNING), "h2", [old(0), pending], at(9))) == [0]
    found = rollout.progressed(spec(), known("h2", at_work(0)), "h2", [done(0), pending], at(9))
    assert found is not None
    assert found.update_ended_at is not None


def test_a_replica_that_ran_and_lost_its_pods_is_waited_for() -> None:
    lost = Replica(0, is_new=True, is_available=False, has_scheduled=False, has_started=True)
    assert chosen(rollout.progressed(spec(), known("h2", RUNNING), "h2", [lost, old(1)], at(9))) == [0]


def test_on_delete_an_update_ends_as_it_begins() -> None:
    found = rollout.progressed(spec("OnDelete"), known("h1"), "h2", [old(0)], at(9))
    assert found is not None
    assert (found.update_started_at, found.update_ended_at, chosen(found)) == (timestamp(at(9)), timestamp(at(9)), [])


def test_a_running_update_ends_when_the_strategy_becomes_on_delete() -> None:
    found = rollout.progressed(spec("OnDelete"), known("h2", at_work(0)), "h2", [old(0)], at(9))
    assert found is not None
    assert (found.update_ended_at, chosen(found)) == (timestamp(at(9)), [])


def test_what_on_delete_left_old_stays_so_when_the_strategy_changes() -> None:
    over = UpdateProgress(update_started_at=timestamp(at(0)), update_ended_at=timestamp(at(0)))
    assert rollout.progressed(spec(), known("h2", over), "h2", [done(0), old(1)], at(9)) is over


def test_an_update_that_is_over_asks_for_nothing() -> None:
    over = UpdateProgress(update_started_at=timestamp(at(0)), update_ended_at=timestamp(at(8)))
    assert rollout.progressed(spec(), known("h2", over), "h2", [old(0)], at(9)) is over


@pytest.mark.parametrize(
    ("strategy", "status", "follows"),
    [
        ("", None, True),
        ("", known("h2"), True),
        ("", known("h2", at_work(1)), True),
        ("", known("h2", at_work(0)), False),
        ("", known("h2", RUNNING), False),
        ("OnDelete", known("h2", at_work(0)), True),
        ("Coherent", known("h2", at_work(0)), False),
    ],
)
def test_only_the_selected_replica_follows_the_template_during_an_update(
    strategy: str, status: PodCliqueSetStatus | None, follows: bool
) -> None:
    assert rollout.may_follow(spec(strategy), status, 1) is follows

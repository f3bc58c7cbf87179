"""Which copies of a scaling group are replaced now."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from grove.api.conditions import timestamp
from grove.api.kinds.scaling import RollingUpdate
from grove.api.kinds.scalinggroup import ReplicaSelection, ScalingGroupUpdateProgress
from grove.operator.scalinggroup.copies import Copy
from grove.operator.scalinggroup.rollout import Rollout, Situation, Turn, decide, is_running, turn
from tests.unit.operator.scalinggroup.builders import after, leader_and_worker

NOW = after(1000)


def new(index: int) -> Copy:
    return Copy(index=index, is_available=True, is_updated=True, updated_members=2)


def starting(index: int) -> Copy:
    """Replaced, and not ready yet."""
    return Copy(index=index)


def old(index: int, *, ready: bool = True) -> Copy:
    return Copy(index=index, is_old=True, is_available=ready)


def progress(hash: str = "new", *, ended: bool = False, **rest: Any) -> ScalingGroupUpdateProgress:
    times: dict[str, Any] = {
        "update_started_at": timestamp(after(500)),
        "update_ended_at": timestamp(after(600)) if ended else None,
    }
    return ScalingGroupUpdateProgress(pod_clique_set_generation_hash=hash, **times, **rest)


def situation(**rest: Any) -> Situation:
    usual: dict[str, Any] = {
        "hash": "new",
        "known": "old",
        "held": None,
        "turn": Turn.SELECTED,
        "on_delete": False,
        "pace": None,
        "cliques": 2,
    }
    return Situation(**usual | rest)


def test_a_fresh_group_has_no_update() -> None:
    assert decide([starting(0), starting(1)], situation(known=None), NOW) == Rollout()
    assert decide([new(0)], situation(known=None), NOW) == Rollout()


def test_a_group_that_a_change_does_not_concern_has_no_update() -> None:
    assert decide([new(0), new(1)], situation(), NOW) == Rollout()


def test_an_update_begins_with_the_lowest_copy() -> None:
    found = decide([old(0), old(1)], situation(), NOW)
    assert found.replace == (0,)
    assert found.progress == ScalingGroupUpdateProgress(
        update_started_at=timestamp(NOW),
        pod_clique_set_generation_hash="new",
        updated_pod_cliques_count=0,
        total_pod_cliques_count=4,
        ready_replica_indices_selected_to_update=ReplicaSelection(current=0),
    )


def test_the_next_copy_waits_until_the_one_before_is_available() -> None:
    held = progress(ready_replica_indices_selected_to_update=ReplicaSelection(current=0))
    assert decide([starting(0), old(1)], situation(held=held), NOW).replace == ()
    found = decide([new(0), old(1)], situation(held=held), NOW)
    assert found.replace == (1,)
    assert found.progress is not None
    assert found.progress.ready_replica_indices_selected_to_update == ReplicaSelection(current=1, completed=(0,))
    assert found.progress.updated_pod_cliques_count == 2


def test_as_many_copies_go_at_once_as_may_be_missing() -> None:
    pace = RollingUpdate(max_unavailable=2)
    found = decide([old(0), old(1), old(2)], situation(pace=pace), NOW)
    assert found.replace == (0, 1)
    assert decide([starting(0), old(1), old(2)], situation(pace=pace, held=progress()), NOW).replace == (1,)


@pytest.mark.parametrize("senseless", [None, 0, -1])
def test_one_copy_may_be_missing_where_nothing_sensible_is_said(senseless: int | None) -> None:
    found = decide([old(0), old(1)], situation(pace=RollingUpdate(max_unavailable=senseless)), NOW)
    assert found.replace == (0,)


def test_old_copies_that_serve_nobody_all_go_first_and_are_no_selection() -> None:
    found = decide([old(0), old(1, ready=False), old(2, ready=False)], situation(), NOW)
    assert found.replace == (1, 2)
    assert found.progress is not None
    assert found.progress.ready_replica_indices_selected_to_update is None


def test_nothing_is_replaced_while_it_is_another_replicas_turn() -> None:
    assert decide([old(0), old(1, ready=False)], situation(turn=Turn.OTHERS), NOW) == Rollout()
    held = progress("before")
    found = decide([old(0), new(1)], situation(turn=Turn.OTHERS, held=held), NOW)
    assert found.replace == ()
    assert found.progress is not None
    assert found.progress.pod_clique_set_generation_hash == "before"


def test_a_template_that_changes_in_mid_update_begins_it_anew() -> None:
    held = progress("before", ready_replica_indices_selected_to_update=ReplicaSelection(current=0))
    found = decide([old(0), old(1)], situation(held=held), NOW)
    assert found.progress is not None
    assert found.progress.pod_clique_set_generation_hash == "new"
    assert found.progress.update_started_at == timestamp(NOW)
    assert found.replace == (0,)


def test_an_update_ends_when_all_copies_are_available_with_the_new_templates() -> None:
    held = progress(ready_replica_indices_selected_to_update=ReplicaSelection(current=1))
    assert is_running(decide([new(0), starting(1)], situation(held=held), NOW).progress)
    found = decide([new(0), new(1)], situation(held=held), NOW).progress
    assert found is not None
    assert found.update_ended_at == timestamp(NOW)
    assert found.ready_replica_indices_selected_to_update is None
    assert found.updated_pod_cliques_count == found.total_pod_cliques_count == 4


def test_an_update_ends_also_if_a_later_change_did_not_concern_the_group() -> None:
    found = decide([new(0)], situation(held=progress("before")), NOW).progress
    assert found is not None
    assert found.update_ended_at is not None
    assert found.pod_clique_set_generation_hash == "new"


def test_an_update_of_a_group_that_was_scaled_to_zero_ends() -> None:
    assert not is_running(decide([], situation(held=progress()), NOW).progress)


def test_an_update_that_has_ended_stays_as_it_is() -> None:
    ended = progress(ended=True)
    assert decide([new(0), starting(1)], situation(held=ended), NOW) == Rollout(progress=ended)


def test_what_was_left_behind_is_replaced_later() -> None:
    found = decide([new(0), old(1)], situation(held=progress(ended=True), turn=Turn.RECOVERY), NOW)
    assert found.replace == (1,)
    assert is_running(found.progress)


def test_pods_that_on_delete_left_old_are_replaced_only_when_the_set_updates_them() -> None:
    left = Copy(index=0, has_old_pods=True, is_available=True)
    held = progress(ended=True)
    assert decide([left], situation(held=held, turn=Turn.RECOVERY), NOW) == Rollout(progress=held)
    assert decide([left], situation(held=held), NOW).replace == (0,)


def test_only_the_last_replaced_copies_are_named() -> None:
    selection = ReplicaSelection(current=50, completed=tuple(range(50)))
    held = progress(ready_replica_indices_selected_to_update=selection)
    found = decide([*map(new, range(51)), old(51)], situation(held=held), NOW).progress
    assert found is not None
    assert found.ready_replica_indices_selected_to_update == ReplicaSelection(current=51, completed=tuple(range(1, 51)))


# On delete


def test_with_on_delete_nothing_is_replaced_and_the_update_is_over_at_once() -> None:
    found = decide([old(0), old(1, ready=False)], situation(on_delete=True), NOW)
    assert found.replace == ()
    assert found.progress is not None
    assert found.progress.update_started_at == found.progress.update_ended_at == timestamp(NOW)
    again = decide([starting(0)], situation(on_delete=True, held=found.progress), after(2000)).progress
    assert again is not None
    assert again.update_ended_at == timestamp(NOW)


def test_an_update_under_way_is_over_when_the_strategy_becomes_on_delete() -> None:
    found = decide([new(0), old(1)], situation(on_delete=True, held=progress()), NOW)
    assert found.replace == ()
    assert not is_running(found.progress)


def test_a_fresh_group_has_no_update_with_on_delete_either() -> None:
    assert decide([starting(0)], situation(on_delete=True, known=None), NOW) == Rollout()


# The deadline


def test_the_deadline_counts_from_when_something_last_came_about() -> None:
    pace = RollingUpdate(progress_deadline="1m")
    assert decide([starting(0)], situation(held=progress(), pace=pace), NOW).deadline == after(560)
    grown = replace(starting(0), progressed=after(800))
    assert decide([grown, starting(1)], situation(held=progress(), pace=pace), NOW).deadline == after(860)
    assert decide([starting(0)], situation(held=progress()), NOW).deadline is None


# Whose turn it is


def whose(replica: int = 0, **status: Any) -> Turn:
    return turn(leader_and_worker(status={"currentGenerationHash": "h", **status}), replica, "h")


def test_without_an_update_of_the_set_what_was_left_behind_may_be_replaced() -> None:
    assert whose() is Turn.RECOVERY
    ended = {"updateStartedAt": timestamp(NOW), "updateEndedAt": timestamp(NOW)}
    assert whose(7, updateProgress=ended) is Turn.RECOVERY


def test_while_the_set_updates_it_is_the_turn_of_the_selected_replica() -> None:
    selected = [{"replicaIndex": 1}, {"replicaIndex": 2, "updateEndedAt": timestamp(NOW)}]
    running = {"updateStartedAt": timestamp(NOW), "currentlyUpdating": selected}
    turns = [whose(replica, updateProgress=running) for replica in range(3)]
    assert turns == [Turn.OTHERS, Turn.SELECTED, Turn.OTHERS]
    assert whose(updateProgress={"updateStartedAt": timestamp(NOW)}) is Turn.OTHERS


def test_before_the_set_has_noted_its_new_templates_it_is_nobodys_turn() -> None:
    assert whose(currentGenerationHash="before") is Turn.OTHERS
    assert turn(leader_and_worker(), 0, "h") is Turn.OTHERS

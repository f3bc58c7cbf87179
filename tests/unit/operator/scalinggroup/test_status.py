"""The status of a scaling group."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from grove.api import conditions, statuses
from grove.api.conditions import timestamp
from grove.api.kinds.scalinggroup import (
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    ReplicaSelection,
    ScalingGroupUpdateProgress,
)
from grove.operator.failures import StepError
from grove.operator.scalinggroup.copies import Copy
from grove.operator.scalinggroup.rollout import Rollout
from grove.operator.scalinggroup.status import Observation, gist, has_lost_all, is_urgent, status
from tests.unit.operator.scalinggroup.builders import START, after, condition, scaling_group

NOW = after(100)
RUNNING = ScalingGroupUpdateProgress(update_started_at=timestamp(after(50)), pod_clique_set_generation_hash="new")


def well(index: int = 0) -> Copy:
    return Copy(index=index, is_scheduled=True, is_available=True, is_updated=True, is_healthy=True, updated_members=2)


def seen(*copies: Copy, **rest: Any) -> Observation:
    usual: dict[str, Any] = {"pcs": "x", "hash": "new", "generation": 1, "rollout": Rollout()}
    return Observation(copies=copies, **usual | rest)


def wanted(group: PodCliqueScalingGroup, *copies: Copy, now: Any = NOW, **rest: Any) -> PodCliqueScalingGroupStatus:
    return status(group, seen(*copies, **rest), now)


def states(of: PodCliqueScalingGroupStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in of.conditions}


def group_with(found: PodCliqueScalingGroupStatus, **spec: Any) -> PodCliqueScalingGroup:
    return replace(scaling_group(**spec), status=found)


def breached(since: float, status: str = "True") -> dict[str, Any]:
    return {"conditions": [condition("MinAvailableBreached", status, since)]}


def test_copies_are_counted() -> None:
    found = wanted(scaling_group(3), well(0), Copy(index=1, is_scheduled=True), Copy(index=2))
    assert (found.replicas, found.scheduled_replicas, found.available_replicas, found.updated_replicas) == (3, 2, 1, 1)
    assert found.observed_generation == 1
    assert found.selector == (
        "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=x,grove.io/podcliquescalinggroup=x-0-sg"
    )


def test_the_second_status_says_the_same() -> None:
    first = wanted(scaling_group(), well(0), Copy(index=1))
    again = wanted(group_with(first), well(0), Copy(index=1), now=after(200))
    assert statuses.patch(first, again) is None


def test_a_group_follows_new_templates_only_when_all_copies_are_available_with_them() -> None:
    held = scaling_group(status={"currentPodCliqueSetGenerationHash": "old"})
    assert wanted(held, well(0), Copy(index=1)).current_pod_clique_set_generation_hash == "old"
    assert wanted(held, well(0), well(1)).current_pod_clique_set_generation_hash == "new"
    running = Rollout(progress=RUNNING)
    assert wanted(held, well(0), well(1), rollout=running).current_pod_clique_set_generation_hash == "old"


# MinAvailableBreached


def test_a_new_group_is_broken_since_it_was_made_until_enough_copies_are_well() -> None:
    first = wanted(scaling_group(), Copy(index=0), Copy(index=1))
    found = conditions.find(first.conditions, "MinAvailableBreached")
    assert found is not None
    assert (found.status, found.reason) == ("True", "InsufficientAvailablePodCliqueScalingGroupReplicas")
    assert found.last_transition_time == timestamp(START)
    assert found.message == "PCSG replicas not in breach (0) below MinAvailable (1)"
    then = wanted(group_with(first), well(0), Copy(index=1))
    found = conditions.find(then.conditions, "MinAvailableBreached")
    assert found is not None
    assert (found.status, found.last_transition_time) == ("False", timestamp(NOW))


def test_during_an_update_it_is_not_known_whether_a_group_is_broken() -> None:
    assert states(wanted(scaling_group(), Copy(index=0), rollout=Rollout(progress=RUNNING))) == {
        "MinAvailableBreached": ("Unknown", "UpdateInProgress"),
        "UpdateInProgress": ("True", "Progressing"),
    }


def test_a_group_that_is_scaled_to_zero_is_not_broken() -> None:
    found = wanted(scaling_group(0))
    assert states(found)["MinAvailableBreached"][0] == "False"
    assert found.phase == "Running"


def test_a_gang_termination_is_over_when_the_group_is_well_again() -> None:
    terminating = {"conditions": [condition("GangTerminationInProgress", "True")]}
    assert "GangTerminationInProgress" in states(wanted(scaling_group(status=terminating), Copy(index=0)))
    assert "GangTerminationInProgress" not in states(wanted(scaling_group(status=terminating), well()))


# UpdateInProgress


def test_an_update_that_stands_still_for_too_long_is_reported() -> None:
    late = Rollout(progress=RUNNING, deadline=NOW)
    assert states(wanted(scaling_group(), rollout=late))["UpdateInProgress"] == ("Unknown", "ProgressDeadlineExceeded")
    early = Rollout(progress=RUNNING, deadline=after(101))
    assert states(wanted(scaling_group(), rollout=early))["UpdateInProgress"] == ("True", "Progressing")


def test_without_an_update_there_is_none() -> None:
    assert states(wanted(scaling_group(), well()))["UpdateInProgress"] == ("False", "NoActiveUpdate")


# Errors


def test_errors_are_told_and_cleared() -> None:
    error = StepError("ERR_CREATE_PODCLIQUES", "cannot create PodClique a")
    failed = wanted(scaling_group(), well(), errors=[error], generation=2)
    assert [one.code for one in failed.last_errors] == ["ERR_CREATE_PODCLIQUES"]
    assert failed.observed_generation is None
    assert failed.last_operation is not None
    assert failed.last_operation.state == "Error"
    healed = wanted(group_with(failed), well(), generation=2)
    assert not healed.last_errors
    assert healed.observed_generation == 2
    assert healed.last_operation is not None
    assert healed.last_operation.state == "Succeeded"


# Phases


@pytest.mark.parametrize(
    ("phase", "held", "copies", "rollout"),
    [
        ("Pending", None, [Copy(index=0)], Rollout()),
        ("Scheduling", None, [Copy(index=0, is_scheduled=True), Copy(index=1)], Rollout()),
        ("Starting", None, [Copy(index=0, is_scheduled=True), Copy(index=1, is_scheduled=True)], Rollout()),
        ("Running", None, [well(0), well(1)], Rollout()),
        ("Degraded", breached(60), [well(0), Copy(index=1)], Rollout()),
        ("Updating", breached(60), [well(0), well(1)], Rollout(progress=RUNNING)),
    ],
)
def test_the_phase_says_in_a_word_how_the_group_fares(phase: str, held: Any, copies: Any, rollout: Rollout) -> None:
    group = scaling_group(2, status=held, minAvailable=2)
    assert wanted(group, *copies, rollout=rollout).phase == phase


# When it is written


def test_while_a_group_comes_up_only_errors_are_urgent() -> None:
    group = scaling_group()
    assert not is_urgent(group, wanted(group, Copy(index=0)))
    assert is_urgent(group, wanted(group, Copy(index=0), errors=[StepError("ERR", "no")]))
    held = group_with(wanted(group, Copy(index=0)))
    assert not is_urgent(held, wanted(held, well()))


def test_a_change_of_the_spec_is_acknowledged_at_once() -> None:
    held = group_with(wanted(scaling_group(), Copy(index=0)))
    assert is_urgent(held, wanted(held, Copy(index=0), generation=2))


def test_the_steps_of_an_update_are_urgent_and_its_counts_are_not() -> None:
    group = scaling_group()
    assert is_urgent(group, wanted(group, rollout=Rollout(progress=RUNNING)))
    held = group_with(wanted(group, rollout=Rollout(progress=RUNNING)))
    counted = replace(RUNNING, updated_pod_cliques_count=1)
    assert not is_urgent(held, wanted(held, rollout=Rollout(progress=counted)))
    selected = replace(RUNNING, ready_replica_indices_selected_to_update=ReplicaSelection(current=1))
    assert is_urgent(held, wanted(held, rollout=Rollout(progress=selected)))


def test_a_group_that_breaks_is_urgent_news() -> None:
    held = group_with(wanted(scaling_group(), well()))
    assert is_urgent(held, wanted(held, Copy(index=0)))
    assert not is_urgent(held, wanted(held, well(), Copy(index=1)))


def test_times_make_no_difference_to_what_a_status_says() -> None:
    error = StepError("ERR", "no")
    first, later = (wanted(scaling_group(), Copy(index=0), errors=[error], now=after(time)) for time in (1, 2))
    assert first != later
    assert gist(first) == gist(later)


def test_losing_all_scheduled_copies_is_an_event_unless_an_update_takes_them() -> None:
    group = scaling_group()
    held = wanted(group, well())
    assert has_lost_all(held, wanted(group, Copy(index=0)))
    assert not has_lost_all(None, wanted(group, Copy(index=0)))
    assert not has_lost_all(held, wanted(group, Copy(index=0), rollout=Rollout(progress=RUNNING)))
    assert not has_lost_all(held, wanted(scaling_group(0)))

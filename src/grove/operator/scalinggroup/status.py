"""The status of a scaling group, from its copies. Pure.

Everything in it is counted from pods: what PodCliques say of themselves comes later.

`GangTerminationInProgress` is written by the controller of PodCliqueSets; here it is kept, and removed when the group
is well again.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from grove.api import conditions, labels
from grove.api.kinds.meta import Condition, LastOperation
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup, PodCliqueScalingGroupStatus, ScalingGroupUpdateProgress
from grove.operator import failures, progress
from grove.operator.failures import StepError
from grove.operator.scalinggroup import rollout as rollouts
from grove.operator.scalinggroup.copies import Copy
from grove.operator.scalinggroup.rollout import Rollout

UPDATING: Final = "UpdateInProgress"
GANG_TERMINATION: Final = "GangTerminationInProgress"

DONE: Final = "The PodCliques of all copies are as they should be"


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a reconcile has seen and done."""

    pcs: str
    hash: str
    """Of the set's templates."""
    generation: int | None
    """Of the group, when it was looked at."""
    copies: Sequence[Copy]
    rollout: Rollout
    errors: Sequence[StepError] = ()


def status(group: PodCliqueScalingGroup, seen: Observation, now: datetime.datetime) -> PodCliqueScalingGroupStatus:
    """The status that the group is to have."""
    held = group.status or PodCliqueScalingGroupStatus()
    copies, errors = seen.copies, tuple(seen.errors)
    is_running = rollouts.is_running(seen.rollout.progress)
    is_settled = not is_running and all(copy.is_updated for copy in copies)
    return PodCliqueScalingGroupStatus(
        observed_generation=held.observed_generation if errors else seen.generation,
        phase=_phase(group, copies, is_running),
        replicas=group.spec.replicas,
        scheduled_replicas=sum(copy.is_scheduled for copy in copies),
        available_replicas=sum(copy.is_available for copy in copies),
        updated_replicas=sum(copy.is_updated for copy in copies),
        selector=labels.group_selector(seen.pcs, group.metadata.name),
        conditions=_conditions(group, held.conditions, seen, now),
        last_errors=failures.last_errors(held.last_errors, errors, now),
        last_operation=_operation(held.last_operation, errors, now),
        current_pod_clique_set_generation_hash=(
            seen.hash if is_settled else held.current_pod_clique_set_generation_hash
        ),
        update_progress=seen.rollout.progress,
    )


def _operation(held: LastOperation | None, errors: Sequence[StepError], now: datetime.datetime) -> LastOperation:
    if errors:
        return failures.last_operation(held, "Reconcile", "Error", str(errors[0]), now)
    return failures.last_operation(held, "Reconcile", "Succeeded", DONE, now)


def is_urgent(group: PodCliqueScalingGroup, wanted: PodCliqueScalingGroupStatus) -> bool:
    """Whether somebody waits for the difference to what is stored; while a group comes up, only for errors."""
    held = group.status
    if held is None:
        return bool(wanted.last_errors) or wanted.update_progress is not None
    if _errors(held) != _errors(wanted) or held.observed_generation != wanted.observed_generation:
        return True
    if _course(held.update_progress) != _course(wanted.update_progress):
        return True
    return progress.ever_healthy(group) and _states(held.conditions) != _states(wanted.conditions)


def was_up(group: PodCliqueScalingGroup) -> bool:
    """Whether all copies of a group have been available, as far as its status tells."""
    held = group.status
    return held is not None and held.available_replicas >= group.spec.replicas


def is_up_at_last(group: PodCliqueScalingGroup, wanted: PodCliqueScalingGroupStatus) -> bool:
    """Whether all copies of a group that came up are available now: nothing more is to be expected."""
    return not was_up(group) and bool(group.spec.replicas) and wanted.available_replicas == group.spec.replicas


def gist(wanted: PodCliqueScalingGroupStatus) -> PodCliqueScalingGroupStatus:
    """A status without times: two that differ only there say the same."""
    return replace(
        wanted,
        conditions=tuple(replace(one, last_transition_time="") for one in wanted.conditions),
        last_errors=tuple(replace(one, observed_at="") for one in wanted.last_errors),
        last_operation=None,
    )


def has_lost_all(held: PodCliqueScalingGroupStatus | None, wanted: PodCliqueScalingGroupStatus) -> bool:
    """Whether no copy is scheduled any more, and no update is the reason."""
    was = 0 if held is None else held.scheduled_replicas
    is_lost = was > 0 and wanted.scheduled_replicas == 0 and bool(wanted.replicas)
    return is_lost and not rollouts.is_running(wanted.update_progress)


def _phase(group: PodCliqueScalingGroup, copies: Sequence[Copy], is_running: bool) -> str:
    if is_running:
        return "Updating"
    if sum(copy.is_available for copy in copies) >= _required(group):
        return "Running"
    if progress.ever_healthy(group):
        return "Degraded"
    scheduled = sum(copy.is_scheduled for copy in copies)
    if scheduled >= _required(group):
        return "Starting"
    return "Scheduling" if scheduled else "Pending"


def _required(group: PodCliqueScalingGroup) -> int:
    """How many copies must be well; none if the group is scaled to zero."""
    return min(group.spec.min_available, group.spec.replicas)


# Conditions


def _conditions(
    group: PodCliqueScalingGroup, held: tuple[Condition, ...], seen: Observation, now: datetime.datetime
) -> tuple[Condition, ...]:
    breached, updating = _breached(group, seen), _updating(seen, now)
    found = held
    for type, (state, reason, message) in ((progress.BREACHED, breached), (UPDATING, updating)):
        found = conditions.put(
            found,
            type,
            state,
            reason,
            message,
            now=_since(group, found, type, state, now),
            generation=seen.generation,
        )
    return conditions.without(found, GANG_TERMINATION) if breached[0] == "False" else found


def _since(
    group: PodCliqueScalingGroup,
    held: tuple[Condition, ...],
    type: str,
    state: conditions.Status,
    now: datetime.datetime,
) -> datetime.datetime:
    """A group is what it is at first since it was made: when we come to say so has no meaning."""
    made = group.metadata.creation_timestamp
    is_first = conditions.find(held, type) is None and state != "Unknown" and (type, state) != (UPDATING, "True")
    return conditions.moment(made) if is_first and made is not None else now


def _breached(group: PodCliqueScalingGroup, seen: Observation) -> tuple[conditions.Status, str, str]:
    if rollouts.is_running(seen.rollout.progress):
        return "Unknown", "UpdateInProgress", "Update is in progress"
    healthy, needed = sum(copy.is_healthy for copy in seen.copies), group.spec.min_available
    if healthy < _required(group):
        reason = "InsufficientAvailablePodCliqueScalingGroupReplicas"
        return "True", reason, f"PCSG replicas not in breach ({healthy}) below MinAvailable ({needed})"
    reason = "SufficientAvailablePodCliqueScalingGroupReplicas"
    if not group.spec.replicas:
        return "False", reason, "The PCSG is scaled to 0"
    return "False", reason, f"PCSG replicas not in breach ({healthy}) meets MinAvailable ({needed})"


def _updating(seen: Observation, now: datetime.datetime) -> tuple[conditions.Status, str, str]:
    if not rollouts.is_running(seen.rollout.progress):
        return "False", "NoActiveUpdate", "No update is in progress"
    updated = sum(copy.is_updated for copy in seen.copies)
    message = f"{updated} of {len(seen.copies)} copies are updated"
    deadline = seen.rollout.deadline
    if deadline is not None and deadline <= now:
        return "Unknown", "ProgressDeadlineExceeded", f"{message}, and none came further before the progressDeadline"
    return "True", "Progressing", message


# What of a status is compared


def _errors(of: PodCliqueScalingGroupStatus) -> list[tuple[str, str]]:
    return [(one.code, one.description) for one in of.last_errors]


def _states(of: tuple[Condition, ...]) -> dict[str, str]:
    return {one.type: one.status for one in of}


def _course(of: ScalingGroupUpdateProgress | None) -> ScalingGroupUpdateProgress | None:
    """An update without its counts, which follow one another quickly."""
    return None if of is None else replace(of, updated_pod_cliques_count=None, total_pod_cliques_count=None)

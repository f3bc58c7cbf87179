"""The status of a set, from its children's. Pure. `summary` is the one way to it, whatever has happened before."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

import msgspec
from msgspec.structs import replace

from grove.api import conditions, labels
from grove.api.conditions import Status, put, without
from grove.api.kinds.meta import LastOperation
from grove.api.kinds.podcliqueset_status import (
    CurrentlyUpdating,
    PodCliqueSetStatus,
    PodGangSummary,
    RollingUpdateProgress,
    UpdateProgress,
)
from grove.api.kinds.podgang import PodGang
from grove.operator.failures import StepError, last_errors, last_operation
from grove.operator.podcliqueset import phases, replicas, rollout, termination
from grove.operator.podcliqueset.snapshot import Snapshot
from grove.operator.topology import levels
from grove.operator.writer import ForeignObjectError

AVAILABLE: Final = "Available"
UPDATING: Final = "UpdateInProgress"
DEGRADED: Final = "Degraded"
OVERDUE: Final = "ProgressDeadlineExceeded"

MOST_GANGS: Final = 500
MOST_NAMES: Final = 50
MOST_ERRORS: Final = 20
LONGEST_MESSAGE: Final = 1024

Said = tuple[Status, str, str]
"""Status, reason and message of a condition."""

_Phase = Literal["Pending", "Starting", "Running", "Failed", "Succeeded"]
_PHASES: Final[Mapping[str, _Phase]] = {one: one for one in get_args(_Phase)}


class Outcome(msgspec.Struct, frozen=True):
    """How the reconcile went that the status is written after."""

    errors: Sequence[StepError] | None = ()
    """None where it is under way: then what is known of errors stays."""
    is_complete: bool = False
    """Whether everything was written that the spec asks for."""


def summary(
    snapshot: Snapshot,
    held: PodCliqueSetStatus,
    outcome: Outcome,
    decision: termination.Decision,
    *,
    topology_enabled: bool,
    now: datetime.datetime,
) -> PodCliqueSetStatus:
    """The status. `held` is the stored one, with the generation hash and the progress of the rollout that hold now."""
    wanted = snapshot.pcs.spec.replicas
    generation = snapshot.pcs.metadata.generation
    updated = {one for one in range(wanted) if replicas.is_updated(snapshot, one)}
    available = [one for one in range(wanted) if one in updated or replicas.is_available(snapshot, one)]
    is_updating = rollout.is_running(held)
    parts = _parts(snapshot, held)
    found = held.conditions
    for type, said in (
        (levels.CONDITION, levels.condition(snapshot.tree.template, snapshot.topologies, topology_enabled)),
        (AVAILABLE, _available(wanted, available)),
        (UPDATING, _updating(snapshot, held)),
        (DEGRADED, _degraded(held, outcome.errors, decision)),
    ):
        if said is None:
            found = without(found, type)
        else:
            status, reason, message = said
            found = put(found, type, status, reason, message[:LONGEST_MESSAGE], now=now, generation=generation)
    return replace(
        held,
        observed_generation=generation if outcome.is_complete else held.observed_generation,
        phase=phases.of(
            replicas=wanted,
            available=len(available),
            exists=parts.exist,
            is_updating=is_updating,
            is_breached=bool(decision.breached),
            has_errors=bool(held.last_errors if outcome.errors is None else outcome.errors),
        ),
        conditions=found,
        last_errors=held.last_errors
        if outcome.errors is None
        else last_errors(held.last_errors, outcome.errors[:MOST_ERRORS], now),
        last_operation=_operation(held, outcome, generation, now),
        replicas=wanted,
        available_replicas=len(available),
        updated_replicas=len(updated),
        hpa_pod_selector=labels.set_selector(snapshot.tree.name),
        pod_gang_statuses=gang_summaries(snapshot.gangs),
        update_progress=None if held.update_progress is None else parts.counted(held.update_progress),
        rolling_update_progress=None if held.update_progress is None else parts.named(held.update_progress),
    )


def is_urgent(held: PodCliqueSetStatus | None, wanted: PodCliqueSetStatus) -> bool:
    """Whether a status that differs is to be written at once: somebody waits for it, or must not miss it."""
    if held is None or held.current_generation_hash != wanted.current_generation_hash:
        return True
    if held.observed_generation != wanted.observed_generation or held.last_errors != wanted.last_errors:
        return True
    if _course(held.update_progress) != _course(wanted.update_progress):
        return True
    return any(_is_bad_news(held, wanted, type) for type in (AVAILABLE, DEGRADED, UPDATING, levels.CONDITION))


def gist(wanted: PodCliqueSetStatus) -> PodCliqueSetStatus:
    """A status without the times that follow the clock: two that differ only there say the same."""
    return replace(
        wanted,
        conditions=tuple(replace(one, last_transition_time="") for one in wanted.conditions),
        last_errors=tuple(replace(one, observed_at="") for one in wanted.last_errors),
        last_operation=None,
    )


def gang_summaries(gangs: Sequence[PodGang]) -> tuple[PodGangSummary, ...]:
    """The gangs by name; of too many, those that do not run yet."""
    found = [_gang_summary(one) for one in gangs]
    if len(found) > MOST_GANGS:
        found = sorted(found, key=lambda one: (one.phase == "Running", one.name))[:MOST_GANGS]
    return tuple(sorted(found, key=lambda one: one.name))


def _gang_summary(gang: PodGang) -> PodGangSummary:
    name = gang.metadata.name
    phase = gang.status.phase if gang.status is not None else "Pending"
    if gang.status is None or phase == "Running":
        return PodGangSummary(name=name, phase="Running" if phase == "Running" else "Pending")
    return PodGangSummary(name=name, phase=_PHASES.get(phase, "Pending"), conditions=gang.status.conditions)


def _course(progress: UpdateProgress | None) -> object:
    if progress is None:
        return None
    current = [one.replica_index for one in progress.currently_updating]
    return (progress.update_started_at, progress.update_ended_at, current)


def _is_bad_news(held: PodCliqueSetStatus, wanted: PodCliqueSetStatus, type: str) -> bool:
    before, after = conditions.find(held.conditions, type), conditions.find(wanted.conditions, type)
    if before is None or after is None or before.status == after.status:
        return False
    return (after.status == "True") != (type == AVAILABLE)


# Conditions


def _available(wanted: int, available: list[int]) -> Said:
    if not wanted:
        return "True", "NoReplicas", "spec.replicas is 0: nothing runs"
    if len(available) >= wanted:
        return "True", "AllReplicasAvailable", f"All {wanted} replicas are available"
    lacking = sorted(set(range(wanted)) - set(available))
    return (
        "False",
        "ReplicasUnavailable",
        f"{len(available)} of {wanted} replicas are available; unavailable: {_listed(lacking)}",
    )


def _updating(snapshot: Snapshot, held: PodCliqueSetStatus) -> Said:
    if not rollout.is_running(held):
        return "False", "NoActiveUpdate", "No update is running"
    current = rollout.selected(held)
    overdue = [] if current is None else _overdue(snapshot, current)
    if overdue:
        return "Unknown", OVERDUE, f"No progress within the deadline: {', '.join(overdue[:MOST_NAMES])}"
    return "True", "Progressing", "Update is in progress" if current is None else f"Replica {current} is updated"


def _overdue(snapshot: Snapshot, replica: int) -> list[str]:
    standing = [
        *((one.metadata.name, one.status) for _, one in snapshot.standalone(replica) if one is not None),
        *((one.metadata.name, one.status) for _, one in snapshot.scaling_groups(replica) if one is not None),
    ]
    return [
        name
        for name, status in standing
        if status is not None and any(one.type == UPDATING and one.reason == OVERDUE for one in status.conditions)
    ]


def _degraded(held: PodCliqueSetStatus, errors: Sequence[StepError] | None, decision: termination.Decision) -> Said:
    known = conditions.find(held.conditions, DEGRADED)
    if errors is None and held.last_errors and known is not None:
        return known.status, known.reason, known.message
    if errors:
        is_foreign = any(isinstance(one.__cause__, ForeignObjectError) for one in errors)
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return "True", "ForeignObject" if is_foreign else "ReconcileFailed", f"{errors[0]}{more}"
    if decision.breached:
        return "True", "MinAvailableBreached", f"Replicas below their minimum: {_listed(sorted(decision.breached))}"
    return "False", "AsExpected", "Nothing has lost its minimum"


def _listed(indices: list[int]) -> str:
    more = f" and {len(indices) - MOST_NAMES} more" if len(indices) > MOST_NAMES else ""
    return ", ".join(map(str, indices[:MOST_NAMES])) + more


def _operation(
    held: PodCliqueSetStatus, outcome: Outcome, generation: int | None, now: datetime.datetime
) -> LastOperation | None:
    if outcome.errors:
        description = str(outcome.errors[0])[:LONGEST_MESSAGE]
        return last_operation(held.last_operation, "Reconcile", "Error", description, now)
    if outcome.is_complete:
        return last_operation(held.last_operation, "Reconcile", "Succeeded", f"generation {generation} is applied", now)
    if generation == held.observed_generation:
        return held.last_operation
    return last_operation(held.last_operation, "Reconcile", "Processing", f"applies generation {generation}", now)


# Progress


class _Parts(msgspec.Struct, frozen=True):
    """The PodCliques outside scaling groups and the scaling groups of all replicas, and which of them are updated."""

    exist: bool
    cliques: int
    groups: int
    updated_cliques: Sequence[str]
    updated_groups: Sequence[str]
    current: CurrentlyUpdating | None

    def counted(self, progress: UpdateProgress) -> UpdateProgress:
        return replace(
            progress,
            updated_pod_cliques_count=len(self.updated_cliques),
            total_pod_cliques_count=self.cliques,
            updated_pod_clique_scaling_groups_count=len(self.updated_groups),
            total_pod_clique_scaling_groups_count=self.groups,
        )

    def named(self, progress: UpdateProgress) -> RollingUpdateProgress:
        return RollingUpdateProgress(
            update_started_at=progress.update_started_at,
            update_ended_at=progress.update_ended_at,
            updated_pod_cliques=tuple(self.updated_cliques[:MOST_NAMES]),
            updated_pod_clique_scaling_groups=tuple(self.updated_groups[:MOST_NAMES]),
            currently_updating=self.current,
        )


def _parts(snapshot: Snapshot, held: PodCliqueSetStatus) -> _Parts:
    exist, cliques, groups = True, 0, 0
    updated_cliques, updated_groups = [], []
    selected = rollout.selected(held)
    clique_now = group_now = None
    for replica in range(snapshot.pcs.spec.replicas):
        for place, view in snapshot.standalone(replica):
            cliques += 1
            exist = exist and view is not None
            name = snapshot.tree.clique_name(place)
            if replicas.is_clique_updated(snapshot, place.clique, view):
                updated_cliques.append(name)
            elif replica == selected and clique_now is None:
                clique_now = name
        for spot, group in snapshot.scaling_groups(replica):
            groups += 1
            exist = exist and group is not None
            name = snapshot.tree.group_name(spot)
            if replicas.is_group_updated(snapshot, spot, group):
                updated_groups.append(name)
            elif replica == selected and group_now is None:
                group_now = name
    current = None
    if selected is not None:
        current = CurrentlyUpdating(
            replica_index=selected, pod_clique_name=clique_now, pod_clique_scaling_group_name=group_now
        )
    return _Parts(exist, cliques, groups, updated_cliques, updated_groups, current)

"""What the status of a PodClique says, and how soon it must be written. Pure.

All numbers are those of active pods: what is on its way out serves nobody.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from grove.api import conditions, labels
from grove.api.kinds.meta import Condition, LastError
from grove.api.kinds.podclique import PodCliqueStatus, PodCliqueUpdateProgress
from grove.kube.objects import PodView
from grove.operator import pods
from grove.operator.podclique import rollout
from grove.operator.pods import Counts
from grove.operator.views import PodCliqueView
from grove.runtime.pace import COMING_UP, STEADY, Patience

SCHEDULED: Final = "PodCliqueScheduled"
BREACHED: Final = "MinAvailableBreached"
UPDATING: Final = "UpdateInProgress"

TERMINATING: Final = "Terminating"
BEFORE: Final = ("", "Pending", "Scheduling", "Starting")
"""The phases of a PodClique that never had its minimum ready since it was made, or scaled up from nothing."""
_NEVER: Final = PodCliqueStatus()


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told beside the pods."""

    template_hash: str
    generation_hash: str
    is_current: bool
    """Whether the PodClique has the template that its set has now."""
    progress: PodCliqueUpdateProgress | None = None
    deadline: datetime.datetime | None = None
    selector: str | None = None
    errors: tuple[LastError, ...] = ()
    is_synced: bool = True
    """Whether everything was done that was planned."""


def needed(clique: PodCliqueView) -> int:
    """How many pods must be there for the gang; none when the PodClique is scaled to nothing."""
    return min(clique.spec.least, clique.spec.replicas)


def held_phase(clique: PodCliqueView) -> str:
    return (clique.status.phase if clique.status else None) or ""


def status(clique: PodCliqueView, all_pods: Sequence[PodView], seen: Seen, now: datetime.datetime) -> PodCliqueStatus:
    """The status as it should be."""
    held = clique.status or _NEVER
    counts = pods.count(all_pods)
    done = sum(map(pods.is_done, all_pods))
    updated = pods.made_from(all_pods, seen.template_hash)
    is_updating = rollout.is_running(seen.progress)
    is_whole = seen.is_current and not is_updating and updated == counts.active
    return PodCliqueStatus(
        observed_generation=clique.metadata.generation if seen.is_synced else held.observed_generation,
        phase=phase(clique, counts, done, is_updating=is_updating),
        replicas=counts.active,
        ready_replicas=counts.ready,
        updated_replicas=updated,
        schedule_gated_replicas=counts.gated,
        scheduled_replicas=counts.scheduled,
        hpa_pod_selector=seen.selector,
        conditions=_conditions(clique, held.conditions, counts, seen, now),
        last_errors=seen.errors,
        last_operation=held.last_operation,
        current_pod_clique_set_generation_hash=(
            seen.generation_hash if is_whole else held.current_pod_clique_set_generation_hash
        ),
        current_pod_template_hash=seen.template_hash if is_whole else held.current_pod_template_hash,
        update_progress=seen.progress,
    )


def phase(clique: PodCliqueView, counts: Counts, done: int, *, is_updating: bool) -> str:
    """Where the PodClique is in its life. That it has been up once is known by the phase that is stored."""
    wanted, least = clique.spec.replicas, needed(clique)
    if clique.metadata.deletion_timestamp is not None:
        return TERMINATING
    if wanted == 0:
        return "Pending"
    if done >= wanted:
        return "Succeeded"
    if is_updating:
        return "Updating"
    if counts.ready + done >= least:
        return "Running"
    if held_phase(clique) not in BEFORE:
        return "Degraded"
    if counts.scheduled >= least:
        return "Starting"
    return "Scheduling" if counts.active >= least and counts.gated < counts.active else "Pending"


def _conditions(
    clique: PodCliqueView, held: tuple[Condition, ...], counts: Counts, seen: Seen, now: datetime.datetime
) -> tuple[Condition, ...]:
    least = needed(clique)
    generation = clique.metadata.generation
    born = clique.metadata.creation_timestamp
    # What was never otherwise has been so since the PodClique was made, however late it is written.
    since = conditions.moment(born) if born else now
    found = held
    scheduled = _scheduled(counts, least)
    breached = _breached(counts, least, is_updating=rollout.is_running(seen.progress))
    for verdict, is_initial in (
        (scheduled, scheduled.status == "False"),
        (breached, breached.status == "True"),
        (_updating(seen, now), False),
    ):
        is_first = is_initial and conditions.find(held, verdict.type) is None
        found = conditions.put(
            found,
            verdict.type,
            verdict.status,
            verdict.reason,
            verdict.message,
            now=since if is_first else now,
            generation=generation,
        )
    return found


class Verdict(msgspec.Struct, frozen=True):
    """A condition without its times."""

    type: str
    status: conditions.Status
    reason: str
    message: str


def _scheduled(counts: Counts, least: int) -> Verdict:
    numbers = f"expected at least: {least}, found: {counts.scheduled}"
    if counts.scheduled < least:
        return Verdict(SCHEDULED, "False", "InsufficientScheduledPods", f"Insufficient scheduled pods. {numbers}")
    return Verdict(SCHEDULED, "True", "SufficientScheduledPods", f"Sufficient scheduled pods. {numbers}")


def _breached(counts: Counts, least: int, *, is_updating: bool) -> Verdict:
    if is_updating:
        return Verdict(BREACHED, "Unknown", "UpdateInProgress", "Update is in progress")
    if counts.scheduled < least:
        message = f"Scheduled replicas ({counts.scheduled}) below MinAvailable ({least})"
        return Verdict(BREACHED, "True", "ScheduledReplicasBelowMinAvailable", message)
    numbers = f"expected at least: {least}, found: {counts.healthy}"
    if counts.healthy < least:
        return Verdict(BREACHED, "True", "InsufficientReadyPods", f"Insufficient ready or starting pods. {numbers}")
    return Verdict(BREACHED, "False", "SufficientReadyPods", f"Sufficient ready or starting pods. {numbers}")


def _updating(seen: Seen, now: datetime.datetime) -> Verdict:
    if not rollout.is_running(seen.progress):
        return Verdict(UPDATING, "False", "NoActiveUpdate", "No update is in progress")
    if seen.deadline is not None and now >= seen.deadline:
        message = f"No pod became ready until {conditions.timestamp(seen.deadline)}: look at the pods that are not"
        return Verdict(UPDATING, "Unknown", "ProgressDeadlineExceeded", message)
    return Verdict(UPDATING, "True", "Progressing", "Pods are replaced by ones of the newest template")


# When it is written


def patience(clique: PodCliqueView, wanted: PodCliqueStatus, found: Iterable[PodView]) -> Patience | None:
    """How long the difference to what is stored may be held back; None: not at all. `found` are the pods."""
    if is_urgent(clique.status, wanted) or is_up_at_last(clique, wanted):
        return None
    if held_phase(clique) not in BEFORE or any(pods.is_active(pod) and pods.is_in_trouble(pod) for pod in found):
        return STEADY
    return COMING_UP


def is_urgent(held: PodCliqueStatus | None, wanted: PodCliqueStatus) -> bool:
    """Whether the difference must not wait. While a PodClique comes up, everything changes: only errors are news."""
    if held is None:
        return bool(wanted.last_errors)
    if held.last_errors != wanted.last_errors:
        return True
    if (held.phase or "") in BEFORE:
        return False
    if held.observed_generation != wanted.observed_generation or held.update_progress != wanted.update_progress:
        return True
    known = {one.type: one.status for one in held.conditions}
    return any(known.get(one.type, one.status) != one.status for one in wanted.conditions)


def is_up_at_last(clique: PodCliqueView, wanted: PodCliqueStatus) -> bool:
    """Whether all pods of a PodClique that came up are ready now: nothing more is to be expected."""
    is_coming_up = held_phase(clique) in BEFORE
    return is_coming_up and bool(clique.spec.replicas) and wanted.ready_replicas == clique.spec.replicas


def has_lost_all(held: PodCliqueStatus, wanted: PodCliqueStatus) -> bool:
    """Whether no pod has a node any more, and it is not an update that took the last one away."""
    return bool(
        held.scheduled_replicas and not wanted.scheduled_replicas and not rollout.is_running(wanted.update_progress)
    )


def without_times(wanted: PodCliqueStatus) -> PodCliqueStatus:
    """The same for statuses that say the same at different times."""
    timeless = tuple(replace(one, last_transition_time="") for one in wanted.conditions)
    return replace(wanted, conditions=timeless, update_progress=None)


def selector(clique: PodCliqueView, pcs: str) -> str | None:
    """Selects the pods for an autoscaler; members of a scaling group have none of their own."""
    is_member = labels.SCALING_GROUP in (clique.metadata.labels or {})
    return None if is_member else labels.clique_selector(pcs, clique.metadata.name)

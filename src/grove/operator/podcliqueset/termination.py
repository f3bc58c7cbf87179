"""When a replica has been broken for so long that all of it is stopped and started anew. Pure.

What starts the countdown is the condition `MinAvailableBreached` of PodCliques outside scaling groups and of scaling
groups that once were whole. The PodCliques of the replica are deleted; gangs, scaling groups, Services stay.

First the scaling groups are told (`GangTerminationInProgress`), then PodCliques are deleted: a group that was told does
not count again until it was whole, and PodCliques that were broken before it was told are still to be deleted. So it
can be interrupted anywhere.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final

import msgspec

from grove.api import conditions
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.operator import delays, progress
from grove.operator.podcliqueset.children import is_going
from grove.operator.podcliqueset.snapshot import Snapshot
from grove.operator.views import PodCliqueView

IN_PROGRESS: Final = "GangTerminationInProgress"
ACTIVE: Final = "GangTerminationActive"


class Recycling(msgspec.Struct, frozen=True):
    """A replica that is to be started anew now."""

    replica: int
    why: str
    tell: tuple[PodCliqueScalingGroup, ...]
    """Scaling groups that must be told before anything is deleted."""
    delete: tuple[PodCliqueView, ...]


class Decision(msgspec.Struct, frozen=True):
    """What gang termination does now, and when it must be asked again."""

    recyclings: tuple[Recycling, ...] = ()
    breached: frozenset[int] = frozenset()
    """Replicas in which something has lost its minimum."""
    next_expiry: datetime.datetime | None = None


def decide(snapshot: Snapshot, now: datetime.datetime) -> Decision:
    delay = delays.termination_delay(snapshot.tree.template)
    recyclings, breached, expiries = [], set(), []
    for replica in range(snapshot.pcs.spec.replicas):
        candidates = list(_candidates(snapshot, replica))
        if candidates:
            breached.add(replica)
        if (unfinished := _unfinished(snapshot, replica)) is not None:
            recyclings.append(unfinished)
        elif candidates and not _is_being_made(snapshot, replica):
            since, name = min(candidates)
            if since + delay <= now:
                tell = list(_groups(snapshot, replica))
                recyclings.append(_recycling(snapshot, replica, f"{name} lost its minimum", tell))
            else:
                expiries.append(since + delay)
    return Decision(tuple(recyclings), frozenset(breached), min(expiries, default=None))


def message(replica: int) -> str:
    """What the scaling groups are told."""
    return (
        f"Gang termination fired at PCS-replica scope for PCS replica {replica}; "
        "this PCSG's PodCliques were deleted as part of the recycle"
    )


def _candidates(snapshot: Snapshot, replica: int) -> Iterator[tuple[datetime.datetime, str]]:
    """Since when what has been broken, and its name."""
    for _, view in snapshot.standalone(replica):
        if view is not None and not is_going(view.metadata) and progress.ever_scheduled(view):
            since = progress.breached_since(view)
            if since is not None:
                yield since, f"PodClique {view.metadata.name}"
    for group in _groups(snapshot, replica):
        since = _since(group, progress.BREACHED)
        if since is not None and progress.ever_healthy(group) and _since(group, IN_PROGRESS) is None:
            yield since, f"PodCliqueScalingGroup {group.metadata.name}"


def _is_being_made(snapshot: Snapshot, replica: int) -> bool:
    """Whether something is missing, and comes back anyway."""
    return any(view is None or is_going(view.metadata) for _, view in snapshot.standalone(replica))


def _unfinished(snapshot: Snapshot, replica: int) -> Recycling | None:
    """A recycling that was interrupted: a group was told, and some of what was broken before that is still there."""
    for group in _groups(snapshot, replica):
        told = _since(group, IN_PROGRESS)
        if told is None:
            continue
        for member in snapshot.members.get(group.metadata.name, ()):
            since = progress.breached_since(member)
            if since is not None and since < told and not is_going(member.metadata):
                return _recycling(snapshot, replica, f"PodClique {member.metadata.name} was left over", [])
    return None


def _recycling(snapshot: Snapshot, replica: int, why: str, tell: list[PodCliqueScalingGroup]) -> Recycling:
    """Members go first: while a PodClique outside groups is there and broken, an interrupted one is begun again."""
    members = [one for group in _groups(snapshot, replica) for one in snapshot.members.get(group.metadata.name, ())]
    standalone = [view for _, view in snapshot.standalone(replica) if view is not None]
    doomed = tuple(one for one in (*members, *standalone) if not is_going(one.metadata))
    return Recycling(replica, why, tuple(one for one in tell if _since(one, IN_PROGRESS) is None), doomed)


def _groups(snapshot: Snapshot, replica: int) -> Iterator[PodCliqueScalingGroup]:
    for _, group in snapshot.scaling_groups(replica):
        if group is not None and not is_going(group.metadata):
            yield group


def _since(group: PodCliqueScalingGroup, type: str) -> datetime.datetime | None:
    """Since when a condition has been True; None if it is not."""
    found = conditions.find(() if group.status is None else group.status.conditions, type)
    return conditions.moment(found.last_transition_time) if found and found.status == "True" else None

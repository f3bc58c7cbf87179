"""Which copies of a scaling group are replaced now so that all follow the newest templates, and how far that is. Pure.

Old copies that serve nobody go at once. Those that serve go one after the other, as many as may be missing: a copy
counts as missing until its successor is available. Nothing goes while it is another replica's turn in the set.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from grove.api.conditions import moment, timestamp
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scaling import RollingUpdate
from grove.api.kinds.scalinggroup import ReplicaSelection, ScalingGroupUpdateProgress
from grove.operator import delays
from grove.operator.scalinggroup.copies import Copy

LONGEST_LIST: Final = 50
"""So many replaced copies are named in the status, the last ones."""


class Turn(enum.Enum):
    """Whether copies may be replaced."""

    SELECTED = enum.auto()
    """The set updates this very replica."""
    RECOVERY = enum.auto()
    """The set updates nothing: what is old has been left behind."""
    OTHERS = enum.auto()
    """The set updates another replica, or has not taken note of its new templates yet: they may not."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What a rollout is decided by, besides the copies."""

    hash: str
    """Of the set's templates."""
    known: str | None
    """The hash that all copies followed when they last did."""
    held: ScalingGroupUpdateProgress | None
    turn: Turn
    on_delete: bool
    pace: RollingUpdate | None
    cliques: int
    """How many PodCliques a copy has."""


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done."""

    replace: tuple[int, ...] = ()
    """The copies whose PodCliques are to be deleted; they are made anew when those are gone."""
    progress: ScalingGroupUpdateProgress | None = None
    deadline: datetime.datetime | None = None
    """When the running update counts as stuck, unless something comes about before."""


def is_running(progress: ScalingGroupUpdateProgress | None) -> bool:
    """Whether an update is under way."""
    return progress is not None and progress.update_ended_at is None


def decide(copies: Sequence[Copy], situation: Situation, now: datetime.datetime) -> Rollout:
    """The next step. That an update has begun must be stored before anything is replaced."""
    held = situation.held
    if situation.on_delete:
        return Rollout(progress=_counted(_ended(_on_delete(copies, situation, now), now), copies, situation))
    may_replace = situation.turn is not Turn.OTHERS
    if may_replace:
        held = _followed(copies, situation, now)
    if held is None or held.update_ended_at is not None:
        return Rollout(progress=held)
    if all(copy.is_updated for copy in copies):
        held = replace(held, pod_clique_set_generation_hash=situation.hash)
        return Rollout(progress=_counted(_ended(held, now), copies, situation))
    replaced = _replaced(copies, situation) if may_replace else ()
    available = {copy.index for copy in copies if copy.is_available}
    held = _selected(held, [index for index in replaced if index in available])
    return Rollout(
        replace=replaced,
        progress=_counted(held, copies, situation),
        deadline=_deadline(held, copies, situation.pace),
    )


def turn(pcs: PodCliqueSet, replica: int, hash: str) -> Turn:
    """Whose turn it is in a set whose templates have this hash."""
    status = pcs.status
    if status is None or status.current_generation_hash != hash:
        return Turn.OTHERS
    progress = status.update_progress
    if progress is None or progress.update_ended_at is not None:
        return Turn.RECOVERY
    selected = {one.replica_index for one in progress.currently_updating if one.update_ended_at is None}
    return Turn.SELECTED if replica in selected else Turn.OTHERS


# The way of an update


def _followed(
    copies: Sequence[Copy], situation: Situation, now: datetime.datetime
) -> ScalingGroupUpdateProgress | None:
    """The update that is under way, begun if something is old, and begun anew if the templates changed meanwhile."""
    held = situation.held
    if held is not None and held.update_ended_at is None and held.pod_clique_set_generation_hash == situation.hash:
        return held
    return _begun(situation, now) if any(_is_old(copy, situation) for copy in copies) else held


def _on_delete(
    copies: Sequence[Copy], situation: Situation, now: datetime.datetime
) -> ScalingGroupUpdateProgress | None:
    """Nothing is replaced: the update is over as soon as it is known."""
    held = situation.held
    if held is not None and held.pod_clique_set_generation_hash == situation.hash:
        return held
    is_changed = situation.known is not None and situation.known != situation.hash
    return _begun(situation, now) if is_changed or any(copy.is_old for copy in copies) else held


def _begun(situation: Situation, now: datetime.datetime) -> ScalingGroupUpdateProgress:
    return ScalingGroupUpdateProgress(update_started_at=timestamp(now), pod_clique_set_generation_hash=situation.hash)


def _ended(held: ScalingGroupUpdateProgress | None, now: datetime.datetime) -> ScalingGroupUpdateProgress | None:
    if held is None or held.update_ended_at is not None:
        return held
    return replace(held, update_ended_at=timestamp(now), ready_replica_indices_selected_to_update=None)


def _selected(held: ScalingGroupUpdateProgress, chosen: Sequence[int]) -> ScalingGroupUpdateProgress:
    """With the copies noted that were available and are replaced now: the last is the current one."""
    if not chosen:
        return held
    before = held.ready_replica_indices_selected_to_update
    chain = [*(() if before is None else (*before.completed, before.current)), *chosen]
    selection = ReplicaSelection(current=chain[-1], completed=tuple(chain[:-1][-LONGEST_LIST:]))
    return replace(held, ready_replica_indices_selected_to_update=selection)


def _counted(
    held: ScalingGroupUpdateProgress | None, copies: Sequence[Copy], situation: Situation
) -> ScalingGroupUpdateProgress | None:
    if held is None:
        return None
    return replace(
        held,
        updated_pod_cliques_count=sum(copy.updated_members for copy in copies),
        total_pod_cliques_count=len(copies) * situation.cliques,
    )


# Copies


def _replaced(copies: Sequence[Copy], situation: Situation) -> tuple[int, ...]:
    """Old copies that serve nobody, and of the others the lowest ones, as far as they may be missing."""
    old = [copy for copy in copies if _is_old(copy, situation)]
    idle = [copy.index for copy in old if not copy.is_available]
    serving = [copy.index for copy in old if copy.is_available]
    allowed = _allowed(situation.pace) - sum(not copy.is_available for copy in copies)
    return (*idle, *serving[: max(0, allowed)])


def _is_old(copy: Copy, situation: Situation) -> bool:
    """Pods that OnDelete has left old stay so until the set itself updates them."""
    return copy.is_old or (copy.has_old_pods and situation.turn is Turn.SELECTED)


def _allowed(pace: RollingUpdate | None) -> int:
    """How many copies may be missing; one where nothing, or nothing sensible, is said."""
    return max(1, (pace.max_unavailable if pace is not None else None) or 1)


def _deadline(
    held: ScalingGroupUpdateProgress, copies: Sequence[Copy], pace: RollingUpdate | None
) -> datetime.datetime | None:
    allowed = delays.progress_deadline(pace)
    if allowed is None:
        return None
    times = [moment(held.update_started_at), *(copy.progressed for copy in copies if copy.progressed is not None)]
    return max(times) + allowed

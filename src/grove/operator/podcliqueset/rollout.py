"""Which replica of a set may follow a changed template now. Pure.

One replica is selected at a time, and stays selected until it is done, also when the template changes again meanwhile:
what has been taken apart is put together before anything else is. What is selected is in the set's status before any
PodClique or scaling group acts on it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from grove.api.conditions import timestamp
from grove.api.kinds.podcliqueset import PodCliqueSetSpec
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus, ReplicaUpdate, UpdateProgress


class Replica(msgspec.Struct, frozen=True):
    """How far a replica is with the template that the set has now."""

    index: int
    is_new: bool
    """Nothing of an older template is left in it."""
    is_available: bool
    """Everything in it exists, has its minimum ready, and none of its other pods is still on the way."""
    has_scheduled: bool = True
    """Some pod is on a node."""
    has_started: bool = True
    """Something in it once had its minimum on nodes."""
    is_breached: bool = False
    """Something in it has lost its minimum."""
    is_recycled: bool = False
    """Gang termination takes it apart at this moment."""
    waits_for: str = ""

    @property
    def is_done(self) -> bool:
        return self.is_new and self.is_available

    @property
    def is_settled(self) -> bool:
        """Whether the update has nothing more to do with it. What never started, for want of room, holds nobody up."""
        return self.is_done or (self.is_new and not self.has_started)


def is_on_delete(spec: PodCliqueSetSpec) -> bool:
    """Whether pods follow the template only when somebody deletes them."""
    return spec.update_strategy is not None and spec.update_strategy.type == "OnDelete"


def is_running(status: PodCliqueSetStatus | None) -> bool:
    progress = None if status is None else status.update_progress
    return progress is not None and progress.update_ended_at is None


def selected(status: PodCliqueSetStatus | None) -> int | None:
    """The replica that is being updated."""
    if status is None or status.update_progress is None or not is_running(status):
        return None
    return next((one.replica_index for one in status.update_progress.currently_updating), None)


def may_follow(spec: PodCliqueSetSpec, status: PodCliqueSetStatus | None, replica: int) -> bool:
    """Whether what stands in a replica may take over the template now, by which its pods become old ones."""
    return is_on_delete(spec) or not is_running(status) or selected(status) == replica


def progressed(
    spec: PodCliqueSetSpec,
    status: PodCliqueSetStatus | None,
    generation_hash: str,
    replicas: Iterable[Replica],
    now: datetime.datetime,
) -> UpdateProgress | None:
    """The progress for the status. `replicas` are all that the set is to have; they are asked only in an update.

    What OnDelete has left old stays so when the strategy becomes another one, until the template changes.
    """
    held = None if status is None else status.update_progress
    known = None if status is None else status.current_generation_hash
    if known is not None and known != generation_hash:
        held = _begun(spec, held, now)
    if held is None or held.update_ended_at is not None:
        return held
    if is_on_delete(spec):
        return replace(held, update_ended_at=timestamp(now), currently_updating=())
    return _advanced(held, {one.index: one for one in replicas}, now)


def _begun(spec: PodCliqueSetSpec, held: UpdateProgress | None, now: datetime.datetime) -> UpdateProgress:
    """An update that starts anew; what is selected remains so."""
    if is_on_delete(spec):
        return UpdateProgress(update_started_at=timestamp(now), update_ended_at=timestamp(now))
    runs = held is not None and held.update_ended_at is None
    current = held.currently_updating if held is not None and runs else ()
    return UpdateProgress(update_started_at=timestamp(now), currently_updating=current)


def _advanced(held: UpdateProgress, replicas: dict[int, Replica], now: datetime.datetime) -> UpdateProgress:
    current = tuple(
        _told(one, replicas[one.replica_index])
        for one in held.currently_updating
        if one.replica_index in replicas and not replicas[one.replica_index].is_settled
    )
    if current:
        return held if current == held.currently_updating else replace(held, currently_updating=current)
    waiting = [one for one in replicas.values() if not one.is_settled]
    if not waiting:
        return replace(held, update_ended_at=timestamp(now), currently_updating=())
    free = [one for one in waiting if not one.is_recycled]
    chosen = min(free, key=_rank, default=None)
    if chosen is None:
        return held if not held.currently_updating else replace(held, currently_updating=())
    entry = _told(ReplicaUpdate(replica_index=chosen.index, update_started_at=timestamp(now)), chosen)
    return replace(held, currently_updating=(entry,))


def _rank(replica: Replica) -> tuple[bool, bool, int]:
    """What costs nothing first, then what is broken anyway."""
    return (replica.has_scheduled, not replica.is_breached, replica.index)


def _told(entry: ReplicaUpdate, replica: Replica) -> ReplicaUpdate:
    message = replica.waits_for or None
    return entry if entry.message == message else replace(entry, message=message)

"""Room that is kept for a gang: made for it by others who went, or left to it by pods that it replaces.

Rooms are holds of the cluster under the gang's key. Nobody else sees them as free; the gang itself is placed with its
own ones `opened`. Pure, but for the holds: the engine calls these functions when things happen, with the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from grove.scheduler.cluster import Cluster, Hold, Placed
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.predicates.rule import Counts
from grove.scheduler.verdicts import Answer, Found, Put

Kind: TypeAlias = Literal["head", "preempted", "update"]
"""For whom room is kept: a gang that starves (`starvation.py`), one that others go for, one that replaces pods."""

SUCCESSION: Final = 600.0
"""Seconds that the room of a pod is kept for a gang that takes over its gang's place."""
REPLACEMENT: Final = 30.0
"""Seconds that it is kept for another pod of the same gang: the operator replaces pods at once."""

Place: TypeAlias = Callable[[Cluster, Gang, Budget], Answer]


@contextmanager
def opened(cluster: Cluster, *owners: str) -> Iterator[None]:
    """What is held for these is free within; afterwards all is as before."""
    mark = cluster.mark()
    try:
        for owner in owners:
            cluster.release(owner)
        yield
    finally:
        cluster.rollback(mark)


def keep(cluster: Cluster, holds: Iterable[Hold]) -> None:
    """The room of a plan, in place of what its gang had from an earlier one."""
    found = [*holds]
    for owner in dict.fromkeys(hold.owner for hold in found):
        give_up(cluster, owner, "preempted")
    for hold in found:
        cluster.hold(hold)


def give_up(cluster: Cluster, owner: str, kind: Kind) -> bool:
    """What a gang holds of one kind is free again. Whether there was any."""
    if not any(hold.kind == kind for hold in cluster.holds.get(owner, ())):
        return False
    for hold in cluster.release(owner):
        if hold.kind != kind:
            cluster.hold(hold)
    return True


def expire(cluster: Cluster, now: float) -> list[str]:
    """Room that was not used in time is free again; gives the gangs that lost it."""
    lost = [owner for owner, kept in cluster.holds.items() if any(hold.until <= now for hold in kept)]
    for owner in lost:
        for hold in cluster.release(owner):
            if hold.until > now:
                cluster.hold(hold)
    return lost


def next_expiry(cluster: Cluster) -> float | None:
    """When `expire` has something to do."""
    return min((hold.until for kept in cluster.holds.values() for hold in kept), default=None)


# Pods that replace pods


def heir(gang: str, lacks: Callable[[str], int], successors: Mapping[str, str]) -> str | None:
    """Who is to have the room of a pod that went.

    `successors` has the gangs that replace others, by the key of the one they replace (`reuseReservationRef`);
    `lacks` tells how many pods a gang wants beyond those it has and those it keeps room for. None: nobody comes.
    """
    successor = successors.get(gang)
    if successor is not None and lacks(successor) > 0:
        return successor
    return gang if gang and lacks(gang) > 0 else None


def bequeath(cluster: Cluster, gone: Placed, owner: str, now: float) -> Hold:
    """Keeps the room of a pod that has gone, and is taken off the cluster, for the gang that replaces it."""
    until = now + (REPLACEMENT if owner == gone.gang else SUCCESSION)
    hold = Hold(owner, gone.slot, gone.requests, kind="update", until=until)
    cluster.hold(hold)
    return hold


def kept(cluster: Cluster, owner: str) -> int:
    """How many rooms a gang has from pods that it replaces."""
    return sum(hold.kind == "update" for hold in cluster.holds.get(owner, ()))


def used(cluster: Cluster, owner: str, puts: Iterable[Put]) -> None:
    """Pods of the gang get their nodes: each needs one room less, on its node or else on any.

    Call it before the pods are put. What was made free for the gang, or was held because it starved, is needed no more
    when all of it has a place: then `release` it as a whole.
    """
    rooms = [hold for hold in cluster.holds.get(owner, ()) if hold.kind == "update"]
    if not rooms:
        return
    others = []
    for put in puts:
        mine = next((hold for hold in rooms if hold.slot == put.slot), None)
        if mine is None:
            others.append(put)
        else:
            rooms.remove(mine)
    rooms = rooms[len(others) :]
    rest = {id(hold) for hold in rooms}
    for hold in cluster.release(owner):
        if hold.kind != "update" or id(hold) in rest:
            cluster.hold(hold)


def attachment(cluster: Cluster, gang: Gang) -> Counts | None:
    """By slot what speaks against it for a gang that replaces pods: one, but nothing where it has their room.

    A matter of taste: among placements that are as good otherwise, the one on the same nodes is taken, where images are
    cached. None: it keeps no room of that kind.
    """
    slots = [hold.slot for hold in cluster.holds.get(gang.key, ()) if hold.kind == "update"]
    if not slots:
        return None
    found = np.ones(cluster.size, np.int64)
    found[slots] = 0
    return found


# Pods that are going


class Credited(NamedTuple):
    """A gang has a place as soon as some are gone who are going already."""

    found: Found
    awaited: tuple[str, ...]
    """Uids of the pods that must be gone before it is bound; empty: none, it has a place now."""
    holds: tuple[Hold, ...]
    """The room to keep for it until then."""


def credit(
    cluster: Cluster,
    gang: Gang,
    terminating: Iterable[str],
    *,
    place: Place,
    budget: Budget,
    until: float,
) -> Credited | None:
    """Where the gang goes if the room of pods that are going counts as free, but for what others hold of it."""
    mark = cluster.mark()
    try:
        cluster.release(gang.key)
        going = [cluster.take(uid) for uid in sorted(terminating) if uid in cluster.pods]
        found = place(cluster, gang, budget)
        if not isinstance(found, Found):
            return None
        for pod in going:
            cluster.put(pod)
        wanted: dict[tuple[int, int], int] = {}
        for put in found.puts:
            for row, amount in put.pod.cls.requests:
                wanted[row, put.slot] = wanted.get((row, put.slot), 0) + amount
        short = {slot for (row, slot), amount in wanted.items() if cluster.free[row, slot] < amount}
        # A pod that goes may be in the way for another reason than what it uses: ports, or rules about neighbours.
        near = {put.slot for put in found.puts if not cluster.capacity(put.pod.cls)[put.slot]}
        awaited = tuple(pod.uid for pod in going if pod.slot in short | near)
        if near and not awaited:
            awaited = tuple(pod.uid for pod in going)
    finally:
        cluster.rollback(mark)
    holds = tuple(Hold(gang.key, put.slot, put.pod.cls.requests, kind="preempted", until=until) for put in found.puts)
    return Credited(found, awaited, holds)

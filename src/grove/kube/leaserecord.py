"""What a Lease of coordination.k8s.io/v1 says, and what we write into it. Pure.

Only `spec` is looked at, and what we do not know in the object is kept. Times in it are for people: no decision is made
with them, so a clock that is wrong or jumps does no harm.
"""

from __future__ import annotations

import copy
import datetime
import math
from dataclasses import dataclass
from typing import Any

LeaseObject = dict[str, Any]
MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class LeaseRecord:
    """The `spec` of a Lease. Two records are equal if nothing was renewed, taken or released in between."""

    holder: str  # empty: free
    duration: float | None  # seconds for which the holder may be silent
    transitions: int  # how often the lease changed hands: the number of the term
    acquired: str
    renewed: str

    @classmethod
    def of(cls, lease: LeaseObject) -> LeaseRecord:
        spec = lease.get("spec") or {}
        seconds = spec.get("leaseDurationSeconds")
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration=float(seconds) if seconds else None,
            transitions=spec.get("leaseTransitions") or 0,
            acquired=spec.get("acquireTime") or "",
            renewed=spec.get("renewTime") or "",
        )

    def is_same_term(self, other: LeaseRecord) -> bool:
        return (self.holder, self.transitions, self.acquired) == (other.holder, other.transitions, other.acquired)


def new_lease(namespace: str, name: str) -> LeaseObject:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": name},
    }


def taken(lease: LeaseObject, identity: str, *, number: int, duration: float, now: datetime.datetime) -> LeaseObject:
    """The lease in the hands of a new holder, whose term has this number."""
    before = LeaseRecord.of(lease)
    return with_spec(
        lease,
        holderIdentity=identity,
        leaseDurationSeconds=math.ceil(duration),
        leaseTransitions=number,
        acquireTime=stamp(now, before.renewed),
        renewTime=stamp(now, before.renewed),
    )


def renewed(lease: LeaseObject, duration: float, now: datetime.datetime) -> LeaseObject:
    before = LeaseRecord.of(lease).renewed
    return with_spec(lease, leaseDurationSeconds=math.ceil(duration), renewTime=stamp(now, before))


def released(lease: LeaseObject, now: datetime.datetime) -> LeaseObject:
    """Free for anyone at once. The number of the term stays: the next is higher."""
    return with_spec(lease, holderIdentity=None, renewTime=stamp(now, LeaseRecord.of(lease).renewed))


def with_spec(lease: LeaseObject, **fields: Any) -> LeaseObject:
    changed = copy.deepcopy(lease)
    spec = {**(changed.get("spec") or {}), **fields}
    changed["spec"] = {key: value for key, value in spec.items() if value is not None}
    return changed


def stamp(now: datetime.datetime, before: str) -> str:
    """A MicroTime that differs from the one before, also when the clock stands still or jumped onto it.

    A renewal that changed nothing would be stored by nobody and seen by nobody, and the lease would be taken away.
    """
    text = micro_time(now)
    return micro_time(now + MICROSECOND) if text == before else text


def micro_time(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

"""The status of a PodGang. Pure.

Grove says whether the gang is whole (`Initialized`). The rest is the scheduler's: phase, `Scheduled`, `Ready`. For
schedulers that know nothing of gangs the operator works it out from the pods. Conditions of others are kept.

A scheduler that reports gangs sees by the references that a gang was written whole, and says `Initialized` with what it
says first: one write less for each gang. Only where it says nothing for long does the operator.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from grove.api import conditions
from grove.api.kinds.meta import Condition
from grove.api.kinds.podgang import PodGangStatus
from grove.operator import pods
from grove.operator.podgang.members import Member
from grove.runtime.pace import STEADY, Patience

Phase = Literal["Pending", "Starting", "Running"]

INITIALIZED: Final = "Initialized"
SCHEDULED: Final = "Scheduled"
READY: Final = "Ready"

LEFT_TO_THE_SCHEDULER: Final = Patience(quiet=30.0, longest=30.0)
"""How long a scheduler that reports gangs may take to say of a gang that was written whole that it is."""


class Count(msgspec.Struct, frozen=True):
    """How the pods of one group fare."""

    name: str
    minimum: int
    scheduled: int
    ready: int
    """Ready, or over and to stay so."""
    refusals: tuple[str, ...] = ()
    """Why there is no room, of each pod of which the scheduler says so."""


def count(members: Iterable[Member]) -> list[Count]:
    return [
        Count(
            one.name,
            one.minimum,
            sum(1 for pod in one.pods if pods.is_scheduled(pod)),
            sum(1 for pod in one.pods if pods.is_ready(pod) or pods.is_done(pod)),
            tuple([why for pod in one.pods if (why := pods.why_unschedulable(pod)) and not pods.is_scheduled(pod)]),
        )
        for one in members
    ]


REWORDED: Final = Patience(quiet=5.0, longest=30.0)
"""Where only the scheduler's words differ: in a full cluster their numbers change with every pod that comes or goes."""
SAYS: Final = "; the scheduler says: "


def is_initialized(held: PodGangStatus | None) -> bool:
    return held is not None and conditions.is_true(held.conditions, INITIALIZED)


def wanted(
    held: PodGangStatus | None, whole: bool, counts: Sequence[Count] | None, now: datetime.datetime
) -> PodGangStatus:
    """The status as it is to be. `whole`: all pods exist, and the stored spec names them. `counts`: None where the
    scheduler reports gangs itself."""
    found = held or PodGangStatus(phase="Pending")
    if not found.phase:
        found = replace(found, phase="Pending")
    if not is_initialized(held):
        found = replace(found, conditions=_initialized(found.conditions, whole, now))
    return found if counts is None else _reported(found, counts, now)


def is_urgent(held: PodGangStatus | None, wanted: PodGangStatus) -> bool:
    """Whether a status must not be held back: pods wait for `Initialized`, people for a gang that was ready and is not
    any more."""
    if held is None or _status(held, INITIALIZED) != _status(wanted, INITIALIZED):
        return True
    return held.last_ready is not None and any(
        _status(held, type) != _status(wanted, type) for type in (SCHEDULED, READY)
    )


def patience(held: PodGangStatus | None, wanted: PodGangStatus, *, reported: bool) -> Patience | None:
    """How long the difference may be held back; None: not at all. `reported`: the scheduler reports gangs itself."""
    said = None if held is None else _status(held, INITIALIZED)
    if reported and said is None and is_initialized(wanted):
        return LEFT_TO_THE_SCHEDULER
    if is_urgent(held, wanted):
        return None
    return STEADY if held is None or _unquoted(held) != _unquoted(wanted) else REWORDED


def _unquoted(status: PodGangStatus) -> object:
    """What a status says, without the words of a scheduler."""
    return status.phase, tuple((one.type, one.status, one.message.partition(SAYS)[0]) for one in status.conditions)


def gist(status: PodGangStatus) -> object:
    """What a status says, without the times at which it came to say so."""
    return status.phase, tuple((one.type, one.status, one.reason, one.message) for one in status.conditions)


def _initialized(held: tuple[Condition, ...], whole: bool, now: datetime.datetime) -> tuple[Condition, ...]:
    if whole:
        message = "PodGang is fully initialized"
        return conditions.put(held, INITIALIZED, "True", "PodGangPodsCreated", message, now=now)
    message = "Not all constituent pods have been created yet"
    return conditions.put(held, INITIALIZED, "False", "PodGangPodsCreationPending", message, now=now)


def _reported(held: PodGangStatus, counts: Sequence[Count], now: datetime.datetime) -> PodGangStatus:
    """The status with what a scheduler of gangs would report."""
    short = [f"{one.name} {one.scheduled} of {one.minimum}" for one in counts if one.scheduled < one.minimum]
    unready = [f"{one.name} {one.ready} of {one.minimum}" for one in counts if one.ready < one.minimum]
    phase: Phase = "Pending" if short else "Starting" if unready else "Running"
    was_scheduled = conditions.is_true(held.conditions, SCHEDULED)
    was_ready = conditions.is_true(held.conditions, READY)
    found = held.conditions
    if short:
        message = f"Not enough pods are scheduled: {_listed(short)}{_refused(counts)}"
        found = conditions.put(found, SCHEDULED, "False", "PodGangNotScheduled", message, now=now)
    else:
        message = "Of each pod group the minimum is scheduled"
        found = conditions.put(found, SCHEDULED, "True", "PodGangScheduled", message, now=now)
    if short or unready:
        message = f"Not enough pods are ready: {_listed(unready)}" if unready else "Not enough pods are scheduled"
        found = conditions.put(found, READY, "False", "PodGangNotReady", message, now=now)
    else:
        found = conditions.put(found, READY, "True", "PodGangReady", "Of each pod group the minimum is ready", now=now)
    is_ready = not short and not unready
    return replace(
        held,
        phase=phase,
        conditions=found,
        last_scheduled=held.last_scheduled if short or was_scheduled else conditions.timestamp(now),
        last_ready=held.last_ready if not is_ready or was_ready else conditions.timestamp(now),
    )


def _refused(counts: Sequence[Count]) -> str:
    """What the scheduler says most often of the pods of groups that lack some; of equally many, the first by letter."""
    said = Counter(why for one in counts if one.scheduled < one.minimum for why in one.refusals)
    if not said:
        return ""
    why = min(said, key=lambda text: (-said[text], text))
    return f"{SAYS}{why if len(why) <= QUOTED else why[:QUOTED] + '…'}"


def _status(status: PodGangStatus, type: str) -> str | None:
    found = conditions.find(status.conditions, type)
    return None if found is None else found.status


_LISTED: Final = 5
QUOTED: Final = 500
"""So many characters of what a scheduler says."""


def _listed(texts: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more

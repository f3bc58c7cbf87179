"""The status of a PodGang, worked out from its pods and from what the engine last said of it. Pure.

The operator says `Initialized`, or leaves it to us to say it with what we say first; conditions of others are kept.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from grove.api import conditions
from grove.api.conditions import moment
from grove.api.kinds.meta import Condition
from grove.api.kinds.podgang import PodGangStatus
from grove.kube.objects import PodView
from grove.runtime.pace import Patience
from grove.scheduler.world import is_ready

Groups: TypeAlias = Sequence[tuple[str, int, Sequence[PodView]]]
"""Of each group its name, its minimum, and the pods of it that there are."""
Phase = Literal["Pending", "Starting", "Running"]

INITIALIZED: Final = "Initialized"
SCHEDULED: Final = "Scheduled"
READY: Final = "Ready"
DISRUPTED: Final = "DisruptionTarget"

NOT_WHOLE: Final = "WaitingForPods"
"""Said of a gang whose pods are not all there: then it is not for us to say that they are."""

STARTING: Final = Patience(quiet=1.5, longest=2.0)
"""A gang that has its place: many are ready soon, and one write says both."""
WAITING: Final = Patience(quiet=2.0, longest=5.0)
"""A gang that waits for something that is probably coming."""
REFUSED: Final = Patience(quiet=0.3, longest=1.0)
REWORDED: Final = Patience(quiet=10.0, longest=30.0)
"""The same verdict in other words."""
LOST: Final = Patience(quiet=0.3, longest=1.0)
"""It was ready and is not any more."""
_PASSING: Final = frozenset({NOT_WHOLE, "WaitingForBase", "Preempting", "RoomHeld"})


DISRUPTION: Final = datetime.timedelta(minutes=1)
"""A disruption after which no more pods go is over then."""


class Said(NamedTuple):
    """Why a gang has no place, in a word and in a sentence."""

    reason: str
    message: str


class Count(NamedTuple):
    """How the pods of one group fare."""

    name: str
    minimum: int
    scheduled: int
    ready: int
    """Ready, or over and to stay so."""


def count(groups: Groups) -> list[Count]:
    """Of each group. Pods that are going do not count."""
    return [
        Count(name, minimum, sum(map(has_place, pods)), sum(1 for pod in pods if is_ready(pod) or is_done(pod)))
        for name, minimum, pods in groups
    ]


def has_place(pod: PodView) -> bool:
    return bool(pod.node_name) and pod.metadata.deletion_timestamp is None


def is_done(pod: PodView) -> bool:
    return pod.status.phase == "Succeeded"


def is_placed(counts: Iterable[Count]) -> bool:
    """Whether every group has its minimum on nodes."""
    return all(one.scheduled >= one.minimum for one in counts)


def has_recovered(held: PodGangStatus | None, groups: Groups, now: datetime.datetime) -> bool:
    """Whether the disruption that a gang was told of is over: its pods are others, or nobody goes any more."""
    told = None if held is None else conditions.find(held.conditions, DISRUPTED)
    if told is None or told.status != "True":
        return False
    pods = [pod for _, _, members in groups for pod in members]
    since = told.last_transition_time
    placed = [pod.metadata.creation_timestamp or "" for pod in pods if has_place(pod)]
    if placed and min(placed) > since:
        return True
    return now > moment(since) + DISRUPTION and not any(pod.metadata.deletion_timestamp for pod in pods)


def wanted(
    held: PodGangStatus | None,
    counts: Sequence[Count],
    said: Said | None,
    score: float | None,
    now: datetime.datetime,
    *,
    recovered: bool = False,
) -> PodGangStatus | None:
    """The status as it is to be; None: there is nothing to say yet. `recovered`: see `has_recovered`."""
    found = held or PodGangStatus(phase="Pending")
    placed = is_placed(counts)
    if not placed and said is None and conditions.find(found.conditions, SCHEDULED) is None:
        return None
    ready = placed and all(one.ready >= one.minimum for one in counts)
    listed = found.conditions
    if conditions.find(listed, INITIALIZED) is None and (placed or (said is not None and said.reason != NOT_WHOLE)):
        listed = conditions.put(
            listed, INITIALIZED, "True", "PodGangPodsCreated", "PodGang is fully initialized", now=now
        )
    listed = _scheduled(listed, placed, said, now)
    listed = _ready(listed, placed, ready, now)
    was_placed = conditions.is_true(found.conditions, SCHEDULED)
    if placed and recovered and conditions.is_true(listed, DISRUPTED):
        listed = conditions.put(listed, DISRUPTED, "False", "PlacedAgain", "The gang has a place again", now=now)
    was_ready = conditions.is_true(found.conditions, READY)
    phase: Phase = "Running" if ready else "Starting" if placed else "Pending"
    return replace(
        found,
        phase=phase,
        conditions=listed,
        placement_score=(found.placement_score if score is None else score) if placed else None,
        last_scheduled=conditions.timestamp(now) if placed and not was_placed else found.last_scheduled,
        last_ready=conditions.timestamp(now) if ready and not was_ready else found.last_ready,
    )


def _scheduled(
    held: tuple[Condition, ...], placed: bool, said: Said | None, now: datetime.datetime
) -> tuple[Condition, ...]:
    if placed:
        message = "Of each pod group the minimum is scheduled"
        return conditions.put(held, SCHEDULED, "True", "PodGangScheduled", message, now=now)
    if said is not None:
        return conditions.put(held, SCHEDULED, "False", said.reason, said.message, now=now)
    if conditions.is_true(held, SCHEDULED):
        message = "Pods of its minimum are not on nodes any more"
        return conditions.put(held, SCHEDULED, "False", "PodGangNotScheduled", message, now=now)
    return held


def _ready(held: tuple[Condition, ...], placed: bool, ready: bool, now: datetime.datetime) -> tuple[Condition, ...]:
    """Without counts: they would change with every pod that comes up, and each change is a write."""
    if ready:
        message = "Of each pod group the minimum is ready"
        return conditions.put(held, READY, "True", "PodGangReady", message, now=now)
    message = "Not of every pod group the minimum is ready" if placed else "Not enough pods are scheduled"
    return conditions.put(held, READY, "False", "PodGangNotReady", message, now=now)


def patience(held: PodGangStatus | None, wanted: PodGangStatus) -> Patience | None:
    """How long the difference may be held back; None: not at all."""
    before, after = _find(held, SCHEDULED), _find(wanted, SCHEDULED)
    if conditions.is_true(wanted.conditions, READY):
        return None
    if held is not None and conditions.is_true(held.conditions, READY):
        return LOST
    if after is None or after.status == "True":
        return STARTING
    if before is not None and before.status == "True":
        return LOST
    if before is not None and before.reason == after.reason:
        return REWORDED
    return WAITING if after.reason in _PASSING else REFUSED


def gist(status: PodGangStatus) -> object:
    """What a status says, without the times at which it came to say so."""
    return status.phase, tuple((one.type, one.status, one.reason, one.message) for one in status.conditions)


def _find(status: PodGangStatus | None, type: str) -> Condition | None:
    return None if status is None else conditions.find(status.conditions, type)

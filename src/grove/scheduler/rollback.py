"""Whether a gang that is half on nodes is taken back: a gang runs whole or not at all. Pure.

Nothing can be unbound; what is taken back is deleted, and made anew by its owner. Only a gang that was never whole is
taken back: one that was, and has lost pods, goes on with what it has, and its owner decides. Nor is a gang touched
whose pods are ready, unless it was us who decided to put them there: it may be older than what we know of it.
"""

from __future__ import annotations

import datetime
from typing import Final, NamedTuple, TypeAlias

from grove.api import conditions
from grove.api.conditions import moment
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import PodView
from grove.scheduler.gangstatus import SCHEDULED, Groups, has_place, is_done
from grove.scheduler.record import Record
from grove.scheduler.world import is_ready

PROVEN: Final = datetime.timedelta(seconds=5)
"""How long a gang stays half bound at least, also where it is proven that the rest has no place: who has refused or
taken away a pod may only just be going."""
NOTICED: Final = datetime.timedelta(seconds=2)
"""A status says so much later that pods are gone: those that were made meanwhile were not there when it was whole."""


class Until(NamedTuple):
    """It is to be looked at again then."""

    moment: datetime.datetime


class TakeBack(NamedTuple):
    """These pods are deleted."""

    pods: tuple[PodView, ...]
    why: str


Verdict: TypeAlias = Until | TakeBack | None


def judge(
    gang: PodGang,
    groups: Groups,
    record: Record | None,
    *,
    hopeless: bool,
    patience: datetime.timedelta,
    now: datetime.datetime,
) -> Verdict:
    """`hopeless`: it is proven that the missing pods have no place as things are. None: nothing is to be taken back."""
    short = [name for name, minimum, pods in groups if sum(map(has_place, pods)) < minimum]
    bound = [pod for _, _, pods in groups for pod in pods if has_place(pod)]
    if not short or not bound or any(map(is_done, bound)):
        return None
    if any(_was_of_whole(gang, pod) for pod in bound):
        return None
    is_ours = record is not None and any(_created(pod) <= moment(record.decided) for pod in bound)
    if not is_ours and any(map(is_ready, bound)):
        return None
    since = min(_bound(pod) for pod in bound)
    wait = PROVEN if hopeless else patience
    if now < since + wait:
        return Until(since + wait)
    what = "there is proof that they have none" if hopeless else f"after {wait.total_seconds():g} s they have none"
    return TakeBack(tuple(bound), f"pods of {', '.join(short[:5])} are missing on nodes and {what}")


def _was_of_whole(gang: PodGang, pod: PodView) -> bool:
    """Whether the pod was on its node when every group of the gang had its minimum there."""
    status = gang.status
    if status is None or status.last_scheduled is None:
        return False
    if _bound(pod) <= moment(status.last_scheduled):
        return True
    scheduled = conditions.find(status.conditions, SCHEDULED)
    if scheduled is None:
        return False
    return scheduled.status == "True" or _created(pod) <= moment(scheduled.last_transition_time) - NOTICED


def _created(pod: PodView) -> datetime.datetime:
    return moment(pod.metadata.creation_timestamp or "1970-01-01T00:00:00Z")


def _bound(pod: PodView) -> datetime.datetime:
    """When it came to its node."""
    for one in pod.status.conditions:
        if one.type == "PodScheduled" and one.status == "True" and one.last_transition_time:
            return moment(one.last_transition_time)
    return _created(pod)

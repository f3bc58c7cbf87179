"""When a pod that is over is replaced, and how its successor remembers that it was. Pure.

Pods that end soon after they were made are replaced ever more slowly. The count is kept on the pods, so that it is
still known after the operator was killed: each has an annotation with the number of its predecessors that died young.
"""

from __future__ import annotations

import datetime
from typing import Final

from grove.api.conditions import moment
from grove.kube.objects import PodView

REPLACEMENTS: Final = "grove.io/replacements"
OLD_ENOUGH: Final = datetime.timedelta(minutes=10)
"""A pod that lived so long did not fail because it was started."""
FIRST: Final = 10.0
LONGEST: Final = 300.0
_MOST_DOUBLINGS: Final = 10


def count(pod: PodView) -> int:
    """How many of a pod's predecessors died young, one after the other."""
    text = (pod.metadata.annotations or {}).get(REPLACEMENTS, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def created_at(pod: PodView) -> datetime.datetime | None:
    text = pod.metadata.creation_timestamp
    return moment(text) if text else None


def ended_at(pod: PodView) -> datetime.datetime | None:
    """When a pod was over, as far as it is known: not before the last change of its conditions, or its creation."""
    times = [moment(one.last_transition_time) for one in pod.status.conditions if one.last_transition_time]
    if (created := created_at(pod)) is not None:
        times.append(created)
    return max(times, default=None)


def died_young(pod: PodView) -> bool:
    created, ended = created_at(pod), ended_at(pod)
    return created is None or ended is None or ended - created < OLD_ENOUGH


def successors_count(pod: PodView) -> int:
    """The count of the pod that replaces this one."""
    return count(pod) + 1 if died_young(pod) else 0


def due(pod: PodView) -> datetime.datetime | None:
    """When a pod that is over is to be replaced; None: now."""
    doublings = count(pod) if died_young(pod) else 0
    ended = ended_at(pod)
    if doublings == 0 or ended is None:
        return None
    delay = min(LONGEST, FIRST * 2 ** min(doublings - 1, _MOST_DOUBLINGS))
    return ended + datetime.timedelta(seconds=delay)

"""Keeps pods beyond a gang's minimum within the limits of its queue. Pure. Called by the engine before a search.

Whether the minimum may start is asked before (`Queues.may_start`): a limit never stops half a gang.
"""

from __future__ import annotations

from grove.scheduler.classes import PodClass
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.queues import Queues
from grove.scheduler.resources import Vector


def within_limits(queues: Queues, gang: Gang) -> tuple[Gang, tuple[Pending, ...]]:
    """The gang without the pods for which there is no room under the limits, and these pods."""
    if queues.is_flat:
        return gang, ()
    total: dict[int, int] = {}
    for group in gang.groups():
        for pod in group.waiting:
            _add(total, pod.cls)
    if not queues.may_start(gang.queue, _vector(total)):
        return gang, ()
    total = {}
    for group in gang.groups():
        for pod in group.waiting[: group.missing]:
            _add(total, pod.cls)
    cut: dict[str, Pending] = {}
    for group in gang.groups():
        for pod in group.waiting[group.missing :]:
            more = dict(total)
            _add(more, pod.cls)
            if queues.may_start(gang.queue, _vector(more)):
                cut[pod.uid] = pod
            else:
                total = more
    return gang._replace(root=_without(gang.root, cut)), tuple(cut.values())


def _without(scope: Scope, cut: dict[str, Pending]) -> Scope:
    def rest(group: Group) -> Group:
        return group._replace(waiting=tuple([pod for pod in group.waiting if pod.uid not in cut]))

    groups, scopes = tuple(map(rest, scope.groups)), tuple([_without(inner, cut) for inner in scope.scopes])
    return scope._replace(groups=groups, scopes=scopes)


def _add(total: dict[int, int], cls: PodClass) -> None:
    for row, amount in cls.requests:
        total[row] = total.get(row, 0) + amount


def _vector(total: dict[int, int]) -> Vector:
    return tuple(sorted(total.items()))

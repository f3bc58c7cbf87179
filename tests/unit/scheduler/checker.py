"""Checks a placement against what the gang asks for: by labels of nodes and sums, with nothing of the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Scope
from grove.scheduler.verdicts import Found

Path = tuple[str | None, ...]


def path(cluster: Cluster, slot: int, keys: tuple[str, ...], key: str) -> Path | None:
    """A node's domain of a level: its labels from the broadest level down to it; None: it is in none."""
    view = cluster.views[slot]
    assert view is not None
    labels = view.metadata.labels or {}
    if key not in labels:
        return None
    above = keys[: keys.index(key) + 1] if key in keys else (key,)
    return tuple(labels.get(one) for one in above)


def faults(cluster: Cluster, gang: Gang, found: Found) -> Iterator[str]:
    """What is wrong with a placement; nothing, unless there is a defect."""
    slot_of = {put.pod.uid: put.slot for put in found.puts}
    left = {pod.uid for pod in found.left}
    if len(slot_of) != len(found.puts):
        yield "a pod is placed twice"
    known = [pod.uid for group in gang.groups() for pod in group.waiting]
    if sorted([*slot_of, *left]) != sorted(known):
        yield "pods are missing from the answer, or strange ones are in it"
    for group in gang.groups():
        here = sum(pod.uid in slot_of for pod in group.waiting)
        if here < group.missing:
            yield f"{group.name} has {here} of {group.missing}"
    yield from _room(cluster, found)
    yield from _rules(cluster, gang, found)
    yield from _packed(cluster, gang, gang.root, slot_of)


def _room(cluster: Cluster, found: Found) -> Iterator[str]:
    used: Counter[tuple[int, int]] = Counter()
    for put in found.puts:
        for row, amount in put.pod.cls.requests:
            used[put.slot, row] += amount
    for (slot, row), amount in used.items():
        if amount > cluster.free[row, slot]:
            yield f"{cluster.names[slot]} is over-committed in {cluster.resources.names[row]}"


def _rules(cluster: Cluster, gang: Gang, found: Found) -> Iterator[str]:
    """In some order every pod is let to its node."""
    waiting = list(found.puts)
    for put in waiting:
        if gang.within is not None and not gang.within[put.slot]:
            yield f"{put.pod.name} is outside of what is left to the gang"
        if not cluster.alive[put.slot]:
            yield f"{put.pod.name} is on a node that is not there"
    mark = cluster.mark()
    progress = True
    while waiting and progress:
        progress = False
        for put in waiting:
            if cluster.capacity(put.pod.cls)[put.slot] > 0:
                pod = put.pod
                cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, put.slot, gang=gang.key))
                waiting.remove(put)
                progress = True
                break
    cluster.rollback(mark)
    for put in waiting:
        yield f"{put.pod.name} may not go to {cluster.names[put.slot]}: {cluster.reasons(put.pod.cls, put.slot)}"


def _packed(cluster: Cluster, gang: Gang, scope: Scope, slot_of: dict[str, int]) -> Iterator[str]:
    key = scope.pack.required
    groups = [*scope.all_groups()]
    if key is not None:
        before = {path(cluster, pod.slot, scope.keys, key) for group in groups for pod in group.placed}
        before |= {path(cluster, slot, scope.keys, key) for slot in scope.anchors}
        new = {
            path(cluster, slot_of[pod.uid], scope.keys, key)
            for group in groups
            for pod in group.waiting
            if pod.uid in slot_of
        }
        domains = before - {None}
        if not domains and before:
            pass  # what is placed is nowhere: anything goes
        elif domains:
            if not new <= domains:
                yield f"{scope.name} leaves the domains it is in: {new - domains}"
        elif len(new) > 1 or None in new:
            yield f"{scope.name} is in {new}"
    for inner in scope.scopes:
        yield from _packed(cluster, gang, inner, slot_of)

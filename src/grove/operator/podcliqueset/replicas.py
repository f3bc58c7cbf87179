"""How the replicas of a set fare. Pure.

Whether a replica serves is shown by the statuses of PodCliques and scaling groups, which is cheap. Whether it follows
the template, and is done, so that another one may be taken apart, is decided by its pods: statuses come later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from grove.api import labels
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.objects import PodView
from grove.operator import pods, progress
from grove.operator.podclique import rollout as clique_rollout
from grove.operator.podcliqueset import rollout, termination
from grove.operator.podcliqueset.children import is_going
from grove.operator.podcliqueset.snapshot import Snapshot
from grove.operator.tree import GroupPlace
from grove.operator.views import PodCliqueView

MOST_NAMED = 5
"""So many of what is waited for are named."""


# By statuses


def is_available(snapshot: Snapshot, replica: int) -> bool:
    """Whether every clique and group of a replica has its minimum ready."""
    return all(is_clique_available(view) for _, view in snapshot.standalone(replica)) and all(
        is_group_available(group) for _, group in snapshot.scaling_groups(replica)
    )


def is_clique_available(view: PodCliqueView | None) -> bool:
    if view is None or is_going(view.metadata):
        return False
    return (view.status.ready_replicas if view.status else 0) >= progress.required(view)


def is_group_available(group: PodCliqueScalingGroup | None) -> bool:
    if group is None or is_going(group.metadata):
        return False
    return (group.status.available_replicas if group.status else 0) >= required_copies(group)


def required_copies(group: PodCliqueScalingGroup) -> int:
    """How many copies must be available; none if the group is scaled to zero."""
    return min(group.spec.min_available, group.spec.replicas)


# By pods


def is_updated(snapshot: Snapshot, replica: int) -> bool:
    """Whether all pods of a replica follow the template, and every clique and group has its minimum ready."""
    return all(is_clique_updated(snapshot, place.clique, view) for place, view in snapshot.standalone(replica)) and all(
        is_group_updated(snapshot, place, group) for place, group in snapshot.scaling_groups(replica)
    )


def is_clique_updated(snapshot: Snapshot, clique: str, view: PodCliqueView | None) -> bool:
    """Whether a PodClique has its minimum ready, and all its pods follow the template."""
    hash = snapshot.tree.template_hashes[clique]
    return view is not None and progress.clique_updated(view, snapshot.pods_of(view), hash)


def is_group_updated(snapshot: Snapshot, place: GroupPlace, group: PodCliqueScalingGroup | None) -> bool:
    """Whether a scaling group has its minimum available, and all its pods follow the template."""
    if group is None or is_going(group.metadata):
        return False
    hashes = snapshot.tree.template_hashes
    cliques, available = snapshot.tree.groups[place.group].clique_names, 0
    for copy in snapshot.copies(group, place):
        is_available = True
        for clique, view in zip(cliques, copy, strict=True):
            if view is None or (view.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH) != hashes[clique]:
                return False
            found, needed = snapshot.pods_of(view), progress.required(view)
            counts = pods.count(found)
            if not needed <= counts.active == pods.made_from(found, hashes[clique]):
                return False
            is_available = is_available and counts.serving >= needed
        available += is_available
    return available >= required_copies(group)


class _Part(msgspec.Struct, frozen=True):
    """A PodClique outside groups, or a scaling group."""

    name: str
    is_new: bool
    is_available: bool
    has_scheduled: bool
    has_started: bool


def standing(snapshot: Snapshot, replica: int, decision: termination.Decision) -> rollout.Replica:
    """How far a replica is with the template, by its pods."""
    parts = [*_cliques(snapshot, replica), *_scaling_groups(snapshot, replica)]
    waiting = [part.name for part in parts if not (part.is_new and part.is_available)]
    more = f" and {len(waiting) - MOST_NAMED} more" if len(waiting) > MOST_NAMED else ""
    return rollout.Replica(
        index=replica,
        is_new=all(part.is_new for part in parts),
        is_available=all(part.is_available for part in parts),
        has_scheduled=any(part.has_scheduled for part in parts),
        has_started=any(part.has_started for part in parts),
        is_breached=replica in decision.breached,
        is_recycled=any(one.replica == replica for one in decision.recyclings),
        waits_for=f"waits for {', '.join(waiting[:MOST_NAMED])}{more}" if waiting else "",
    )


def _cliques(snapshot: Snapshot, replica: int) -> Iterator[_Part]:
    for place, view in snapshot.standalone(replica):
        name = f"PodClique {snapshot.tree.clique_name(place)}"
        if view is None:
            # It comes with the new template; whether it ever ran is not known, so it is waited for.
            yield _Part(name, is_new=True, is_available=False, has_scheduled=False, has_started=True)
            continue
        found = snapshot.pods_of(view)
        hash = snapshot.tree.template_hashes[place.clique]
        yield _Part(
            name,
            is_new=_is_new(snapshot, view, hash),
            is_available=progress.clique_available(view, found) and _is_back(view, found),
            has_scheduled=progress.scheduled(found) > 0,
            has_started=progress.ever_scheduled(view) or progress.scheduled(found) > 0,
        )


def _scaling_groups(snapshot: Snapshot, replica: int) -> Iterator[_Part]:
    for place, group in snapshot.scaling_groups(replica):
        name = f"PodCliqueScalingGroup {snapshot.tree.group_name(place)}"
        if group is None or is_going(group.metadata):
            yield _Part(name, is_new=True, is_available=False, has_scheduled=False, has_started=True)
        else:
            yield _scaling_group(snapshot, place, group, name)


def _scaling_group(snapshot: Snapshot, place: GroupPlace, group: PodCliqueScalingGroup, name: str) -> _Part:
    cliques = snapshot.tree.groups[place.group].clique_names
    is_new, available, back, scheduled = True, 0, True, False
    for copy in snapshot.copies(group, place):
        whole = True
        for clique, view in zip(cliques, copy, strict=True):
            if view is None:
                is_new = whole = False
                continue
            found = snapshot.pods_of(view)
            is_new = is_new and _is_new(snapshot, view, snapshot.tree.template_hashes[clique])
            whole = whole and progress.clique_available(view, found)
            back = back and _is_back(view, found)
            scheduled = scheduled or progress.scheduled(found) > 0
        available += whole
    return _Part(
        name,
        is_new=is_new,
        is_available=back and available >= required_copies(group),
        has_scheduled=scheduled,
        has_started=scheduled or progress.ever_healthy(group),
    )


def _is_back(view: PodCliqueView, found: Sequence[PodView]) -> bool:
    """Whether all pods of a PodClique serve again: what an update has replaced has come up, beyond the minimum too.

    Pods for which there is no room, and those that somebody else holds back, are not waited for.
    """
    active = [pod for pod in found if pods.is_active(pod)]
    return len(active) >= view.spec.replicas and all(
        pods.is_ready(pod) or pods.is_done(pod) or cannot_be_placed(pod) for pod in active
    )


def cannot_be_placed(pod: PodView) -> bool:
    """Whether there is no room for a pod, or somebody else holds it back from being scheduled."""
    if pods.is_gated(pod):
        return not pods.has_our_gate(pod)
    return pods.is_unschedulable(pod)


def _is_new(snapshot: Snapshot, view: PodCliqueView, hash: str) -> bool:
    """Whether a PodClique stays, follows the template with this hash, and so do its pods, except for those it keeps."""
    if is_going(view.metadata) or (view.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH) != hash:
        return False
    held = None if view.status is None else view.status.update_progress
    # What OnDelete has left old is not replaced before the PodClique's own template changes.
    spared = clique_rollout.spared_until(held, hash, "")
    return all(
        pods.template_hash(pod) == hash or (spared is not None and (pod.metadata.creation_timestamp or "") <= spared)
        for pod in snapshot.pods_of(view)
        if pods.is_active(pod)
    )

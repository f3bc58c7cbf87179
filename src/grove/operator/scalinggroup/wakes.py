"""What brings a scaling group back to its controller: changes of itself, its set, its members, and their pods.

Of the pods only what decides about a copy counts: whether a member has its minimum scheduled or ready, and whether old
pods are left. A thousand pods that come up wake their group a few times, not a thousand times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from grove.api import labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.objects import PodView
from grove.kube.store import Change
from grove.operator import places, pods, progress
from grove.operator.owners import controller_of
from grove.operator.resources import SCALING_GROUPS
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World, key_of
from grove.runtime.followed import Followed
from grove.runtime.source import Source


def sources(world: World) -> list[Source[Key]]:
    """What the controller of scaling groups follows."""
    members = Members(world)
    return [
        Followed(world.groups, of_group),
        Followed(world.sets, lambda change: of_set(world, change)),
        Followed(world.cliques, members.of_clique),
        Followed(world.pods, members.of_pod),
    ]


def of_group(change: Change[PodCliqueScalingGroup]) -> Iterable[Key]:
    """Not when only its status was written: that was us."""
    old, new = change
    known = new or old
    if known is None or (old is not None and new is not None and _wish(old) == _wish(new)):
        return ()
    return (key_of(known.metadata),)


def of_set(world: World, change: Change[PodCliqueSet]) -> Iterable[Key]:
    """The groups of the replicas whose turn it has become, or ceased to be; all of them if the templates changed."""
    old, new = change
    if new is None:
        return ()
    if old is not None and _course(old) == _course(new):
        before, after = _selected(old), _selected(new)
        replicas = before ^ after
        if not replicas:
            return ()
        return [key_of(one.metadata) for one in world.groups_of(new) if places.replica_index(one.metadata) in replicas]
    return [key_of(one.metadata) for one in world.groups_of(new)]


class _Facts(msgspec.Struct, frozen=True):
    """What of a member's pods decides about its copy."""

    is_scheduled: bool = False
    is_available: bool = False
    is_healthy: bool = False
    strangers: frozenset[str] = frozenset()
    """The hashes of pods that were made from another template than the PodClique has now."""


_NOTHING: Final = _Facts()
"""What can be said of a PodClique that has yet to make its pods."""


class Members:
    """Remembers how the members fared when their groups were last woken."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._facts: dict[str, _Facts] = {}  # by uid of the PodClique

    def of_clique(self, change: Change[PodCliqueView]) -> Iterable[Key]:
        """Not for what only counts its pods: those wake by themselves."""
        old, new = change
        if new is None and old is not None:
            self._facts.pop(old.metadata.uid or "", None)
        known = new or old
        if known is None or (old is not None and new is not None and _told(old) == _told(new)):
            return ()
        return _owner(known)

    def of_pod(self, change: Change[PodView]) -> Iterable[Key]:
        old, new = change
        known = new or old
        if known is None or (old is not None and new is not None and _state(old) == _state(new)):
            return ()
        owner = controller_of(known.metadata)
        clique = None if owner is None else self._world.cliques.by_uid(owner.uid)
        if clique is None:
            return ()
        keys = _owner(clique)
        uid = clique.metadata.uid or ""
        if keys and self._facts.get(uid, _NOTHING) != (facts := self._look(clique)):
            self._facts[uid] = facts
            return keys
        return ()

    def _look(self, clique: PodCliqueView) -> _Facts:
        active = [pod for pod in self._world.pods_of(clique) if pods.is_active(pod)]
        needed = progress.required(clique)
        own = (clique.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH, "")
        return _Facts(
            is_scheduled=progress.scheduled(active) >= needed,
            is_available=progress.serving(active) >= needed,
            is_healthy=pods.count(active).healthy >= needed,
            strangers=frozenset(map(pods.template_hash, active)) - {own},
        )


def _state(pod: PodView) -> object:
    """What of a pod its clique counts."""
    return pods.count((pod,)), pods.is_done(pod), pods.template_hash(pod), pod.metadata.owner_references


def _owner(clique: PodCliqueView) -> tuple[Key, ...]:
    """The scaling group that a PodClique is a member of."""
    owner = controller_of(clique.metadata)
    if owner is None or owner.kind != SCALING_GROUPS.kind:
        return ()
    return (Key(clique.metadata.namespace or "", owner.name),)


def _wish(group: PodCliqueScalingGroup) -> object:
    metadata = group.metadata
    return metadata.uid, metadata.generation, metadata.deletion_timestamp, metadata.labels, metadata.owner_references


def _told(clique: PodCliqueView) -> object:
    """A member without the counts of its status."""
    metadata = clique.metadata
    return (
        metadata.uid,
        metadata.generation,
        metadata.deletion_timestamp,
        metadata.labels,
        metadata.annotations,
        metadata.finalizers,
        () if clique.status is None else clique.status.conditions,
    )


def _course(pcs: PodCliqueSet) -> object:
    """What of a set concerns all its groups."""
    status = pcs.status or PodCliqueSetStatus()
    ended = None if status.update_progress is None else status.update_progress.update_ended_at
    return (
        pcs.metadata.uid,
        pcs.metadata.generation,
        pcs.metadata.deletion_timestamp,
        status.current_generation_hash,
        status.update_progress is None,
        ended,
    )


def _selected(pcs: PodCliqueSet) -> set[int]:
    """The replicas whose turn it is."""
    status = pcs.status or PodCliqueSetStatus()
    selected = () if status.update_progress is None else status.update_progress.currently_updating
    return {one.replica_index for one in selected if one.update_ended_at is None}

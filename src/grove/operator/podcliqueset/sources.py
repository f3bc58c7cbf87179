"""Which changes concern a set. Pure mappings from a change in a cache to the keys of sets.

A change that no decision about the set looks at adds no key: there are many more of those than of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from grove.api import labels
from grove.api.kinds.meta import Condition, ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.cache import Cache
from grove.kube.objects import PodView
from grove.kube.store import Change, metadata_of
from grove.operator import places, pods
from grove.operator.podcliqueset import replicas, rollout
from grove.operator.topology import levels
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World, key_of, set_key_of
from grove.runtime.followed import Followed

T = TypeVar("T")


def sources(world: World) -> list[Followed[Any, Key]]:
    """What the controller of sets follows."""

    def rolling(change: Change[PodView]) -> Iterable[Key]:
        return _of_pod(world, change)

    def bound(change: Change[ClusterTopologyBinding]) -> Iterable[Key]:
        return _of_topology(world, change)

    return [
        Followed(world.sets, _of_set),
        Followed(world.cliques, _when(_of_clique)),
        Followed(world.groups, _when(_of_group)),
        Followed(world.gangs, _when(_of_gang)),
        *(_own(cache) for cache in (world.services, world.autoscalers, world.roles, world.role_bindings)),
        Followed(world.topologies, bound),
        Followed(world.pods, rolling),
    ]


def _own(cache: Cache[Any]) -> Followed[Any, Key]:
    return Followed(cache, _when(lambda one: metadata_of(one).resource_version))


def _when(gist: Callable[[T], object]) -> Callable[[Change[T]], Iterable[Key]]:
    """The sets of objects that went, or whose gist changed. What came was made by the set's own controller."""

    def keys(change: Change[T]) -> Iterable[Key]:
        old, new = change
        if old is None or (new is not None and gist(old) == gist(new)):
            return ()
        found = {set_key_of(metadata_of(one)) for one in (old, new) if one is not None}
        return [one for one in found if one is not None]

    return keys


def _of_set(change: Change[PodCliqueSet]) -> Iterable[Key]:
    old, new = change
    if new is None or (old is not None and _set_gist(old) == _set_gist(new)):
        return () if old is None or new is not None else (key_of(old.metadata),)
    return (key_of(new.metadata),)


def _set_gist(pcs: PodCliqueSet) -> object:
    """Statuses are not in it: they are written by this controller alone."""
    metadata = pcs.metadata
    return (metadata.generation, metadata.deletion_timestamp, metadata.finalizers, metadata.annotations)


def _of_clique(view: PodCliqueView) -> object:
    status, metadata = view.status, view.metadata
    followed = None if status is None else status.current_pod_template_hash
    if labels.SCALING_GROUP in (metadata.labels or {}):
        # Its scaling group tells how it fares.
        return (metadata.deletion_timestamp, followed, _statuses(() if status is None else status.conditions))
    return (
        _own_gist(metadata),
        followed,
        replicas.is_clique_available(view),
        status is not None and status.updated_replicas >= (view.spec.replicas or 0),
        _statuses(() if status is None else status.conditions),
    )


def _of_group(group: PodCliqueScalingGroup) -> object:
    status = group.status
    return (
        _own_gist(group.metadata),
        replicas.is_group_available(group),
        None if status is None else status.current_pod_clique_set_generation_hash,
        _statuses(() if status is None else status.conditions),
    )


def _of_gang(gang: PodGang) -> object:
    status = gang.status
    return None if status is None else (status.phase, _statuses(status.conditions))


def _own_gist(metadata: ObjectMeta) -> object:
    """What a child says beside its status."""
    return (
        metadata.generation,
        metadata.deletion_timestamp,
        metadata.finalizers,
        metadata.labels,
        metadata.annotations,
    )


def _statuses(conditions: tuple[Condition, ...]) -> object:
    return tuple((one.type, one.status, one.last_transition_time) for one in conditions)


def _of_pod(world: World, change: Change[PodView]) -> Iterable[Key]:
    """Only pods of the replica that is being updated: whether it is done is seen from them."""
    pod = change.new or change.old
    if pod is None or (change.old is not None and change.new is not None and _is_same(change.old, change.new)):
        return ()
    key = set_key_of(pod.metadata)
    pcs = None if key is None else world.sets.get(key.name, key.namespace)
    if key is None or pcs is None or rollout.selected(pcs.status) != places.replica_index(pod.metadata):
        return ()
    return (key,) if rollout.is_running(pcs.status) else ()


def _is_same(old: PodView, new: PodView) -> bool:
    return _pod_gist(old) == _pod_gist(new)


def _pod_gist(pod: PodView) -> object:
    return (pods.is_active(pod), pods.is_ready(pod), pods.is_scheduled(pod), replicas.cannot_be_placed(pod))


def _of_topology(world: World, change: Change[ClusterTopologyBinding]) -> Iterable[Key]:
    """The sets that name a topology that came, went, or has other levels."""
    old, new = change
    changed = new or old
    if changed is None or (old is not None and new is not None and old.spec == new.spec):
        return ()
    name = changed.metadata.name
    return [key_of(one.metadata) for one in world.sets if levels.binding_name(one.spec.template) == name]

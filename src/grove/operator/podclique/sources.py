"""Which changes in the cluster concern which PodCliques: the sources of the controller's keys.

Each function compares the old object with the new one and names only PodCliques for which something can follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from grove.api import labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.objects import ContainerStatus, PodView
from grove.kube.store import Change
from grove.operator import pods
from grove.operator.owners import controller_of
from grove.operator.podclique import gates
from grove.operator.resources import POD_CLIQUES
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World, key_of
from grove.runtime.followed import Followed

KIND: Final = POD_CLIQUES.kind


def sources(world: World) -> list[Followed[Any, Key]]:
    """Everything that a PodClique must look at again for."""
    return [
        Followed(world.cliques, of_clique),
        Followed(world.pods, lambda change: of_pod(world, change)),
        Followed(world.gangs, lambda change: of_gang(world, change)),
        Followed(world.sets, lambda change: of_set(world, change)),
        Followed(world.groups, lambda change: of_group(world, change)),
    ]


def of_clique(change: Change[PodCliqueView]) -> Iterable[Key]:
    """Itself, except where only its status has changed: that is what this controller writes."""
    old, new = change.old, change.new
    if old is not None and new is not None and old.spec == new.spec:
        before, after = old.metadata, new.metadata
        if (before.labels, before.annotations, before.finalizers, before.owner_references) == (
            after.labels,
            after.annotations,
            after.finalizers,
            after.owner_references,
        ) and before.deletion_timestamp == after.deletion_timestamp:
            return ()
    held = new or old
    return () if held is None else (key_of(held.metadata),)


def of_pod(world: World, change: Change[PodView]) -> Iterable[Key]:
    """Its PodClique; and those that wait for the base gang to be scheduled of which the pod is one."""
    old, new = change.old, change.new
    held = new or old
    if held is None:
        return ()
    if old is not None and new is not None and not _matters(old, new):
        return ()
    found = _owner(held)
    if new is not None and new.node_name and (old is None or not old.node_name):
        found |= _behind(world, new)
    return found


def of_gang(world: World, change: Change[PodGang]) -> Iterable[Key]:
    """The PodCliques with held pods that the gang lets go, or that wait for the gang to be scheduled."""
    old, new = change.old, change.new
    if new is None:
        return ()
    namespace = new.metadata.namespace or ""
    is_known = old is not None and gates.is_initialized(old) == gates.is_initialized(new)
    before = {} if old is None or not is_known else {group.name: group for group in old.spec.podgroups}
    changed = [group.name for group in new.spec.podgroups if before.get(group.name) != group]
    found = {Key(namespace, name) for name in changed if _holds_pods(world, namespace, name)}
    if old is None or old.spec != new.spec:
        found |= _owners(world.pods_behind(namespace, new.metadata.name))
    return found


def of_set(world: World, change: Change[PodCliqueSet]) -> Iterable[Key]:
    """All its PodCliques when its templates or strategy changed, or when it is known now which ones it follows."""
    old, new = change.old, change.new
    held = new or old
    if held is None:
        return ()
    if old is not None and new is not None and _asks_for(old) == _asks_for(new):
        return ()
    return [key_of(one.metadata) for one in world.cliques_of(held)]


def of_group(world: World, change: Change[PodCliqueScalingGroup]) -> Iterable[Key]:
    """Its members when it becomes known: before that, nobody can tell whose they are."""
    if change.old is not None or change.new is None:
        return ()
    return [key_of(one.metadata) for one in world.members_of(change.new)]


def _asks_for(pcs: PodCliqueSet) -> tuple[object, ...]:
    current = pcs.status.current_generation_hash if pcs.status else None
    return (pcs.metadata.uid, pcs.metadata.generation, pcs.metadata.deletion_timestamp, current)


def _matters(old: PodView, new: PodView) -> bool:
    return (
        old.metadata.uid != new.metadata.uid
        or old.node_name != new.node_name
        or old.status.phase != new.status.phase
        or pods.is_ready(old) != pods.is_ready(new)
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.spec.scheduling_gates != new.spec.scheduling_gates
        or old.metadata.labels != new.metadata.labels
        or _containers(old) != _containers(new)
        or pods.is_in_trouble(old) != pods.is_in_trouble(new)
    )


def _containers(pod: PodView) -> list[tuple[object, ...]]:
    """What of its containers is counted by."""
    found = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return [(one.ready, one.started, *_exits(one)) for one in found]


def _exits(status: ContainerStatus) -> tuple[int | None, int | None]:
    last, now = status.last_state.terminated, status.state.terminated
    return (None if last is None else last.exit_code, None if now is None else now.exit_code)


def _owner(pod: PodView) -> set[Key]:
    owner = controller_of(pod.metadata)
    if owner is None or owner.kind != KIND:
        return set()
    return {Key(pod.metadata.namespace or "", owner.name)}


def _owners(found: Iterable[PodView]) -> set[Key]:
    return {key for pod in found for key in _owner(pod)}


def _behind(world: World, pod: PodView) -> set[Key]:
    found = pod.metadata.labels or {}
    gang = found.get(labels.POD_GANG)
    if gang is None or labels.BASE_POD_GANG in found:
        return set()
    return _owners(world.pods_behind(pod.metadata.namespace or "", gang))


def _holds_pods(world: World, namespace: str, clique: str) -> bool:
    held = world.cliques.get(clique, namespace)
    return held is not None and any(map(pods.has_our_gate, world.pods_of(held)))

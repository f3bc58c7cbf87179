"""Which changes of the cluster concern which PodGangs. Pure: they only look things up in the caches.

Thousands of pods come up at once. What changes nothing in a PodGang, such as a container that starts, wakes nobody; nor
does a pod of a gang that is not written yet while a PodClique of it is known to lack others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grove.api import labels, names
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodView
from grove.kube.store import Change
from grove.operator import places, pods
from grove.operator.backends.registry import Backends
from grove.operator.owners import controller_of
from grove.operator.podgang import status
from grove.operator.topology import levels
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World, key_of, set_key_of
from grove.runtime.followed import Followed
from grove.runtime.source import Source


def sources(world: World, backends: Backends) -> list[Source[Key]]:
    """What the gang controller follows."""
    wakes = Wakes(world, backends)
    return [
        Followed(world.pods, wakes.of_pod),
        Followed(world.cliques, wakes.of_clique),
        Followed(world.groups, wakes.of_group),
        Followed(world.gangs, wakes.of_gang),
        Followed(world.sets, wakes.of_set),
        Followed(world.topologies, wakes.of_topology),
    ]


class Wakes:
    """See the top of the module."""

    def __init__(self, world: World, backends: Backends) -> None:
        self._world = world
        self._backends = backends
        self._lacking: dict[Key, set[str]] = {}
        """Of gangs that are not there yet: the uids of PodCliques that lack pods, as far as they were looked at."""

    def of_pod(self, change: Change[PodView]) -> Iterator[Key]:
        """The gang of its PodClique, and those that its label names."""
        old, new = change
        if old is not None and new is not None and self._facts(old) == self._facts(new):
            return
        for pod in (old, new):
            if pod is None:
                continue
            owner = controller_of(pod.metadata)
            clique = None if owner is None else self._world.cliques.by_uid(owner.uid)
            if clique is None:
                yield from _labelled(pod.metadata)
                continue
            for key in {*_labelled(pod.metadata), *_labelled(clique.metadata)}:
                if self._world.gangs.get(key.name, key.namespace) is not None or self._may_be_whole(key, clique):
                    yield key

    def _may_be_whole(self, key: Key, clique: PodCliqueView) -> bool:
        """Whether no PodClique of a gang is known to lack pods, now that one of them was looked at anew."""
        lacking, uid = self._lacking.setdefault(key, set()), clique.metadata.uid or ""
        if _lacks_pods(clique, self._world.pods_of(clique)):
            lacking.add(uid)
            return False
        return self._is_let_go(key, uid)

    def _is_let_go(self, key: Key, uid: str) -> bool:
        """Forgets a PodClique; whether no other one of its gang is known to lack pods."""
        lacking = self._lacking.get(key, set())
        lacking.discard(uid)
        if not lacking:
            self._lacking.pop(key, None)
        return not lacking

    def _facts(self, pod: PodView) -> object:
        """What of a pod its gang depends on."""
        active = pods.is_active(pod)
        label = (pod.metadata.labels or {}).get(labels.POD_GANG)
        if self._backends.of(pod.spec.scheduler_name).reports_gangs:
            return active, label
        is_well = pods.is_ready(pod) or pods.is_done(pod)
        return active, label, pods.is_scheduled(pod), is_well, pods.why_unschedulable(pod)

    def of_clique(self, change: Change[PodCliqueView]) -> Iterator[Key]:
        old, new = change
        if old is not None and new is not None and _clique_facts(old) == _clique_facts(new):
            return
        for clique in (old, new):
            if clique is not None:
                for key in _labelled(clique.metadata):
                    self._is_let_go(key, clique.metadata.uid or "")  # its pods tell again what it lacks
                    yield key

    def of_group(self, change: Change[PodCliqueScalingGroup]) -> Iterator[Key]:
        """The gangs of its copies, and the base gang that holds the first ones."""
        old, new = change
        if old is not None and new is not None and old.spec.replicas == new.spec.replicas:
            return
        group = new or old
        if group is None:
            return
        for member in self._world.members_of(group):
            yield from _labelled(member.metadata)
        for gang in self._world.group_gangs(group):
            yield key_of(gang.metadata)
        key, replica = set_key_of(group.metadata), places.replica_index(group.metadata)
        if key is not None and replica is not None:
            yield Key(key.namespace, names.base_gang(key.name, replica))

    def of_gang(self, change: Change[PodGang]) -> Iterator[Key]:
        old, new = change
        if old is not None and new is not None and _gang_facts(old) == _gang_facts(new):
            return
        for gang in (old, new):
            if gang is not None:
                self._lacking.pop(key_of(gang.metadata), None)
                yield key_of(gang.metadata)

    def of_set(self, change: Change[PodCliqueSet]) -> Iterator[Key]:
        """All gangs that exist, and those whose PodCliques do: others have nothing to be written yet."""
        old, new = change
        if new is None or (old is not None and _set_facts(old) == _set_facts(new)):
            return
        yield from self._gangs_of(new)

    def of_topology(self, change: Change[ClusterTopologyBinding]) -> Iterator[Key]:
        """The gangs of all sets that name it."""
        old, new = change
        if old is not None and new is not None and old.spec.levels == new.spec.levels:
            return
        binding = new or old
        for pcs in self._world.sets:
            if binding is not None and levels.binding_name(pcs.spec.template) == binding.metadata.name:
                yield from self._gangs_of(pcs)

    def _gangs_of(self, pcs: PodCliqueSet) -> Iterator[Key]:
        for gang in self._world.gangs_of(pcs):
            yield key_of(gang.metadata)
        for clique in self._world.cliques_of(pcs):
            yield from _labelled(clique.metadata)


def _labelled(metadata: ObjectMeta) -> Iterator[Key]:
    name = (metadata.labels or {}).get(labels.POD_GANG)
    if name is not None:
        yield Key(metadata.namespace or "", name)


def _lacks_pods(clique: PodCliqueView, found: Sequence[PodView]) -> bool:
    wanted = clique.spec.replicas
    return len(found) < wanted or sum(map(pods.is_active, found)) < wanted


def _clique_facts(clique: PodCliqueView) -> object:
    metadata = clique.metadata
    return clique.spec.replicas, metadata.deletion_timestamp, metadata.labels, metadata.owner_references


def _gang_facts(gang: PodGang) -> object:
    """Not the status of a scheduler, which changes often."""
    metadata = gang.metadata
    return (
        metadata.generation,
        metadata.labels,
        metadata.annotations,
        metadata.deletion_timestamp,
        metadata.owner_references,
        status.is_initialized(gang.status),
    )


def _set_facts(pcs: PodCliqueSet) -> object:
    metadata = pcs.metadata
    return metadata.generation, metadata.labels, metadata.annotations, metadata.deletion_timestamp

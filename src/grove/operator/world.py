"""What the operator sees of the cluster: one cache a resource, and the questions that its controllers ask of them.

Reads never wait and cost what they return. Whether an object is a set's is decided by the uid of its controlling owner;
labels only find it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.cachedclient import Caches
from grove.kube.indexes import by_label
from grove.kube.objects import PodView
from grove.kube.resources import AUTOSCALERS, PODS, ROLE_BINDINGS, ROLES, SERVICES, Resource
from grove.kube.store import Change
from grove.operator import pods
from grove.operator.owners import controller_of, controller_uids, is_controlled_by
from grove.operator.resources import (
    POD_CLIQUE_SETS,
    POD_CLIQUES,
    POD_GANGS,
    SCALING_GROUPS,
    TOPOLOGY_BINDINGS,
)
from grove.operator.tree import GroupPlace, TemplateHashes, Tree
from grove.operator.views import AutoscalerView, PodCliqueView, RoleBindingView, RoleView, ServiceView

MANAGED: Final = f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE}"
"""Of kinds that are not Grove's own, only what Grove manages is held."""

_SET: Final = "set"
_GROUP: Final = "group"
_GANG: Final = "gang"
_OWNER: Final = "owner"
_HELD: Final = "held"


class Key(NamedTuple):
    """An object of a kind, as a controller's queue holds it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def key_of(metadata: ObjectMeta) -> Key:
    return Key(metadata.namespace or "", metadata.name)


def set_key_of(metadata: ObjectMeta) -> Key | None:
    """The PodCliqueSet that a managed object says it is part of."""
    name = (metadata.labels or {}).get(labels.PART_OF)
    return Key(metadata.namespace or "", name) if name else None


class World:
    """See the top of the module."""

    def __init__(self, caches: Caches) -> None:
        by_set = by_label(labels.PART_OF)
        self.sets = caches.add(POD_CLIQUE_SETS, type=PodCliqueSet)
        self.cliques = caches.add(
            POD_CLIQUES,
            type=PodCliqueView,
            indexes={_SET: by_set, _OWNER: controller_uids, _GANG: by_label(labels.POD_GANG)},
        )
        self.groups = caches.add(SCALING_GROUPS, type=PodCliqueScalingGroup, indexes={_SET: by_set})
        self.gangs = caches.add(POD_GANGS, type=PodGang, indexes={_SET: by_set, _GROUP: by_label(labels.SCALING_GROUP)})
        self.topologies = caches.add(TOPOLOGY_BINDINGS, type=ClusterTopologyBinding)
        self.pods = caches.add(
            PODS,
            type=PodView,
            labels=MANAGED,
            indexes={_OWNER: controller_uids, _HELD: _base_gang_waited_for},
        )
        self.services = caches.add(SERVICES, type=ServiceView, labels=MANAGED, indexes={_SET: by_set})
        self.autoscalers = caches.add(AUTOSCALERS, type=AutoscalerView, labels=MANAGED, indexes={_SET: by_set})
        self.roles = caches.add(ROLES, type=RoleView, labels=MANAGED, indexes={_SET: by_set})
        self._hashes: dict[str, tuple[int | None, TemplateHashes]] = {}  # by uid of the set, with its generation
        self.sets.follow(self._forget)
        self.role_bindings = caches.add(ROLE_BINDINGS, type=RoleBindingView, labels=MANAGED, indexes={_SET: by_set})

    # Of a set

    def set_of(self, metadata: ObjectMeta) -> PodCliqueSet | None:
        """The set that a managed object is part of, if it is there and if it, or what it owns, owns the object."""
        key = set_key_of(metadata)
        pcs = None if key is None else self.sets.get(key.name, key.namespace)
        return pcs if pcs is not None and self.is_part_of(metadata, pcs) else None

    def is_part_of(self, metadata: ObjectMeta, pcs: PodCliqueSet) -> bool:
        """Whether the chain of controlling owners leads to this very set."""
        owner = controller_of(metadata)
        while owner is not None:
            if owner.uid == pcs.metadata.uid:
                return True
            held = self.groups.by_uid(owner.uid) or self.cliques.by_uid(owner.uid)
            owner = None if held is None else controller_of(held.metadata)
        return False

    def tree(self, pcs: PodCliqueSet) -> Tree:
        """The set taken apart, its scaling groups as often as they are asked for now."""
        return Tree(pcs, _LiveCopies(self, pcs), self._hashes_of(pcs))

    def _hashes_of(self, pcs: PodCliqueSet) -> TemplateHashes:
        """Every PodClique of a set asks for them, each time it is looked at."""
        uid, generation = pcs.metadata.uid or "", pcs.metadata.generation
        known = self._hashes.get(uid)
        if known is None or known[0] != generation:
            known = self._hashes[uid] = (generation, TemplateHashes(pcs.spec.template))
        return known[1]

    def _forget(self, change: Change[PodCliqueSet]) -> None:
        if change.new is None and change.old is not None:
            self._hashes.pop(change.old.metadata.uid or "", None)

    def cliques_of(self, pcs: PodCliqueSet) -> list[PodCliqueView]:
        """All PodCliques of a set, also those of its scaling groups and those that are being deleted."""
        found = self.cliques.find(_SET, _key(pcs.metadata))
        return [one for one in found if self.is_part_of(one.metadata, pcs)]

    def groups_of(self, pcs: PodCliqueSet) -> list[PodCliqueScalingGroup]:
        found = self.groups.find(_SET, _key(pcs.metadata))
        return [one for one in found if is_controlled_by(one.metadata, pcs.metadata)]

    def gangs_of(self, pcs: PodCliqueSet) -> list[PodGang]:
        found = self.gangs.find(_SET, _key(pcs.metadata))
        return [one for one in found if is_controlled_by(one.metadata, pcs.metadata)]

    def services_of(self, pcs: PodCliqueSet) -> list[ServiceView]:
        found = self.services.find(_SET, _key(pcs.metadata))
        return [one for one in found if is_controlled_by(one.metadata, pcs.metadata)]

    def autoscalers_of(self, pcs: PodCliqueSet) -> list[AutoscalerView]:
        found = self.autoscalers.find(_SET, _key(pcs.metadata))
        return [one for one in found if is_controlled_by(one.metadata, pcs.metadata)]

    def leftovers(self, pcs: PodCliqueSet) -> dict[Resource, list[ObjectMeta]]:
        """What is there under the set's labels when it is to go, by kind; whoever owned it may have gone before."""
        key = _key(pcs.metadata)
        return {
            SCALING_GROUPS: [one.metadata for one in self.groups.find(_SET, key)],
            POD_CLIQUES: [one.metadata for one in self.cliques.find(_SET, key)],
            POD_GANGS: [one.metadata for one in self.gangs.find(_SET, key)],
        }

    # Of a scaling group, of a clique, of a gang

    def members_of(self, group: PodCliqueScalingGroup) -> list[PodCliqueView]:
        """The PodCliques of a scaling group."""
        return list(self.cliques_owned_by(group.metadata))

    def cliques_owned_by(self, owner: ObjectMeta) -> tuple[PodCliqueView, ...]:
        """The PodCliques that a set or a scaling group controls, whatever labels they have lost."""
        return self.cliques.find(_OWNER, owner.uid)

    def pods_of(self, clique: PodCliqueView) -> tuple[PodView, ...]:
        """The pods of a PodClique, in whatever state."""
        return self.pods.find(_OWNER, clique.metadata.uid)

    def group_gangs(self, group: PodCliqueScalingGroup) -> list[PodGang]:
        """The gangs of a scaling group's copies."""
        return list(self.gangs.find(_GROUP, _key(group.metadata)))

    def pods_behind(self, namespace: str, base_gang: str) -> tuple[PodView, ...]:
        """The pods of scaled gangs that our gate holds until the base gang is scheduled."""
        return self.pods.find(_HELD, (namespace, base_gang))

    def gang_cliques(self, namespace: str, gang: str) -> tuple[PodCliqueView, ...]:
        """The PodCliques that name a gang as theirs."""
        return self.cliques.find(_GANG, (namespace, gang))


def _base_gang_waited_for(metadata: ObjectMeta, pod: PodView) -> tuple[tuple[str, str], ...]:
    base = (metadata.labels or {}).get(labels.BASE_POD_GANG)
    return ((metadata.namespace or "", base),) if base and pods.has_our_gate(pod) else ()


def _key(metadata: ObjectMeta) -> tuple[str, str]:
    return (metadata.namespace or "", metadata.name)


class _LiveCopies:
    """How often the scaling groups of a set are asked for now."""

    def __init__(self, world: World, pcs: PodCliqueSet) -> None:
        self._world = world
        self._pcs = pcs
        self._plain = Tree(pcs, {})

    def get(self, place: tuple[int, str], /) -> int | None:
        name = self._plain.group_name(GroupPlace(*place))
        held = self._world.groups.get(name, self._pcs.metadata.namespace or "")
        if held is None or not is_controlled_by(held.metadata, self._pcs.metadata):
            return None
        return held.spec.replicas

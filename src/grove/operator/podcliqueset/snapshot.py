"""A set and what has been made of it, at one moment: what all decisions about the set are taken from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from grove.api import names
from grove.api.kinds.podcliqueset import PodCliqueSet, PodCliqueSetTemplate
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodView
from grove.operator.owners import is_controlled_by
from grove.operator.topology import levels
from grove.operator.tree import CliquePlace, GroupPlace, Tree
from grove.operator.views import AutoscalerView, PodCliqueView, RoleBindingView, RoleView, ServiceView
from grove.operator.world import World


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """See the top of the module. Everything in it is the set's own."""

    tree: Tree
    cliques: Mapping[str, PodCliqueView]
    """PodCliques outside scaling groups, by name."""
    groups: Mapping[str, PodCliqueScalingGroup]
    """By name."""
    members: Mapping[str, Sequence[PodCliqueView]]
    """The PodCliques of a scaling group, by the name of the group."""
    gangs: Sequence[PodGang] = ()
    services: Sequence[ServiceView] = ()
    autoscalers: Sequence[AutoscalerView] = ()
    roles: Sequence[RoleView] = ()
    role_bindings: Sequence[RoleBindingView] = ()
    topologies: Mapping[str, ClusterTopologyBinding] = {}
    """The topology that the set names, if it is there."""
    pods_of: Callable[[PodCliqueView], Sequence[PodView]]

    @property
    def pcs(self) -> PodCliqueSet:
        return self.tree.pcs

    def standalone(self, replica: int) -> Iterator[tuple[CliquePlace, PodCliqueView | None]]:
        """The places outside scaling groups of a replica, and what stands there."""
        for place in self.tree.standalone_places(replica):
            yield place, self.cliques.get(self.tree.clique_name(place))

    def scaling_groups(self, replica: int) -> Iterator[tuple[GroupPlace, PodCliqueScalingGroup | None]]:
        """The scaling groups of a replica, and what stands there."""
        for name in self.tree.groups:
            place = GroupPlace(replica, name)
            yield place, self.groups.get(self.tree.group_name(place))

    def copies(self, group: PodCliqueScalingGroup, place: GroupPlace) -> Iterator[list[PodCliqueView | None]]:
        """The members of each copy of a scaling group that there is to be."""
        held = {one.metadata.name: one for one in self.members.get(group.metadata.name, ())}
        for copy in range(group.spec.replicas):
            places = self.tree.member_places(place.replica, place.group, copy)
            yield [held.get(self.tree.clique_name(one)) for one in places]


def look(world: World, pcs: PodCliqueSet) -> Snapshot:
    """The set as the caches show it."""
    namespace = pcs.metadata.namespace or ""
    role = names.role(pcs.metadata.name)
    groups = world.groups_of(pcs)
    roles, bindings = world.roles.get(role, namespace), world.role_bindings.get(role, namespace)
    owned = (one for one in world.cliques_of(pcs) if is_controlled_by(one.metadata, pcs.metadata))
    return Snapshot(
        tree=world.tree(pcs),
        cliques={one.metadata.name: one for one in owned},
        groups={one.metadata.name: one for one in groups},
        members={one.metadata.name: world.members_of(one) for one in groups},
        gangs=world.gangs_of(pcs),
        services=world.services_of(pcs),
        autoscalers=world.autoscalers_of(pcs),
        roles=[roles] if roles is not None and is_controlled_by(roles.metadata, pcs.metadata) else [],
        role_bindings=[bindings] if bindings is not None and is_controlled_by(bindings.metadata, pcs.metadata) else [],
        topologies=_topologies(world, pcs.spec.template),
        pods_of=world.pods_of,
    )


def _topologies(world: World, template: PodCliqueSetTemplate) -> dict[str, ClusterTopologyBinding]:
    name = levels.binding_name(template)
    found = world.topologies.get(name) if name else None
    return {} if found is None else {name: found}

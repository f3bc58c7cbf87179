"""All that must be written beneath a set. Pure: the same set and children give the same plan, and a carried out one
leaves nothing to plan."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from grove.operator import cliquesync
from grove.operator.owners import reference
from grove.operator.podcliqueset import access, autoscalers, children, groups, services
from grove.operator.podcliqueset.snapshot import Snapshot
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.tree import CliquePlace
from grove.operator.views import PodCliqueView


class Plan(msgspec.Struct, frozen=True):
    """By kind. What a replica that goes consists of is in the deletions of all of them."""

    services: children.Plan
    roles: children.Plan
    role_bindings: children.Plan
    cliques: cliquesync.Plan
    groups: children.Plan
    members: tuple[PodCliqueView, ...]
    """PodCliques of scaling groups that go; those that stay see to their own."""
    autoscalers: children.Plan

    def __bool__(self) -> bool:
        return any(getattr(self, field) for field in self.__struct_fields__)


def make(snapshot: Snapshot, may_follow: Callable[[int], bool]) -> Plan:
    """`may_follow` tells for a replica whether it may take over a changed template now."""
    tree = snapshot.tree

    def may_follow_template(place: CliquePlace) -> bool:
        return may_follow(place.replica)

    cliques = cliquesync.plan(
        tree,
        [place for replica in range(tree.pcs.spec.replicas) for place in tree.standalone_places(replica)],
        snapshot.cliques.values(),
        owner=reference(POD_CLIQUE_SETS, tree.pcs.metadata),
        may_follow_template=may_follow_template,
    )
    return Plan(
        services=services.plan(tree, snapshot.services),
        roles=access.plan_role(tree, snapshot.roles),
        role_bindings=access.plan_binding(tree, snapshot.role_bindings),
        cliques=cliques,
        groups=groups.plan(tree, snapshot.groups.values()),
        members=_members_that_go(snapshot),
        autoscalers=autoscalers.plan(tree, snapshot.autoscalers),
    )


def _members_that_go(snapshot: Snapshot) -> tuple[PodCliqueView, ...]:
    stay = {snapshot.tree.group_name(place) for place in groups.wanted_places(snapshot.tree)}
    return tuple(
        one
        for name, members in snapshot.members.items()
        if name not in stay
        for one in members
        if not children.is_going(one.metadata)
    )

"""The spec of a PodGang: its pod groups, how they are packed and spread. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from grove.api import labels, names
from grove.api.fields import JSON
from grove.api.kinds.meta import NamespacedName
from grove.api.kinds.podgang import NetworkPackGroupConfig, PodGangSpec, PodGroup, TopologyConstraintGroup
from grove.operator.podgang.members import Member
from grove.operator.topology import levels
from grove.operator.tree import GangPlace, Tree


def spec(tree: Tree, place: GangPlace, members: Sequence[Member], keys: levels.Keys) -> PodGangSpec:
    """What the scheduler is told."""
    template = tree.template
    constraint = template.topology_constraint
    if place.is_scaled:
        constraint = tree.groups[place.group].topology_constraint or constraint
    return PodGangSpec(
        podgroups=tuple([_group(tree, member, keys) for member in members]),
        topology_constraint=levels.translated(constraint, keys),
        topology_constraint_group_configs=() if place.is_scaled else _packed_copies(tree, place, members, keys),
        network_pack_group_configs=_packed_cliques(tree, members),
        spread_constraints=tuple(_spread(tree, one) for one in tree.pcs.spec.replica_spread_constraints),
        priority_class_name=template.priority_class_name or None,
    )


def _group(tree: Tree, member: Member, keys: levels.Keys) -> PodGroup:
    found = sorted([pod.metadata.name for pod in member.pods])
    return PodGroup(
        name=member.name,
        pod_references=tuple([NamespacedName(namespace=tree.namespace, name=name) for name in found]),
        min_replicas=member.minimum,
        topology_constraint=levels.translated(tree.cliques[member.place.clique].topology_constraint, keys),
    )


def _packed_copies(
    tree: Tree, place: GangPlace, members: Sequence[Member], keys: levels.Keys
) -> tuple[TopologyConstraintGroup, ...]:
    """Each copy of a scaling group that states a constraint is packed by itself."""
    found = []
    for name, config in tree.groups.items() if keys else ():
        if config.topology_constraint is None:
            continue
        copies = dict.fromkeys(one.place.copy for one in members if one.place.group == name)
        for copy in copies:
            inside = [one.name for one in members if (one.place.group, one.place.copy) == (name, copy)]
            found.append(
                TopologyConstraintGroup(
                    name=names.scaling_group_replica(tree.name, place.replica, name, copy),
                    pod_group_names=tuple(inside),
                    topology_constraint=levels.translated(config.topology_constraint, keys),
                )
            )
    return tuple(found)


def _packed_cliques(tree: Tree, members: Sequence[Member]) -> tuple[NetworkPackGroupConfig, ...]:
    policy = tree.template.scheduling_policy_config
    if policy is None:
        return ()
    found = []
    for config in policy.network_pack_group_configs or policy.network_pack_groups:
        inside = [member.name for member in members if member.place.clique in config.clique_names]
        if inside:
            found.append(NetworkPackGroupConfig(pod_group_names=tuple(inside)))
    return tuple(found)


def _spread(tree: Tree, constraint: JSON) -> JSON:
    """The constraint for the pods of the whole set, of which the scheduler tells the replicas apart."""
    return {**constraint, "labelSelector": {"matchLabels": labels.common(tree.name)}}


def is_constrained(gang: PodGangSpec) -> bool:
    """Whether anything was translated."""
    return (
        gang.topology_constraint is not None
        or any(part.topology_constraint is not None for part in gang.topology_constraint_group_configs)
        or any(part.topology_constraint is not None for part in gang.podgroups)
    )

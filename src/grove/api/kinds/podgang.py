"""PodGang: what a scheduler is told to place together or not at all."""

from __future__ import annotations

from typing import Annotated

from grove.api.fields import JSON, Field, Int32, Struct, Time
from grove.api.kinds.meta import Conditions, NamespacedName, ObjectMeta


class PackConstraint(Struct, frozen=True, kw_only=True):
    """How close together, as node label keys."""

    required: Annotated[str | None, Field("Label key: all pods on nodes that share its value, or none.")] = None
    preferred: Annotated[str | None, Field("Label key: on nodes that share its value, where that is possible.")] = None


class GangTopologyConstraint(Struct, frozen=True, kw_only=True):
    """Packs pods by node labels."""

    pack_constraint: Annotated[PackConstraint | None, Field("How close together.")] = None


class PodGroup(Struct, frozen=True, kw_only=True):
    """The pods of one PodClique in the gang."""

    name: Annotated[str, Field("Name of the group: the full name of the PodClique.")]
    pod_references: Annotated[
        tuple[NamespacedName, ...], Field("The pods that exist, sorted by name.", required=True)
    ] = ()
    min_replicas: Annotated[Int32, Field("How many of them must be placed for the gang to be placed.", minimum=0)]
    topology_constraint: Annotated[GangTopologyConstraint | None, Field("Packs the pods of this group.")] = None


class TopologyConstraintGroup(Struct, frozen=True, kw_only=True):
    """Pod groups that are packed together inside the gang."""

    name: Annotated[str, Field("Name of the group of groups.")]
    pod_group_names: Annotated[tuple[str, ...], Field("The pod groups it holds.")]
    topology_constraint: Annotated[GangTopologyConstraint | None, Field("Packs all their pods.")] = None


class NetworkPackGroupConfig(Struct, frozen=True, kw_only=True):
    """Pod groups that should be placed close together."""

    pod_group_names: Annotated[tuple[str, ...], Field("The pod groups.")]


class PodGangSpec(Struct, frozen=True, kw_only=True):
    """What is to be placed together."""

    podgroups: Annotated[
        tuple[PodGroup, ...], Field("The groups of pods; of each, its minimum is placed or nothing is.")
    ]
    topology_constraint: Annotated[GangTopologyConstraint | None, Field("Packs all pods of the gang.")] = None
    topology_constraint_group_configs: Annotated[
        tuple[TopologyConstraintGroup, ...], Field("Packs some of the groups.")
    ] = ()
    network_pack_group_configs: Annotated[
        tuple[NetworkPackGroupConfig, ...], Field("Groups that are placed close together where that is possible.")
    ] = ()
    spread_constraints: Annotated[
        tuple[Annotated[JSON, Field(embeds="io.k8s.api.core.v1.TopologySpreadConstraint")], ...],
        Field("Spreads this gang away from those of the other replicas of its PodCliqueSet.", list_type="atomic"),
    ] = ()
    priority_class_name: Annotated[str | None, Field("PriorityClass of the gang.")] = None
    reuse_reservation_ref: Annotated[
        NamespacedName | None, Field("A gang whose place this one may take over while that one goes.")
    ] = None


class PodGangStatus(Struct, frozen=True, kw_only=True):
    """How far the gang is. Written by its scheduler."""

    phase: Annotated[str, Field("Pending, Starting or Running.")]
    conditions: Conditions = ()
    placement_score: Annotated[float | None, Field("How good the placement is; 1.0 is the best possible.")] = None
    last_scheduled: Annotated[Time | None, Field("When the gang was last placed.")] = None
    last_ready: Annotated[Time | None, Field("When the gang last became ready.")] = None


class PodGang(Struct, frozen=True, kw_only=True):
    """Pods that are placed together or not at all, made and kept by the operator."""

    metadata: ObjectMeta
    spec: Annotated[PodGangSpec, Field("What is to be placed together.")]
    api_version: str = "scheduler.grove.io/v1alpha1"
    kind: str = "PodGang"
    status: Annotated[PodGangStatus | None, Field("How far it is.")] = None

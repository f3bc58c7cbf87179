"""PodCliqueSet: the one object a user writes. Its status is in `podcliqueset_status`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from grove.api.fields import JSON, Field, Int32, Rule, Struct, as_mapping
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podclique import CliqueSpec
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus
from grove.api.kinds.scaling import AutoScalingConfig, ResourceSharing, RollingUpdate
from grove.api.kinds.topology import TopologyConstraint, without_pack_domain

ANY_ORDER: Final = "CliqueStartupTypeAnyOrder"
IN_ORDER: Final = "CliqueStartupTypeInOrder"
EXPLICIT: Final = "CliqueStartupTypeExplicit"

StartupType = Literal[
    "CliqueStartupTypeAnyOrder",
    "CliqueStartupTypeInOrder",
    "CliqueStartupTypeExplicit",
    "AnyOrder",
    "InOrder",
    "Explicit",
]
STARTUP_ALIASES: Final[Mapping[str, StartupType]] = {
    "AnyOrder": ANY_ORDER,
    "InOrder": IN_ORDER,
    "Explicit": EXPLICIT,
}


class PodCliqueSetSharingFilter(Struct, frozen=True, kw_only=True):
    """Which children get the claim; without a filter, all of them."""

    child_clique_names: Annotated[tuple[str, ...], Field("Cliques whose pods get it.")] = ()
    child_scaling_group_names: Annotated[tuple[str, ...], Field("Scaling groups whose pods get it.")] = ()


class PodCliqueSetResourceSharing(ResourceSharing, frozen=True, kw_only=True):
    """Gives pods of the whole set a ResourceClaim that they share."""

    filter: Annotated[PodCliqueSetSharingFilter | None, Field("Limits the claim to some children.")] = None


class ScalingGroupSharingFilter(Struct, frozen=True, kw_only=True):
    """Which cliques of the group get the claim; without a filter, all of them."""

    child_clique_names: Annotated[tuple[str, ...], Field("Cliques whose pods get it.")] = ()


class ScalingGroupResourceSharing(ResourceSharing, frozen=True, kw_only=True):
    """Gives pods of a scaling group a ResourceClaim that they share."""

    filter: Annotated[ScalingGroupSharingFilter | None, Field("Limits the claim to some cliques.")] = None


class ResourceClaimTemplateConfig(Struct, frozen=True, kw_only=True):
    """A template for ResourceClaims, to be named in resourceSharing."""

    name: Annotated[str, Field("Name by which resourceSharing refers to it.")]
    template_spec: Annotated[
        JSON,
        Field(
            "The resource.k8s.io/v1 template; only its spec is used.",
            embeds="io.k8s.api.resource.v1.ResourceClaimTemplateSpec",
        ),
    ]


class HeadlessServiceConfig(Struct, frozen=True, kw_only=True):
    """The headless Service of each replica, through which pods find each other by name."""

    publish_not_ready_addresses: Annotated[
        bool, Field("Whether pods can be found before they are ready.", required=True)
    ] = True
    enabled: Annotated[
        bool | None,
        Field("Set to false to do without the Service; pods then can't address each other by host name."),
    ] = None


class NetworkPackGroup(Struct, frozen=True, kw_only=True):
    """Cliques that should be placed close together."""

    clique_names: Annotated[tuple[str, ...], Field("Names of the cliques.", min_items=1)]


class SchedulingPolicyConfig(Struct, frozen=True, kw_only=True):
    """Wishes for placement from the time before topology constraints."""

    network_pack_group_configs: Annotated[
        tuple[NetworkPackGroup, ...], Field("Cliques that the scheduler places close together where it can.")
    ] = ()
    network_pack_groups: Annotated[
        tuple[NetworkPackGroup, ...],
        Field("Another spelling of networkPackGroupConfigs.", alias_for="networkPackGroupConfigs"),
    ] = ()


class CliqueTemplate(Struct, frozen=True, kw_only=True):
    """A clique: one role of the system and its pods."""

    name: Annotated[str, Field("Name of the clique, unique in the set; becomes part of the names of its pods.")]
    labels: Annotated[dict[str, str] | None, Field("Labels for the PodClique and its pods.")] = None
    annotations: Annotated[dict[str, str] | None, Field("Annotations for the PodClique and its pods.")] = None
    topology_constraint: Annotated[
        TopologyConstraint | None, Field("Packs the pods of each PodClique made from this template.")
    ] = None
    resource_sharing: Annotated[
        tuple[ResourceSharing, ...], Field("ResourceClaims shared by the pods of a PodClique.", immutable=True)
    ] = ()
    rolling_update: Annotated[
        RollingUpdate | None,
        Field("Pace of rolling updates; not for cliques in a scaling group, and not with OnDelete."),
    ] = None
    spec: Annotated[CliqueSpec, Field("What the pods are and how many there must be.")]


class ScalingGroupConfig(Struct, frozen=True, kw_only=True):
    """Cliques that scale together and keep their ratio."""

    name: Annotated[str, Field("Name of the group, unique in the set; becomes part of the names of its pods.")]
    clique_names: Annotated[
        tuple[str, ...], Field("Names of the cliques in the group; a clique belongs to one group.", immutable=True)
    ]
    annotations: Annotated[dict[str, str] | None, Field("Annotations for the PodCliqueScalingGroup.")] = None
    replicas: Annotated[Int32, Field("How many copies of the group each replica of the set has.")] = 1
    min_available: Annotated[
        Int32,
        Field("How many copies are placed together with the rest of the set and must be available.", immutable=True),
    ] = 1
    scale_config: Annotated[AutoScalingConfig | None, Field("Autoscaling of the group.")] = None
    auto_scaling_config: Annotated[
        AutoScalingConfig | None, Field("Another spelling of scaleConfig.", alias_for="scaleConfig")
    ] = None
    resource_sharing: Annotated[
        tuple[ScalingGroupResourceSharing, ...],
        Field("ResourceClaims shared by the pods of a group.", immutable=True),
    ] = ()
    topology_constraint: Annotated[TopologyConstraint | None, Field("Packs the pods of each copy of the group.")] = None
    rolling_update: Annotated[RollingUpdate | None, Field("Pace of rolling updates; not with OnDelete.")] = None


class PodCliqueSetTemplate(Struct, frozen=True, kw_only=True):
    """One replica of the system: its cliques, how they scale, start and are placed."""

    cliques: Annotated[
        tuple[CliqueTemplate, ...],
        Field("The roles of the system. The set of names is fixed.", list_type="map", list_keys=("name",)),
    ]
    clique_startup_type: Annotated[
        StartupType,
        Field(
            "In which order containers start. AnyOrder: at once. InOrder: each clique after the one before it in the "
            "list. Explicit: as startsAfter says.",
            immutable=True,
        ),
    ] = "CliqueStartupTypeAnyOrder"
    startup_type: Annotated[
        StartupType | None, Field("Another spelling of cliqueStartupType.", alias_for="cliqueStartupType")
    ] = None
    priority_class_name: Annotated[
        str | None, Field("PriorityClass of the gangs and their pods. A change replaces the pods.")
    ] = None
    headless_service_config: Annotated[
        HeadlessServiceConfig | None, Field("The Service through which pods find each other.")
    ] = None
    topology_constraint: Annotated[
        TopologyConstraint | None, Field("Packs all pods of a replica; each replica on its own.")
    ] = None
    termination_delay: Annotated[
        str | None,
        Field(
            "A duration; a gang whose minimum has been broken for so long is stopped and started anew. Defaults to 4h.",
            format="duration",
        ),
    ] = None
    resource_claim_templates: Annotated[
        tuple[ResourceClaimTemplateConfig, ...],
        Field("Templates for ResourceClaims that resourceSharing refers to.", immutable=True),
    ] = ()
    resource_sharing: Annotated[
        tuple[PodCliqueSetResourceSharing, ...],
        Field("ResourceClaims shared over the whole set.", immutable=True),
    ] = ()
    pod_clique_scaling_groups: Annotated[
        tuple[ScalingGroupConfig, ...], Field("Cliques that scale together. The set of names is fixed.")
    ] = ()
    scheduling_policy_config: Annotated[
        SchedulingPolicyConfig | None, Field("Cliques to be placed close together; topologyConstraint says it better.")
    ] = None


class UpdateStrategy(Struct, frozen=True, kw_only=True):
    """How pods follow a changed template."""

    type: Annotated[
        Literal["RollingRecreate", "OnDelete", "Coherent"],
        Field(
            "RollingRecreate: one replica after the other, pod by pod. OnDelete: a pod is replaced when someone "
            "deletes it. Coherent: in steps that each start a complete set of the new version, so versions never mix."
        ),
    ] = "RollingRecreate"


class PodCliqueSetSpec(Struct, frozen=True, kw_only=True):
    """The system and how many complete copies of it run."""

    replicas: Annotated[Int32, Field("How many complete copies of the system run; 0 runs nothing.", minimum=0)] = 0
    update_strategy: Annotated[UpdateStrategy | None, Field("How pods follow a changed template.")] = None
    template: Annotated[PodCliqueSetTemplate, Field("What one replica is made of.")]
    replica_spread_constraints: Annotated[
        tuple[Annotated[JSON, Field(embeds="io.k8s.api.core.v1.TopologySpreadConstraint")], ...],
        Field(
            "Spreads the replicas of the set over domains, such as zones. The pods of a replica are meant by it; a "
            "labelSelector is not needed.",
            list_type="map",
            list_keys=("topologyKey", "whenUnsatisfiable"),
        ),
    ] = ()


PACK_DOMAIN_REFUSED: Final = "packDomain is deprecated and cannot be used on new workloads; use pack.required"


def _template(self: JSON) -> JSON:
    return dict(as_mapping(as_mapping(self.get("spec")).get("template")))


def _all_without_pack_domain(self: JSON, field: str) -> bool:
    entries = _template(self).get(field)
    return all(without_pack_domain(dict(as_mapping(entry))) for entry in (entries if isinstance(entries, list) else ()))


class PodCliqueSet(Struct, frozen=True, kw_only=True):
    """A whole inference or training system: its roles, how they are placed, started, scaled and updated.

    Grove makes PodCliques, PodCliqueScalingGroups, PodGangs, pods, services and autoscalers from it and keeps them so.
    """

    metadata: ObjectMeta
    spec: Annotated[PodCliqueSetSpec, Field("The system that is wished for.")]
    api_version: str = "grove.io/v1alpha1"
    kind: str = "PodCliqueSet"
    status: Annotated[PodCliqueSetStatus | None, Field("The system that is.")] = None

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=(
                "oldSelf.hasValue() || !has(self.spec.template.topologyConstraint) || "
                "!has(self.spec.template.topologyConstraint.packDomain)"
            ),
            holds=lambda self: without_pack_domain(_template(self)),
            message=PACK_DOMAIN_REFUSED,
            remedy="write pack: {required: …} instead",
            reason="FieldValueForbidden",
            field_path=".spec.template.topologyConstraint.packDomain",
            on_create_only=True,
        ),
        Rule(
            cel=(
                "oldSelf.hasValue() || self.spec.template.cliques.all(c, "
                "!has(c.topologyConstraint) || !has(c.topologyConstraint.packDomain))"
            ),
            holds=lambda self: _all_without_pack_domain(self, "cliques"),
            message=PACK_DOMAIN_REFUSED,
            remedy="write pack: {required: …} instead",
            reason="FieldValueForbidden",
            field_path=".spec.template.cliques",
            on_create_only=True,
        ),
        Rule(
            cel=(
                "oldSelf.hasValue() || !has(self.spec.template.podCliqueScalingGroups) || "
                "self.spec.template.podCliqueScalingGroups.all(g, "
                "!has(g.topologyConstraint) || !has(g.topologyConstraint.packDomain))"
            ),
            holds=lambda self: _all_without_pack_domain(self, "podCliqueScalingGroups"),
            message=PACK_DOMAIN_REFUSED,
            remedy="write pack: {required: …} instead",
            reason="FieldValueForbidden",
            field_path=".spec.template.podCliqueScalingGroups",
            on_create_only=True,
        ),
    )

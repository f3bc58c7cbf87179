"""Topology: constraints that workloads state, and ClusterTopologyBinding, which says what the levels are on nodes."""

from __future__ import annotations

from typing import Annotated, ClassVar

from grove.api.fields import JSON, Field, Int64, Rule, Struct, as_mapping
from grove.api.kinds.meta import Conditions, ObjectMeta

WELL_KNOWN_DOMAINS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""Names in common use, broadest first; any other name is as good."""

TopologyDomain = Annotated[
    str,
    Field(
        "Name of a topology level, such as zone, block, rack or host.",
        min_length=1,
        max_length=63,
        pattern=r"^[a-z][a-z0-9-]*$",
    ),
]


class Pack(Struct, frozen=True, kw_only=True):
    """How close together pods must or should be."""

    required: Annotated[
        TopologyDomain | None,
        Field("All pods are placed inside one domain of this level; where that is impossible they wait."),
    ] = None
    preferred: Annotated[
        TopologyDomain | None,
        Field("The scheduler tries to keep the pods inside one domain of this level, and falls back to wider ones."),
    ] = None


class TopologyConstraint(Struct, frozen=True, kw_only=True):
    """Packs pods into one domain of a topology level: one rack, one block, one zone."""

    topology_name: Annotated[
        str | None,
        Field(
            "The ClusterTopologyBinding whose levels are meant; inherited from the PodCliqueSet or the scaling group "
            "where it is left out. One PodCliqueSet uses one topology."
        ),
    ] = None
    pack: Annotated[Pack | None, Field("How close together the pods are placed.")] = None
    pack_domain: Annotated[
        TopologyDomain | None,
        Field(
            "Deprecated spelling of `pack.required`; refused on new objects in strict mode.", alias_for="pack.required"
        ),
    ] = None

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="has(self.pack) || has(self.packDomain)",
            holds=lambda self: "pack" in self or "packDomain" in self,
            message="topologyConstraint must specify pack or deprecated packDomain",
            remedy="state pack.required or pack.preferred",
            reason="FieldValueRequired",
        ),
        Rule(
            cel="!(has(self.pack) && has(self.pack.required) && has(self.packDomain))",
            holds=lambda self: not ("required" in as_mapping(self.get("pack")) and "packDomain" in self),
            message="must not set both pack.required and deprecated packDomain",
            remedy="remove packDomain",
            field_path=".pack.required",
        ),
        Rule(
            cel="!has(self.pack) || has(self.pack.required) || has(self.pack.preferred)",
            holds=lambda self: "pack" not in self or bool({"required", "preferred"} & as_mapping(self["pack"]).keys()),
            message="pack must specify at least one of required or preferred",
            remedy="state pack.required (hard) or pack.preferred (best effort)",
            reason="FieldValueRequired",
        ),
    )

    @property
    def required_domain(self) -> str | None:
        return (self.pack.required if self.pack else None) or self.pack_domain or None

    @property
    def preferred_domain(self) -> str | None:
        return (self.pack.preferred if self.pack else None) or None

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(domain for domain in (self.required_domain, self.preferred_domain) if domain)


def without_pack_domain(self: JSON) -> bool:
    """Whether an object's optional topologyConstraint does without the deprecated field."""
    return "packDomain" not in as_mapping(self.get("topologyConstraint"))


class TopologyLevel(Struct, frozen=True, kw_only=True):
    """One level of the topology and the node label that carries it."""

    domain: Annotated[TopologyDomain, Field("Name of the level, as constraints state it.")]
    key: Annotated[
        str,
        Field(
            "Label key whose value names the node's domain at this level.",
            min_length=1,
            max_length=317,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$",
        ),
    ]


class SchedulerTopologyBinding(Struct, frozen=True, kw_only=True):
    """Says that a scheduler's own topology object is managed by someone else."""

    scheduler_name: Annotated[str, Field("Name of a configured, topology-aware scheduler backend.")]
    topology_reference: Annotated[str, Field("Name of that scheduler's topology object.")]


class ClusterTopologyBindingSpec(Struct, frozen=True, kw_only=True):
    """The levels of a cluster's topology."""

    levels: Annotated[
        tuple[TopologyLevel, ...],
        Field("Topology levels, broadest first; domains and keys are unique.", min_items=1, list_type="atomic"),
    ]
    scheduler_topology_bindings: Annotated[
        tuple[SchedulerTopologyBinding, ...],
        Field(
            "Backends whose topology object is managed outside Grove: Grove only reports drift. A topology-aware "
            "backend that is not listed has its topology object created by Grove."
        ),
    ] = ()


class SchedulerTopologyStatus(Struct, frozen=True, kw_only=True):
    """How one scheduler's topology object compares with the levels."""

    scheduler_name: Annotated[str, Field("Name of the scheduler backend.")] = ""
    topology_reference: Annotated[str, Field("Name of its topology object.")] = ""
    in_sync: Annotated[bool, Field("Whether its levels equal those declared here.")]
    scheduler_backend_topology_observed_generation: Annotated[
        Int64 | None, Field("Generation of the backend's topology object that was compared.")
    ] = None
    message: Annotated[str | None, Field("What differs.")] = None


class ClusterTopologyBindingStatus(Struct, frozen=True, kw_only=True):
    """What is observed about the topology."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    conditions: Conditions = ()
    scheduler_topology_statuses: Annotated[
        tuple[SchedulerTopologyStatus, ...], Field("One entry a topology-aware scheduler backend.")
    ] = ()


class ClusterTopologyBinding(Struct, frozen=True, kw_only=True):
    """Names the levels of a cluster's topology and binds each to a node label.

    Several bindings may exist, one for each shape of hardware; a PodCliqueSet uses one of them.
    """

    metadata: ObjectMeta
    spec: Annotated[ClusterTopologyBindingSpec, Field("The levels.")]
    api_version: str = "grove.io/v1alpha1"
    kind: str = "ClusterTopologyBinding"
    status: Annotated[ClusterTopologyBindingStatus | None, Field("What is observed.")] = None

"""Where a pod wants to be: the parts of a pod's spec about nodes and neighbours, in the words of Kubernetes."""

from __future__ import annotations

from typing import Final

import msgspec

from grove.api.fields import Struct

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class Requirement(Struct, frozen=True, kw_only=True):
    """A key, an operator and values; of nodes also `Gt` and `Lt`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, frozen=True, kw_only=True):
    """Requirements that all hold; a term without any matches no node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Struct, frozen=True, kw_only=True):
    """Terms of which one holds."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNode(Struct, frozen=True, kw_only=True):
    """A term that would be nice."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Struct, frozen=True, kw_only=True):
    """Which nodes."""

    required: NodeSelector | None = msgspec.field(name=REQUIRED, default=None)
    preferred: tuple[PreferredNode, ...] = msgspec.field(name=PREFERRED, default=())


class LabelSelector(Struct, frozen=True, kw_only=True):
    """Labels that objects must have; empty matches all."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Requirement, ...] = ()


class PodTerm(Struct, frozen=True, kw_only=True):
    """Pods, and the domain that counts as their neighbourhood."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PreferredPods(Struct, frozen=True, kw_only=True):
    """Neighbours that would be nice."""

    weight: int
    pod_affinity_term: PodTerm


class PodAffinity(Struct, frozen=True, kw_only=True):
    """Which neighbours, or which not."""

    required: tuple[PodTerm, ...] = msgspec.field(name=REQUIRED, default=())
    preferred: tuple[PreferredPods, ...] = msgspec.field(name=PREFERRED, default=())


class Affinity(Struct, frozen=True, kw_only=True):
    """Nodes, neighbours and neighbours to avoid."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Struct, frozen=True, kw_only=True):
    """How evenly pods are spread over domains."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()

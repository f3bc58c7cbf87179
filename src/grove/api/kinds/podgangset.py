"""PodGangSet and PodClique of `grove.dynamo.ai/v1`: the older API of the Dynamo documents.

A PodGangSet is one gang of equal pods. That API's PodClique is not the PodClique of `grove.io`: it selects pods that
exist and says near what they would like to be.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from grove.api.fields import JSON, Field, Int32, Int64, Rule, Struct
from grove.api.kinds.meta import Conditions, Counter, LastErrors, ObjectMeta
from grove.api.kinds.podclique import SCALE_GUARD


class PodTemplateMeta(Struct, frozen=True, kw_only=True):
    """Metadata for the pods."""

    labels: Annotated[dict[str, str] | None, Field("Labels for the pods.")] = None
    annotations: Annotated[dict[str, str] | None, Field("Annotations for the pods.")] = None


class GangPodTemplate(Struct, frozen=True, kw_only=True):
    """What each pod of the gang is."""

    metadata: Annotated[PodTemplateMeta | None, Field("Labels and annotations for the pods.")] = None
    spec: Annotated[JSON, Field("Spec of the pods.", embeds="io.k8s.api.core.v1.PodSpec")]


class GangScheduling(Struct, frozen=True, kw_only=True):
    """Where the pods may run."""

    node_affinity: Annotated[
        JSON | None, Field("Node affinity added to every pod.", embeds="io.k8s.api.core.v1.NodeAffinity")
    ] = None


class PodGangSetSpec(Struct, frozen=True, kw_only=True):
    """The pods and how many of them make the gang."""

    replicas: Annotated[Int32, Field("How many pods.", minimum=0)] = 1
    min_available: Annotated[
        Int32 | None, Field("How many must be placed together. Defaults to replicas.", minimum=1)
    ] = None
    template: Annotated[GangPodTemplate, Field("What each pod is.")]
    scheduling: Annotated[GangScheduling | None, Field("Where the pods may run.")] = None

    RULES: ClassVar[tuple[Rule, ...]] = (SCALE_GUARD,)


class PodGangSetStatus(Struct, frozen=True, kw_only=True):
    """What is observed about the pods."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    replicas: Annotated[Counter, Field("Pods that exist.")] = 0
    ready_replicas: Annotated[Counter, Field("Pods that are ready.")] = 0
    scheduled_replicas: Annotated[Counter, Field("Pods that are bound to a node.")] = 0
    selector: Annotated[str | None, Field("Selects the pods, for autoscalers.")] = None
    conditions: Conditions = ()
    last_errors: LastErrors = ()


class PodGangSet(Struct, frozen=True, kw_only=True):
    """Equal pods that start together or not at all."""

    metadata: ObjectMeta
    spec: Annotated[PodGangSetSpec, Field("The pods and how many of them make the gang.")]
    api_version: str = "grove.dynamo.ai/v1"
    kind: str = "PodGangSet"
    status: Annotated[PodGangSetStatus | None, Field("What is observed about the pods.")] = None


class AffinityTopology(Struct, frozen=True, kw_only=True):
    """Near what the selected pods would like to be."""

    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[Annotated[JSON, Field(embeds="io.k8s.api.core.v1.WeightedPodAffinityTerm")], ...],
        Field("Weighted wishes: pods, and the node label within which to be near them.", list_type="atomic"),
    ] = ()


class AffinityCliqueSpec(Struct, frozen=True, kw_only=True):
    """Which pods, and near what."""

    selector: Annotated[
        JSON, Field("The pods that are meant.", embeds="io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector")
    ]
    topology: Annotated[AffinityTopology | None, Field("Near what they would like to be.")] = None


class AffinityCliqueStatus(Struct, frozen=True, kw_only=True):
    """What is observed about the selected pods."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    selected_pods: Annotated[Counter, Field("Pods that the selector selects.")] = 0
    conditions: Conditions = ()


class AffinityClique(Struct, frozen=True, kw_only=True):
    """Placement wishes for pods that a selector selects (kind PodClique in grove.dynamo.ai)."""

    metadata: ObjectMeta
    spec: Annotated[AffinityCliqueSpec, Field("Which pods, and near what.")]
    api_version: str = "grove.dynamo.ai/v1"
    kind: str = "PodClique"
    status: Annotated[AffinityCliqueStatus | None, Field("What is observed.")] = None

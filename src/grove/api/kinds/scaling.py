"""Autoscaling, resource sharing and rollout settings: the parts that cliques and scaling groups have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from grove.api.fields import JSON, Field, Int32, Struct


class AutoScalingConfig(Struct, frozen=True, kw_only=True):
    """Asks for a HorizontalPodAutoscaler on every object made from this template."""

    min_replicas: Annotated[
        Int32 | None,
        Field("Lower bound of the autoscaler; at least minAvailable. Defaults to the template's replicas."),
    ] = None
    max_replicas: Annotated[Int32, Field("Upper bound of the autoscaler; at least replicas.")]
    metrics: Annotated[
        tuple[Annotated[JSON, Field(embeds="io.k8s.api.autoscaling.v2.MetricSpec")], ...],
        Field("autoscaling/v2 metrics; the most demanding one decides.", list_type="atomic"),
    ] = ()


class ResourceSharing(Struct, frozen=True, kw_only=True):
    """Gives pods a ResourceClaim that they share."""

    name: Annotated[
        str,
        Field("An entry of the PodCliqueSet's resourceClaimTemplates, or the name of a ResourceClaimTemplate object."),
    ]
    namespace: Annotated[
        str | None,
        Field("Namespace of the ResourceClaimTemplate object; the PodCliqueSet's where left out."),
    ] = None
    scope: Annotated[
        Literal["AllReplicas", "PerReplica"],
        Field("AllReplicas: one claim for all replicas of the owner. PerReplica: one claim for each."),
    ]


class RollingUpdate(Struct, frozen=True, kw_only=True):
    """How fast a rolling update may go, and when it counts as stuck."""

    max_unavailable: Annotated[
        Int32 | None,
        Field(
            "How many replicas may be unavailable at once. At least 1 and at most replicas. Defaults to 1, with the "
            "Coherent strategy to minAvailable, which is its least value too."
        ),
    ] = None
    progress_deadline: Annotated[
        str | None,
        Field(
            "A duration; an update without progress for so long is reported as stuck (`ProgressDeadlineExceeded`).",
            format="duration",
        ),
    ] = None

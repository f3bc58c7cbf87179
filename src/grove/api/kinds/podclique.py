"""PodClique: pods of one role. Users write its spec inside a PodCliqueSet; the operator makes the objects."""

from __future__ import annotations

from typing import Annotated, ClassVar

from grove.api.fields import JSON, Field, Int32, Int64, Rule, Struct, Time
from grove.api.kinds.meta import Conditions, Counter, LastErrors, LastOperation, ObjectMeta
from grove.api.kinds.scaling import AutoScalingConfig, RollingUpdate


def scaled_within_bounds(self: JSON) -> bool:
    """Whether replicas is zero or at least minAvailable; counts of another type are the schema's business."""
    replicas, least = self.get("replicas"), self.get("minAvailable")
    if not isinstance(replicas, int) or not isinstance(least, int):
        return True
    return replicas == 0 or replicas >= least


SCALE_GUARD = Rule(
    cel="!has(self.minAvailable) || !has(self.replicas) || self.replicas == 0 || self.replicas >= self.minAvailable",
    holds=scaled_within_bounds,
    message="replicas must be 0 or at least minAvailable",
    remedy="scale to 0 to stop it, or to minAvailable or more",
    field_path=".replicas",
)
"""Below its minimum a gang does not serve, it is only torn down later: so nobody may scale there."""


class CliqueSpec(Struct, frozen=True, kw_only=True):
    """What the pods of a clique are and how many there must be."""

    role_name: Annotated[
        str,
        Field(
            "The role that the pods play; unique in the PodCliqueSet. Defaults to the clique's name.", immutable=True
        ),
    ] = ""
    pod_spec: Annotated[
        JSON,
        Field(
            "Spec of the pods. A change replaces them, except for schedulerName, which is fixed.",
            embeds="io.k8s.api.core.v1.PodSpec",
        ),
    ]
    replicas: Annotated[
        Int32,
        Field("How many pods; for a clique in a scaling group: in each replica of the group.", minimum=0),
    ]
    min_available: Annotated[
        Int32 | None,
        Field(
            "How many pods must be placed together for the gang to start, and stay ready for it to be healthy. "
            "At least 1 and at most replicas. Defaults to replicas.",
            immutable=True,
        ),
    ] = None
    starts_after: Annotated[
        tuple[str, ...],
        Field(
            "Cliques that must be ready before the containers of this one start; read when cliqueStartupType is "
            "CliqueStartupTypeExplicit. In PodClique objects: full names of PodCliques.",
            immutable=True,
        ),
    ] = ()
    auto_scaling_config: Annotated[
        AutoScalingConfig | None,
        Field("Autoscaling of this clique; not for cliques in a scaling group, which scale with it."),
    ] = None
    scale_config: Annotated[
        AutoScalingConfig | None, Field("Another spelling of autoScalingConfig.", alias_for="autoScalingConfig")
    ] = None


class PodCliqueSpec(CliqueSpec, frozen=True, kw_only=True):
    """What the pods of this PodClique are and how many there must be."""

    rolling_update: Annotated[RollingUpdate | None, Field("Pace of rolling updates of this PodClique.")] = None

    RULES: ClassVar[tuple[Rule, ...]] = (SCALE_GUARD,)


class PodSelection(Struct, frozen=True, kw_only=True):
    """Which ready pods an update has selected."""

    current: Annotated[str, Field("The pod being replaced now.")]
    completed: Annotated[tuple[str, ...], Field("Pods that were replaced.")] = ()


class PodCliqueUpdateProgress(Struct, frozen=True, kw_only=True):
    """How far an update of this PodClique is."""

    update_started_at: Annotated[Time | None, Field("When the update started.")] = None
    update_ended_at: Annotated[Time | None, Field("When it ended; absent while it runs.")] = None
    pod_clique_set_generation_hash: Annotated[str, Field("Hash of the PodCliqueSet's templates that is rolled out.")]
    pod_template_hash: Annotated[str, Field("Hash of this clique's pod template that is rolled out.")]
    ready_pods_selected_to_update: Annotated[
        PodSelection | None, Field("Ready pods that the update replaces one after the other.")
    ] = None


class PodCliqueStatus(Struct, frozen=True, kw_only=True):
    """What is observed about the pods."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    phase: Annotated[str | None, Field("Where the PodClique is in its life, in one word.")] = None
    replicas: Annotated[Int32 | None, Field("Pods that exist and are not terminating.")] = None
    ready_replicas: Annotated[Counter, Field("Pods that are ready.")] = 0
    updated_replicas: Annotated[Counter, Field("Pods made from the newest template.")] = 0
    schedule_gated_replicas: Annotated[Counter, Field("Pods that a scheduling gate holds back.")] = 0
    scheduled_replicas: Annotated[Counter, Field("Pods that are bound to a node.")] = 0
    hpa_pod_selector: Annotated[str | None, Field("Selects the pods, for the autoscaler.")] = None
    conditions: Conditions = ()
    last_errors: LastErrors = ()
    last_operation: Annotated[LastOperation | None, Field("What the operator last did.")] = None
    current_pod_clique_set_generation_hash: Annotated[
        str | None, Field("Hash of the PodCliqueSet's templates that all pods follow.")
    ] = None
    current_pod_template_hash: Annotated[str | None, Field("Hash of the pod template that all pods follow.")] = None
    update_progress: Annotated[PodCliqueUpdateProgress | None, Field("The running or last update.")] = None


class PodClique(Struct, frozen=True, kw_only=True):
    """Pods of one role of a PodCliqueSet replica, made and kept by the operator.

    Scale it with `kubectl scale pclq`; everything else is set in the PodCliqueSet.
    """

    metadata: ObjectMeta
    spec: Annotated[PodCliqueSpec, Field("What the pods are and how many there must be.")]
    api_version: str = "grove.io/v1alpha1"
    kind: str = "PodClique"
    status: Annotated[PodCliqueStatus | None, Field("What is observed about the pods.")] = None

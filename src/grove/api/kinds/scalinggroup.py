"""PodCliqueScalingGroup: cliques that scale together, such as a leader and its workers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from grove.api.fields import Field, Int32, Int64, Rule, Struct, Time
from grove.api.kinds.meta import Conditions, LastErrors, LastOperation, ObjectMeta
from grove.api.kinds.podclique import SCALE_GUARD
from grove.api.kinds.scaling import RollingUpdate


class PodCliqueScalingGroupSpec(Struct, frozen=True, kw_only=True):
    """Which cliques scale together, and how often the group exists."""

    replicas: Annotated[Int32, Field("How many copies of the group there are.", minimum=0, required=True)] = 1
    min_available: Annotated[
        Int32, Field("How many copies belong to the base gang and must be available.", minimum=1)
    ] = 1
    clique_names: Annotated[tuple[str, ...], Field("Names of the cliques in the group.", min_items=1)]
    rolling_update: Annotated[RollingUpdate | None, Field("Pace of rolling updates of this group.")] = None

    RULES: ClassVar[tuple[Rule, ...]] = (SCALE_GUARD,)


class ReplicaSelection(Struct, frozen=True, kw_only=True):
    """Which ready replicas an update has selected."""

    current: Annotated[Int32, Field("Index of the replica being replaced now.")]
    completed: Annotated[tuple[Int32, ...], Field("Indices of the replicas that were replaced.")] = ()


class ScalingGroupUpdateProgress(Struct, frozen=True, kw_only=True):
    """How far an update of this group is."""

    update_started_at: Annotated[Time, Field("When the update started.")]
    update_ended_at: Annotated[Time | None, Field("When it ended; absent while it runs.")] = None
    pod_clique_set_generation_hash: Annotated[str, Field("Hash of the PodCliqueSet's templates that is rolled out.")]
    updated_pod_cliques_count: Annotated[Int32 | None, Field("PodCliques that are updated.")] = None
    total_pod_cliques_count: Annotated[Int32 | None, Field("PodCliques of the group.")] = None
    ready_replica_indices_selected_to_update: Annotated[
        ReplicaSelection | None, Field("Ready replicas that the update replaces one after the other.")
    ] = None


class PodCliqueScalingGroupStatus(Struct, frozen=True, kw_only=True):
    """What is observed about the group."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    phase: Annotated[str | None, Field("Where the group is in its life, in one word.")] = None
    replicas: Annotated[Int32 | None, Field("How many copies are asked for.")] = None
    scheduled_replicas: Annotated[Int32, Field("Copies whose PodCliques all have their minimum bound to nodes.")] = 0
    available_replicas: Annotated[Int32, Field("Copies whose PodCliques all have their minimum ready.")] = 0
    updated_replicas: Annotated[Int32, Field("Available copies that follow the newest templates.")] = 0
    selector: Annotated[str | None, Field("Selects the pods, for the autoscaler.")] = None
    conditions: Conditions = ()
    last_errors: LastErrors = ()
    last_operation: Annotated[LastOperation | None, Field("What the operator last did.")] = None
    current_pod_clique_set_generation_hash: Annotated[
        str | None, Field("Hash of the PodCliqueSet's templates that the whole group follows.")
    ] = None
    update_progress: Annotated[ScalingGroupUpdateProgress | None, Field("The running or last update.")] = None


class PodCliqueScalingGroup(Struct, frozen=True, kw_only=True):
    """Cliques of a PodCliqueSet replica that scale together and keep their ratio, made and kept by the operator.

    Scale it with `kubectl scale pcsg`; everything else is set in the PodCliqueSet.
    """

    metadata: ObjectMeta
    spec: Annotated[PodCliqueScalingGroupSpec, Field("Which cliques scale together, and how often the group exists.")]
    api_version: str = "grove.io/v1alpha1"
    kind: str = "PodCliqueScalingGroup"
    status: Annotated[PodCliqueScalingGroupStatus | None, Field("What is observed about the group.")] = None

"""The status of a PodCliqueSet: counts, gangs, and how far an update is."""

from __future__ import annotations

from typing import Annotated, Literal

from grove.api.fields import Field, Int32, Int64, Struct, Time
from grove.api.kinds.meta import Conditions, LastErrors, LastOperation


class PodGangSummary(Struct, frozen=True, kw_only=True):
    """One of the set's PodGangs."""

    name: Annotated[str, Field("Name of the PodGang.")]
    phase: Annotated[Literal["Pending", "Starting", "Running", "Failed", "Succeeded"], Field("Its phase.")]
    conditions: Conditions = ()


class ReplicaUpdate(Struct, frozen=True, kw_only=True):
    """A replica of the set that is being updated."""

    replica_index: Annotated[Int32, Field("Index of the replica.")]
    update_started_at: Annotated[Time | None, Field("When its update started.")] = None
    update_ended_at: Annotated[Time | None, Field("When it ended.")] = None
    in_flight_epochs: Annotated[
        tuple[str, ...], Field("Coherent updates: the steps whose gangs are being started.")
    ] = ()
    message: Annotated[str | None, Field("What it is waiting for.")] = None


class UpdateProgress(Struct, frozen=True, kw_only=True):
    """How far the update to the current template is; kept when it is complete."""

    update_started_at: Annotated[Time | None, Field("When the update started.")] = None
    update_ended_at: Annotated[Time | None, Field("When it ended; absent while it runs.")] = None
    updated_pod_cliques_count: Annotated[Int32 | None, Field("PodCliques outside scaling groups that are updated.")] = (
        None
    )
    total_pod_cliques_count: Annotated[Int32 | None, Field("PodCliques outside scaling groups.")] = None
    updated_pod_clique_scaling_groups_count: Annotated[Int32 | None, Field("Scaling groups that are updated.")] = None
    total_pod_clique_scaling_groups_count: Annotated[Int32 | None, Field("Scaling groups.")] = None
    in_scope_standalone_pod_cliques: Annotated[
        tuple[str, ...], Field("Coherent updates: cliques outside scaling groups whose template changed.")
    ] = ()
    in_scope_pod_clique_scaling_groups: Annotated[
        tuple[str, ...], Field("Coherent updates: scaling groups with a changed template.")
    ] = ()
    currently_updating: Annotated[tuple[ReplicaUpdate, ...], Field("The replicas being updated now.")] = ()


class CurrentlyUpdating(Struct, frozen=True, kw_only=True):
    """What a rolling update is busy with."""

    pod_clique_scaling_group_name: Annotated[str | None, Field("The scaling group being updated.")] = None
    pod_clique_name: Annotated[str | None, Field("The clique being updated.")] = None
    replica_index: Annotated[Int32 | None, Field("Index of the replica being updated.")] = None


class RollingUpdateProgress(Struct, frozen=True, kw_only=True):
    """The update by names, as older clients read it; the lists are bounded, updateProgress has the counts."""

    update_started_at: Annotated[Time | None, Field("When the update started.")] = None
    update_ended_at: Annotated[Time | None, Field("When it ended; absent while it runs.")] = None
    updated_pod_clique_scaling_groups: Annotated[tuple[str, ...], Field("Scaling groups that are updated.")] = ()
    updated_pod_cliques: Annotated[tuple[str, ...], Field("Cliques that are updated.")] = ()
    currently_updating: Annotated[CurrentlyUpdating | None, Field("What is being updated now.")] = None


class PodCliqueSetStatus(Struct, frozen=True, kw_only=True):
    """What is observed about the system."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    phase: Annotated[str | None, Field("Where the set is in its life, in one word.")] = None
    conditions: Conditions = ()
    last_errors: LastErrors = ()
    last_operation: Annotated[LastOperation | None, Field("What the operator last did.")] = None
    replicas: Annotated[Int32 | None, Field("How many replicas are asked for.")] = None
    updated_replicas: Annotated[Int32, Field("Available replicas that follow the current template.")] = 0
    available_replicas: Annotated[Int32, Field("Replicas in which every clique and group has its minimum ready.")] = 0
    hpa_pod_selector: Annotated[str | None, Field("Selects the pods of the set, for autoscalers.")] = None
    pod_gang_statuses: Annotated[tuple[PodGangSummary, ...], Field("The set's PodGangs.")] = ()
    current_generation_hash: Annotated[str | None, Field("Hash of the pod templates of the whole set.")] = None
    update_progress: Annotated[
        UpdateProgress | None, Field("The running or last update; absent until the first template change.")
    ] = None
    rolling_update_progress: Annotated[RollingUpdateProgress | None, Field("The running or last update, by names.")] = (
        None
    )

"""SchedulerConfiguration: the file that `grove scheduler --config` reads."""

from __future__ import annotations

from typing import Annotated, Literal

from grove.api.fields import Field, Int32, Struct
from grove.api.kinds.operatorconfig import GROVE_SCHEDULER
from grove.api.kinds.processconfig import ClientConnection, Debugging, LeaderElection, LogFormat, LogLevel, Server


class SchedulerConnection(ClientConnection, frozen=True, kw_only=True):
    """How the scheduler talks to the API server."""

    qps: Annotated[float, Field("Requests a second, on average.")] = 300.0
    burst: Annotated[Int32, Field("Requests at once.", minimum=0)] = 600


class SchedulerLeaderElection(LeaderElection, frozen=True, kw_only=True):
    """One replica works, the others stand by."""

    enabled: Annotated[bool, Field("Whether to elect a leader; needed with more than one replica.")] = True
    resource_name: Annotated[str, Field("Name of the Lease.")] = "grove-scheduler-leader-election"


class SchedulerHealthServer(Server, frozen=True, kw_only=True):
    """The probes /healthz and /readyz."""

    port: Annotated[Int32, Field("Port to listen on.", minimum=0, maximum=65535)] = 8081


class SchedulerMetricsServer(Server, frozen=True, kw_only=True):
    """The page /metrics."""

    port: Annotated[Int32, Field("Port to listen on.", minimum=0, maximum=65535)] = 8080


class SchedulerServers(Struct, frozen=True, kw_only=True):
    """Where the scheduler listens."""

    health_probes: Annotated[SchedulerHealthServer, Field("Liveness and readiness.")] = SchedulerHealthServer()
    metrics: Annotated[SchedulerMetricsServer, Field("Metrics.")] = SchedulerMetricsServer()


class SchedulerDebugging(Debugging, frozen=True, kw_only=True):
    """Looking into the running scheduler."""

    record_history: Annotated[
        str, Field("File to which all is written that the scheduler is told and decides, for `grove replay`.")
    ] = ""
    history_megabytes: Annotated[
        Int32, Field("Most that the file and the one before it, with `.1` at its name, take together.", minimum=1)
    ] = 256


class Placement(Struct, frozen=True, kw_only=True):
    """How a place is searched for."""

    search_budget: Annotated[
        str, Field("Time for one gang before the search gives up; such a verdict is not a proof.", format="duration")
    ] = "250ms"
    exact_solver: Annotated[
        bool, Field("Whether gangs that the search could not place are given to the exact solver, if it is installed.")
    ] = False
    replica_affinity: Annotated[
        Literal["none", "preferred", "required"],
        Field("Whether the gangs of one PodCliqueSet replica are placed near its base gang."),
    ] = "preferred"


class Preemption(Struct, frozen=True, kw_only=True):
    """When and how running gangs make room."""

    enabled: Annotated[bool, Field("Whether gangs may be evicted for gangs of higher priority.")] = True
    policy: Annotated[
        Literal["minDisruption", "minGangs"],
        Field("minDisruption: least work lost. minGangs: fewest gangs stopped."),
    ] = "minDisruption"
    delay: Annotated[
        str, Field("How long a gang waits for other room first, such as new nodes.", format="duration")
    ] = "0s"
    foreign_pods: Annotated[bool, Field("Whether pods of other schedulers may be evicted too.")] = False


class Starvation(Struct, frozen=True, kw_only=True):
    """Keeps large gangs from waiting for ever behind small ones."""

    after: Annotated[
        str, Field("How long the first gang of a priority waits until room is held for it.", format="duration")
    ] = "5m"
    max_reserved_percent: Annotated[
        Int32, Field("Most of the cluster's devices that are held for waiting gangs.", minimum=0, maximum=100)
    ] = 10


class Binding(Struct, frozen=True, kw_only=True):
    """How decisions are carried out."""

    gang_bind_timeout: Annotated[
        str,
        Field(
            "How long a gang may stay half bound after a node refused a pod; then its never-ready pods are taken back.",
            format="duration",
        ),
    ] = "60s"


class Nodes(Struct, frozen=True, kw_only=True):
    """What nodes say about themselves."""

    owned_node_selector: Annotated[
        dict[str, str] | None, Field("Labels of the nodes that the scheduler uses; all nodes where left out.")
    ] = None
    gpu_memory_label: Annotated[str, Field("Label with the memory of one GPU in MiB.")] = "nvidia.com/gpu.memory"
    gpu_model_label: Annotated[str, Field("Label with the model of the GPUs.")] = "nvidia.com/gpu.product"
    network_tier_label: Annotated[str, Field("Label with the network tier of the node.")] = "network-tier"
    network_tiers: Annotated[dict[str, Int32] | None, Field("Bandwidth of each network tier in Gbit/s.")] = None
    ignored_resources: Annotated[
        tuple[str, ...], Field("Extended resources that other components schedule; they are not counted.")
    ] = ()
    toleration_comparisons: Annotated[
        bool,
        Field("Whether tolerations may compare numbers (Gt, Lt): where Kubernetes lets pods have such tolerations."),
    ] = False


class SchedulerConfiguration(Struct, frozen=True, kw_only=True):
    """Settings of the scheduler."""

    api_version: str = "scheduler.config.grove.io/v1alpha1"
    kind: str = "SchedulerConfiguration"
    runtime_client_connection: Annotated[SchedulerConnection, Field("How it talks to the API server.")] = (
        SchedulerConnection()
    )
    leader_election: Annotated[SchedulerLeaderElection, Field("One replica works, the others stand by.")] = (
        SchedulerLeaderElection()
    )
    server: Annotated[SchedulerServers, Field("Where it listens.")] = SchedulerServers()
    debugging: Annotated[SchedulerDebugging, Field("Looking into the running scheduler.")] = SchedulerDebugging()
    log_level: LogLevel = "info"
    log_format: LogFormat = "json"
    scheduler_names: Annotated[
        tuple[str, ...],
        Field("Pods that name one of these in schedulerName are placed by this scheduler.", min_items=1),
    ] = (GROVE_SCHEDULER,)
    placement: Annotated[Placement, Field("How a place is searched for.")] = Placement()
    preemption: Annotated[Preemption, Field("When and how running gangs make room.")] = Preemption()
    starvation: Annotated[Starvation, Field("Keeps large gangs from waiting for ever.")] = Starvation()
    binding: Annotated[Binding, Field("How decisions are carried out.")] = Binding()
    nodes: Annotated[Nodes, Field("What nodes say about themselves.")] = Nodes()

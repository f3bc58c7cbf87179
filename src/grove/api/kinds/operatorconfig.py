"""OperatorConfiguration: the file that `grove operator --config` reads. Go Grove's keys, and a few of our own."""

from __future__ import annotations

from typing import Annotated, Literal

from grove.api import names
from grove.api.fields import JSON, Field, Int32, Int64, Quantity, Struct
from grove.api.kinds.processconfig import ClientConnection, Debugging, LeaderElection, LogFormat, LogLevel, Server

GROVE_SCHEDULER = "grove-scheduler"
DEFAULT_SCHEDULER = "default-scheduler"

Backend = Literal["grove", "kubernetes", "kai", "volcano", "lpx", "external"]

BACKENDS_BY_NAME: dict[str, Backend] = {
    GROVE_SCHEDULER: "grove",
    DEFAULT_SCHEDULER: "kubernetes",
    "kai-scheduler": "kai",
    "volcano": "volcano",
    "lpx-scheduler": "lpx",
}
"""The scheduler names whose backend need not be stated."""

TOPOLOGY_AWARE_BACKENDS: frozenset[Backend] = frozenset({"grove", "kai"})
"""The backends that honour pack constraints. An external scheduler is trusted to: nobody here can tell."""


class WebhookServer(Server, frozen=True, kw_only=True):
    """The admission webhooks."""

    port: Annotated[Int32, Field("Port to listen on.", minimum=0, maximum=65535)] = 2750
    server_cert_dir: Annotated[str, Field("Folder of tls.crt and tls.key.")] = "/etc/grove-operator/webhook-certs"
    secret_name: Annotated[str, Field("Secret that holds the certificates.")] = "grove-webhook-server-cert"
    cert_provision_mode: Annotated[
        Literal["auto", "manual"],
        Field("auto: the operator issues and rotates certificates. manual: they are supplied."),
    ] = "auto"
    url: Annotated[
        str,
        Field(
            "Where the API server reaches the webhooks, if not by the Service grove-operator: https://host:port.",
            pattern=r"^(https://[^/?#\s]+)?$",
        ),
    ] = ""


class HealthServer(Server, frozen=True, kw_only=True):
    """The probes /healthz and /readyz."""

    port: Annotated[Int32, Field("Port to listen on.", minimum=0, maximum=65535)] = 2751


class MetricsServer(Server, frozen=True, kw_only=True):
    """The page /metrics."""

    port: Annotated[Int32, Field("Port to listen on.", minimum=0, maximum=65535)] = 2752


class OperatorServers(Struct, frozen=True, kw_only=True):
    """Where the operator listens."""

    webhooks: Annotated[WebhookServer, Field("The admission webhooks.")] = WebhookServer()
    health_probes: Annotated[HealthServer, Field("Liveness and readiness.")] = HealthServer()
    metrics: Annotated[MetricsServer, Field("Metrics.")] = MetricsServer()


class ControllerOf10(Struct, frozen=True, kw_only=True):
    """Settings of one controller."""

    concurrent_syncs: Annotated[Int32, Field("How many objects are worked on at once.", minimum=1)] = 10


class ControllerOf5(Struct, frozen=True, kw_only=True):
    """Settings of one controller."""

    concurrent_syncs: Annotated[Int32, Field("How many objects are worked on at once.", minimum=1)] = 5


class Controllers(Struct, frozen=True, kw_only=True):
    """Settings of the controllers."""

    pod_clique_set: Annotated[ControllerOf10, Field("The PodCliqueSet controller.")] = ControllerOf10()
    pod_clique: Annotated[ControllerOf10, Field("The PodClique controller.")] = ControllerOf10()
    pod_clique_scaling_group: Annotated[ControllerOf5, Field("The PodCliqueScalingGroup controller.")] = ControllerOf5()
    pod_gang: Annotated[ControllerOf5, Field("The PodGang controller.")] = ControllerOf5()


class Authorizer(Struct, frozen=True, kw_only=True):
    """Keeps everyone but the operator from changing what it manages."""

    enabled: Annotated[bool, Field("Whether managed objects are protected.")] = False
    exempt_service_account_user_names: Annotated[
        tuple[str, ...], Field("Users who may change them all the same: system:serviceaccount:<namespace>:<name>.")
    ] = ()


class TopologyAwareScheduling(Struct, frozen=True, kw_only=True):
    """Whether topology constraints are served."""

    enabled: Annotated[
        bool | None,
        Field(
            "Whether workloads may state topology constraints. Where left out: yes with Grove's scheduler as the "
            "default profile, otherwise no."
        ),
    ] = None


class Network(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"cluster_domain": "clusterDomain", "auto_mnnvl_enabled": "autoMNNVLEnabled"},
):
    """The cluster's network."""

    cluster_domain: Annotated[
        str,
        Field(
            "The DNS domain of the cluster's Services: pods find each other under it.",
            pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        ),
    ] = names.CLUSTER_DOMAIN
    auto_mnnvl_enabled: Annotated[bool, Field("Whether ComputeDomains are made for GPU cliques that ask for them.")] = (
        False
    )


class SchedulerProfile(Struct, frozen=True, kw_only=True):
    """A scheduler that pods may be given to."""

    name: Annotated[str, Field("The scheduler's name, as pods state it in schedulerName.")]
    backend: Annotated[
        Backend | None,
        Field(
            "How that scheduler is told of gangs. Follows from the name for grove-scheduler, default-scheduler, "
            "kai-scheduler, volcano and lpx-scheduler; external only sets schedulerName."
        ),
    ] = None
    config: Annotated[JSON | None, Field("Settings of the backend.")] = None

    @property
    def kind_of_backend(self) -> Backend | None:
        return self.backend or BACKENDS_BY_NAME.get(self.name)


class Schedulers(Struct, frozen=True, kw_only=True):
    """The schedulers that pods may be given to."""

    profiles: Annotated[
        tuple[SchedulerProfile, ...],
        Field(
            "The schedulers. default-scheduler is added where it is missing; without profiles: grove-scheduler and it."
        ),
    ] = ()
    default_profile_name: Annotated[
        str,
        Field(
            "The scheduler of pods that name none. Where left out: grove-scheduler if it is among the profiles, "
            "otherwise default-scheduler."
        ),
    ] = ""


class Admission(Struct, frozen=True, kw_only=True):
    """How strictly workloads are judged."""

    mode: Annotated[
        Literal["lenient", "strict"],
        Field(
            "lenient: older spellings, long names and settings that have no effect are put right with a warning. "
            "strict: they are refused, as Go Grove does."
        ),
    ] = "lenient"


class PodDefaults(Struct, frozen=True, kw_only=True):
    """What the defaulting webhook adds to pods that state nothing themselves. Off unless set."""

    requests: Annotated[
        dict[str, Quantity] | None, Field("Resource requests for containers that state no resources at all.")
    ] = None
    port_name: Annotated[
        str | None,
        Field("Name of the port that is given to the first container of cliques that state no port.", max_length=15),
    ] = None
    port: Annotated[Int32 | None, Field("Number of that port.", minimum=1, maximum=65535)] = None


class WaiterResources(Struct, frozen=True, kw_only=True):
    """What a waiter asks for."""

    requests: Annotated[
        dict[str, Quantity] | None, Field("Resource requests. Where left out: cpu 100m and memory 128Mi.")
    ] = None
    limits: Annotated[
        dict[str, Quantity] | None,
        Field("Resource limits. Where left out: the requests, so that pods of the class Guaranteed stay of it."),
    ] = None


class Waiter(Struct, frozen=True, kw_only=True):
    """The init container grove-initc, which waits until the cliques are ready that its own starts after."""

    image: Annotated[
        str,
        Field(
            "Its image. Where left out: that of the environment variable GROVE_INIT_CONTAINER_IMAGE, or else "
            "grove-initc, with the operator's version as the tag."
        ),
    ] = ""
    image_pull_policy: Annotated[Literal["Always", "IfNotPresent", "Never"], Field("When a node pulls the image.")] = (
        "IfNotPresent"
    )
    position: Annotated[
        Literal["first", "last"],
        Field("first: it waits before the pod's own init containers run. last: they run while others get ready."),
    ] = "last"
    resources: Annotated[WaiterResources, Field("What it asks for.")] = WaiterResources()
    token_expiration_seconds: Annotated[
        Int64, Field("How long the token is valid with which it asks for pods; renewed before.", minimum=600)
    ] = 3607


class OperatorConfiguration(Struct, frozen=True, kw_only=True):
    """Settings of the operator. Keys that it does not know are passed over with a warning."""

    api_version: str = "operator.config.grove.io/v1alpha1"
    kind: str = "OperatorConfiguration"
    runtime_client_connection: Annotated[ClientConnection, Field("How it talks to the API server.")] = (
        ClientConnection()
    )
    leader_election: Annotated[LeaderElection, Field("One replica works, the others stand by.")] = LeaderElection()
    server: Annotated[OperatorServers, Field("Where it listens.")] = OperatorServers()
    debugging: Annotated[Debugging, Field("Looking into the running program.")] = Debugging()
    controllers: Annotated[Controllers, Field("Settings of the controllers.")] = Controllers()
    log_level: LogLevel = "info"
    log_format: LogFormat = "json"
    authorizer: Annotated[Authorizer, Field("Protection of managed objects.")] = Authorizer()
    topology_aware_scheduling: Annotated[TopologyAwareScheduling, Field("Whether topology constraints are served.")] = (
        TopologyAwareScheduling()
    )
    network: Annotated[Network, Field("The cluster's network.")] = Network()
    scheduler: Annotated[Schedulers, Field("The schedulers that pods may be given to.")] = Schedulers()
    admission: Annotated[Admission, Field("How strictly workloads are judged.")] = Admission()
    pod_defaults: Annotated[PodDefaults, Field("What pods are given that state nothing themselves.")] = PodDefaults()
    waiter: Annotated[Waiter, Field("The init container that waits for other cliques.")] = Waiter()

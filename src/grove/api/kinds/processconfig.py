"""Settings that every long-running program of Grove has: connection, leader election, servers, debugging, logs."""

from __future__ import annotations

from typing import Annotated, Literal

from grove.api.fields import Field, Int32, Struct

Port = Annotated[Int32, Field(minimum=0, maximum=65535)]
LogLevel = Annotated[Literal["debug", "info", "error"], Field("How much is logged.")]
LogFormat = Annotated[Literal["json", "text"], Field("How log lines look.")]


class ClientConnection(Struct, frozen=True, kw_only=True):
    """How the program talks to the API server."""

    qps: Annotated[float, Field("Requests a second, on average.")] = 100.0
    burst: Annotated[Int32, Field("Requests at once.", minimum=0)] = 120
    content_type: Annotated[str, Field("Media type of request bodies; JSON where left out.")] = ""
    accept_content_types: Annotated[str, Field("Media types accepted in answers; JSON where left out.")] = ""


class LeaderElection(Struct, frozen=True, kw_only=True):
    """One replica works, the others stand by."""

    enabled: Annotated[bool, Field("Whether to elect a leader; needed with more than one replica.")] = False
    lease_duration: Annotated[str, Field("How long a silent leader keeps its lease.", format="duration")] = "15s"
    renew_deadline: Annotated[
        str, Field("How long a leader tries to renew before it stops working; below leaseDuration.", format="duration")
    ] = "10s"
    retry_period: Annotated[str, Field("Time between tries.", format="duration")] = "2s"
    resource_lock: Annotated[str, Field("Kind of lock; only `leases`.")] = "leases"
    resource_name: Annotated[str, Field("Name of the Lease.")] = "grove-operator-leader-election"
    resource_namespace: Annotated[str, Field("Namespace of the Lease; the program's own where left out.")] = ""


class Server(Struct, frozen=True, kw_only=True):
    """Where a server listens."""

    bind_address: Annotated[str, Field("Address to listen on; all where left out.")] = ""
    port: Annotated[Port, Field("Port to listen on.")] = 0


class Debugging(Struct, frozen=True, kw_only=True):
    """Looking into the running program."""

    enable_profiling: Annotated[bool | None, Field("Whether profiles can be fetched.")] = None
    pprof_bind_host: Annotated[str, Field("Address of the profiling server.")] = "127.0.0.1"
    pprof_bind_port: Annotated[Port, Field("Port of the profiling server.")] = 2753

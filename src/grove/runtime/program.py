"""What the long-running programs of Grove have in common: clients, a first look at the cluster, election, servers.

The operator's and the scheduler's `process.py` put these together with what is their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import logging
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from grove.api.kinds.processconfig import ClientConnection, Debugging, LeaderElection, Server
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.connection import Connection
from grove.kube.errors import Forbidden, KubeError, NotFound, Unauthorized
from grove.kube.lease import Election
from grove.kube.leasestore import ClientLeases
from grove.kube.resources import Resource
from grove.runtime import settings
from grove.runtime.endpoints import Endpoints, Handler
from grove.runtime.exits import CannotRun, Exit
from grove.runtime.health import Check
from grove.runtime.manager import Runnable
from grove.runtime.profiling import Profiling

log = logging.getLogger(__name__)

ALONE: Final = 2
USER_PATH: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Clients(NamedTuple):
    """Apart from each other, so that no storm of requests keeps those waiting on which lives depend."""

    work: Client
    aside: Client
    """Events, and what else can wait."""
    election: Client


@contextlib.asynccontextmanager
async def clients(
    connection: Connection,
    component: str,
    wanted: ClientConnection,
    *,
    in_flight: int,
    aside: int = ALONE,
    clock: Clock,
    rng: random.Random,
) -> AsyncIterator[Clients]:
    """`in_flight` and `aside`: requests on their way at once; what an API server takes, not what we can send."""

    def client(max_in_flight: int, **options: Any) -> Client:
        return Client(
            connection,
            user_agent=component,
            field_manager=component,
            max_in_flight=max_in_flight,
            sleep=clock.sleep,
            now=clock.monotonic,
            rng=rng,
            **options,
        )

    limit = settings.rate_limit(wanted)
    async with client(in_flight, rate_limit=limit) as work, client(aside) as others, client(ALONE) as election:
        yield Clients(work, others, election)


async def look(client: Client, resource: Resource, rights: str) -> str:
    """Whether the cluster can be worked on; gives the user that we are to it. Later, what fails is waited for.

    `resource` is what there must be, `rights` the manifest that grants it. Raises CannotRun.
    """
    where = client.connection.server
    try:
        answer = await client.request("POST", USER_PATH, {})
        await client.list(resource, limit=1)
    except NotFound as error:
        raise CannotRun(
            Exit.PREPARATION,
            f"{where} does not know {resource.kind}s: {error}",
            "run grove crds | kubectl apply -f -",
        ) from error
    except (Forbidden, Unauthorized) as error:
        raise CannotRun(
            Exit.PREPARATION, str(error), f"run grove manifests {rights} | kubectl apply -f - as an administrator"
        ) from error
    except KubeError as error:
        raise CannotRun(
            Exit.PREPARATION, str(error), "check that the cluster runs, and which one is meant: --kubeconfig, --context"
        ) from error
    name: str = msgspec.json.decode(answer.body)["status"]["userInfo"]["username"]
    return name


def election(
    wanted: LeaderElection, client: Client, *, identity: str, clock: Clock, rng: random.Random
) -> Election | None:
    """None where nobody is elected. Raises CannotRun."""
    if not wanted.enabled:
        return None
    return Election(
        ClientLeases(client),
        namespace=wanted.resource_namespace or client.connection.namespace,
        name=wanted.resource_name,
        identity=identity,
        clock=clock,
        rng=rng,
        timing=settings.timing(wanted),
    )


def servers(
    *,
    health: Server,
    ready: Mapping[str, Check],
    page: Server,
    metrics: Callable[[], bytes],
    debugging: Debugging,
    clock: Clock,
    pages: Mapping[str, Handler] | None = None,
) -> Sequence[Runnable]:
    """Health, metrics, and what else the configuration asks for. `pages` are shown beside profiles."""
    found: list[Runnable] = [
        Endpoints(name="health", host=health.bind_address, port=health.port, live={}, ready=ready),
        Endpoints(name="metrics", host=page.bind_address, port=page.port, metrics=metrics),
    ]
    if debugging.enable_profiling:
        host, port = debugging.pprof_bind_host, debugging.pprof_bind_port
        found.append(Profiling(host=host, port=port, clock=clock, more=pages))
    return found


async def settle(caches: Caches) -> None:
    """What the first lists left behind is garbage now, or lives long: the collector need not look at it again."""
    await caches.synced()
    gc.collect()
    gc.freeze()
    objects = sum(one.store.objects for one in caches.statistics().values())
    log.info("caches synced", extra={"objects": objects})
    await asyncio.Event().wait()


def unsynced(caches: Caches) -> str:
    """Why the process is not ready; empty if it is."""
    missing = [name for name, one in caches.statistics().items() if not one.synced]
    return f"not read yet: {', '.join(missing)}" if missing else ""


@dataclasses.dataclass(frozen=True)
class Part:
    """A runnable of something that has no name of its own."""

    name: str
    run: Callable[[], Coroutine[Any, Any, None]]

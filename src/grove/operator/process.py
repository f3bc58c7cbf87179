"""The operator's process: everything it consists of, put together.

    await operate(connection, configuration, webhooks="service", environment=os.environ, clock=clock, rng=rng)

What serves others (webhooks, health, metrics) and the caches run on every replica; controllers on the one that holds
the lease. Who loses it ends: the process is started again, with nothing left of before.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import gc
import logging
import random
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from grove import __version__
from grove.api import policy as policies
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.connection import Connection
from grove.kube.errors import Forbidden, KubeError, NotFound, Unauthorized
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.fence import Fence
from grove.kube.lease import Election, unique_identity
from grove.kube.leasestore import ClientLeases
from grove.operator import metrics, settings
from grove.operator.admission.metrics import families as webhook_families
from grove.operator.backends.registry import Backends, UnsupportedBackendError
from grove.operator.controllers import Controllers
from grove.operator.exits import CannotOperate, Exit, of_group
from grove.operator.podclique import settings as podsettings
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.webhooks import Webhooks
from grove.operator.world import World
from grove.runtime.endpoints import Endpoints
from grove.runtime.health import Check
from grove.runtime.manager import Manager, Runnable
from grove.runtime.metrics import Metrics
from grove.runtime.profiling import Profiling

log = logging.getLogger(__name__)

COMPONENT: Final = "grove-operator"
IN_FLIGHT: Final = 32
"""Requests on their way at once: what an API server takes, not what we can send."""
ALONE: Final = 2
USER_PATH: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def operate(
    connection: Connection,
    configuration: OperatorConfiguration,
    *,
    webhooks: str,
    environment: Mapping[str, str],
    clock: Clock,
    rng: random.Random,
) -> None:
    """Works until a signal ends the process. Raises CannotOperate.

    `webhooks` says how the API server reaches them: `service`, an address of this machine, or empty: there are none.
    """
    settings.check_network(configuration)
    limit = settings.rate_limit(configuration.runtime_client_connection)

    def client(max_in_flight: int, **options: Any) -> Client:
        return Client(
            connection,
            user_agent=COMPONENT,
            field_manager=COMPONENT,
            max_in_flight=max_in_flight,
            sleep=clock.sleep,
            now=clock.monotonic,
            rng=rng,
            **options,
        )

    async with client(IN_FLIGHT, rate_limit=limit) as work, client(ALONE) as aside, client(ALONE) as election:
        clients = Clients(work, aside, election)
        user = await look(aside)
        process = Process(
            configuration,
            clients=clients,
            webhooks=webhooks,
            user=user,
            environment=environment,
            clock=clock,
            rng=rng,
        )
        try:
            await process.manager.run_until_signalled()
        except ExceptionGroup as group:
            log.error("operator ended", exc_info=group)
            raise of_group(group) from group


async def look(client: Client) -> str:
    """Whether the cluster can be worked on; gives the user that we are to it. Later, what fails is waited for."""
    where = client.connection.server
    try:
        answer = await client.request("POST", USER_PATH, {})
        await client.list(POD_CLIQUE_SETS, limit=1)
    except NotFound as error:
        raise CannotOperate(
            Exit.PREPARATION, f"{where} does not know PodCliqueSets: {error}", "run grove crds | kubectl apply -f -"
        ) from error
    except (Forbidden, Unauthorized) as error:
        raise CannotOperate(
            Exit.PREPARATION, str(error), "run grove manifests operator-rbac | kubectl apply -f - as an administrator"
        ) from error
    except KubeError as error:
        raise CannotOperate(
            Exit.PREPARATION, str(error), "check that the cluster runs, and which one is meant: --kubeconfig, --context"
        ) from error
    name: str = msgspec.json.decode(answer.body)["status"]["userInfo"]["username"]
    return name


class Clients(NamedTuple):
    """Apart from each other, so that no storm of requests keeps those waiting on which lives depend."""

    work: Client
    aside: Client
    """Events, certificates and the registration of webhooks."""
    election: Client


class Process:
    """The parts of the process, and how they hang together."""

    def __init__(
        self,
        configuration: OperatorConfiguration,
        *,
        clients: Clients,
        webhooks: str,
        user: str,
        environment: Mapping[str, str],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._configuration = configuration
        self._clients = clients
        self._clock = clock
        self._rng = rng
        self._identity = unique_identity(socket.gethostname(), rng)
        policy = policies.of_configuration(configuration)
        backends = self._backends(policy)
        self._caches = Caches(clients.work, clock=clock, rng=rng)
        self._world = World(self._caches)
        self._recorder = Recorder(
            ClientEvents(clients.aside), component=COMPONENT, instance=self._identity, clock=clock, rng=rng
        )
        self._controllers = Controllers(
            configuration.controllers,
            policy=policy,
            pods=podsettings.of_configuration(configuration, environment=environment, version=__version__),
            world=self._world,
            caches=self._caches,
            backends=backends,
            recorder=self._recorder,
            clock=clock,
            rng=rng,
        )
        election = self._election()
        served = self._webhooks(policy, webhooks, user) if webhooks else None
        self.metrics = self._metrics(election, served)
        self.manager = Manager(
            always=[
                Part("caches", self._caches.run),
                Part("first sync", self._settle),
                self._recorder,
                *self._servers(served.checks if served else {}),
                *(served.runnables if served else ()),
            ],
            led=self._led,
            election=election,
        )

    def _led(self, fence: Fence) -> Sequence[Runnable]:
        """What the one process does that leads."""
        return self._controllers.of_term(self._clients.work.fenced(fence))

    def _backends(self, policy: Policy) -> Backends:
        try:
            return Backends(policy)
        except UnsupportedBackendError as error:
            raise CannotOperate(Exit.BACKEND, str(error), "change scheduler.profiles in the configuration") from error

    def _election(self) -> Election | None:
        wanted = self._configuration.leader_election
        if not wanted.enabled:
            return None
        return Election(
            ClientLeases(self._clients.election),
            namespace=wanted.resource_namespace or self._clients.election.connection.namespace,
            name=wanted.resource_name,
            identity=self._identity,
            clock=self._clock,
            rng=self._rng,
            timing=settings.timing(wanted),
        )

    def _webhooks(self, policy: Policy, reach: str, user: str) -> Webhooks:
        return Webhooks(
            self._clients.aside,
            world=self._world,
            policy=policy,
            configuration=self._configuration,
            reach=reach,
            user=user,
            clock=self._clock,
            rng=self._rng,
        )

    def _metrics(self, election: Election | None, served: Webhooks | None) -> Metrics:
        work, aside, leases = self._clients
        return Metrics(
            clients={"work": work, "aside": aside, "election": leases},
            caches=self._caches.statistics,
            controllers=self._controllers.running,
            elections=[election] if election else [],
            recorders=[self._recorder],
            more=[
                lambda: metrics.of_world(self._world),
                lambda: metrics.of_writers(self._controllers.writers),
                *([functools.partial(webhook_families, served.server.statistics)] if served else []),
            ],
            prefix=metrics.PREFIX,
        )

    def _servers(self, more_checks: Mapping[str, Check]) -> Sequence[Runnable]:
        server, debugging = self._configuration.server, self._configuration.debugging
        ready = {"caches": self._unsynced, **more_checks}
        health, page = server.health_probes, server.metrics
        found: list[Runnable] = [
            Endpoints(name="health", host=health.bind_address, port=health.port, live={}, ready=ready),
            Endpoints(name="metrics", host=page.bind_address, port=page.port, metrics=self.metrics.text),
        ]
        if debugging.enable_profiling:
            host, port = debugging.pprof_bind_host, debugging.pprof_bind_port
            found.append(Profiling(host=host, port=port, clock=self._clock))
        return found

    async def _settle(self) -> None:
        """What the first lists left behind is garbage now, or lives long: the collector need not look at it again."""
        await self._caches.synced()
        gc.collect()
        gc.freeze()
        objects = sum(one.store.objects for one in self._caches.statistics().values())
        log.info("caches synced", extra={"objects": objects})
        await asyncio.Event().wait()

    def _unsynced(self) -> str:
        missing = [name for name, one in self._caches.statistics().items() if not one.synced]
        return f"not read yet: {', '.join(missing)}" if missing else ""


@dataclasses.dataclass(frozen=True)
class Part:
    """A runnable of something that has no name of its own."""

    name: str
    run: Callable[[], Coroutine[Any, Any, None]]

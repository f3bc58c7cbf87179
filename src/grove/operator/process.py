"""The operator's process: everything it consists of, put together.

    await operate(connection, configuration, webhooks="service", environment=os.environ, clock=clock, rng=rng)

What serves others (webhooks, health, metrics) and the caches run on every replica; controllers on the one that holds
the lease. Who loses it ends: the process is started again, with nothing left of before.
"""

from __future__ import annotations

import functools
import logging
import random
import socket
from collections.abc import Mapping, Sequence
from typing import Final

from grove import __version__
from grove.api import policy as policies
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.clock import Clock
from grove.kube.connection import Connection
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.fence import Fence
from grove.kube.lease import Election, unique_identity
from grove.operator import metrics, settings
from grove.operator.admission.metrics import families as webhook_families
from grove.operator.backends.registry import Backends, UnsupportedBackendError
from grove.operator.controllers import Controllers
from grove.operator.podclique import settings as podsettings
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.webhooks import Webhooks
from grove.operator.world import World
from grove.runtime import program
from grove.runtime.exits import CannotRun, Exit, of_group
from grove.runtime.health import Check
from grove.runtime.manager import Manager, Runnable
from grove.runtime.metrics import Metrics
from grove.runtime.program import Clients, Part

log = logging.getLogger(__name__)

COMPONENT: Final = "grove-operator"
IN_FLIGHT: Final = 32
"""Requests on their way at once: what an API server takes, not what we can send."""


async def operate(
    connection: Connection,
    configuration: OperatorConfiguration,
    *,
    webhooks: str,
    environment: Mapping[str, str],
    clock: Clock,
    rng: random.Random,
) -> None:
    """Works until a signal ends the process. Raises CannotRun.

    `webhooks` says how the API server reaches them: `service`, an address of this machine, or empty: there are none.
    """
    settings.check_network(configuration)
    wanted = configuration.runtime_client_connection
    async with program.clients(connection, COMPONENT, wanted, in_flight=IN_FLIGHT, clock=clock, rng=rng) as clients:
        user = await program.look(clients.aside, POD_CLIQUE_SETS, "operator-rbac")
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
        election = program.election(
            configuration.leader_election, clients.election, identity=self._identity, clock=clock, rng=rng
        )
        served = self._webhooks(policy, webhooks, user) if webhooks else None
        self.metrics = self._metrics(election, served)
        self.manager = Manager(
            always=[
                Part("caches", self._caches.run),
                Part("first sync", functools.partial(program.settle, self._caches)),
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
            raise CannotRun(Exit.BACKEND, str(error), "change scheduler.profiles in the configuration") from error

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
        server = self._configuration.server
        return program.servers(
            health=server.health_probes,
            ready={"caches": lambda: program.unsynced(self._caches), **more_checks},
            page=server.metrics,
            metrics=self.metrics.text,
            debugging=self._configuration.debugging,
            clock=self._clock,
        )

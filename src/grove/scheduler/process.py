"""The scheduler's process: everything it consists of, put together.

    await schedule(connection, configuration, clock=clock, rng=rng)

Caches, health and metrics run on every replica; the one that holds the lease decides. Who loses it ends: the process is
started again, with nothing left of before.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from prometheus_client.core import Metric

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.connection import Connection
from grove.kube.errors import KubeError, NotFound
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.fence import Fence
from grove.kube.lease import unique_identity
from grove.kube.resources import RESOURCE_SLICES
from grove.runtime import program
from grove.runtime.exits import CannotRun, Exit, of_group
from grove.runtime.manager import Manager, Runnable
from grove.runtime.metrics import HasControllerStatistics, Metrics
from grove.runtime.program import Clients, Part
from grove.runtime.settings import seconds
from grove.scheduler import assembly, debugpages, metrics
from grove.scheduler.engine import Engine
from grove.scheduler.kinds import POD_GANGS
from grove.scheduler.live import Mind
from grove.scheduler.recording import Journal, Recording
from grove.scheduler.term import Term
from grove.scheduler.world import World

log = logging.getLogger(__name__)

COMPONENT: Final = "grove-scheduler"
RIGHTS_HELP: Final = "run grove manifests scheduler-rbac | kubectl apply -f - as an administrator"
IN_FLIGHT: Final = 64
"""Bindings on their way at once."""
ASIDE: Final = 16
"""Statuses, conditions and events on their way at once."""


async def schedule(
    connection: Connection, configuration: SchedulerConfiguration, *, clock: Clock, rng: random.Random
) -> None:
    """Works until a signal ends the process. Raises CannotRun."""
    check_solver(configuration)
    async with program.clients(
        connection,
        COMPONENT,
        configuration.runtime_client_connection,
        in_flight=IN_FLIGHT,
        aside=ASIDE,
        clock=clock,
        rng=rng,
    ) as clients:
        await program.look(clients.aside, POD_GANGS, "scheduler-rbac")
        has_devices = await serves_devices(clients.aside)
        process = Process(configuration, clients=clients, has_devices=has_devices, clock=clock, rng=rng)
        try:
            await process.manager.run_until_signalled()
        except ExceptionGroup as group:
            log.error("scheduler ended", exc_info=group)
            raise of_group(group) from group
        finally:
            process.close()


def check_solver(configuration: SchedulerConfiguration) -> None:
    """Raises CannotRun where the exact solver is wanted and not installed."""
    if configuration.placement.exact_solver and importlib.util.find_spec("ortools") is None:
        raise CannotRun(
            Exit.CONFIGURATION,
            "placement.exactSolver: true: OR-Tools is not installed",
            "pip install 'grove[solver]', or leave it out",
        )


async def serves_devices(client: Client) -> bool:
    """Whether there are claims to devices: since Kubernetes 1.34."""
    try:
        await client.list(RESOURCE_SLICES, limit=1)
    except NotFound:
        log.info("no claims to devices: the API server does not know them", extra={"resource": RESOURCE_SLICES.name})
        return False
    except KubeError as error:
        raise CannotRun(Exit.PREPARATION, str(error), RIGHTS_HELP) from error
    return True


class Process:
    """The parts of the process, and how they hang together."""

    def __init__(
        self,
        configuration: SchedulerConfiguration,
        *,
        clients: Clients,
        has_devices: bool,
        clock: Clock,
        rng: random.Random,
        mind: Callable[[SchedulerConfiguration], Mind] = assembly.engine,
    ) -> None:
        self._configuration = configuration
        self._clients = clients
        self._clock = clock
        self._rng = rng
        self._mind = mind
        self._terms: list[Term] = []
        """The one that this process leads in, if it does."""
        self._engine: Engine | None = None
        self._recording: Recording | None = None
        identity = unique_identity(socket.gethostname(), rng)
        self.world = World(
            clients.work,
            scheduler_names=configuration.scheduler_names,
            has_devices=has_devices,
            clock=clock,
            rng=rng,
        )
        self._recorder = Recorder(
            ClientEvents(clients.aside),
            component=configuration.scheduler_names[0],
            instance=identity,
            clock=clock,
            rng=rng,
        )
        election = program.election(
            configuration.leader_election, clients.election, identity=identity, clock=clock, rng=rng
        )
        work, aside, leases = clients
        self.metrics = Metrics(
            clients={"work": work, "aside": aside, "election": leases},
            caches=self.world.caches.statistics,
            controllers=self._controllers,
            elections=[election] if election else [],
            recorders=[self._recorder],
            more=[self._own_metrics],
            prefix=metrics.PREFIX,
        )
        server = configuration.server
        self.manager = Manager(
            always=[
                Part("caches", self.world.caches.run),
                Part("ended pods", self.world.ended.run),
                Part("first sync", functools.partial(program.settle, self.world.caches)),
                self._recorder,
                *program.servers(
                    health=server.health_probes,
                    ready={"caches": lambda: program.unsynced(self.world.caches)},
                    page=server.metrics,
                    metrics=self.metrics.text,
                    debugging=configuration.debugging,
                    clock=clock,
                    pages=debugpages.pages(lambda: self._engine, configuration, clock),
                ),
            ],
            led=self._led,
            election=election,
        )

    @property
    def term(self) -> Term | None:
        """What this process does as a leader; None while it stands by."""
        return self._terms[-1] if self._terms else None

    def _led(self, fence: Fence) -> Sequence[Runnable]:
        term = Term(
            world=self.world,
            mind=self._thinking(),
            clients=self._clients,
            fence=fence,
            recorder=self._recorder,
            patience=seconds(self._configuration.binding.gang_bind_timeout),
            clock=self._clock,
            rng=self._rng,
        )
        self._terms.append(term)
        return term.runnables()

    def _thinking(self) -> Mind:
        """A new engine; its history is kept if the configuration says so."""
        mind = self._mind(self._configuration)
        if not isinstance(mind, Engine):
            return mind
        self._engine = mind
        debugging = self._configuration.debugging
        if not debugging.record_history:
            return mind
        journal = Journal(Path(debugging.record_history), limit=debugging.history_megabytes << 20)
        self._recording = Recording(mind, self._configuration, journal, at=self._clock.wall().timestamp())
        return self._recording

    def close(self) -> None:
        """To be called when nothing runs any more."""
        if self._recording is not None:
            self._recording.close()

    def _controllers(self) -> Sequence[HasControllerStatistics]:
        return () if self.term is None else self.term.controllers

    def _own_metrics(self) -> Iterator[Metric]:
        yield from metrics.of_world(self.world)
        if self.term is not None:
            yield from metrics.of_term(self.term)

"""The process that keeps a fleet of simulated nodes: everything it consists of, put together.

    await keep(connection, settings, clock=SystemClock(), rng=random.Random(), announce=print)

One process keeps a fleet; a second one of the same fleet waits until the first has gone.
"""

from __future__ import annotations

import dataclasses
import random
import socket
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from grove.kube.cachedclient import CachedClient, Caches
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.connection import Connection
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.fence import Fence
from grove.kube.lease import Election, LeadershipLostError, LeaseStore, Timing, unique_identity
from grove.kube.leaserecord import LeaseObject, LeaseRecord
from grove.kube.leasestore import ClientLeases
from grove.kube.resources import NODES, PODS
from grove.nodes import marks, nodestatus, register, shape
from grove.nodes.drain import Drainer
from grove.nodes.heartbeats import Heartbeats
from grove.nodes.kubelet import BY_NODE, Kubelet, by_node
from grove.nodes.moments import Now
from grove.nodes.objects import NodeRecord, PodRecord
from grove.nodes.plans import Defaults
from grove.nodes.program import Program
from grove.nodes.register import Register
from grove.nodes.shape import Shape
from grove.nodes.waiters import Waiters
from grove.runtime.controller import Controller
from grove.runtime.endpoints import Endpoints
from grove.runtime.followed import Followed
from grove.runtime.manager import Manager, Runnable
from grove.runtime.metrics import HasControllerStatistics, Metrics

COMPONENT: Final = "grove-nodes"
LEASE_NAMESPACE: Final = "kube-system"
POD_WORKERS: Final = 16
"""Statuses of pods on their way at once: what an API server takes, not what we can send."""
NODE_WORKERS: Final = 16
DRAIN_WORKERS: Final = 4
ASIDE: Final = 16
ALONE: Final = 2
PATIENCE: Final = Timing(duration=20.0, renew_deadline=15.0, retry_period=2.0)
"""Of the lease of a fleet. On a busy machine, a storm of pods takes longer to pass than the usual lengths allow."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user chose."""

    shape: Shape
    defaults: Defaults = Defaults()
    prune: bool = False
    remove: bool = False
    """Whether the nodes are deleted when the process is told to end."""
    lease_interval: float | None = None
    metrics_port: int = 0
    """0: none."""


async def keep(
    connection: Connection, settings: Settings, *, clock: Clock, rng: random.Random, announce: Callable[[str], None]
) -> None:
    """Keeps the fleet until a signal ends the process. `announce` is told what a user should see.

    Who has lost the lease begins anew, with nothing left of before: the machine may only have slept. Raises KubeError
    where the cluster cannot be reached at the start, and what else ends the process in a group.
    """

    def client(max_in_flight: int) -> Client:
        return Client(connection, user_agent=COMPONENT, field_manager=COMPONENT, max_in_flight=max_in_flight)

    async with (
        client(POD_WORKERS) as pods,
        client(NODE_WORKERS) as nodes,
        client(ASIDE) as aside,
        client(ALONE) as election,
    ):
        clients = Clients(pods, nodes, aside, election)
        await pods.list(NODES, limit=1)  # at the start, what is wrong is told; later it is waited for
        while True:
            process = Process(connection, settings, clients=clients, clock=clock, rng=rng, announce=announce)
            try:
                await process.manager.run_until_signalled()
                break
            except ExceptionGroup as group:
                lost, others = group.split(LeadershipLostError)
                if lost is None or others is not None:
                    raise
                announce(f"fleet {settings.shape.fleet}: {first(lost)}: starting again")
        if settings.remove:
            await process.remove()


class Clients(NamedTuple):
    """Apart from each other, so that no storm of requests keeps those waiting on which lives depend."""

    pods: Client
    nodes: Client
    """Leases and statuses of nodes."""
    aside: Client
    """Events, and what waiters are given."""
    election: Client


class Process:
    """The parts of the process, and how they hang together."""

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        *,
        clients: Clients,
        clock: Clock,
        rng: random.Random,
        announce: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._clients = clients
        self._clock = clock
        self._rng = rng
        self._announce = announce
        self._now = Now(clock)
        self._plans = {plan.name: plan for plan in shape.nodes(settings.shape)}
        self._controllers: Sequence[HasControllerStatistics] = ()
        fleet, identity = settings.shape.fleet, unique_identity(socket.gethostname(), rng)
        self._caches = Caches(clients.pods, clock=clock, rng=rng)
        self._nodes = self._caches.add(NODES, type=NodeRecord, labels=f"{marks.FLEET}={fleet}")
        self._pods = self._caches.add(
            PODS,
            type=PodRecord,
            fields="spec.nodeName!=",
            read={"spec.nodeName": lambda pod: pod.spec.node_name},
            indexes={BY_NODE: by_node},
        )
        self._recorder = Recorder(
            ClientEvents(clients.aside), component=COMPONENT, instance=identity, clock=clock, rng=rng
        )
        election = Election(
            Watched(ClientLeases(clients.election), identity, lambda holder: announce(standby(fleet, holder))),
            namespace=LEASE_NAMESPACE,
            name=f"{COMPONENT}-{fleet.lower()}",
            identity=identity,
            clock=clock,
            rng=rng,
            timing=PATIENCE,
        )
        self._more: Callable[[], Iterator[Metric]] = lambda: iter(())
        self.metrics = Metrics(
            controllers=lambda: self._controllers,
            elections=[election],
            recorders=[self._recorder],
            more=[lambda: self._more()],
        )
        always: list[Runnable] = [Part("caches", self._caches.run), self._recorder]
        if settings.metrics_port:
            always.append(
                Endpoints(
                    host="",
                    port=settings.metrics_port,
                    live={},
                    ready={"caches": self._unsynced},
                    metrics=self.metrics.text,
                )
            )
        self.manager = Manager(always=always, led=self._led, election=election)

    async def remove(self) -> None:
        """Deletes the nodes that the fleet created."""
        await register.remove(CachedClient(self._clients.pods, self._caches), register.created(self._nodes))

    def _led(self, fence: Fence) -> Sequence[Runnable]:
        """What the one process does that keeps the fleet."""
        settings, client, leases = self._settings, self._clients.pods.fenced(fence), self._clients.nodes.fenced(fence)
        writes = CachedClient(client, self._caches)
        program = Program(
            client=self._clients.aside,
            connection=self._connection,
            recorder=self._recorder,
            clock=self._clock,
            rng=self._rng,
            now=self._now,
        )
        waiters = Waiters(program)
        kubelet = Kubelet(
            pods=self._pods,
            nodes=self._nodes,
            client=writes,
            waiters=waiters,
            recorder=self._recorder,
            now=self._now,
            defaults=settings.defaults,
        )
        heartbeats = Heartbeats(
            nodes=self._nodes,
            client=CachedClient(leases, self._caches),
            leases=leases,
            recorder=self._recorder,
            plans=self._plans,
            ranges=settings.shape.ranges,
            now=self._now,
            interval=settings.lease_interval,
        )
        drainer = Drainer(
            nodes=self._nodes,
            pods=self._pods,
            client=writes,
            evictions=client,
            recorder=self._recorder,
            rng=self._rng,
        )
        registration = Register(
            nodes=self._nodes,
            client=writes,
            fleet=settings.shape.fleet,
            plans=self._plans,
            prune=settings.prune,
            now=self._now,
            on_ready=lambda: self._announce(shape.summary(settings.shape)),
        )
        pods = Controller(
            "pods",
            kubelet.reconcile,
            [Followed(self._pods, kubelet.keys_of_pod), Followed(self._nodes, kubelet.keys_of_node), waiters],
            clock=self._clock,
            rng=self._rng,
            workers=POD_WORKERS,
        )
        nodes = Controller(
            "nodes",
            heartbeats.reconcile,
            [Followed(self._nodes, heartbeats.keys_of_node)],
            clock=self._clock,
            rng=self._rng,
            workers=NODE_WORKERS,
        )
        drains = Controller(
            "drains",
            drainer.reconcile,
            [Followed(self._nodes, drainer.keys_of_node), Followed(self._pods, drainer.keys_of_pod)],
            clock=self._clock,
            rng=self._rng,
            workers=DRAIN_WORKERS,
        )
        self._controllers = (pods, nodes, drains)
        self._more = lambda: figures(self._nodes, kubelet, heartbeats)
        return (registration, nodes, pods, drains)

    def _unsynced(self) -> str:
        return "" if self._nodes.is_synced and self._pods.is_synced else "the cluster has not been read yet"


@dataclasses.dataclass(frozen=True)
class Part:
    """A runnable of something that has no name of its own."""

    name: str
    run: Callable[[], Coroutine[Any, Any, None]]


class Watched:
    """A LeaseStore that tells, once for each, of holders other than us."""

    def __init__(self, store: LeaseStore, identity: str, tell: Callable[[str], None]) -> None:
        self._store = store
        self._identity = identity
        self._tell = tell
        self._told = ""

    async def get(self, namespace: str, name: str) -> LeaseObject | None:
        lease = await self._store.get(namespace, name)
        holder = "" if lease is None else LeaseRecord.of(lease).holder
        if holder not in ("", self._identity, self._told):
            self._told = holder
            self._tell(holder)
        return lease

    async def create(self, lease: LeaseObject) -> LeaseObject | None:
        return await self._store.create(lease)

    async def update(self, lease: LeaseObject) -> LeaseObject | None:
        return await self._store.update(lease)


def first(group: BaseExceptionGroup[Any]) -> BaseException:
    """One of the errors in a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def standby(fleet: str, holder: str) -> str:
    return f"fleet {fleet} is kept by {holder}: standing by until it ends"


def figures(nodes: Iterable[NodeRecord], kubelet: Kubelet, heartbeats: Heartbeats) -> Iterator[Metric]:
    """What is special about this process, for Prometheus."""
    run, kept = kubelet.statistics(), heartbeats.statistics()
    ready = sum(map(nodestatus.is_ready, nodes))
    for name, help, value in (
        ("grove_nodes", "Simulated nodes that are kept.", kept.nodes),
        ("grove_nodes_ready", "Simulated nodes that are ready.", ready),
        ("grove_nodes_pods", "Pods on simulated nodes.", run.pods),
        ("grove_nodes_waiters", "Waiters of pods that run now.", run.waiters),
    ):
        yield GaugeMetricFamily(name, help, value=value)
    writes = CounterMetricFamily("grove_nodes_writes", "Writes in the name of simulated nodes.", labels=["what"])
    for what, count in (
        ("lease", kept.leases),
        ("node_status", kept.statuses),
        ("pod_status", run.statuses),
        ("pod_deletion", run.deletions),
    ):
        writes.add_metric([what], count)
    yield writes
    yield CounterMetricFamily("grove_nodes_pod_rejections", "Pods that did not fit their node.", value=run.rejections)
    yield CounterMetricFamily("grove_nodes_unheard", "Writes of nodes that failed.", value=kept.failures)

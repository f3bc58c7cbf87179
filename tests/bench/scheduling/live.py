"""The scheduler as a process on a real control plane, beside kube-scheduler and beside loops that do nothing else.

Nodes are objects that nobody keeps, so that the API server has no other work. A bare loop sends the same writes from
this process: it creates the pods and binds each to a node that it knows beforehand. What is compared is measured in
turns, in one run. kube-scheduler has 1,000 requests a second, more than it gets.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, Final

from grove.api.crds import all_crds
from grove.kube.cache import Cache
from grove.kube.client import Client
from grove.kube.errors import AlreadyExists, NotFound
from grove.kube.kubeconfig import connect
from grove.kube.objects import PodView
from grove.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS
from grove.scheduler.kinds import POD_GANGS, TOPOLOGY_BINDINGS
from grove.testing.controlplane import ControlPlane
from tests.bench.clients.serving import IN_FLIGHT, in_flight
from tests.bench.figures import Figure
from tests.bench.fleet import following
from tests.bench.processes import cpu_seconds
from tests.bench.scheduling.process import SchedulerProcess
from tests.bench.scheduling.worlds import BLOCK, GPU, HOST, NAMESPACE, RACK

JSON = dict[str, Any]
OURS, THEIRS, NOBODY = "grove-scheduler", "default-scheduler", "nobody"
WITHIN: Final = 600.0
GANG: Final = 512
GANG_TURNS: Final = 3
"""Turns with a gang for each with pods: they are short, and differ."""
WAITING: Final = 1000
CHURN: Final = 50
"""Pods that come and go in a second."""

_numbers = itertools.count()


def figures(*, pods: int = 4000, nodes: int = 500, turns: int = 3, churn_seconds: float = 30.0) -> Iterator[Figure]:
    with ControlPlane.start(scheduler=True) as cluster:
        yield from asyncio.run(measure(cluster, pods, nodes, turns, churn_seconds))


async def measure(cluster: ControlPlane, pods: int, nodes: int, turns: int, churn_seconds: float) -> list[Figure]:
    async with Client(connect(str(cluster.kubeconfig)), user_agent="bench", max_in_flight=IN_FLIGHT) as client:
        await prepare(cluster, client, max(nodes, GANG))
        with SchedulerProcess(cluster.kubeconfig) as scheduler:
            await scheduler.ready()
            async with following(client, PODS, PodView) as cache:
                bench = Bench(client, cache, scheduler, max(nodes, GANG))
                single = await bench.singles(pods, turns)
                gang = await bench.gangs(turns)
                waiting = await bench.waiting(churn_seconds)
    return [*single, *gang, *waiting]


async def prepare(cluster: ControlPlane, client: Client, nodes: int) -> None:
    cluster.create_namespace(NAMESPACE)
    for crd in all_crds():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, crd)
    await in_flight(range(nodes), lambda index: make_node(client, index))
    levels = [{"domain": domain, "key": key} for domain, key in (("block", BLOCK), ("rack", RACK), ("host", HOST))]
    body = {"metadata": {"name": "bench"}, "spec": {"levels": levels}}
    deadline = time.monotonic() + WITHIN
    while True:  # until the kind is served
        try:
            await client.create(TOPOLOGY_BINDINGS, {**body, "apiVersion": "grove.io/v1alpha1"})
            return
        except AlreadyExists:
            return
        except NotFound:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


async def make_node(client: Client, index: int) -> None:
    name, rack = f"node-{index:05}", index // 16
    found = {HOST: name, RACK: f"rack-{rack:04}", BLOCK: f"block-{rack // 16:03}"}
    has = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8"}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]
    await client.create(NODES, {"metadata": {"name": name, "labels": found}})
    status = {"status": {"allocatable": has, "capacity": has, "conditions": conditions}}
    await client.patch(NODES, name, status, subresource="status")


def pod(name: str, scheduler: str, *, gpus: int = 1, gang: str = "", node: str = "") -> JSON:
    asks = {"cpu": "1", "memory": "4Gi"} | ({GPU: str(gpus)} if gpus else {})
    container = {"name": "main", "image": "i", "resources": {"requests": asks, "limits": asks}}
    spec: JSON = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "containers": [container]}
    if node:
        spec["nodeName"] = node
    metadata: JSON = {"name": name}
    if gang:
        metadata["labels"] = {"grove.io/podgang": gang}
    return {"metadata": metadata, "spec": spec}


class Bench:
    """What is measured on one control plane."""

    def __init__(self, client: Client, cache: Cache[PodView], scheduler: SchedulerProcess, nodes: int) -> None:
        self._client = client
        self._cache = cache
        self._scheduler = scheduler
        self._nodes = [f"node-{index:05}" for index in range(nodes)]

    # Pods by themselves

    async def singles(self, pods: int, turns: int) -> list[Figure]:
        """Pods of one GPU, from the first created to the last bound, by each in turn."""
        taken: dict[str, list[float]] = {OURS: [], THEIRS: [], NOBODY: []}
        for _ in range(turns):
            for who, times in taken.items():
                times.append(await self._singles(pods, who))
        ours, theirs, bare = (median(taken[who]) for who in (OURS, THEIRS, NOBODY))
        return [
            Figure(f"{pods} pods of one GPU, kube-scheduler's pods a second against ours", ours / theirs, bar=1 / 1.5),
            Figure("the same, ours against a bare loop: seconds", ours / bare, bar=1.25),
            Figure("the same, pods a second: grove scheduler", pods / ours),
            Figure("the same, pods a second: kube-scheduler", pods / theirs),
            Figure("the same, pods a second: bare loop", pods / bare),
        ]

    async def _singles(self, pods: int, who: str) -> float:
        names = [f"pod-{next(_numbers):06}" for _ in range(pods)]
        start = time.perf_counter()
        if who == NOBODY:
            await in_flight([*zip(names, itertools.cycle(self._nodes))], self._create_and_bind)
        else:
            await in_flight(names, lambda name: self._create(pod(name, who)))
        await self._all_bound(names)
        seconds = time.perf_counter() - start
        await self._clear(names)
        return seconds

    async def _create_and_bind(self, pair: tuple[str, str]) -> None:
        name, node = pair
        await self._create(pod(name, NOBODY))
        await self._bind(name, node)

    # A gang

    async def gangs(self, turns: int) -> list[Figure]:
        """A gang that fills the nodes, whose pods are there: from its PodGang to the last pod bound. The first turn of
        each is not measured: connections are opened in it."""
        ours, bare = [], []
        for _ in range(1 + GANG_TURNS * turns):
            ours.append(await self._gang(OURS))
            bare.append(await self._gang(NOBODY))
        del ours[0], bare[0]
        return [
            Figure(f"a gang of {GANG}, bound by us against a bare loop", median(ours) / median(bare), bar=1.2),
            Figure("the same, seconds from the PodGang to the last bind", median(ours)),
        ]

    async def _gang(self, who: str) -> float:
        gang = f"gang-{next(_numbers):06}"
        names = [f"{gang}-{index:04}" for index in range(GANG)]
        await in_flight(names, lambda name: self._create(pod(name, who, gpus=8, gang=gang)))
        await self._until(lambda: all(self._cache.get(name, NAMESPACE) for name in names))
        start = time.perf_counter()
        if who == NOBODY:
            await in_flight([*zip(names, self._nodes, strict=False)], lambda pair: self._bind(*pair))
        else:
            await self._make_gang(gang, names, preferred=RACK)
        await self._all_bound(names)
        seconds = time.perf_counter() - start
        if who != NOBODY:
            await self._client.delete(POD_GANGS, gang, namespace=NAMESPACE)
        await self._clear(names)
        return seconds

    async def _make_gang(self, gang: str, names: Sequence[str], **pack: str) -> None:
        references = [{"namespace": NAMESPACE, "name": name} for name in names]
        body = {
            "metadata": {"name": gang},
            "spec": {
                "podgroups": [{"name": gang, "minReplicas": len(names), "podReferences": references}],
                "topologyConstraint": {"packConstraint": pack},
            },
        }
        await self._client.create(POD_GANGS, body, namespace=NAMESPACE)

    # Gangs that wait

    async def waiting(self, seconds: float) -> list[Figure]:
        """Gangs that fit nowhere, while other pods come and go: what our scheduler uses of a processor."""
        fill = [f"fill-{next(_numbers):06}" for _ in self._nodes]
        await in_flight(
            [*zip(fill, self._nodes, strict=True)],
            lambda pair: self._create(pod(pair[0], NOBODY, gpus=4, node=pair[1])),
        )
        gangs = [f"wait-{next(_numbers):06}" for _ in range(WAITING)]
        names = {gang: [f"{gang}-{index}" for index in range(2)] for gang in gangs}
        for gang in gangs:
            for name in names[gang]:
                await self._create(pod(name, OURS, gpus=5 + hash(gang) % 3, gang=gang))
            await self._make_gang(gang, names[gang], required=RACK)
        await self._quiet()
        before, start = cpu_seconds([self._scheduler.pid]), time.perf_counter()
        await self._churn(seconds)
        used = (cpu_seconds([self._scheduler.pid]) - before) / (time.perf_counter() - start)
        return [Figure(f"{WAITING} gangs that wait, {CHURN} pods a second: share of a core", used, bar=0.05)]

    async def _quiet(self) -> None:
        """Until all that is to be said of gangs has been said: the scheduler uses next to nothing."""
        deadline = time.monotonic() + WITHIN
        while True:
            before = cpu_seconds([self._scheduler.pid])
            await asyncio.sleep(3.0)
            if cpu_seconds([self._scheduler.pid]) - before < 0.1:
                return
            if time.monotonic() > deadline:
                raise RuntimeError("the scheduler does not come to rest")

    async def _churn(self, seconds: float) -> None:
        """Pods of another scheduler come, already on nodes, and go."""
        live: list[str] = []
        start = time.perf_counter()
        for count in itertools.count():
            due = start + count * 2 / CHURN
            if due > start + seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            name = f"churn-{next(_numbers):06}"
            await self._create(pod(name, NOBODY, gpus=0, node=self._nodes[count % len(self._nodes)]))
            live.append(name)
            if len(live) > CHURN:
                await self._client.delete(PODS, live.pop(0), namespace=NAMESPACE)

    # How

    async def _create(self, body: JSON) -> None:
        await self._client.create(PODS, body, namespace=NAMESPACE, type=PodView)

    async def _bind(self, name: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self._client.create(PODS, body, namespace=NAMESPACE, name=name, subresource="binding")

    async def _all_bound(self, names: Sequence[str]) -> None:
        left = set(names)

        def is_done() -> bool:
            left.difference_update(
                [name for name in left if (one := self._cache.get(name, NAMESPACE)) and one.node_name]
            )
            return not left

        await self._until(is_done)

    async def _clear(self, names: Sequence[str]) -> None:
        await in_flight(names, lambda name: self._client.delete(PODS, name, namespace=NAMESPACE))
        left = set(names)

        def is_done() -> bool:
            left.difference_update([name for name in left if self._cache.get(name, NAMESPACE) is None])
            return not left

        await self._until(is_done)

    async def _until(self, is_done: Any) -> None:
        deadline = time.monotonic() + WITHIN
        while not is_done():
            self._scheduler.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"not done within {WITHIN:g} s; see {self._scheduler.log}")
            await asyncio.sleep(0.01)

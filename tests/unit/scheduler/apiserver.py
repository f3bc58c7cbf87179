"""An API server made of memory, as far as the scheduler speaks to one: bindings, evictions; and a scheduler on it.

A scheduler can be killed before any of its writes, and started again with nothing but what the server has.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec

from grove.api import labels
from grove.kube.client import Client
from grove.kube.errors import Conflict
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.fence import Unfenced
from grove.kube.resources import NODES, PODS, Resource
from grove.runtime.program import Clients
from grove.scheduler.cluster import Cluster
from grove.scheduler.engine import Engine, Rules
from grove.scheduler.kinds import POD_GANGS
from grove.scheduler.live import Mind
from grove.scheduler.needs import PodNeeds
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.term import Term
from grove.scheduler.world import World
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.nodes.apiserver import JSON, plain
from tests.unit.operator.apiserver import OperatorServer
from tests.unit.scheduler.worlds import first_fit

SCHEDULER = "grove-scheduler"
GPU = "nvidia.com/gpu"
PATIENCE = 60.0


class SchedulerServer(OperatorServer):
    """See the top of the module."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.fatal: int | None = None
        """The number of the write before which the scheduler dies."""
        self.died = asyncio.Event()
        self.asked = 0

    # What tests do

    def add_node(self, name: str, gpus: int = 1) -> None:
        amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)}
        status = {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        self.put(NODES, {"metadata": {"name": name, "labels": {}}, "spec": {}, "status": status})

    def add_pod(self, name: str, *, gang: str = "", gpus: int = 1, node: str = "", **spec: Any) -> JSON:
        container = {"name": "main", "resources": {"requests": {GPU: str(gpus)}}}
        body = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": {labels.POD_GANG: gang} if gang else {},
            },
            "spec": {"schedulerName": SCHEDULER, "nodeName": node, "containers": [container], **spec},
            "status": {"phase": "Pending"},
        }
        return self.put(PODS, body)

    def add_gang(self, name: str, groups: Mapping[str, int], *, pods: bool = True, **more: Any) -> list[str]:
        """A PodGang with its pods, all of which are its minimum; gives their names."""
        names = {group: [f"{name}-{group}-{index}" for index in range(count)] for group, count in groups.items()}
        found = [
            {
                "name": f"{name}-{group}",
                "minReplicas": len(members),
                "podReferences": [{"namespace": "default", "name": one} for one in members],
            }
            for group, members in names.items()
        ]
        listed = [one for members in names.values() for one in members]
        if pods:
            for one in listed:
                self.add_pod(one, gang=name, **more)
        metadata = {"name": name, "namespace": "default", "labels": {labels.SCHEDULER_NAME: SCHEDULER}}
        self.put(POD_GANGS, {"metadata": metadata, "spec": {"podgroups": found}})
        return listed

    def ready(self, *names: str) -> None:
        """Kubelets have started these pods."""
        for name in names:
            pod = self.one(PODS, name)
            kept = [one for one in pod["status"].get("conditions", []) if one["type"] != "Ready"]
            self.tell(PODS, name, phase="Running", conditions=[*kept, {"type": "Ready", "status": "True"}])

    def where(self) -> dict[str, str]:
        return {
            name: pod["spec"]["nodeName"]
            for (plural, _, name), pod in self.objects.items()
            if plural == "pods" and pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        }

    def status(self, gang: str) -> JSON:
        found: JSON = self.one(POD_GANGS, gang).get("status", {})
        return found

    def condition(self, gang: str, type: str) -> tuple[str, str]:
        """Status and reason of a condition; empty where it is not there."""
        return next(
            ((one["status"], one["reason"]) for one in self.status(gang).get("conditions", ()) if one["type"] == type),
            ("", ""),
        )

    # What a client does

    async def create(
        self,
        resource: Resource,
        body: Any,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        type: Any = JSON,
        **rest: Any,
    ) -> Any:
        await self._may_die()
        if not subresource:
            return await super().create(resource, body, namespace=namespace, type=type, **rest)
        await self._arrive()
        is_lost = self._faulty(subresource, resource, name)
        sent = msgspec.json.decode(body) if isinstance(body, bytes) else plain(body)
        held = self._find(resource, namespace, name)
        self._note("create", resource, name, subresource)
        if subresource == "binding":
            self._bind(held, sent)
        else:
            uid = sent.get("deleteOptions", {}).get("preconditions", {}).get("uid")
            if uid not in (None, held["metadata"]["uid"]):
                raise Conflict("another uid", code=409)
            self._evict(namespace, name)
        return self._answered(is_lost, {}, type)

    async def patch(self, *arguments: Any, **options: Any) -> Any:
        await self._may_die()
        return await super().patch(*arguments, **options)

    async def delete(self, *arguments: Any, **options: Any) -> Any:
        await self._may_die()
        return await super().delete(*arguments, **options)

    def _bind(self, pod: JSON, binding: JSON) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        if binding["metadata"].get("uid", metadata["uid"]) != metadata["uid"]:
            raise Conflict("another uid", code=409)
        if spec.get("nodeName") or spec.get("schedulingGates") or "deletionTimestamp" in metadata:
            raise Conflict("it is assigned to a node already, held back, or going", code=409)
        kept = [one for one in pod["status"].get("conditions", []) if one["type"] != "PodScheduled"]
        moment = self.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ")
        told = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}
        change = {"spec": {"nodeName": binding["target"]["name"]}, "status": {"conditions": [*kept, told]}}
        self.edit(PODS, metadata["name"], change, metadata["namespace"])

    async def _may_die(self) -> None:
        self.asked += 1
        if self.fatal is not None and self.asked > self.fatal:
            self.died.set()
            await asyncio.Event().wait()


def engine() -> Engine:
    surroundings = Surroundings()
    needs = PodNeeds(surroundings)
    return Engine(
        Rules(scheduler_names=[SCHEDULER]),
        cluster=Cluster(needs=needs),
        surroundings=surroundings,
        needs=needs,
        place=first_fit,
    )


class Scheduler:
    """A leader on the server. Can be killed; another one knows nothing of it."""

    def __init__(self, server: SchedulerServer, *, mind: Mind | None = None, seed: int = 1) -> None:
        rng, clock, client = random.Random(seed), server.clock, cast(Client, server)
        self.server = server
        self.world = World(client, scheduler_names=[SCHEDULER], clock=clock, rng=rng)
        self.recorder = Recorder(ClientEvents(client), component=SCHEDULER, instance="one", clock=clock, rng=rng)
        self.term = Term(
            world=self.world,
            mind=mind or engine(),
            clients=Clients(client, client, client),
            fence=Unfenced(),
            recorder=self.recorder,
            patience=PATIENCE,
            clock=clock,
            rng=rng,
        )
        self._task: asyncio.Task[None] | None = None

    def start(self) -> Scheduler:
        self._task = asyncio.ensure_future(self._run())
        return self

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for work in (self.world.caches.run, self.world.ended.run, self.recorder.run):
                group.create_task(work())
            for one in self.term.runnables():
                group.create_task(one.run(), name=one.name)

    async def kill(self) -> None:
        """It writes nothing more."""
        if self._task is None:
            return
        self.server.fatal = 0
        self._task.cancel()
        await asyncio.wait({self._task})
        self.server.fatal, self._task = None, None
        self.server.died.clear()

    def check(self) -> None:
        """Raises what has ended it."""
        if self._task is not None and self._task.done():
            self._task.result()


Story = Callable[[SchedulerServer], Awaitable[None]]


def play(story: Story, *, limit: float = 3600.0) -> None:
    """Runs a story on an API server of its own, in virtual time."""

    async def main(clock: VirtualClock) -> None:
        await story(SchedulerServer(clock))

    run(main, limit=limit)

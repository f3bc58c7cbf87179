"""A running controller of PodCliqueSets on an API server of memory; what other controllers do is done by tests."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import cast

from grove.api import codec
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.events import EventType, Recorder, Regarding
from grove.operator.podcliqueset.reconcile import PodCliqueSetReconciler
from grove.operator.podcliqueset.sources import sources
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS
from grove.operator.world import Key, World
from grove.operator.writer import Writer
from grove.runtime.controller import Controller
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.apiserver import OperatorServer
from tests.unit.operator.podcliqueset.builders import JSON

DEMO = Key("default", "demo")


class Events:
    """What was recorded."""

    def __init__(self) -> None:
        self.all: list[tuple[EventType, str, str]] = []

    def record(self, regarding: Regarding, type: EventType, reason: str, message: str) -> None:
        self.all.append((type, reason, message))

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.all]


class Scene:
    """See the top of the module."""

    def __init__(self, server: OperatorServer) -> None:
        self.server = server
        self.clock = server.clock
        self.events = Events()
        self._task: asyncio.Task[None] | None = None

    # The controller

    async def start(self) -> None:
        rng = random.Random(1)
        client = cast(Client, self.server)
        caches = Caches(client, clock=self.clock, rng=rng)
        self.world = World(caches)
        self.reconciler = PodCliqueSetReconciler(
            world=self.world,
            writer=Writer(client, caches),
            recorder=cast(Recorder, self.events),
            clock=self.clock,
            topology_enabled=False,
        )
        self.controller: Controller[Key] = Controller(
            "podcliqueset", self.reconciler, sources(self.world), clock=self.clock, rng=rng, workers=2
        )

        async def both() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(caches.run())
                group.create_task(self.controller.run())

        self._task = asyncio.ensure_future(both())
        await caches.synced()

    async def kill(self) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self._task

    async def until(self, condition: Callable[[], object], *, within: float = 60.0) -> None:
        end = self.clock.monotonic() + within
        while not condition():
            assert self.clock.monotonic() < end, f"not so within {within:g} s"
            await self.clock.sleep(0.1)

    async def wait(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    # The set

    def apply(self, pcs: PodCliqueSet) -> None:
        """Creates the set, or changes its spec."""
        body = codec.encode(pcs)
        if self.server.get_now(POD_CLIQUE_SETS, pcs.metadata.name, "default") is None:
            del body["metadata"]["resourceVersion"]
            self.server.put(POD_CLIQUE_SETS, body)
            return
        held = self.server.one(POD_CLIQUE_SETS, pcs.metadata.name)
        metadata = {**held["metadata"], "generation": held["metadata"]["generation"] + 1}
        self.server._put(
            "podcliquesets", "default", pcs.metadata.name, {**held, "metadata": metadata, "spec": body["spec"]}
        )

    @property
    def stored(self) -> JSON:
        return self.server.one(POD_CLIQUE_SETS, "demo")

    @property
    def status(self) -> JSON:
        found: JSON = self.stored.get("status", {})
        return found

    def condition(self, type: str) -> str:
        found = [one for one in self.status.get("conditions", []) if one["type"] == type]
        return str(found[0]["status"]) if found else ""

    def selected(self) -> list[int]:
        entries = self.status.get("updateProgress", {}).get("currentlyUpdating", [])
        return [one["replicaIndex"] for one in entries]

    async def settled(self) -> None:
        """Until the controller has taken up the last change of the spec."""
        await self.until(lambda: self.status.get("observedGeneration") == self.stored["metadata"]["generation"])

    # Other controllers

    def ready(self, *names: str) -> None:
        """PodCliques (all, where none is named) say that their pods are ready, and follow their template."""
        for name in names or sorted(self.server.names(POD_CLIQUES)):
            held = self.server.one(POD_CLIQUES, name)
            count = held["spec"]["replicas"]
            self.server.tell(
                POD_CLIQUES,
                name,
                readyReplicas=count,
                updatedReplicas=count,
                scheduledReplicas=count,
                scheduleGatedReplicas=0,
                currentPodTemplateHash=held["metadata"]["labels"]["grove.io/pod-template-hash"],
                conditions=[self.said("PodCliqueScheduled", "True"), self.said("MinAvailableBreached", "False")],
            )
        for name in sorted(self.server.names(SCALING_GROUPS)):
            count = self.server.one(SCALING_GROUPS, name)["spec"]["replicas"]
            self.server.tell(SCALING_GROUPS, name, availableReplicas=count)

    def said(self, type: str, status: str) -> JSON:
        now = self.clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"type": type, "status": status, "reason": "Because", "message": "", "lastTransitionTime": now}


def play(story: Callable[[Scene], Awaitable[None]], *, start: bool = True) -> None:
    """Plays a story in virtual time."""

    async def main(clock: VirtualClock) -> None:
        scene = Scene(OperatorServer(clock))
        if start:
            await scene.start()
        try:
            await story(scene)
        finally:
            if scene._task is not None:
                await scene.kill()

    run(main)

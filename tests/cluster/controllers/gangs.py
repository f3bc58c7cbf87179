"""The gang and topology controllers in this process, and a set with PodCliques and pods that the test makes itself."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from grove.api import labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.resources import CORE_EVENTS, PODS
from grove.operator.backends.registry import Backends
from grove.operator.owners import reference
from grove.operator.podgang import wakes
from grove.operator.podgang.reconcile import PodGangReconciler
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS, SCALING_GROUPS
from grove.operator.topology import reconcile as topology
from grove.operator.tree import CliquePlace, GroupPlace, Tree
from grove.operator.world import Key, World
from grove.operator.writer import Writer
from grove.runtime.clock import SystemClock
from grove.runtime.controller import Controller
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import client_for
from tests.cluster.objects import POD_SPEC

JSON = dict[str, Any]
PATIENCE: Final = 60.0


class Early(SystemClock):
    """Its time of day is before all that happens: no patience ever ends."""

    def wall(self) -> datetime.datetime:
        return datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Scene:
    """What is there, and what the controllers make of it."""

    def __init__(self, client: Client, namespace: str, clock: SystemClock, policy: Policy) -> None:
        self.client = client
        self.namespace = namespace
        rng = random.Random(1)
        caches = Caches(client, clock=clock, rng=rng)
        self.world = World(caches)
        self.writer = Writer(client, caches)
        backends = Backends(policy)
        recorder = Recorder(ClientEvents(client), component="grove-operator", instance="test", clock=clock, rng=rng)
        self.reconcile = PodGangReconciler(
            world=self.world,
            writer=self.writer,
            recorder=recorder,
            clock=clock,
            backends=backends,
            topology_enabled=policy.topology_enabled,
        )
        bindings = topology.TopologyReconciler(
            world=self.world, writer=self.writer, recorder=recorder, clock=clock, schedulers=policy.schedulers
        )
        gangs = Controller(
            "podgang", self.reconcile, wakes.sources(self.world, backends), clock=clock, rng=rng, workers=4
        )
        topologies = Controller("topology", bindings, topology.sources(self.world), clock=clock, rng=rng)
        self.background = [caches.run, recorder.run, gangs.run, topologies.run]
        self.tree: Tree

    # What the other controllers would make

    async def make_set(self, spec: JSON, **metadata: Any) -> None:
        body = {"metadata": {"name": "set"} | metadata, "spec": spec}
        pcs = await self.client.create(POD_CLIQUE_SETS, body, namespace=self.namespace, type=PodCliqueSet)
        self.tree = Tree(pcs, {})

    async def make_all(self) -> None:
        for replica in range(self.tree.pcs.spec.replicas):
            for group in self.tree.groups:
                await self.make_group(GroupPlace(replica, group))
        for gang in self.tree.gangs():
            for place in self.tree.gang_cliques(gang):
                await self.make_clique(place)
                for number in range(self.tree.cliques[place.clique].spec.replicas):
                    await self.make_pod(place, f"p{number}")

    async def make_group(self, place: GroupPlace) -> None:
        body = {
            "metadata": {
                "name": self.tree.group_name(place),
                "labels": self.tree.group_labels(place),
                "ownerReferences": [reference(POD_CLIQUE_SETS, self.tree.pcs.metadata)],
            },
            "spec": self.tree.group_spec(place),
        }
        await self.client.create(SCALING_GROUPS, body, namespace=self.namespace)

    async def make_clique(self, place: CliquePlace) -> None:
        owner = reference(POD_CLIQUE_SETS, self.tree.pcs.metadata)
        if place.group:
            name = self.tree.group_name(GroupPlace(place.replica, place.group))
            owner = owner_of("PodCliqueScalingGroup", await self.get(SCALING_GROUPS, name))
        body = {
            "metadata": {
                "name": self.tree.clique_name(place),
                "labels": self.tree.clique_labels(place),
                "ownerReferences": [owner],
            },
            "spec": self.tree.clique_spec(place),
        }
        await self.client.create(POD_CLIQUES, body, namespace=self.namespace)

    async def make_pod(self, place: CliquePlace, suffix: str, *, gang: str = "", node: str = "") -> str:
        clique = await self.get(POD_CLIQUES, self.tree.clique_name(place))
        name = f"{clique['metadata']['name']}-{suffix}"
        spec = POD_SPEC | {"schedulerName": "nobody"} | ({"nodeName": node} if node else {})
        body = {
            "metadata": {
                "name": name,
                "labels": clique["metadata"]["labels"] | ({labels.POD_GANG: gang} if gang else {}),
                "ownerReferences": [owner_of("PodClique", clique)],
            },
            "spec": spec,
        }
        await self.client.create(PODS, body, namespace=self.namespace)
        return name

    async def remove_pod(self, name: str) -> None:
        await self.client.delete(PODS, name, namespace=self.namespace, grace_period=0)

    # What is seen

    async def get(self, resource: Any, name: str) -> JSON:
        return await self.client.get(resource, name, namespace=self.namespace, type=dict[str, Any])

    async def events(self) -> list[tuple[str, str, str]]:
        found = await self.client.list_all(CORE_EVENTS, namespace=self.namespace)
        return [(one["type"], one["reason"], one["message"]) for one in found.items]

    def gang(self, name: str) -> PodGang | None:
        return self.world.gangs.get(name, self.namespace)

    async def until(self, condition: Callable[[], object]) -> None:
        """Returns when a change of a gang or a topology has made it so."""
        changed = asyncio.Event()
        ends = [cache.follow(lambda _: changed.set()) for cache in (self.world.gangs, self.world.topologies)]
        try:
            while not condition():
                changed.clear()
                await changed.wait()
        finally:
            for end in ends:
                end()

    async def until_told(self, reason: str) -> str:
        """The message of the first event of a reason, once there is one."""
        while True:
            for _, found, message in await self.events():
                if found == reason:
                    return message
            await SystemClock().sleep(0.05)

    def refers_to(self, gang: str) -> set[str]:
        held = self.gang(gang)
        groups = () if held is None else held.spec.podgroups
        return {one.name for group in groups for one in group.pod_references}

    def condition(self, gang: str, type: str) -> str:
        held = self.gang(gang)
        found = () if held is None or held.status is None else held.status.conditions
        return next((one.status for one in found if one.type == type), "")

    async def assert_settled(self, gang: str) -> None:
        """A further look writes nothing."""
        before = await self.get(POD_GANGS, gang)
        await self.reconcile(Key(self.namespace, gang))
        assert await self.get(POD_GANGS, gang) == before


def owner_of(kind: str, owner: JSON) -> JSON:
    metadata = owner["metadata"]
    api_version = owner.get("apiVersion", "grove.io/v1alpha1")
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


@contextlib.asynccontextmanager
async def running(scene: Scene) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(one()) for one in scene.background]
    try:
        yield
    finally:
        for task in reversed(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def play(
    cluster: ControlPlane,
    namespace: str,
    act: Callable[[Scene], Coroutine[Any, Any, None]],
    *,
    clock: SystemClock | None = None,
    policy: Policy | None = None,
) -> None:
    """Plays a scene with a client of its own."""

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE), client_for(cluster) as client:
            await act(Scene(client, namespace, clock or SystemClock(), policy or Policy()))

    asyncio.run(bounded())


def spec(*cliques: JSON, **template: Any) -> JSON:
    return {"replicas": 1, "template": {"cliques": list(cliques), **template}}


def clique(name: str, replicas: int = 1) -> JSON:
    return {"name": name, "spec": {"roleName": name, "replicas": replicas, "podSpec": POD_SPEC}}

"""The controller of scaling groups in this process, and a puppet in place of the controllers and nodes around it."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from grove.api import labels
from grove.api.conditions import timestamp
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.errors import AlreadyExists, NotFound
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.operator import owners, pods
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS
from grove.operator.scalinggroup import wakes
from grove.operator.scalinggroup.reconcile import ScalingGroupReconciler
from grove.operator.tree import GroupPlace, Tree
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World, key_of
from grove.operator.writer import Writer
from grove.runtime.clock import SystemClock
from grove.runtime.controller import Controller
from grove.runtime.followed import Followed
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import client_for

JSON = dict[str, Any]
PATIENCE: Final = 60.0
PLACE: Final = GroupPlace(0, "sg")
GROUP: Final = "set-0-sg"


class Puppet:
    """Makes the pods of each PodClique, ready at once, and says so; lets PodCliques go that are deleted."""

    def __init__(self, world: World, client: Client) -> None:
        self._world = world
        self._client = client

    async def __call__(self, key: Key) -> None:
        clique = self._world.cliques.get(key.name, key.namespace)
        if clique is None:
            return
        if clique.metadata.deletion_timestamp is not None:
            for pod in self._world.pods_of(clique):
                with contextlib.suppress(NotFound):
                    await self._client.delete(PODS, pod.metadata.name, namespace=key.namespace, grace_period=0)
            with contextlib.suppress(NotFound):
                await self._patch(POD_CLIQUES, key, {"metadata": {"finalizers": []}})
            return
        held = {pod.metadata.name: pod for pod in self._world.pods_of(clique)}
        for index in range(clique.spec.replicas):
            name = f"{key.name}-{(clique.metadata.uid or '')[:5]}-{index}"
            if name not in held:
                await self._make(clique, name)
            elif not pods.is_ready(held[name]):
                ready = {"type": "Ready", "status": "True", "lastTransitionTime": timestamp(SystemClock().wall())}
                status = {"status": {"phase": "Running", "conditions": [ready]}}
                await self._patch(PODS, Key(key.namespace, name), status, "status")
        if sum(pods.is_ready(pod) for pod in held.values()) >= clique.spec.least and clique.status is None:
            now = timestamp(SystemClock().wall())
            told = [
                {"type": type, "status": status, "reason": "Puppet", "message": "", "lastTransitionTime": now}
                for type, status in (("PodCliqueScheduled", "True"), ("MinAvailableBreached", "False"))
            ]
            await self._patch(POD_CLIQUES, key, {"status": {"conditions": told}}, "status")

    async def _make(self, clique: PodCliqueView, name: str) -> None:
        body = {
            "metadata": {
                "name": name,
                "labels": clique.metadata.labels,
                "ownerReferences": [owners.reference(POD_CLIQUES, clique.metadata)],
            },
            "spec": {"nodeName": "nowhere", "containers": [{"name": "main", "image": "main"}]},
        }
        with contextlib.suppress(AlreadyExists):
            await self._client.create(PODS, body, namespace=clique.metadata.namespace or "")

    async def _patch(self, resource: Any, key: Key, change: JSON, subresource: str = "") -> None:
        await self._client.patch(resource, key.name, change, namespace=key.namespace, subresource=subresource)


class Scene:
    """A set with a scaling group of a leader and a worker."""

    def __init__(self, client: Client, namespace: str) -> None:
        clock, rng = SystemClock(), random.Random(1)
        self.client = client
        self.namespace = namespace
        self.caches = Caches(client, clock=clock, rng=rng)
        self.world = World(self.caches)
        self.recorder = Recorder(
            ClientEvents(client), component="grove-operator", instance="test", clock=clock, rng=rng
        )
        self.reconcile = ScalingGroupReconciler(
            world=self.world, writer=Writer(client, self.caches), recorder=self.recorder, clock=clock
        )
        groups = Controller("groups", self.reconcile, wakes.sources(self.world), clock=clock, rng=rng, workers=2)
        puppet = Controller(
            "puppet",
            Puppet(self.world, client),
            [
                Followed(self.world.cliques, lambda change: _keys(change.new)),
                Followed(self.world.pods, lambda change: _clique_of(change.new or change.old)),
            ],
            clock=clock,
            rng=rng,
            workers=4,
        )
        self._parts = [self.caches.run, self.recorder.run, puppet.run, groups.run]
        self.tree: Tree
        self.generation: int | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(part()) for part in self._parts]
        await self.caches.synced()
        try:
            yield
        finally:
            for task in reversed(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # What the controller of PodCliqueSets would do

    async def make_set(self, image: str = "server:v1", copies: int = 2) -> None:
        cliques = [
            {"name": name, "spec": {"roleName": name, "replicas": replicas, "minAvailable": 1, "podSpec": spec(image)}}
            for name, replicas in (("leader", 1), ("worker", 2))
        ]
        groups = [{"name": "sg", "cliqueNames": ["leader", "worker"], "replicas": copies, "minAvailable": 1}]
        body = {
            "metadata": {"name": "set"},
            "spec": {"replicas": 1, "template": {"cliques": cliques, "podCliqueScalingGroups": groups}},
        }
        await self.client.create(POD_CLIQUE_SETS, body, namespace=self.namespace)
        await self.note()

    async def change_image(self, image: str) -> None:
        held = await self.get(POD_CLIQUE_SETS, "set")
        for clique in held["spec"]["template"]["cliques"]:
            clique["spec"]["podSpec"] = spec(image)
        await self.client.patch(POD_CLIQUE_SETS, "set", {"spec": held["spec"]}, namespace=self.namespace)

    async def note(self, **status: Any) -> None:
        """The set takes note of its templates."""
        pcs = await self.client.get(POD_CLIQUE_SETS, "set", namespace=self.namespace, type=PodCliqueSet)
        self.tree = Tree(pcs, {})
        self.generation = pcs.metadata.generation
        change = {"status": {"currentGenerationHash": self.tree.generation_hash, **status}}
        await self.client.patch(POD_CLIQUE_SETS, "set", change, namespace=self.namespace, subresource="status")

    async def make_group(self) -> None:
        body = {
            "metadata": {
                "name": GROUP,
                "labels": self.tree.group_labels(PLACE),
                "finalizers": [labels.SCALING_GROUP_FINALIZER],
                "ownerReferences": [owners.reference(POD_CLIQUE_SETS, self.tree.pcs.metadata)],
            },
            "spec": self.tree.group_spec(PLACE),
        }
        await self.client.create(SCALING_GROUPS, body, namespace=self.namespace)

    async def scale(self, replicas: int) -> None:
        await self.client.patch(
            SCALING_GROUPS, GROUP, {"spec": {"replicas": replicas}}, namespace=self.namespace, subresource="scale"
        )

    # What is seen

    async def get(self, resource: Any, name: str) -> JSON:
        return await self.client.get(resource, name, namespace=self.namespace, type=dict[str, Any])

    @property
    def group(self) -> PodCliqueScalingGroup | None:
        return self.world.groups.get(GROUP, self.namespace)

    def cliques(self) -> dict[str, PodCliqueView]:
        """The members that are to stay."""
        found = self.world.cliques.list(self.namespace)
        return {one.metadata.name: one for one in found if one.metadata.deletion_timestamp is None}

    def available(self) -> int | None:
        """The available copies, once the status speaks of the group as it is now."""
        group = self.group
        if group is None or group.status is None or group.status.observed_generation != group.metadata.generation:
            return None
        return group.status.available_replicas

    def errors(self) -> list[str]:
        group = self.group
        return [] if group is None or group.status is None else [one.code for one in group.status.last_errors]

    def is_updated(self) -> bool:
        """Whether an update has come to its end."""
        status = None if self.group is None else self.group.status
        return (
            status is not None
            and status.update_progress is not None
            and status.update_progress.update_ended_at is not None
            and status.current_pod_clique_set_generation_hash == self.tree.generation_hash
        )

    async def reconcile_until_quiet(self) -> None:
        """Until the controller has nothing to wait for, with what the set has last noted."""
        key = Key(self.namespace, "set")
        while (pcs := self.world.sets.get(*reversed(key))) is None or pcs.metadata.generation != self.generation:
            await SystemClock().sleep(0.02)
        await self._look_until_done()

    async def _look_until_done(self) -> None:
        while await self.reconcile(Key(self.namespace, GROUP)) is not None:
            await SystemClock().sleep(0.1)

    async def until(self, condition: Callable[[], object]) -> None:
        """Returns when a change has made it so."""
        changed = asyncio.Event()
        caches = (self.world.groups, self.world.cliques, self.world.pods)
        ends = [cache.follow(lambda _: changed.set()) for cache in caches]
        try:
            while not condition():
                changed.clear()
                await changed.wait()
        finally:
            for end in ends:
                end()

    async def assert_settled(self) -> None:
        """Once everybody has said what is, a further look writes nothing."""
        await self.until(lambda: all(view.status is not None for view in self.cliques().values()))
        await self._look_until_done()
        before = [await self.get(SCALING_GROUPS, GROUP)]
        before += [await self.get(POD_CLIQUES, name) for name in sorted(self.cliques())]
        await self._look_until_done()
        after = [await self.get(SCALING_GROUPS, GROUP)]
        after += [await self.get(POD_CLIQUES, name) for name in sorted(self.cliques())]
        assert after == before


def spec(image: str) -> JSON:
    return {"containers": [{"name": "main", "image": image, "ports": [{"containerPort": 80}]}]}


def _keys(clique: PodCliqueView | None) -> list[Key]:
    return [] if clique is None else [key_of(clique.metadata)]


def _clique_of(pod: PodView | None) -> list[Key]:
    owner = None if pod is None else owners.controller_of(pod.metadata)
    return [] if owner is None or pod is None else [Key(pod.metadata.namespace or "", owner.name)]


def play(cluster: ControlPlane, namespace: str, act: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    """Plays a scene with a client of its own."""

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE), client_for(cluster) as client:
            await act(Scene(client, namespace))

    asyncio.run(bounded())

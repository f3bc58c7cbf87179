"""A scaling group in caches without a server, and a writer that writes straight into them."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import msgspec

from grove.api import labels
from grove.api.conditions import timestamp
from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.events import EventType, Regarding
from grove.kube.objects import PodView
from grove.kube.resources import PODS, Resource
from grove.operator import owners
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS
from grove.operator.scalinggroup.reconcile import ScalingGroupReconciler
from grove.operator.tree import GroupPlace, Tree
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World
from grove.runtime.outcomes import Outcome
from grove.testing import virtualtime
from grove.testing.virtualtime import VirtualClock
from tests.unit.operator.scalinggroup.builders import JSON, condition, merged, pods

TYPES: dict[str, type[Struct]] = {
    POD_CLIQUE_SETS.name: PodCliqueSet,
    SCALING_GROUPS.name: PodCliqueScalingGroup,
    POD_CLIQUES.name: PodCliqueView,
    PODS.name: PodView,
}
KEY = Key("ns", "x-0-sg")
NAME = "x-0-sg"


class Stage:
    """Also the writer and the recorder: what they are told is in `writes` and `events`."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.caches = Caches(cast("Client", None), clock=clock, rng=random.Random(1))
        self.world = World(self.caches)
        self.bodies: dict[tuple[str, str], JSON] = {}
        self.writes: list[str] = []
        self.events: list[tuple[str, EventType, str, str]] = []
        self.fails: Callable[[str], Exception | None] = lambda _: None
        self._numbers = itertools.count(1)
        self._reconcile = ScalingGroupReconciler(
            world=self.world, writer=cast("Any", self), recorder=cast("Any", self), clock=clock
        )

    async def reconcile(self) -> Outcome:
        return await self._reconcile(KEY)

    async def rest(self) -> None:
        """Until the status says what is, and nothing is left to do."""
        for _ in range(20):
            before = len(self.writes)
            await self.reconcile()
            await self.clock.sleep(10.0)
            await self.reconcile()
            if len(self.writes) == before:
                return
        raise AssertionError(f"it never comes to rest: {self.writes}")

    def forget(self) -> None:
        self.writes.clear()
        self.events.clear()

    # What is there

    def show(self, pcs: PodCliqueSet, **status: Any) -> None:
        """A set with its scaling group."""
        tree = Tree(pcs, {})
        place = GroupPlace(0, "sg")
        body = msgspec.to_builtins(pcs)
        body["metadata"]["generation"] = next(self._numbers)
        body["status"] = {"currentGenerationHash": tree.generation_hash} | status
        self.put(POD_CLIQUE_SETS, body)
        if (SCALING_GROUPS.name, NAME) not in self.bodies:
            metadata = {
                "name": NAME,
                "namespace": "ns",
                "uid": "group",
                "generation": 1,
                "creationTimestamp": timestamp(self.clock.wall()),
                "finalizers": [labels.SCALING_GROUP_FINALIZER],
                "labels": tree.group_labels(place),
                "ownerReferences": [owners.reference(POD_CLIQUE_SETS, pcs.metadata)],
            }
            self.put(SCALING_GROUPS, {"metadata": metadata, "spec": tree.group_spec(place)})

    def put(self, resource: Resource, body: JSON) -> Any:
        body["metadata"]["resourceVersion"] = str(next(self._numbers))
        self.bodies[resource.name, body["metadata"]["name"]] = body
        stored = msgspec.json.decode(msgspec.json.encode(body), type=TYPES[resource.name])
        self._cache(resource).wrote(stored)
        return stored

    def change(self, resource: Resource, name: str, change: JSON) -> Any:
        return self.put(resource, merged(self.bodies[resource.name, name], change))

    def take(self, resource: Resource, name: str) -> None:
        """It is gone."""
        del self.bodies[resource.name, name]
        cache = self._cache(resource)
        cache.deleted(cache.get(name, "ns"))

    def scale(self, replicas: int) -> None:
        generation = self.bodies[SCALING_GROUPS.name, NAME]["metadata"]["generation"] + 1
        self.change(SCALING_GROUPS, NAME, {"metadata": {"generation": generation}, "spec": {"replicas": replicas}})

    def sweep(self) -> None:
        """PodCliques that are being deleted vanish, with their pods."""
        for view in self.cliques():
            if view.metadata.deletion_timestamp is not None:
                for pod in self.world.pods_of(view):
                    self.take(PODS, pod.metadata.name)
                self.take(POD_CLIQUES, view.metadata.name)

    def come_up(self, *, broken: tuple[str, ...] = ()) -> None:
        """All PodCliques have their pods, ready but for those named, and say so."""
        for view in self.cliques():
            ready = view.metadata.name not in broken
            for pod in pods(view, ready=ready, node="node" if ready else ""):
                body = msgspec.to_builtins(pod)
                body["spec"] = {"nodeName": pod.node_name} if pod.node_name else {}
                body["metadata"]["ownerReferences"] = [owners.reference(POD_CLIQUES, view.metadata)]
                self.put(PODS, body)
            self.say(view.metadata.name, breached=not ready)

    def say(self, name: str, *, breached: bool) -> None:
        """A PodClique tells how it fares."""
        told = [condition("PodCliqueScheduled", "True"), condition("MinAvailableBreached", str(breached))]
        for one in told:
            one["lastTransitionTime"] = timestamp(self.clock.wall())
        self.change(POD_CLIQUES, name, {"status": {"conditions": told}})

    def cliques(self) -> list[PodCliqueView]:
        return list(self.world.cliques.list("ns"))

    def names(self) -> set[str]:
        """The PodCliques that are to stay."""
        return {one.metadata.name for one in self.cliques() if one.metadata.deletion_timestamp is None}

    @property
    def group(self) -> PodCliqueScalingGroup:
        found = self.world.groups.get(NAME, "ns")
        assert found is not None
        return found

    def _cache(self, resource: Resource) -> Any:
        found = self.caches.of(resource)
        assert found is not None
        return found[0]

    # The writer

    async def create(self, resource: Resource, body: JSON, owner: ObjectMeta, *, type: type[Any]) -> Any:
        made = {"uid": f"uid-{next(self._numbers)}", "creationTimestamp": timestamp(self.clock.wall())}
        with self._write("create", resource, body["metadata"]["name"]):
            return self.put(resource, {**body, "metadata": {**body["metadata"], **made}})

    async def patch(
        self,
        resource: Resource,
        held: ObjectMeta,
        change: JSON,
        *,
        type: type[Any],
        subresource: str = "",
        guarded: bool = False,
    ) -> Any:
        with self._write(f"patch {subresource}".strip(), resource, held.name):
            return self.change(resource, held.name, change)

    async def delete(self, resource: Resource, held: ObjectMeta) -> bool:
        with self._write("delete", resource, held.name):
            self.change(resource, held.name, {"metadata": {"deletionTimestamp": timestamp(self.clock.wall())}})
        return True

    async def delete_collection(self, resource: Resource, namespace: str, labels: dict[str, str]) -> None:
        with self._write("delete all", resource, ",".join(labels.values())):
            pass

    @contextlib.contextmanager
    def _write(self, verb: str, resource: Resource, name: str) -> Iterator[None]:
        """A write; one of which only the answer is lost is made all the same."""
        text = f"{verb} {resource.name.split('.')[0]} {name}"
        error = self.fails(text)
        if error is not None and not getattr(error, "may_have_acted", False):
            raise error
        self.writes.append(text)
        yield
        if error is not None:
            raise error

    # The recorder

    def record(self, regarding: Regarding, type: EventType, reason: str, message: str) -> None:
        self.events.append((regarding.kind, type, reason, message))


def play(act: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        await act(Stage(clock))

    virtualtime.run(main)

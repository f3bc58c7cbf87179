"""A world of caches without a server, and a writer that writes straight into them."""

from __future__ import annotations

import itertools
import random
from typing import Any, cast

from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.events import EventType, Regarding
from grove.kube.objects import PodView
from grove.kube.resources import PODS, Resource
from grove.kube.store import metadata_of
from grove.operator.backends.registry import Backends
from grove.operator.podgang.reconcile import PodGangReconciler
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World
from grove.runtime.outcomes import Outcome
from grove.testing.virtualtime import VirtualClock
from tests.unit.operator.podgang.builders import Cluster, merged, tree_of, view_of

JSON = dict[str, Any]
GANG = Key("ns", "set-0")


class Stage:
    """Also the writer and the recorder: what they are told is in `writes` and `events`."""

    def __init__(self, clock: VirtualClock, policy: Policy | None = None) -> None:
        self.caches = Caches(cast("Client", None), clock=clock, rng=random.Random(1))
        self.world = World(self.caches)
        self.writes: list[str] = []
        self.events: list[tuple[EventType, str, str]] = []
        self.fails: Exception | None = None
        self._versions = itertools.count(1)
        self.backends = Backends(policy or Policy())
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """The controller forgets what it kept in memory."""
        self._reconcile = PodGangReconciler(
            world=self.world,
            writer=cast("Any", self),
            recorder=cast("Any", self),
            clock=self._clock,
            backends=self.backends,
            topology_enabled=True,
        )

    async def reconcile(self, key: Key = GANG) -> Outcome:
        return await self._reconcile(key)

    # What is there

    def show(self, cluster: Cluster) -> None:
        """Everything of a cluster is in the caches."""
        self.put(POD_CLIQUE_SETS, cluster.tree.pcs, PodCliqueSet)
        for name, clique in cluster.cliques.items():
            self.put(POD_CLIQUES, owned(clique, cluster.tree.pcs), PodCliqueView)
            for pod in cluster.pods[name]:
                self.put(PODS, owned(pod, clique), PodView)

    def put(self, resource: Resource, obj: Any, kind: type[Any]) -> Any:
        tree = tree_of(obj)
        tree["metadata"]["resourceVersion"] = str(next(self._versions))
        stored = view_of(tree, kind)
        self._cache(resource).wrote(stored)
        return stored

    def take(self, resource: Resource, name: str) -> None:
        cache = self._cache(resource)
        cache.deleted(cache.get(name, "ns"))

    @property
    def gang(self) -> PodGang | None:
        return self.world.gangs.get("set-0", "ns")

    def refers_to(self) -> list[str]:
        gang = self.gang
        return [] if gang is None else [one.name for group in gang.spec.podgroups for one in group.pod_references]

    def _cache(self, resource: Resource) -> Any:
        found = self.caches.of(resource)
        assert found is not None
        return found[0]

    # The writer

    async def create(self, resource: Resource, body: JSON, owner: Any, *, type: type[Any]) -> Any:
        self._write("create", resource, body["metadata"]["name"])
        metadata = {**body["metadata"], "uid": f"uid-{next(self._versions)}"}
        return self.put(resource, {**body, "metadata": metadata}, type)

    async def patch(self, resource: Resource, held: Any, change: JSON, *, type: type[Any], **options: Any) -> Any:
        self._write(f"patch {options.get('subresource', '')}".strip(), resource, held.name)
        stored = self._cache(resource).get(held.name, held.namespace)
        return self.put(resource, merged(tree_of(stored), change), type)

    async def delete(self, resource: Resource, held: Any) -> bool:
        self._write("delete", resource, held.name)
        self.take(resource, held.name)
        return True

    def _write(self, verb: str, resource: Resource, name: str) -> None:
        if self.fails is not None:
            raise self.fails
        self.writes.append(f"{verb} {resource.name.split('.')[0]} {name}")

    # The recorder

    def record(self, regarding: Regarding, type: EventType, reason: str, message: str) -> None:
        assert (regarding.kind, regarding.name) == ("PodCliqueSet", "set")
        self.events.append((type, reason, message))


def owned(child: Any, owner: Any) -> JSON:
    """The child with an owner that controls it."""
    tree = tree_of(child)
    metadata = metadata_of(owner)
    reference = {"apiVersion": "v1", "kind": "Any", "name": metadata.name, "uid": metadata.uid, "controller": True}
    tree["metadata"]["ownerReferences"] = [reference]
    return tree

"""The PodClique controller with an API server made of memory: real caches, real writes, pods that only a test moves.

Writes can be refused, or carried out with their answers lost; what was lost reaches the caches when the watch delivers.
"""

from __future__ import annotations

import copy
import datetime
import random
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from grove.api import labels
from grove.api.conditions import timestamp
from grove.api.fields import JSON
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound, Unreachable
from grove.kube.fence import NotLeaderError
from grove.kube.objects import PodView
from grove.kube.resources import PODS, Resource
from grove.operator.backends.registry import Backends
from grove.operator.podclique.reconcile import PodCliqueReconciler
from grove.operator.podclique.settings import PodSettings
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World
from grove.operator.writer import Writer
from grove.runtime.outcomes import Outcome
from tests.unit.operator.builders import NAMESPACE, NOW, clique, owned_by, pcs

Fault = Literal["", "refused", "lost", "deposed"]


class StoppedClock:
    """Time that goes on when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def wall(self) -> datetime.datetime:
        return NOW + datetime.timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the controller does not sleep")


class Events:
    """What was recorded."""

    def __init__(self) -> None:
        self.recorded: list[tuple[str, str, str]] = []

    def record(self, regarding: object, type: str, reason: str, message: str) -> None:
        self.recorded.append((type, reason, message))

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.recorded]


class Server:
    """Objects as trees, by resource and name, all in one namespace."""

    def __init__(self, clock: StoppedClock) -> None:
        self.clock = clock
        self.trees: dict[tuple[str, str], JSON] = {}
        self.faults: deque[Fault] = deque()
        self.writes: list[tuple[str, str, str]] = []
        self.tell: Callable[[Resource, JSON, bool], None] = lambda *_: None
        self._late: list[tuple[Resource, JSON, bool]] = []
        self._versions = 0

    # What a client asks

    async def get(self, resource: Resource, name: str, *, type: Any, **_: Any) -> Any:
        return decoded(self._found(resource, name), type)

    async def create(self, resource: Resource, body: JSON, *, type: Any, **_: Any) -> Any:
        name = body["metadata"]["name"]
        fault = self._begin("create", resource, name)
        if (resource.name, name) in self.trees:
            raise AlreadyExists(f"{name} exists", code=409)
        tree = copy.deepcopy(body)
        tree["metadata"] |= {"uid": f"uid-{self._version()}", "creationTimestamp": timestamp(self.clock.wall())}
        if resource is PODS:
            tree["status"] = {"phase": "Pending"}
        return self._answer(fault, resource, tree, type)

    async def patch(self, resource: Resource, name: str, change: JSON, *, type: Any, **options: Any) -> Any:
        fault = self._begin(f"patch {options.get('subresource') or ''}".strip(), resource, name)
        tree = copy.deepcopy(self._found(resource, name))
        version = change.get("metadata", {}).get("resourceVersion")
        if version not in (None, tree["metadata"]["resourceVersion"]):
            raise Conflict(f"{name} has changed", code=409)
        merge(tree, change, is_strategic=options.get("form") == "strategic")
        return self._answer(fault, resource, tree, type)

    async def delete(self, resource: Resource, name: str, *, uid: str, type: Any, **_: Any) -> Any:
        fault = self._begin("delete", resource, name)
        tree = copy.deepcopy(self._found(resource, name))
        if uid != tree["metadata"]["uid"]:
            raise Conflict(f"{name} is another one", code=409)
        tree["metadata"].setdefault("deletionTimestamp", timestamp(self.clock.wall()))
        if tree["spec"].get("nodeName"):
            tree["metadata"]["deletionGracePeriodSeconds"] = 30
        return self._answer(fault, resource, tree, type)

    async def delete_collection(self, resource: Resource, *, labels: dict[str, str], **_: Any) -> None:
        self._begin("delete collection", resource, "")
        for name in [name for kind, name in self.trees if kind == resource.name]:
            tree = self.trees[resource.name, name]
            if labels.items() <= tree["metadata"]["labels"].items():
                await self.delete(resource, name, uid=tree["metadata"]["uid"], type=PodView)

    # What others do

    def put(self, resource: Resource, tree: JSON) -> None:
        """Stores an object and tells of it."""
        self._store(resource, tree)
        self.tell(resource, tree, False)

    def remove(self, resource: Resource, name: str) -> None:
        self.tell(resource, self.trees.pop((resource.name, name)), True)

    def all(self, resource: Resource) -> list[JSON]:
        return [tree for (kind, _), tree in self.trees.items() if kind == resource.name]

    def deliver(self) -> None:
        """The watch tells what became of the writes whose answers were lost."""
        late, self._late = self._late, []
        for resource, tree, is_gone in late:
            self.tell(resource, tree, is_gone)

    @property
    def is_late(self) -> bool:
        return bool(self._late)

    def _begin(self, verb: str, resource: Resource, name: str) -> Fault:
        self.writes.append((verb, resource.name, name))
        fault = self.faults.popleft() if self.faults else ""
        if fault == "refused":
            raise Forbidden(f"{verb} {name}: exceeded quota", code=403)
        if fault == "deposed":
            raise NotLeaderError("the term is over")
        return fault

    def _answer(self, fault: Fault, resource: Resource, tree: JSON, type: Any) -> Any:
        self._store(resource, tree)
        metadata = tree["metadata"]
        is_gone = "deletionTimestamp" in metadata and not (
            metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        )
        if is_gone:
            del self.trees[resource.name, metadata["name"]]
        if fault == "lost":
            self._late.append((resource, copy.deepcopy(tree), is_gone))
            raise Unreachable("the connection broke", may_have_acted=True)
        return decoded(tree, type)

    def _store(self, resource: Resource, tree: JSON) -> None:
        tree["metadata"]["resourceVersion"] = str(self._version())
        self.trees[resource.name, tree["metadata"]["name"]] = tree

    def _found(self, resource: Resource, name: str) -> JSON:
        found = self.trees.get((resource.name, name))
        if found is None:
            raise NotFound(f"{name} is not there", code=404)
        return found

    def _version(self) -> int:
        self._versions += 1
        return self._versions


def decoded(tree: JSON, type: Any) -> Any:
    """By way of text: a PodClique holds its pod spec so."""
    return msgspec.json.decode(msgspec.json.encode(tree), type=type)


def merge(tree: JSON, change: JSON, *, is_strategic: bool = False) -> None:
    """A merge patch; of strategic ones as much as is sent: what goes out of a list is named."""
    for key, value in change.items():
        if value is None:
            tree.pop(key, None)
        elif is_strategic and isinstance(value, list):
            gone = {one["name"] for one in value if one["$patch"] == "delete"}
            tree[key] = [one for one in tree.get(key) or () if one["name"] not in gone]
        elif isinstance(value, dict):
            if not isinstance(tree.get(key), dict):
                tree[key] = {}
            merge(tree[key], value, is_strategic=is_strategic)
        else:
            tree[key] = value


class Simulated:
    """One PodClique of one set, and its controller."""

    def __init__(
        self,
        held: PodCliqueView | None = None,
        found: PodCliqueSet | None = None,
        *,
        scheduler: str = "grove-scheduler",
    ) -> None:
        self.clock = StoppedClock()
        self.events = Events()
        self.server = Server(self.clock)
        client: Any = self.server
        self.caches = Caches(client, clock=self.clock, rng=random.Random(1))
        self.world = World(self.caches)
        self.server.tell = self._tell
        self._policy = Policy(default_scheduler=scheduler)
        self.restart()
        pcs_ = found or pcs()
        self.server.put(POD_CLIQUE_SETS, msgspec.to_builtins(pcs_))
        self.key = Key(NAMESPACE, "")
        self.add(held or clique())

    def restart(self) -> None:
        """The operator is killed and another one starts."""
        recorder: Any = self.events
        client: Any = self.server
        self.reconciler = PodCliqueReconciler(
            world=self.world,
            writer=Writer(client, self.caches),
            recorder=recorder,
            clock=self.clock,
            backends=Backends(self._policy),
            settings=PodSettings(waiter_image="grove-initc:1"),
        )

    def add(self, held: PodCliqueView) -> None:
        """A PodClique of the set; the last one added is the one that is looked at."""
        tree = msgspec.json.decode(msgspec.json.encode(held))
        owner = self.world.sets.get("demo", NAMESPACE)
        assert owner is not None
        tree["metadata"]["ownerReferences"] = [msgspec.to_builtins(owned_by(owner.metadata, "PodCliqueSet"))]
        self.server.put(POD_CLIQUES, tree)
        self.key = Key(NAMESPACE, held.metadata.name)

    async def reconcile(self) -> Outcome:
        return await self.reconciler(self.key)

    @property
    def clique(self) -> PodCliqueView:
        """As it is stored."""
        view: PodCliqueView = decoded(self.tree, PodCliqueView)
        return view

    @property
    def tree(self) -> JSON:
        return self.server.trees[POD_CLIQUES.name, self.key.name]

    @property
    def pods(self) -> list[PodView]:
        """As they are stored."""
        return [msgspec.convert(tree, PodView) for tree in self.server.all(PODS)]

    def change(self, **spec: Any) -> None:
        """Somebody changes the spec; `hash` is that of the template."""
        tree = copy.deepcopy(self.tree)
        if (hash := spec.pop("hash", None)) is not None:
            tree["metadata"]["labels"][labels.POD_TEMPLATE_HASH] = hash
        tree["spec"] |= spec
        tree["metadata"]["generation"] += 1
        self.server.put(POD_CLIQUES, tree)

    def move(
        self, name: str, *, node: str = "", ready: bool | None = None, phase: str = "", code: int | None = None
    ) -> None:
        """What a scheduler and a kubelet do to a pod; `code`: its container ended with it, and was started again."""
        tree = copy.deepcopy(self.server.trees[PODS.name, name])
        if node:
            tree["spec"]["nodeName"] = node
        status = tree["status"]
        if ready is not None:
            status["conditions"] = [
                {
                    "type": "Ready",
                    "status": str(ready),
                    "lastTransitionTime": timestamp(self.clock.wall()),
                }
            ]
            status["phase"] = "Running"
        if phase:
            status["phase"] = phase
        if code is not None:
            ended = {"terminated": {"exitCode": code}}
            status["containerStatuses"] = [{"name": "main", "started": True, "ready": False, "lastState": ended}]
        self.server.put(PODS, tree)

    def _tell(self, resource: Resource, tree: JSON, is_gone: bool) -> None:
        found = self.caches.of(resource)
        assert found is not None
        cache, type = found
        (cache.deleted if is_gone else cache.wrote)(decoded(tree, type))

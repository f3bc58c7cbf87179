"""An API server made of memory, as far as simulated nodes speak to one, and a whole process of theirs on it.

Answers at once, unless it is told to be away; what it was asked to write is in `writes`. Everything runs in virtual
time.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from grove.api import codec
from grove.api.fields import Struct
from grove.kube import selectors
from grove.kube.client import Client
from grove.kube.connection import Connection
from grove.kube.decoding import Bookmark, Event, Page
from grove.kube.errors import AlreadyExists, Cause, Conflict, NotFound, StatusDetails, TooManyRequests, Unreachable
from grove.kube.resources import NODES, PODS, Resource
from grove.nodes.moments import seconds, stamp
from grove.nodes.process import Clients, Process, Settings
from grove.nodes.shape import Shape
from grove.testing.virtualtime import VirtualClock, run

JSON = dict[str, Any]
Rows = list[JSON]
Watched = tuple[str, Callable[[JSON], bool], asyncio.Queue[tuple[str, JSON]]]

MERGED = {"conditions": "type", "addresses": "type"}
"""Lists that a strategic patch merges, with the key that tells their items apart."""


class Write(NamedTuple):
    """One request that changed something."""

    verb: str
    resource: str
    name: str
    subresource: str
    at: float


class ApiServer:
    """See the top of the module. Stands in for a Client as well."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.objects: dict[tuple[str, str, str], JSON] = {}
        self.writes: list[Write] = []
        self.tokens: list[JSON] = []
        self.protected: set[str] = set()
        """Names of pods that a disruption budget keeps from being evicted."""
        self.is_away = False
        self.closed = 0
        """How often somebody has left it."""
        self._revision = 100
        self._watches: list[Watched] = []

    # What tests do

    def get_now(self, resource: Resource, name: str, namespace: str = "") -> JSON | None:
        return self.objects.get((resource.plural, namespace, name))

    def node(self, name: str) -> JSON:
        return self.objects["nodes", "", name]

    def pod(self, name: str) -> JSON:
        return self.objects["pods", "default", name]

    def has_pod(self, name: str) -> bool:
        return ("pods", "default", name) in self.objects

    def put_pod(self, name: str, node: str = "fake-node-001", *, annotations: JSON | None = None, **spec: Any) -> JSON:
        body = {
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "main:v1"}]} | spec,
            "status": {"phase": "Pending"},
        }
        return self._put("pods", "default", name, body)

    def edit(self, resource: Resource, name: str, change: JSON, namespace: str = "") -> JSON:
        """A merge patch by somebody else."""
        held = self.objects[resource.plural, namespace, name]
        return self._put(resource.plural, namespace, name, merged(held, change))

    def annotate(self, resource: Resource, name: str, namespace: str = "", **annotations: str | None) -> JSON:
        change = {f"simulate.grove.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
        return self.edit(resource, name, {"metadata": {"annotations": change}}, namespace)

    def stop_pod(self, name: str, grace: int = 30) -> None:
        """What a deletion with a grace period does."""
        moment = stamp(self.clock.wall().timestamp() + grace)
        change = {"metadata": {"deletionTimestamp": moment, "deletionGracePeriodSeconds": grace}}
        self.edit(PODS, name, change, "default")

    def remove(self, resource: Resource, name: str, namespace: str = "") -> None:
        held = self.objects.pop((resource.plural, namespace, name))
        self._tell("DELETED", resource.plural, held, self._stamped(held))

    def count(self, **wanted: str) -> int:
        return sum(all(getattr(one, key) == value for key, value in wanted.items()) for one in self.writes)

    # What a client does

    def fenced(self, _: object) -> ApiServer:
        return self

    async def __aenter__(self) -> ApiServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed += 1

    async def get(self, resource: Resource, name: str, *, namespace: str = "", type: Any = JSON, **_: Any) -> Any:
        await self._arrive()
        return self._read(self._find(resource, namespace, name), type)

    async def list(self, resource: Resource, *, limit: int = 0, type: Any = JSON, **_: Any) -> Any:
        await self._arrive()
        return Page([self._read(one, type) for one in self._all(resource.plural)], str(self._revision))

    async def create(
        self,
        resource: Resource,
        body: Any,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        type: Any = JSON,
    ) -> Any:
        await self._arrive()
        made = plain(body)
        self._note("create", resource, name or made["metadata"]["name"], subresource)
        if subresource == "eviction":
            return self._evict(namespace, name)
        if subresource == "token":
            self.tokens.append(made)
            expires = stamp(self.clock.wall().timestamp() + made["spec"]["expirationSeconds"])
            answer = {"status": {"token": f"token-{len(self.tokens)}", "expirationTimestamp": expires}}
            return self._read(answer, type)
        key = (resource.plural, namespace, made["metadata"]["name"])
        if key in self.objects:
            raise AlreadyExists("there is one", code=409)
        return self._read(self._put(*key, made), type)

    async def update(self, resource: Resource, name: str, body: Any, *, namespace: str = "", type: Any = JSON) -> Any:
        await self._arrive()
        self._find(resource, namespace, name)
        self._note("update", resource, name, "")
        return self._read(self._put(resource.plural, namespace, name, plain(body)), type)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Any,
        *,
        namespace: str = "",
        subresource: str = "",
        form: str = "merge",
        type: Any = JSON,
    ) -> Any:
        await self._arrive()
        self._note("patch", resource, name, subresource)
        held, wanted = self._find(resource, namespace, name), plain(change)
        conditions = wanted.get("metadata", {})
        for key in ("uid", "resourceVersion"):
            if conditions.get(key, held["metadata"][key]) != held["metadata"][key]:
                raise Conflict(f"{key} differs", code=409)
        merge = strategic if form == "strategic" else merged
        return self._read(self._put(resource.plural, namespace, name, merge(held, wanted)), type)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        grace_period: int | None = None,
        uid: str = "",
        type: Any = JSON,
        **_: Any,
    ) -> Any:
        await self._arrive()
        held = self._find(resource, namespace, name)
        if uid and held["metadata"]["uid"] != uid:
            raise Conflict("another uid", code=409)
        self._note("delete", resource, name, "")
        self.remove(resource, name, namespace)
        return None

    async def _pages(self, resource: Resource, labels: str, fields: str, type: Any) -> AsyncIterator[Page[Any]]:
        await self._arrive()
        chosen = chooser(labels, fields)
        found = [self._read(one, type) for one in self._all(resource.plural) if chosen(one)]
        yield Page(found, str(self._revision))

    def pages(self, resource: Resource, *, labels: str, fields: str, type: Any, **_: Any) -> AsyncIterator[Page[Any]]:
        return self._pages(resource, labels, fields, type)

    @contextlib.asynccontextmanager
    async def watch(
        self, resource: Resource, *, labels: str, fields: str, type: Any, **_: Any
    ) -> AsyncIterator[AsyncIterator[Event[Any] | Bookmark]]:
        await self._arrive()
        arrived: asyncio.Queue[tuple[str, JSON]] = asyncio.Queue()
        chosen = chooser(labels, fields)
        entry = (resource.plural, chosen, arrived)
        before = [one for one in self._all(resource.plural) if chosen(one)]
        self._watches.append(entry)

        async def events() -> AsyncIterator[Event[Any] | Bookmark]:
            for one in before:
                yield Event("ADDED", self._read(one, type))
            yield Bookmark(str(self._revision), initial_events_end=True)
            while True:
                kind, found = await arrived.get()
                yield Event(cast(Any, kind), self._read(found, type))

        try:
            yield events()
        finally:
            self._watches.remove(entry)

    # How it works

    async def _arrive(self) -> None:
        await self.clock.sleep(0)
        if self.is_away:
            raise Unreachable("away", may_have_acted=False)

    def _note(self, verb: str, resource: Resource, name: str, subresource: str) -> None:
        self.writes.append(Write(verb, resource.plural, name, subresource, self.clock.monotonic()))

    def _find(self, resource: Resource, namespace: str, name: str) -> JSON:
        found = self.objects.get((resource.plural, namespace, name))
        if found is None:
            raise NotFound(f"{name} not found", code=404)
        return found

    def _all(self, plural: str) -> Rows:
        return [one for key, one in self.objects.items() if key[0] == plural]

    def _read(self, obj: JSON, type: Any) -> Any:
        text = msgspec.json.encode(obj)
        return msgspec.Raw(text) if type is msgspec.Raw else msgspec.json.decode(text, type=type)

    def _stamped(self, obj: JSON) -> JSON:
        self._revision += 1
        made = copy.deepcopy(obj)
        made["metadata"]["resourceVersion"] = str(self._revision)
        made["metadata"].setdefault("uid", f"uid-{self._revision}")
        return made

    def _put(self, plural: str, namespace: str, name: str, obj: JSON) -> JSON:
        held = self.objects.get((plural, namespace, name))
        if held is not None and without_version(held) == without_version(obj):
            return held  # what changes nothing is not stored, and nobody is told
        made = self.objects[plural, namespace, name] = self._stamped(obj)
        made["metadata"].setdefault("creationTimestamp", stamp(self.clock.wall().timestamp()))
        self._tell("ADDED" if held is None else "MODIFIED", plural, held or made, made)
        return made

    def _tell(self, kind: str, plural: str, old: JSON, new: JSON) -> None:
        for watched, chosen, queue in self._watches:
            if watched == plural and (chosen(old) or chosen(new)):
                queue.put_nowait((kind if chosen(new) else "DELETED", new))

    def _evict(self, namespace: str, name: str) -> JSON:
        self._find(PODS, namespace, name)
        if name in self.protected:
            details = StatusDetails(causes=(Cause(reason="DisruptionBudget"),))
            raise TooManyRequests("would violate the budget", code=429, details=details)
        self.stop_pod(name, 1)
        return {}


def plain(body: Any) -> JSON:
    """What is sent, as the server reads it."""
    text = codec.encode_json(body) if isinstance(body, Struct) else msgspec.json.encode(body)
    found: JSON = msgspec.json.decode(text)
    return found


def without_version(obj: JSON) -> JSON:
    return {**obj, "metadata": {key: one for key, one in obj["metadata"].items() if key != "resourceVersion"}}


def merged(held: Any, change: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(change, dict):
        return change
    found = dict(held) if isinstance(held, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def strategic(held: Any, change: Any, name: str = "") -> Any:
    """A strategic merge patch, as far as statuses need it."""
    if isinstance(change, list) and name in MERGED:
        key = MERGED[name]
        found = {one[key]: one for one in held or []}
        for one in change:
            found[one[key]] = strategic(found.get(one[key], {}), one)
        return list(found.values())
    if not isinstance(change, dict):
        return change
    result = dict(held) if isinstance(held, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, (dict, list)):
            result[key] = strategic(result.get(key), value, key)
        else:
            result[key] = value
    return result


def chooser(labels: str, fields: str) -> Callable[[JSON], bool]:
    by_labels, by_fields = selectors.labels(labels), selectors.labels(fields)
    names = [re.split("[!=]", one)[0] for one in fields.split(",") if one]

    def choose(obj: Mapping[str, Any]) -> bool:
        values = {name: value_at(obj, name) for name in names}
        return by_labels(obj["metadata"].get("labels") or {}) and by_fields(values)

    return choose


def value_at(obj: Mapping[str, Any], path: str) -> str:
    """What a field selector compares; empty where there is nothing."""
    found: Any = obj
    for part in path.split("."):
        found = found.get(part) or {}
    return str(found or "")


# A process on it


def settings(count: int = 1, **rest: Any) -> Settings:
    resources: Any = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    shape = {key: rest.pop(key) for key in tuple(rest) if key in Shape.__struct_fields__}
    return Settings(shape=Shape(count=count, **({"resources": resources} | shape)), **rest)


class Simulation:
    """The process that keeps a fleet, running; it can be killed and started again."""

    def __init__(self, server: ApiServer, chosen: Settings) -> None:
        self.server = server
        self.said: list[str] = []
        self._task: asyncio.Task[None] | None = None
        self._settings = chosen
        self._seed = 0

    def start(self) -> asyncio.Task[None]:
        self._seed += 1
        client = cast(Client, self.server)
        self.process = Process(
            Connection(server="https://fake"),
            self._settings,
            clients=Clients(client, client, client, client),
            clock=self.server.clock,
            rng=random.Random(self._seed),
            announce=self.said.append,
        )
        self._task = asyncio.ensure_future(self.process.manager.run())
        return self._task

    async def kill(self) -> None:
        """Ends it without a chance to write anything more."""
        assert self._task is not None
        self.server.is_away = True
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self._task
        self.server.is_away = False

    async def until(self, condition: Callable[[], object], *, within: float = 120.0) -> None:
        """Returns when it is so, looked at in virtual time."""
        end = self.server.clock.monotonic() + within
        while not condition():
            assert self.server.clock.monotonic() < end, f"not so within {within:g} s"
            assert self._task is None or not self._task.done(), "the process has ended"
            await self.server.clock.sleep(0.25)

    async def wait(self, seconds: float) -> None:
        await self.server.clock.sleep(seconds)


def simulate(
    scene: Callable[[Simulation], Awaitable[None]], *, chosen: Settings | None = None, start: bool = True
) -> None:
    """Plays a scene with a running process, whose nodes are ready."""

    async def play(clock: VirtualClock) -> None:
        simulation = Simulation(ApiServer(clock), chosen or settings())
        task = None
        if start:
            task = simulation.start()
            await simulation.until(lambda: simulation.said)
        try:
            await scene(simulation)
        finally:
            if task is not None and not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
                    await task

    run(play)


def condition(obj: JSON, type: str) -> JSON:
    found: JSON = next((one for one in obj["status"].get("conditions", ()) if one["type"] == type), {"status": ""})
    return found


def is_ready(obj: JSON) -> bool:
    return bool(obj.get("status")) and condition(obj, "Ready")["status"] == "True"


def renewed(server: ApiServer, node: str) -> float:
    """When the node's lease was renewed, in the server's monotonic time; -1 if there is none."""
    lease = server.objects.get(("leases", "kube-node-lease", node))
    if lease is None:
        return -1.0
    at = seconds(lease["spec"]["renewTime"])
    assert at is not None
    return at - server.clock.wall().timestamp() + server.clock.monotonic()


__all__ = ["NODES", "PODS", "ApiServer", "Simulation", "simulate"]

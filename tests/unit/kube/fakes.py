"""An API server of one resource, made of memory, and a clock that stands still: for tests of the cache.

The server keeps its whole history, so that it can answer as it would have at any moment, and says 410 to watches that
begin before what it pretends to have compacted. What a watch delivers, and when, is up to the test.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple

import msgspec

from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta, OwnerReference
from grove.kube.decoding import Bookmark, Event, Page
from grove.kube.errors import Gone, KubeError, Unreachable


class Thing(Struct, frozen=True, kw_only=True):
    """An object as small as one can be."""

    metadata: ObjectMeta
    value: int = 0


def owned_by(uid: str) -> tuple[OwnerReference, ...]:
    return (OwnerReference(api_version="v1", kind="Owner", name=uid, uid=uid),)


def thing(
    name: str, version: int | str, *, uid: str = "", namespace: str = "ns", value: int = 0, **rest: object
) -> Thing:
    metadata = ObjectMeta(name=name, namespace=namespace, uid=uid or f"uid-{name}", resource_version=str(version))
    return Thing(metadata=msgspec.structs.replace(metadata, **rest), value=value)


def version_of(obj: Thing) -> int:
    return int(obj.metadata.resource_version or 0)


class Write(NamedTuple):
    """What happened at a revision; no new object for a deletion."""

    revision: int
    old: Thing | None
    new: Thing | None


class FakeServer:
    """One collection of things."""

    def __init__(self, *, selects: Callable[[Thing], bool] = lambda _: True) -> None:
        self.selects = selects
        self.revision = 100
        self.compacted = 0
        self.things: dict[str, Thing] = {}
        self.history: list[Write] = []
        self._uids = 0

    def create(self, name: str, **rest: object) -> Thing:
        self._uids += 1
        return self._store(name, thing(name, 0, uid=f"uid-{self._uids}", **rest))  # type: ignore[arg-type]

    def update(self, name: str, *, value: int | None = None, **metadata: object) -> Thing:
        """As the API server: what loses its last finalizer after its deletion was asked for is deleted."""
        old = self.things[name]
        changed = msgspec.structs.replace(
            old,
            metadata=msgspec.structs.replace(old.metadata, **metadata),
            value=old.value if value is None else value,
        )
        if changed.metadata.deletion_timestamp and not changed.metadata.finalizers:
            return self._remove(name, changed)
        return self._store(name, changed)

    def delete(self, name: str) -> Thing:
        """The object as it is returned: asked to go if a finalizer holds it, else gone."""
        old = self.things[name]
        if old.metadata.finalizers:
            return self.update(name, deletion_timestamp="2026-11-18T00:00:00Z", deletion_grace_period_seconds=0)
        return self._remove(name, old)

    def elsewhere(self) -> int:
        """A write to another resource of the same etcd."""
        self.revision += 1
        return self.revision

    def at(self, revision: int) -> dict[str, Thing]:
        """What was there at a revision, by uid."""
        found: dict[str, Thing] = {}
        for write in self.history:
            if write.revision <= revision:
                if write.new is not None:
                    found[write.new.metadata.uid or ""] = write.new
                elif write.old is not None:
                    del found[write.old.metadata.uid or ""]
        return {uid: one for uid, one in found.items() if self.selects(one)}

    def event(self, write: Write) -> Event[Thing] | None:
        """What a watch is told of a write: coming into and going out of the selection look like life and death."""
        was = write.old is not None and self.selects(write.old)
        if write.new is not None and self.selects(write.new):
            return Event("MODIFIED" if was else "ADDED", write.new)
        if was and write.old is not None:
            gone = msgspec.structs.replace(write.old.metadata, resource_version=str(write.revision))
            return Event("DELETED", msgspec.structs.replace(write.old, metadata=gone))
        return None

    def since(self, revision: int) -> list[Event[Thing]]:
        if revision < self.compacted:
            raise gone(revision)
        return [event for write in self.history if write.revision > revision and (event := self.event(write))]

    def _store(self, name: str, new: Thing) -> Thing:
        self.revision += 1
        metadata = msgspec.structs.replace(new.metadata, resource_version=str(self.revision))
        new = msgspec.structs.replace(new, metadata=metadata)
        self.history.append(Write(self.revision, self.things.get(name), new))
        self.things[name] = new
        return new

    def _remove(self, name: str, last: Thing) -> Thing:
        self.revision += 1
        self.history.append(Write(self.revision, self.things.pop(name), None))
        metadata = msgspec.structs.replace(last.metadata, resource_version=str(self.revision))
        return msgspec.structs.replace(last, metadata=metadata)


def gone(revision: int) -> Gone:
    return Gone(f"too old resource version: {revision}", code=410, reason="Expired")


class Pipe:
    """One watch: what the server has to say, and what has come through to the cache."""

    def __init__(self) -> None:
        self.pending: collections.deque[Event[Thing] | Bookmark] = collections.deque()
        self._arrived: asyncio.Queue[Event[Thing] | Bookmark | KubeError | None] = asyncio.Queue()

    def deliver(self, count: int | None = None) -> None:
        for _ in range(len(self.pending) if count is None else min(count, len(self.pending))):
            self._arrived.put_nowait(self.pending.popleft())

    def inject(self, event: Event[Thing] | Bookmark) -> None:
        """Delivers something out of turn."""
        self._arrived.put_nowait(event)

    def end(self, error: KubeError | None = None) -> None:
        """The server ends the watch, or it breaks; what is pending never arrives."""
        self.pending.clear()
        self._arrived.put_nowait(error)

    async def events(self) -> AsyncGenerator[Event[Thing] | Bookmark, None]:
        while (item := await self._arrived.get()) is not None:
            if isinstance(item, KubeError):
                raise item
            yield item


class FakeSource:
    """The source of a cache. Everything it was asked for is in `asked`."""

    def __init__(self, server: FakeServer, *, streams: bool = True, page_size: int = 2) -> None:
        self.server = server
        self.streams = streams
        self.ignores_streaming = False
        self.page_size = page_size
        self.lag = 0
        self.list_failures: collections.deque[KubeError] = collections.deque()
        self.pipe: Pipe | None = None
        self.asked: list[str] = []

    async def pages(self) -> AsyncGenerator[Page[Thing], None]:
        self.asked.append("list")
        if self.list_failures:
            raise self.list_failures.popleft()
        revision = self._stale_revision()
        items = [*self.server.at(revision).values()]
        for first in range(0, max(len(items), 1), self.page_size):
            yield Page(items[first : first + self.page_size], str(revision))

    async def watch(self, revision: str, *, initial_events: bool) -> AsyncGenerator[Event[Thing] | Bookmark, None]:
        self.asked.append("stream" if initial_events else f"watch {revision}")
        pipe = Pipe()
        if initial_events:
            if self.list_failures:
                raise self.list_failures.popleft()
            if not self.streams:
                raise _refused()
            start = self._stale_revision()
            pipe.pending.extend(Event[Thing]("ADDED", one) for one in self.server.at(start).values())
            pipe.pending.append(Bookmark(str(start), initial_events_end=not self.ignores_streaming))
            pipe.deliver()
        else:
            start = int(revision)
        pipe.pending.extend(self.server.since(start))
        self.pipe = pipe
        try:
            async for event in pipe.events():
                yield event
        finally:
            if self.pipe is pipe:
                self.pipe = None

    def tell(self) -> None:
        """Puts the newest write into the open watch; the test decides when it is delivered."""
        write = self.server.history[-1]
        if self.pipe is not None and (event := self.server.event(write)):
            self.pipe.pending.append(event)

    def _stale_revision(self) -> int:
        lag, self.lag = self.lag, 0
        return max(self.server.revision - lag, self.server.compacted, 1)


def _refused() -> KubeError:
    from grove.kube.errors import Invalid

    return Invalid("sendInitialEvents is forbidden for watch", code=422)


def cut() -> Unreachable:
    return Unreachable("connection reset", may_have_acted=False)


class FakeClock:
    """Time passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, woken))
        await woken

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [one for one in self._sleepers if one[0] <= self.now]
        self._sleepers = [one for one in self._sleepers if one[0] > self.now]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)


async def settle() -> None:
    """Lets every task run until all of them wait for the test: nothing here takes more turns than this."""
    for _ in range(25):
        await asyncio.sleep(0)


def recompute(things: Mapping[str, Thing], keys: Callable[[Thing], list[str]]) -> dict[str, set[str]]:
    """An index as it should be: uids by key."""
    found: dict[str, set[str]] = {}
    for uid, one in things.items():
        for key in keys(one):
            found.setdefault(key, set()).add(uid)
    return found

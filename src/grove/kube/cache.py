"""A resource of the cluster in memory: listed once, followed by a watch, and never older than our own last write.

    cache = Cache(ClientSource(client, PODS, type=PodView), clock=clock, rng=rng, indexes={"owner": by_owner})
    group.create_task(cache.run())
    await cache.synced()
    pods = cache.find("owner", clique.metadata.uid)

What may be held is decided by `store.py`; here is what goes on over the network and in time. A list that streams is
used where the server has it, else one in pages. A watch that ends goes on at its last version, after 410 Gone all is
listed anew; what fails again and again is tried ever less often. Cancelling `run` ends it.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.decoding import Bookmark, Event
from grove.kube.errors import BadRequest, Gone, Invalid, KubeError
from grove.kube.indexes import KeysOf
from grove.kube.sharing import Sharing
from grove.kube.source import Source
from grove.kube.store import Change, Store, changes_to, metadata_of
from grove.kube.store import Statistics as StoreStatistics

T = TypeVar("T")
Handler: TypeAlias = Callable[[Change[T]], None]

log = logging.getLogger(__name__)

STEADY: Final = 5.0
"""Seconds after which a watch that ends was no failure."""
FRUITLESS: Final = 3
"""After so many watches in a row that ended at once and told nothing, all is listed anew."""


class Clock(Protocol):
    """As much of a clock as a cache needs."""

    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class Pace(msgspec.Struct, frozen=True):
    """How long to wait after failures in a row: twice as long each time, by chance between half of it and all of it."""

    first: float = 0.5
    longest: float = 30.0

    def delay(self, failures: int, rng: random.Random) -> float:
        bound = min(self.longest, self.first * 2.0 ** min(failures - 1, 32))
        return bound * rng.uniform(0.5, 1.0)


class Statistics(msgspec.Struct, frozen=True):
    """What a cache holds, and how it got there."""

    store: StoreStatistics
    synced: bool
    age: float | None
    """Seconds since the server last told anything; None before the first list."""
    lists: int
    """Complete lists taken over, in pages or streamed."""
    streamed: int
    watches: int
    events: int
    bookmarks: int
    failures: int
    """Lists and watches that failed, 410 Gone included."""
    gone: int
    handler_errors: int


class NotStreamed(Exception):
    """The server does not stream lists."""


class Cache(Generic[T]):
    """One resource, as far as `source` chooses it. Reads give the objects held: they must not be changed."""

    def __init__(
        self,
        source: Source[T],
        *,
        clock: Clock,
        rng: random.Random,
        name: str = "",
        indexes: Mapping[str, KeysOf[T]] | None = None,
        matches: Callable[[ObjectMeta, T], bool] | None = None,
        sharing: Sharing | None = None,
        streaming: bool = True,
        pace: Pace = Pace(),  # noqa: B008 - frozen
        on_failure: Callable[[KubeError], None] | None = None,
    ) -> None:
        """`matches` is for a source with selectors: `source.py` makes one. `sharing` may serve several caches.

        `on_failure` is told of lists and watches that fail, 410 Gone included; without it they are logged.
        """
        self.name = name
        self._source = source
        self._clock = clock
        self._rng = rng
        self._sharing = sharing
        self._streaming = streaming
        self._pace = pace
        self._on_failure = on_failure or self._log_failure
        self._store: Store[T] = Store(indexes=indexes or {}, matches=matches)
        self._handlers: list[Handler[T]] = []
        self._untold: collections.deque[tuple[Handler[T], Change[T]]] = collections.deque()
        self._telling = False
        self._synced = asyncio.Event()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._resume: str | None = None
        self._broke_off = False  # a list that was being streamed: the next one comes in pages
        self._heard_at: float | None = None
        self._listen_count = 0
        self._lists = self._streamed = self._watches = self._events = self._bookmarks = 0
        self._failures = self._gone = self._handler_errors = 0

    # Reading

    def __len__(self) -> int:
        return len(self._store)

    def __iter__(self) -> Iterator[T]:
        return iter(self._store)

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._store.get(namespace, name)

    def by_uid(self, uid: str) -> T | None:
        return self._store.by_uid(uid)

    def list(self, namespace: str | None = None) -> tuple[T, ...]:
        """All objects, or those of a namespace."""
        return self._store.list(namespace)

    def find(self, index: str, key: Hashable) -> tuple[T, ...]:
        """The objects that an index has under a key."""
        return self._store.find(index, key)

    def keys(self, index: str) -> tuple[Hashable, ...]:
        """All keys of an index."""
        return self._store.keys(index)

    # Following

    def follow(self, handler: Handler[T]) -> Callable[[], None]:
        """Calls `handler` with every change, in order, and first with what is there as added. The result ends that.

        A handler is quick and does not wait: it puts a key into a queue. What it raises is logged and counted, and
        keeps nothing from anyone else.
        """
        self._handlers.append(handler)
        self._untold.extend((handler, change) for change in changes_to(self._store.list()))
        self._tell()
        return lambda: self._handlers.remove(handler)

    # How far it has come

    @property
    def is_synced(self) -> bool:
        """Whether a complete list was taken over once."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Returns when a complete list was taken over."""
        await self._synced.wait()

    @property
    def revision(self) -> str:
        """The newest revision that the server has told; empty before the first list."""
        return self._store.revision

    async def wait_for(self, revision: str) -> None:
        """Returns when the watch has come to a revision, of an object of this resource or of a list of it.

        Not needed to see a write of ours: it is seen at once. Raises ValueError where versions are not numbers.
        """
        if not self._store.has_reached(revision):
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((revision, reached))
            await reached

    def age(self) -> float | None:
        """Seconds since the server last told anything; with a healthy watch never much more than a minute."""
        return None if self._heard_at is None else self._clock.monotonic() - self._heard_at

    def statistics(self) -> Statistics:
        return Statistics(
            store=self._store.statistics(),
            synced=self.is_synced,
            age=self.age(),
            lists=self._lists,
            streamed=self._streamed,
            watches=self._watches,
            events=self._events,
            bookmarks=self._bookmarks,
            failures=self._failures,
            gone=self._gone,
            handler_errors=self._handler_errors,
        )

    # Our own writes

    def wrote(self, obj: T) -> None:
        """Takes over what a create, update or patch of ours returned: the next read sees it, or something newer."""
        self._pass_on(self._store.apply_write(self._shared(obj)))

    def deleted(self, obj: T) -> None:
        """Takes over that an object is gone, because a deletion of ours succeeded or the server does not know it.

        The object is any version of it. Where the deletion waits for finalizers or for a grace period, the server has
        returned the object: that is for `wrote`.
        """
        self._pass_on(self._store.apply_delete(obj))

    # Running

    async def run(self) -> None:
        """Lists and follows until it is cancelled. Errors that are not the server's or the network's end it."""
        failures = 0
        while True:
            began, listened = self._clock.monotonic(), self._listen_count
            try:
                await self._once()
                has_failed = False
            except Gone as error:
                self._gone += 1
                self._resume = None
                has_failed = self._failed(error)
            except KubeError as error:
                has_failed = self._failed(error)
            has_listened = self._listen_count > listened
            if not has_failed and self._clock.monotonic() - began >= STEADY:
                failures = 0
                continue
            failures = 1 if has_listened else failures + 1
            if failures >= FRUITLESS and not has_failed:
                self._resume = None
            await self._clock.sleep(self._pace.delay(failures, self._rng))

    async def _once(self) -> None:
        """A list if one is needed, and one watch, to its end."""
        if self._resume is None and self._streaming and not self._broke_off:
            try:
                await self._stream()
            except (NotStreamed, BadRequest, Invalid):
                self._streaming = False
            else:
                return
        if self._resume is None:
            await self._list()
        assert self._resume is not None
        self._watches += 1
        async with contextlib.aclosing(self._source.watch(self._resume, initial_events=False)) as events:
            async for event in events:
                self._take(event)

    async def _list(self) -> None:
        items: list[T] = []
        revision = ""
        async with contextlib.aclosing(self._source.pages()) as pages:
            async for page in pages:
                items.extend(self._shared(obj) for obj in page.items)
                revision = page.resource_version
        self._replace(items, revision)

    async def _stream(self) -> None:
        """A watch that begins with what is there, up to a bookmark that says so, and goes on."""
        self._watches += 1
        self._broke_off = True
        initial: dict[str, T] | None = {}
        async with contextlib.aclosing(self._source.watch("", initial_events=True)) as events:
            async for event in events:
                if initial is None:
                    self._take(event)
                elif isinstance(event, Bookmark):
                    if not event.initial_events_end:
                        raise NotStreamed  # an ordinary one: the server has passed over what it does not know
                    self._streamed += 1
                    self._replace([*initial.values()], event.resource_version)
                    initial = None
                elif event.type == "DELETED":
                    initial.pop(metadata_of(event.object).uid or "", None)
                else:
                    initial[metadata_of(event.object).uid or ""] = self._shared(event.object)

    def _replace(self, items: Sequence[T], revision: str) -> None:
        self._lists += 1
        changes = self._store.replace(items, revision)
        self._resume = revision
        self._broke_off = False
        self._hear()
        self._pass_on(changes)
        self._synced.set()

    def _take(self, event: Event[T] | Bookmark) -> None:
        self._listen_count += 1
        if isinstance(event, Bookmark):
            self._bookmarks += 1
            self._resume = event.resource_version
            self._store.apply_bookmark(event.resource_version)
            self._hear()
            return
        self._events += 1
        self._resume = metadata_of(event.object).resource_version
        changes = self._store.apply_event(event.type, self._shared(event.object))
        self._hear()
        self._pass_on(changes)

    def _hear(self) -> None:
        self._heard_at = self._clock.monotonic()
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for revision, reached in waiting:
                if reached.done():
                    continue
                try:
                    if self._store.has_reached(revision):
                        reached.set_result(None)
                    else:
                        self._waiting.append((revision, reached))
                except ValueError as error:
                    reached.set_exception(error)

    def _failed(self, error: KubeError) -> bool:
        self._failures += 1
        self._on_failure(error)
        return True

    def _log_failure(self, error: KubeError) -> None:
        log.info("cache lost its server", extra={"cache": self.name, "error": str(error)})

    def _shared(self, obj: T) -> T:
        return obj if self._sharing is None else self._sharing.share(obj)

    # Telling handlers

    def _pass_on(self, changes: tuple[Change[T], ...]) -> None:
        if changes and self._handlers:
            self._untold.extend((handler, change) for change in changes for handler in self._handlers)
            self._tell()

    def _tell(self) -> None:
        """In order also where a handler brings about further changes: those come after the ones being told."""
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                handler, change = self._untold.popleft()
                try:
                    handler(change)
                except Exception:  # the boundary to whoever follows
                    self._handler_errors += 1
                    log.exception("cache handler failed", extra={"cache": self.name})
        finally:
            self._telling = False

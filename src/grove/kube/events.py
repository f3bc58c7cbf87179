"""Records what happened to an object as Events, for `kubectl describe`.

    recorder.record(pod, "Warning", "GangUnplaceable", "2 of 8 pods fit rack r1")       # returns at once, never fails
    await recorder.run()                                                                # sends, until it is cancelled

An Event costs a write, and a user reads few of them:

- What happens again (same object, type, reason and message) raises the count of the Event that there is.
- After `SIMILAR` messages that differ only in their text, one Event stands for all that follow, with the last message.
- An object has `BURST` writes at once and one more every `REFILL` seconds: a loop that records in every round cannot
  flood the server. What happens meanwhile is counted and goes out with the next write.
- The queue is bounded. What does not fit, and what the server refuses, is dropped and counted.

What is waiting is sent once more when `run` is cancelled, within `DRAIN` seconds.
"""

import asyncio
import contextlib
import datetime
import logging
import random
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from grove.kube.clock import Clock

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]
EventObject = dict[str, Any]

SIMILAR = 10
SIMILAR_SECONDS = 600.0
BURST = 25
REFILL = 30.0
MEMORY = 4096  # objects and Events that are remembered; the oldest are forgotten, and begin anew
TRIES = 3
SHORTEST_WAIT = 0.1  # seconds; also what keeps rounding errors from making the loop spin
DRAIN = 5.0
MAX_MESSAGE = 1024


class EventRefused(Exception):
    """The server will not take an Event, however often it is sent: its namespace is gone, or going."""


class EventStore(Protocol):
    """Where Events are kept. Raises EventRefused, and whatever else it likes when a write fails."""

    async def create(self, event: EventObject) -> None: ...

    async def patch(self, namespace: str, name: str, change: EventObject) -> bool:
        """False if there is no such Event (any more: the server forgets them after an hour)."""
        ...


@dataclass(frozen=True)
class Regarding:
    """The object that an Event is about; cluster-scoped without a namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True)
class RecorderStatistics:
    """What became of what was recorded; `recorded` is the sum of waiting, counted, sent and dropped ones."""

    recorded: int
    waiting: int  # Events in the queue
    created: int
    patched: int
    dropped: int  # occurrences, because the queue was full or the server refused
    failures: int  # requests that failed


@dataclass(frozen=True)
class Occurrence:
    """What makes two Events the same. An empty message stands for many that differ in nothing else."""

    regarding: Regarding
    type: EventType
    reason: str
    message: str


@dataclass
class Pending:
    """An Event that waits to be sent."""

    message: str
    first: datetime.datetime
    last: datetime.datetime
    count: int = 1
    tries: int = 0


@dataclass
class Sent:
    """An Event that is stored."""

    name: str
    count: int


@dataclass
class Allowance:
    """A bucket of writes for one object."""

    left: float
    at: float
    # For each type and reason: the messages seen, and since when.
    messages: dict[tuple[str, str], tuple[float, set[str]]] = field(default_factory=dict)


class Recorder:
    """See the top of the module."""

    def __init__(
        self,
        store: EventStore,
        *,
        component: str,
        instance: str,
        clock: Clock,
        rng: random.Random,
        capacity: int = 1000,
        retry_seconds: float = 1.0,
    ) -> None:
        self.name = "events"
        self._store = store
        self._component = component
        self._instance = instance
        self._clock = clock
        self._rng = rng
        self._capacity = capacity
        self._retry_seconds = retry_seconds
        self._pending: OrderedDict[Occurrence, Pending] = OrderedDict()
        self._sent: OrderedDict[Occurrence, Sent] = OrderedDict()
        self._allowances: OrderedDict[Regarding, Allowance] = OrderedDict()
        self._wake = asyncio.Event()
        self._recorded = self._created = self._patched = self._dropped = self._failures = 0

    def record(self, regarding: Regarding, type: EventType, reason: str, message: str) -> None:
        """Something happened. Returns at once and never raises."""
        self._recorded += 1
        message = message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"
        occurrence = self._aggregate(Occurrence(regarding, type, reason, message))
        now = self._clock.wall()
        if (pending := self._pending.get(occurrence)) is not None:
            pending.count += 1
            pending.last = now
            pending.message = message
        elif len(self._pending) >= self._capacity:
            self._dropped += 1
        else:
            self._pending[occurrence] = Pending(message, now, now)
            self._wake.set()

    async def run(self) -> None:
        """Sends what is recorded until it is cancelled; then what is left, if it can be done quickly."""
        try:
            while True:
                await self._send_what_may()
                self._wake.clear()
                await self._until_something_may_be_sent()
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN):
                    await self._send_what_may()
            if self._pending:
                self._dropped += sum(pending.count for pending in self._pending.values())
                self._pending.clear()
                log.info("events dropped", extra={"reason": "no time left to send them"})

    def statistics(self) -> RecorderStatistics:
        return RecorderStatistics(
            recorded=self._recorded,
            waiting=len(self._pending),
            created=self._created,
            patched=self._patched,
            dropped=self._dropped,
            failures=self._failures,
        )

    # Deciding

    def _aggregate(self, occurrence: Occurrence) -> Occurrence:
        """The occurrence, or the one that stands for all of its kind when there were many different messages."""
        allowance = self._allowance(occurrence.regarding)
        key = (occurrence.type, occurrence.reason)
        now = self._clock.monotonic()
        since, messages = allowance.messages.get(key, (now, set()))
        if now - since >= SIMILAR_SECONDS:
            since, messages = now, set()
        allowance.messages[key] = (since, messages)
        if occurrence.message not in messages and len(messages) >= SIMILAR:
            return Occurrence(occurrence.regarding, occurrence.type, occurrence.reason, "")
        messages.add(occurrence.message)
        return occurrence

    def _allowance(self, regarding: Regarding) -> Allowance:
        now = self._clock.monotonic()
        allowance = self._allowances.get(regarding)
        if allowance is None:
            allowance = self._allowances[regarding] = Allowance(BURST, now)
            if len(self._allowances) > MEMORY:
                self._allowances.popitem(last=False)
        self._allowances.move_to_end(regarding)
        allowance.left = min(BURST, allowance.left + (now - allowance.at) / REFILL)
        allowance.at = now
        return allowance

    # Sending

    async def _send_what_may(self) -> None:
        for occurrence in list(self._pending):
            allowance = self._allowance(occurrence.regarding)
            if allowance.left < 1:
                continue
            allowance.left -= 1
            pending = self._pending.pop(occurrence)
            try:
                await self._send(occurrence, pending)
            except asyncio.CancelledError:
                self._put_back(occurrence, pending)
                raise
            except EventRefused as error:
                self._refused(occurrence, pending, error)
            except Exception as error:  # noqa: BLE001 - the store may raise anything; it is counted and logged
                await self._try_again_later(occurrence, pending, error)

    def _refused(self, occurrence: Occurrence, pending: Pending, error: EventRefused) -> None:
        """At once: waiting would keep the Events of everybody else waiting too."""
        self._failures += 1
        self._dropped += pending.count
        log.debug("event refused", extra={"reason": occurrence.reason, "error": str(error)})

    async def _try_again_later(self, occurrence: Occurrence, pending: Pending, error: Exception) -> None:
        self._failures += 1
        pending.tries += 1
        if pending.tries >= TRIES:
            self._dropped += pending.count
            log.error("event dropped", extra={"reason": occurrence.reason, "error": repr(error)})
        else:
            self._put_back(occurrence, pending)
        await self._clock.sleep(self._retry_seconds * pending.tries)

    def _put_back(self, occurrence: Occurrence, pending: Pending) -> None:
        newer = self._pending.get(occurrence)
        if newer is None:
            self._pending[occurrence] = pending
        else:
            newer.first = pending.first
            newer.count += pending.count
            newer.tries = pending.tries

    async def _until_something_may_be_sent(self) -> None:
        """Until something new is recorded, or an object whose Events wait may write again."""
        waits = [(1 - self._allowance(occurrence.regarding).left) * REFILL for occurrence in self._pending]
        try:
            async with asyncio.timeout(max(SHORTEST_WAIT, min(waits)) if waits else None):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _send(self, occurrence: Occurrence, pending: Pending) -> None:
        sent = self._sent.get(occurrence)
        if sent is not None:
            count = sent.count + pending.count
            change = {"count": count, "lastTimestamp": stamp(pending.last), "message": text(occurrence, pending)}
            if await self._store.patch(namespace_of(occurrence.regarding), sent.name, change):
                sent.count = count
                self._sent.move_to_end(occurrence)
                self._patched += 1
                return
        event = self._event(occurrence, pending)
        await self._store.create(event)
        self._created += 1
        self._sent[occurrence] = Sent(event["metadata"]["name"], pending.count)
        self._sent.move_to_end(occurrence)
        if len(self._sent) > MEMORY:
            self._sent.popitem(last=False)

    def _event(self, occurrence: Occurrence, pending: Pending) -> EventObject:
        regarding = occurrence.regarding
        involved = {
            "apiVersion": regarding.api_version,
            "kind": regarding.kind,
            "namespace": regarding.namespace,
            "name": regarding.name,
            "uid": regarding.uid,
        }
        suffix = f"{self._rng.getrandbits(64):016x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": namespace_of(regarding), "name": f"{regarding.name[:230]}.{suffix}"},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "type": occurrence.type,
            "reason": occurrence.reason,
            "message": text(occurrence, pending),
            "count": pending.count,
            "firstTimestamp": stamp(pending.first),
            "lastTimestamp": stamp(pending.last),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def text(occurrence: Occurrence, pending: Pending) -> str:
    if occurrence.message:
        return occurrence.message
    return f"(combined from similar events): {pending.message}"[:MAX_MESSAGE]


def namespace_of(regarding: Regarding) -> str:
    """Events of objects that are in no namespace are kept in `default`, where kubectl looks for them."""
    return regarding.namespace or "default"


def stamp(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

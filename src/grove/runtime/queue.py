"""The work queue: which keys need work, and who works on which.

What it promises:

- **A key is worked on by one worker at a time.** `get` hands it out; until `done` is called, nobody else gets it.
- **Nothing is lost.** After `add` returned, the key will be handed out by a `get` that comes later than the `add`,
  unless the queue is closed. A key added while it is worked on is handed out once more when that work is done.
- **Adding is idempotent.** However often a key is added before it is handed out, it is handed out once.
- **First come, first served.** A key that comes back stands at the end of the line: a busy key starves nobody.
- **A key waits for one moment at most, the earliest asked for.** `add_after(key, 10)` then `add(key)` hands it out now,
  and not again in 10 s: work looks at what is, and says itself when it wants to look again.
- **A key that fails waits longer each time**, by itself: `retry` counts failures per key, `forget` resets the count.
  An `add` does not wait for the back-off to end: what was added may be what was missing.
- **Closing ends waiting.** After `close`, adds are dropped and counted. With `drain`, what is ready, and what was added
  again while it is worked on, is still handed out; what waits for a later moment is dropped. Then `get` raises
  `Closed`.

Not thread-safe: it lives in one event loop. There is no priority (gangs are ordered in the scheduler, by a decision
that can be explained, not here), and no way to take a key out: work finds out that there is nothing to do.
"""

import asyncio
import heapq
import itertools
import random
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from grove.kube.clock import Clock
from grove.runtime.backoff import Backoff

Key = TypeVar("Key", bound=Hashable)


class Closed(Exception):
    """The queue is closed, and nothing is left to be handed out."""


@dataclass(frozen=True)
class QueueStatistics(Generic[Key]):
    """The state of a queue, and what happened to it since it was made."""

    ready: int  # keys that a worker could take now
    delayed: int  # keys that wait for a moment
    oldest: float  # seconds that the key in front has been ready
    working: Mapping[Key, float]  # for each key that is worked on, for how many seconds
    again: int  # keys that are worked on and were added meanwhile
    failing: int  # keys whose last work failed
    added: int  # calls to add, add_after, add_at and retry
    coalesced: int  # of them, those that changed nothing, because the key was waiting already
    dropped: int  # of them, those after closing; and what closing threw away
    retries: int
    handed_out: int
    waited: float  # seconds that keys were ready before they were handed out, summed


class WorkQueue(Generic[Key]):
    """See the top of the module. Times are the clock's monotonic seconds."""

    def __init__(self, *, clock: Clock, rng: random.Random, backoff: Backoff | None = None) -> None:
        self._clock = clock
        self._rng = rng
        self._backoff = backoff or Backoff()
        # A key is in at most one of `ready` and `due`, and if it is being worked on, not in `ready`.
        self._ready: OrderedDict[Key, float] = OrderedDict()  # since when
        self._working: dict[Key, float] = {}  # since when
        self._again: dict[Key, float] = {}  # added while being worked on, since when
        self._due: dict[Key, float] = {}  # at what moment
        self._heap: list[tuple[float, int, Key]] = []  # of `due`; entries that it does not hold any more are skipped
        self._order = itertools.count()
        self._failures: dict[Key, int] = {}
        self._takers: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_moment = 0.0
        self._closed = False
        self._added = self._coalesced = self._dropped = self._retries = self._handed_out = 0
        self._waited = 0.0

    # Adding

    def add(self, key: Key) -> None:
        """The key needs work now."""
        if not self._admit():
            return
        if key in self._ready or key in self._again:
            self._coalesced += 1
            return
        self._due.pop(key, None)
        self._make_ready(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """The key needs work in so many seconds, or earlier if something earlier is asked for."""
        self.add_at(key, self._clock.monotonic() + seconds)

    def add_at(self, key: Key, moment: float) -> None:
        """The key needs work at a moment, or earlier if something earlier is asked for."""
        if moment <= self._clock.monotonic():
            self.add(key)
            return
        if not self._admit():
            return
        if key in self._ready or key in self._again or self._due.get(key, moment + 1.0) <= moment:
            self._coalesced += 1
            return
        self._due[key] = moment
        heapq.heappush(self._heap, (moment, next(self._order), key))
        if len(self._heap) > 2 * len(self._due) + 64:  # moments that came earlier left their entries behind
            self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)
        self._set_timer()

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """The key's work failed; it needs work again after its back-off, which is returned, in seconds."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._retries += 1
        delay = max(self._backoff.delay(failures, self._rng), at_least)
        self.add_after(key, delay)
        return delay

    def forget(self, key: Key) -> None:
        """The key's work succeeded, or is given up: its next failure counts as the first."""
        self._failures.pop(key, None)

    def failures(self, key: Key) -> int:
        """How often the key has failed in a row."""
        return self._failures.get(key, 0)

    # Working

    async def get(self) -> Key:
        """The next key, which is the caller's until it calls `done`. Raises `Closed`."""
        while not self._ready:
            # An `again` comes back when it is done, even while a closed queue is drained.
            if self._closed and not self._again:
                raise Closed
            await self._wait()
        key, since = self._ready.popitem(last=False)
        now = self._clock.monotonic()
        self._working[key] = now
        self._handed_out += 1
        self._waited += now - since
        return key

    def done(self, key: Key) -> None:
        """The caller does not work on the key any more. What it adds for the key, it adds before."""
        del self._working[key]
        if (since := self._again.pop(key, None)) is not None:
            self._ready[key] = since
            self._wake(1)
        if self._closed:
            self._wake(len(self._takers))

    # Ending

    def close(self, *, drain: bool = False) -> None:
        """Ends the queue. With `drain`, what is ready is still handed out; a second close without it drops that too."""
        self._closed = True
        dropped = len(self._due)
        self._due.clear()
        self._heap.clear()
        if not drain:
            dropped += len(self._ready) + len(self._again)
            self._ready.clear()
            self._again.clear()
        self._dropped += dropped
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake(len(self._takers))

    def statistics(self) -> QueueStatistics[Key]:
        now = self._clock.monotonic()
        return QueueStatistics(
            ready=len(self._ready),
            delayed=len(self._due),
            oldest=now - next(iter(self._ready.values())) if self._ready else 0.0,
            working={key: now - since for key, since in self._working.items()},
            again=len(self._again),
            failing=len(self._failures),
            added=self._added,
            coalesced=self._coalesced,
            dropped=self._dropped,
            retries=self._retries,
            handed_out=self._handed_out,
            waited=self._waited,
        )

    # How it works

    def _admit(self) -> bool:
        self._added += 1
        if self._closed:
            self._dropped += 1
        return not self._closed

    def _make_ready(self, key: Key) -> None:
        if key in self._working:
            self._again[key] = self._clock.monotonic()
            return
        self._ready[key] = self._clock.monotonic()
        self._wake(1)

    async def _wait(self) -> None:
        taker = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        try:
            await taker
        except BaseException:
            if taker in self._takers:
                self._takers.remove(taker)
            elif self._ready:
                self._wake(1)  # it was woken for a key that it will not take
            raise

    def _wake(self, count: int) -> None:
        while count and self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                count -= 1

    def _set_timer(self) -> None:
        """One timer for all moments, set for the earliest."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if not self._heap:
            return
        moment = self._heap[0][0]
        if self._timer is not None:
            if self._timer_moment <= moment:
                return  # it will look what is due then, and set itself anew
            self._timer.cancel()
        delay = max(0.0, moment - self._clock.monotonic())
        self._timer_moment = moment
        self._timer = asyncio.get_running_loop().call_later(delay, self._release_due)

    def _release_due(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            moment, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == moment:
                del self._due[key]
                self._make_ready(key)
        self._set_timer()

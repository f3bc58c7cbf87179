"""The gangs that wait, in the order in which they are looked at. Pure.

By falling priority; of one priority the starving ones first; then the queue that has least of its share; then who has
pods running and lacks some, who comes for the first time, who scales out, who only wants more; then the eldest, and the
name at last. The engine puts a gang in when it can be looked at, and takes out the first one; that one is asleep until
it is woken (`wakes.py`), put in anew because it changed, or dropped because it has its place or is gone.

A heap for each queue, priority and starvation: its gangs never change places among themselves. Which queue is first is
looked up in a heap of queues, whose places only grow while gangs start; when they may have fallen, it is made anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

from grove.scheduler.gangs import Gang
from grove.scheduler.queues import Place, Queues
from grove.scheduler.queuetree import QueueTree

BROKEN: Final = 0
"""Some of its pods run, and it lacks others: it finishes what it began."""
BASE: Final = 1
SCALED: Final = 2
EXTRAS: Final = 3
"""It runs, and would take more."""

_NONE: Final = -1
_Band: TypeAlias = tuple[int, bool]
"""Priority downwards, and whether it is not starving."""


class Waiter(NamedTuple):
    """What decides when a gang's turn is."""

    key: str
    priority: int = 0
    queue: str = ""
    stage: int = BASE
    created: float = 0.0
    starving: bool = False

    @property
    def rank(self) -> tuple[int, float, str]:
        """Its place among those of its queue and priority."""
        return self.stage, self.created, self.key


def waiter(gang: Gang, *, starving: bool = False) -> Waiter:
    """The gang as it waits."""
    return Waiter(gang.key, gang.priority, gang.queue, stage(gang), gang.created, starving)


def stage(gang: Gang) -> int:
    if gang.is_placed:
        return EXTRAS
    if any(group.placed for group in gang.groups()):
        return BROKEN
    return SCALED if gang.base else BASE


class WaitingStatistics(msgspec.Struct, frozen=True):
    """How many wait."""

    ready: int
    """To be looked at."""
    asleep: int
    starving: int
    taken: int
    """How often one was looked at, ever."""


class Waiting:
    """See the top of the module."""

    def __init__(self, queues: Queues) -> None:
        self._queues: Final = queues
        self._waiters: Final[dict[str, Waiter]] = {}
        self._ready: Final[dict[str, Waiter]] = {}
        self._bands: dict[_Band, _Queues] = {}
        self._order: list[_Band] = []
        self._tree: QueueTree = queues.tree
        self._starving = 0
        self._taken = 0

    def __len__(self) -> int:
        return len(self._waiters)

    def __contains__(self, key: str) -> bool:
        return key in self._waiters

    @property
    def ready(self) -> int:
        """How many are to be looked at."""
        return len(self._ready)

    def put(self, waiter: Waiter) -> None:
        """A gang waits, or waits for something else than before: it is looked at."""
        held = self._waiters.get(waiter.key)
        self._starving += waiter.starving - (held is not None and held.starving)
        self._waiters[waiter.key] = waiter
        self._make_ready(waiter)

    def note(self, waiter: Waiter) -> None:
        """A gang's turn is another from now on; it is not woken by that."""
        if waiter.key in self._ready or waiter.key not in self._waiters:
            self.put(waiter)
        else:
            self._starving += waiter.starving - self._waiters[waiter.key].starving
            self._waiters[waiter.key] = waiter

    def wake(self, keys: Iterable[str]) -> None:
        """Those are looked at again; who does not wait any more is left out."""
        for key in keys:
            found = self._waiters.get(key)
            if found is not None and key not in self._ready:
                self._make_ready(found)

    def drop(self, key: str) -> None:
        """A gang does not wait any more."""
        held = self._waiters.pop(key, None)
        self._starving -= held is not None and held.starving
        self._ready.pop(key, None)

    def pop(self) -> Waiter | None:
        """The next one; asleep from now on. None: nobody is to be looked at."""
        if not self._ready:
            return None
        if self._tree is not self._queues.tree:
            self._start_over()
        while self._order:
            band = self._bands[self._order[0]]
            found = band.pop(self._ready)
            if found is not None:
                del self._ready[found.key]
                self._taken += 1
                return found
            del self._bands[heapq.heappop(self._order)]
        raise AssertionError("all that are ready are in a heap")

    def order(self) -> list[str]:
        """All that wait, in the order in which they would be looked at if all were woken now."""
        return [
            one.key
            for one in sorted(
                self._waiters.values(),
                key=lambda one: (-one.priority, not one.starving, self._queues.place(one.queue), one.rank),
            )
        ]

    def statistics(self) -> WaitingStatistics:
        ready = len(self._ready)
        return WaitingStatistics(ready, len(self._waiters) - ready, self._starving, self._taken)

    def _make_ready(self, waiter: Waiter) -> None:
        if self._ready.get(waiter.key) == waiter:
            return
        self._ready[waiter.key] = waiter
        key = (-waiter.priority, not waiter.starving)
        band = self._bands.get(key)
        if band is None:
            band = self._bands[key] = _Queues(self._queues)
            heapq.heappush(self._order, key)
        band.put(waiter)

    def _start_over(self) -> None:
        """Rows of queues have changed."""
        self._tree = self._queues.tree
        ready = [*self._ready.values()]
        self._ready.clear()
        self._bands, self._order = {}, []
        for one in ready:
            self._make_ready(one)


class _Queues:
    """The gangs of one priority, by queue."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._version = _NONE
        self._gangs: dict[int, list[tuple[tuple[int, float, str], Waiter]]] = {}
        self._name_of: dict[int, str] = {}
        self._order: list[tuple[Place, int]] = []

    def put(self, waiter: Waiter) -> None:
        row = self._queues.row_of(waiter.queue)
        gangs = self._gangs.get(row)
        if gangs is None:
            gangs = self._gangs[row] = []
            self._name_of[row] = waiter.queue
            self._version = _NONE  # its place is looked up when one is taken: many come at once
        heapq.heappush(gangs, (waiter.rank, waiter))

    def pop(self, ready: dict[str, Waiter]) -> Waiter | None:
        """Entries of gangs that are not `ready`, or not so any more, are passed over."""
        while self._gangs:
            if self._version != self._queues.version:
                self._order = [(self._queues.place(name), at) for at, name in self._name_of.items()]
                heapq.heapify(self._order)
                self._version = self._queues.version
            place, row = self._order[0]
            gangs = self._gangs[row]
            while gangs and ready.get(gangs[0][1].key) is not gangs[0][1]:
                heapq.heappop(gangs)
            if not gangs:
                heapq.heappop(self._order)
                del self._gangs[row], self._name_of[row]
                continue
            now = self._queues.place(self._name_of[row])
            if now == place:
                return heapq.heappop(gangs)[1]
            heapq.heapreplace(self._order, (now, row))
        return None

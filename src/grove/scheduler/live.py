"""Tells the engine what happens in the cluster, lets it decide, and hands on what it has decided.

    live = Live(world=world, mind=engine, carry=hands, room=lambda: …, recover=…, clock=clock)
    await live.run()

The engine is owned by the event loop and works in slices: between two of them, requests, the lease and the probes have
their turn. Changes are gathered for a few milliseconds while they keep coming, the last one of an object counts.
Nothing is decided before all caches have been read, and what earlier leaders had begun comes first.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.cache import Cache
from grove.kube.clock import Clock
from grove.kube.durations import Durations, DurationStatistics
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource
from grove.kube.store import Change, metadata_of
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.queues import Queues
from grove.scheduler.statistics import EngineStatistics
from grove.scheduler.surroundings import Surrounding, Surroundings
from grove.scheduler.verdicts import Bind, Decision
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView
from grove.scheduler.world import World

T = TypeVar("T")

QUIET: Final = 0.002
"""Seconds without a change after which the engine is told of those that came."""
GATHER: Final = 0.01
"""Seconds after which it is told anyway."""
SLICE: Final = 0.02
"""Seconds that the engine works without a pause, as far as one decision is not longer."""
CHUNK: Final = 64
"""Changes, or gangs, between two looks at the clock."""
MOST_UNDER_WAY: Final = 2000
"""Pods that are on their way to nodes before more are decided: what is decided early is decided on old knowledge."""


class Mind(Protocol):
    """The engine, as far as the live loop speaks to it."""

    @property
    def surroundings(self) -> Surroundings:
        """What it has been told of volumes and claims."""
        ...

    @property
    def queues(self) -> Queues:
        """What is used by whom."""
        ...

    def statistics(self) -> EngineStatistics: ...

    def node(self, view: NodeView) -> None: ...
    def node_gone(self, name: str) -> None: ...
    def pod(self, view: PodView) -> None: ...
    def pod_gone(self, view: PodView) -> None: ...
    def gang(self, view: PodGang) -> None: ...
    def gang_gone(self, view: PodGang) -> None: ...
    def topology(self, view: ClusterTopologyBinding) -> None: ...
    def topology_gone(self, view: ClusterTopologyBinding) -> None: ...
    def queue(self, view: Queue) -> None: ...
    def queue_gone(self, view: Queue) -> None: ...
    def priority_class(self, view: PriorityClassView) -> None: ...
    def priority_class_gone(self, view: PriorityClassView) -> None: ...
    def budget(self, view: BudgetView) -> None: ...
    def budget_gone(self, view: BudgetView) -> None: ...
    def namespace(self, view: NamespaceView) -> None: ...
    def namespace_gone(self, view: NamespaceView) -> None: ...
    def surrounding(self, resource: Resource, view: Surrounding) -> None: ...
    def surrounding_gone(self, resource: Resource, view: Surrounding) -> None: ...

    def bound(self, uid: str) -> None: ...
    def bind_failed(self, uid: str, why: BindFailure) -> None: ...
    def evicted(self, uid: str) -> None: ...
    def evict_failed(self, uid: str, why: str) -> None: ...
    def rejected(self, view: PodView) -> None:
        """A node has refused a pod of ours."""

    def resume(self, gang: str, puts: Sequence[tuple[str, str]]) -> Bind | None:
        """What an earlier leader had decided, as uids and names of nodes: taken for done if it is still good."""

    def unfit(self, uids: Collection[str]) -> Collection[str]:
        """Of pods that were decided onto nodes, those that cannot go there as things are now."""

    def decide(self, now: float, *, limit: int) -> list[Decision]: ...
    def next_wake(self, now: float) -> float | None:
        """When there is something to decide: now, later, or, None, not before something changes."""


class Statistics(NamedTuple):
    """What the loop has done."""

    changes: int
    batches: int
    decisions: int
    deciding: DurationStatistics
    """By slice."""
    waiting: int
    """Changes that the engine has not been told of."""
    started: bool


class Live:
    """A runnable, and the Head of those who carry decisions out. See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        mind: Mind,
        carry: Callable[[Decision], None],
        recover: Callable[[], None],
        under_way: Callable[[], int],
        clock: Clock,
    ) -> None:
        """`recover` is called once, when the engine knows all there is. `under_way`: pods on their way to nodes."""
        self.name = "engine"
        self._world = world
        self._mind = mind
        self._carry = carry
        self._recover = recover
        self._under_way = under_way
        self._clock = clock
        self._changes: dict[tuple[int, str], tuple[Callable[[Any], None], Any]] = {}
        self._awake = asyncio.Event()
        self._news = asyncio.Event()
        self._told = self._batches = self._decided = 0
        self._deciding = Durations()
        self._started = False

    @property
    def has_started(self) -> bool:
        """Whether the engine has been told all that there is, and decides."""
        return self._started

    def statistics(self) -> Statistics:
        return Statistics(
            self._told, self._batches, self._decided, self._deciding.statistics(), len(self._changes), self._started
        )

    async def run(self) -> None:
        await self._world.synced()
        with self._following():
            await self._tell_all()
            self._recover()
            self._started = True
            while True:
                if not await self._decide():
                    await self._until_something()
                await self._gather()
                await self._tell_all()

    # What happens

    @contextlib.contextmanager
    def _following(self) -> Iterator[None]:
        """The engine hears of nodes before pods, and of both before gangs, where all are there from the beginning."""
        world, mind = self._world, self._mind
        leave = [
            self._follow(0, world.nodes, mind.node, lambda view: mind.node_gone(view.metadata.name)),
            self._follow(1, world.topologies, mind.topology, mind.topology_gone),
            self._follow(2, world.queues, mind.queue, mind.queue_gone),
            self._follow(3, world.priority_classes, mind.priority_class, mind.priority_class_gone),
            self._follow(4, world.budgets, mind.budget, mind.budget_gone),
            self._follow(5, world.namespaces, mind.namespace, mind.namespace_gone),
            *self._follow_surroundings(),
            self._follow(6, world.pods, mind.pod, mind.pod_gone),
            self._follow(7, world.gangs, mind.gang, mind.gang_gone),
        ]
        try:
            yield
        finally:
            for one in leave:
                one()

    def _follow_surroundings(self) -> Iterator[Callable[[], None]]:
        mind = self._mind
        for number, (resource, cache) in enumerate(self._world.surroundings.items(), start=8):
            put = functools.partial(mind.surrounding, resource)
            yield self._follow(number, cache, put, functools.partial(mind.surrounding_gone, resource))

    def _follow(
        self, number: int, cache: Cache[T], put: Callable[[T], None], drop: Callable[[T], None]
    ) -> Callable[[], None]:
        def note(change: Change[T]) -> None:
            if change.new is not None:
                self._changes[number, metadata_of(change.new).uid or ""] = (put, change.new)
            elif change.old is not None:
                self._changes[number, metadata_of(change.old).uid or ""] = (drop, change.old)
            self._awake.set()

        return cache.follow(note)

    async def _gather(self) -> None:
        """Waits a little while changes keep coming."""
        until = self._clock.monotonic() + GATHER
        seen = -1
        while seen != len(self._changes) and self._clock.monotonic() < until:
            seen = len(self._changes)
            await self._clock.sleep(QUIET)

    async def _tell_all(self) -> None:
        """With pauses, since there may be many."""
        began = self._clock.monotonic()
        while self._changes:
            self._tell(CHUNK)
            if self._clock.monotonic() - began > SLICE:
                await self._clock.sleep(0)
                began = self._clock.monotonic()
        self._batches += 1
        self._news.set()
        self._news = asyncio.Event()

    async def news(self) -> None:
        """Returns when the engine has been told of more changes."""
        await self._news.wait()

    def _tell(self, most: int | None = None) -> None:
        changes = self._changes
        count = len(changes) if most is None else min(most, len(changes))
        for _ in range(count):
            key = next(iter(changes))
            tell, obj = changes.pop(key)
            tell(obj)
        self._told += count

    # What is decided

    async def _decide(self) -> bool:
        """One slice; whether there is more to decide."""
        self._awake.clear()
        began = self._clock.monotonic()
        while self._under_way() < MOST_UNDER_WAY:
            now = self._clock.wall().timestamp()
            decisions = self._mind.decide(now, limit=CHUNK)
            self._decided += len(decisions)
            for decision in decisions:
                self._carry(decision)
            wake = self._mind.next_wake(now)
            spent = self._clock.monotonic() - began
            if wake is None or wake > now:
                self._deciding.add(spent)
                return False
            if spent > SLICE:
                self._deciding.add(spent)
                await self._clock.sleep(0)
                return True
        return False

    async def _until_something(self) -> None:
        """Until something changes, something becomes of a decision, or the moment comes that the engine waits for."""
        if self._changes:
            return
        now = self._clock.wall().timestamp()
        wake = None if self._under_way() >= MOST_UNDER_WAY else self._mind.next_wake(now)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if wake is None else max(0.0, wake - now)):
                await self._awake.wait()

    # As a Head

    def unfit(self, uids: Collection[str]) -> Collection[str]:
        self._tell()
        return self._mind.unfit(uids)

    def bound(self, uid: str) -> None:
        self._mind.bound(uid)
        self._awake.set()

    def bind_failed(self, uid: str, why: BindFailure) -> None:
        self._mind.bind_failed(uid, why)
        self._awake.set()

    def evicted(self, uid: str) -> None:
        self._mind.evicted(uid)
        self._awake.set()

    def evict_failed(self, uid: str, why: str) -> None:
        self._mind.evict_failed(uid, why)
        self._awake.set()

    def rejected(self, pod: PodView) -> None:
        self._mind.rejected(pod)
        self._awake.set()

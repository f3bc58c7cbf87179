"""A controller: sources say which keys need work, workers reconcile them, one worker to a key.

    controller = Controller("podclique", reconcile, [cliques, pods], clock=clock, rng=rng, workers=8)
    await controller.run()

`reconcile(key)` looks at the world and brings it nearer to what is wanted; what its ends mean is in `outcomes.py`. It
must be able to run again at any time: it may be cancelled or killed between any two writes.

An exception in one reconcile is logged with its key, counted, and tried again; the others do not notice. An exception
in a source ends the controller: without a source it would be blind. When a leader's term is over, the first write that
the fence refuses stops the work; the controller then waits to be cancelled.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from grove.kube.clock import Clock
from grove.kube.durations import Durations, DurationStatistics
from grove.kube.fence import NotLeaderError
from grove.runtime.backoff import Backoff
from grove.runtime.outcomes import Outcome, RequeueAfter, RequeueAt, Retry, Terminal
from grove.runtime.queue import Closed, QueueStatistics, WorkQueue
from grove.runtime.source import Source

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)


class SourceEnded(Exception):
    """A source returned, and the controller would not hear of changes any more."""


class ReconcileTimeout(Exception):
    """A reconcile took longer than it may."""


@dataclass(frozen=True)
class ControllerStatistics(Generic[Key]):
    """What a controller did since it was made, and what it is at."""

    queue: QueueStatistics[Key]
    synced: bool
    workers: int
    busy: int
    done: int  # reconciles that returned nothing
    requeued: int  # that returned a time to look again
    failed: int  # that raised, and are tried again
    terminal: int  # that raised, and are not
    cancelled: int  # that were cut short when the controller ended, or the term of a leader
    errors: Mapping[str, int]  # what was raised, by the name of its type
    durations: DurationStatistics


class Controller(Generic[Key]):
    """See the top of the module. Runs once."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[Key], Awaitable[Outcome]],
        sources: Sequence[Source[Key]],
        *,
        clock: Clock,
        rng: random.Random,
        workers: int = 1,
        backoff: Backoff | None = None,
        timeout: float = 300.0,
        stop_timeout: float = 20.0,
    ) -> None:
        """Seconds: `timeout` for one reconcile, `stop_timeout` for all that run when the controller is to end."""
        self.name = name
        self._reconcile = reconcile
        self._sources = sources
        self._clock = clock
        self._workers = workers
        self._timeout = timeout
        self._stop_timeout = stop_timeout
        self._queue: WorkQueue[Key] = WorkQueue(clock=clock, rng=rng, backoff=backoff)
        self._durations = Durations()
        self._synced = False
        self._started = asyncio.Event()
        self._done = self._requeued = self._failed = self._terminal = self._cancelled = 0
        self._errors: Counter[str] = Counter()

    async def run(self) -> None:
        """Works until it is cancelled. Then it takes up nothing new and lets what runs end, within `stop_timeout`.

        A second cancellation cuts short what runs.
        """
        workers = asyncio.ensure_future(self._work())
        try:
            async with asyncio.TaskGroup() as group:
                for source in self._sources:
                    group.create_task(self._feed(source))
                group.create_task(self._sync())
                await asyncio.shield(workers)
        finally:
            self._queue.close()
            await self._finish(workers)

    @property
    def synced(self) -> bool:
        """Whether all sources have said what exists; part of being ready."""
        return self._synced

    def add(self, key: Key) -> None:
        """The key needs work, for a reason that no source knows of."""
        self._queue.add(key)

    def statistics(self) -> ControllerStatistics[Key]:
        queue = self._queue.statistics()
        return ControllerStatistics(
            queue=queue,
            synced=self._synced,
            workers=self._workers,
            busy=len(queue.working),
            done=self._done,
            requeued=self._requeued,
            failed=self._failed,
            terminal=self._terminal,
            cancelled=self._cancelled,
            errors=dict(self._errors),
            durations=self._durations.statistics(),
        )

    # Sources

    async def _feed(self, source: Source[Key]) -> None:
        await source.run(self._queue.add)
        raise SourceEnded(f"controller {self.name}: a source ended: {source!r}")

    async def _sync(self) -> None:
        for source in self._sources:
            await source.synced()
        self._synced = True
        self._started.set()
        log.info("controller started", extra={"controller": self.name, "workers": self._workers})

    # Workers

    async def _work(self) -> None:
        await self._started.wait()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._worker())

    async def _worker(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except Closed:
                return
            try:
                await self._reconcile_one(key)
            finally:
                self._queue.done(key)
            # Reconciles that fail before they wait for anything would otherwise keep everybody else from running, such
            # as the election, for as long as there are keys.
            await self._clock.sleep(0.0)

    async def _reconcile_one(self, key: Key) -> None:
        began = self._clock.monotonic()
        try:
            self._succeed(key, await self._bounded(key))
        except Terminal as error:
            self._terminal += 1
            self._errors[type(error).__name__] += 1
            self._queue.forget(key)
            log.error("reconcile gave up", extra={**self._fields(key), "error": str(error)}, exc_info=error.__cause__)
        except NotLeaderError as error:
            self._stop(key, error)
        except asyncio.CancelledError as error:
            if self._is_cancelled():
                self._cancelled += 1
                raise
            self._fail(key, error)  # somebody else's cancellation, of something that the reconcile waited for
        except Exception as error:  # noqa: BLE001 - one reconcile must not end the others; it is logged there
            self._fail(key, error)
        finally:
            self._durations.add(self._clock.monotonic() - began)

    async def _bounded(self, key: Key) -> Outcome:
        try:
            async with asyncio.timeout(self._timeout) as limit:
                return await self._reconcile(key)
        except TimeoutError as error:
            if limit.expired():
                raise ReconcileTimeout(f"not done within {self._timeout:g} s") from error
            raise

    def _succeed(self, key: Key, outcome: Outcome) -> None:
        match outcome:
            case RequeueAfter(seconds):
                self._queue.add_after(key, seconds)
            case RequeueAt(time):
                self._queue.add_after(key, (time - self._clock.wall()).total_seconds())
        self._queue.forget(key)
        if outcome is None:
            self._done += 1
        else:
            self._requeued += 1

    def _fail(self, key: Key, error: BaseException) -> None:
        self._failed += 1
        self._errors[type(error).__name__] += 1
        delay = self._queue.retry(key, at_least=error.after if isinstance(error, Retry) else 0.0)
        fields = {**self._fields(key), "failures": self._queue.failures(key), "retry_seconds": round(delay, 3)}
        log.error("reconcile failed", extra=fields, exc_info=error)

    def _stop(self, key: Key, error: NotLeaderError) -> None:
        """Takes up nothing new: no key could be written any more. The election, which knows it too, ends the rest."""
        self._cancelled += 1
        log.info("controller may not write", extra={**self._fields(key), "error": str(error)})
        self._queue.close()

    @staticmethod
    def _is_cancelled() -> bool:
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    def _fields(self, key: Key) -> dict[str, object]:
        return {"controller": self.name, "key": str(key)}

    async def _finish(self, workers: asyncio.Future[None]) -> None:
        """Lets what runs end, within bounds."""
        if not self._synced:
            workers.cancel()
        try:
            done, _ = await asyncio.wait({workers}, timeout=self._stop_timeout)
        finally:
            workers.cancel()
        if not done:
            log.error("reconciles cut short", extra={"controller": self.name, "seconds": self._stop_timeout})
            await asyncio.wait({workers})

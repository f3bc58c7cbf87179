"""Time that jumps: a test of an hour's waiting takes microseconds, and takes the same course every time.

    async def scenario(clock: VirtualClock) -> None:
        await clock.sleep(3600)

    run(scenario)

A `World` has one time and any number of processes, each with an event loop of its own. While any of them can run, time
stands still; when all wait, it jumps to the next moment for which one has set a timer. A process may be paused between
any two steps (what SIGSTOP does) or killed, while the others go on.

Limits: no threads, no sockets, no subprocesses: nothing that ends by itself in real time.
"""

from __future__ import annotations

import asyncio
import datetime
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

EPOCH = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
# Steps without time going on, after which something is taken to spin. A step runs all that is ready.
MAX_STEPS = 100_000
# Within these, a coroutine that is cancelled again and again must have ended.
MAX_BURIAL_STEPS = 100


class StuckError(AssertionError):
    """Nothing can ever run again, or something runs without end and never waits; the message says what."""


class World:
    """Processes that share a time. Use it as a context manager: it ends what still runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self._processes: list[Process] = []

    def process(self, name: str = "main") -> Process:
        process = Process(self, name)
        self._processes.append(process)
        return process

    def run_until(self, done: Callable[[], bool], *, limit: float = float("inf")) -> None:
        """Goes on until `done`, or fails after `limit` seconds of virtual time."""
        end = self.now + limit
        while not self._settle(done):
            moment = self._next_moment()
            if moment is None:
                raise StuckError(f"all processes wait for each other at {self.now:g} s\n{self._tasks()}")
            if moment > end:
                raise StuckError(f"not done within {limit:g} s\n{self._tasks()}")
            self.now = moment

    def advance(self, seconds: float) -> None:
        """Lets this much time go by, and runs what becomes due in it, in order."""
        end = self.now + seconds
        self._settle(lambda: False)
        while (moment := self._next_moment()) is not None and moment <= end:
            self.now = moment
            self._settle(lambda: False)
        self.now = end
        self._settle(lambda: False)

    def close(self) -> None:
        for process in self._processes:
            process.bury()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, done: Callable[[], bool]) -> bool:
        """Runs what can run without time going on; whether `done` came true."""
        for _ in range(MAX_STEPS):
            if done():
                return True
            runnable = [process for process in self._processes if process.can_run]
            if not runnable:
                return False
            for process in runnable:
                process.step()
        raise StuckError(f"something runs without end at {self.now:g} s\n{self._tasks()}")

    def _next_moment(self) -> float | None:
        moments = [moment for process in self._processes if (moment := process.next_moment) is not None]
        return max(min(moments), self.now) if moments else None

    def _tasks(self) -> str:
        return "\n".join(f"  {process.name}: {task}" for process in self._processes for task in process.tasks())


class Process:
    """An event loop in a world; runs, is paused, or is dead."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.clock = VirtualClock(world)
        self.errors: list[dict[str, Any]] = []
        self._loop = VirtualLoop(world)
        self._loop.set_exception_handler(lambda _, context: self.errors.append(context))
        self._paused = False
        self._dead = False
        self._started: list[asyncio.Task[Any]] = []

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """For a fake server that answers the process: `loop.call_soon(future.set_result, answer)`."""
        return self._loop

    @property
    def alive(self) -> bool:
        return not self._dead

    @property
    def paused(self) -> bool:
        return self._paused

    def start(self, coroutine: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = self._loop.create_task(coroutine)
        self._started.append(task)
        return task

    def pause(self) -> None:
        """Nothing in it runs until it is resumed; its timers become due meanwhile."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False

    def stop(self) -> None:
        """Cancels what was started in it, as a process does on SIGTERM; it ends when time goes on."""
        for task in self._started:
            task.cancel()

    def kill(self) -> None:
        """Nothing in it runs again while the world goes on, not even what is in a `finally`."""
        self._dead = True

    def bury(self) -> None:
        """Unwinds what was never finished, now that nobody looks any more; otherwise the interpreter would, loudly."""
        self._dead = True
        for _ in range(MAX_BURIAL_STEPS):
            if not (unfinished := self.tasks()):
                break
            for task in unfinished:
                task.cancel()
            self.step()
        for task in self.tasks():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._loop.close()

    def tasks(self) -> set[asyncio.Task[Any]]:
        return asyncio.all_tasks(self._loop)

    @property
    def can_run(self) -> bool:
        return self.alive and not self._paused and self._loop.is_ready()

    @property
    def next_moment(self) -> float | None:
        return None if self._paused or not self.alive else self._loop.next_moment()

    def step(self) -> None:
        self._loop.call_soon(self._loop.stop)
        self._loop.run_forever()


class VirtualClock:
    """A clock of the world's time, for one process; `wall_offset` is how wrong its time of day is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.wall_offset = datetime.timedelta()

    def monotonic(self) -> float:
        return self._world.now

    def wall(self) -> datetime.datetime:
        return EPOCH + datetime.timedelta(seconds=self._world.now) + self.wall_offset

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class NothingToRead(selectors.SelectSelector):
    """Says that no socket has anything, without asking the kernel: there are none but the loop's own."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that is told the time and never waits."""

    # What it reads of its base class is private there, and has been the same since Python 3.4.
    _ready: Any
    _scheduled: Any
    _csock = None

    def __init__(self, world: World) -> None:
        super().__init__(NothingToRead())
        self._world = world

    def time(self) -> float:
        return self._world.now

    # The pair of sockets by which other threads wake a loop: there are none.
    def _make_self_pipe(self) -> None: ...

    def _close_self_pipe(self) -> None: ...

    def is_ready(self) -> bool:
        moment = self.next_moment()
        return bool(self._ready) or (moment is not None and moment <= self._world.now)

    def next_moment(self) -> float | None:
        return min((handle.when() for handle in self._scheduled if not handle.cancelled()), default=None)


def run(main: Callable[[VirtualClock], Coroutine[Any, Any, Result]], *, limit: float = float("inf")) -> Result:
    """Runs a coroutine function to its end in virtual time; fails if that takes more than `limit` virtual seconds.

    What the loop is told of exceptions that nobody retrieved is a failure too.
    """
    with World() as world:
        process = world.process()
        task = process.start(main(process.clock))
        world.run_until(task.done, limit=limit)
        result = task.result()
        if process.errors:
            raise AssertionError(f"errors that nobody saw: {process.errors}")
        return result

"""The work queue against a model: any order of adding, taking, finishing, failing, waiting and closing."""

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from grove.runtime.backoff import Backoff
from grove.runtime.queue import Closed, WorkQueue
from grove.testing.virtualtime import World

KEYS = st.sampled_from("abcde")
SECONDS = st.integers(min_value=-1, max_value=20)
WORKERS = 3

Value = TypeVar("Value")


class QueueMachine(RuleBasedStateMachine):
    """Workers are tasks that wait in `get`; what they were given is compared with what the model says is in front."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.process = self.world.process()
        self.queue: WorkQueue[str] = WorkQueue(
            clock=self.process.clock, rng=random.Random(0), backoff=Backoff(first=1, longest=8, jitter=0)
        )
        # The model.
        self.line: list[str] = []
        self.working: list[str] = []
        self.again: list[str] = []
        self.due: dict[str, tuple[float, int]] = {}  # at what moment, and which came first
        self.order = 0
        self.failures: dict[str, int] = {}
        self.closed = False
        self.takers: list[asyncio.Task[str]] = []

    def call(self, function: Callable[[], Value]) -> Value:
        async def called() -> Value:
            return function()

        task = self.process.start(called())
        self.world.run_until(task.done)
        return task.result()

    # What the model does

    def expect_ready(self, key: str) -> None:
        self.due.pop(key, None)
        if key in self.working:
            if key not in self.again:
                self.again.append(key)
        elif key not in self.line:
            self.line.append(key)

    def expect_due(self, key: str, moment: float) -> None:
        if moment <= self.world.now:
            self.expect_ready(key)
        elif key not in self.line and key not in self.again and moment < self.due.get(key, (moment + 1, 0))[0]:
            self.order += 1
            self.due[key] = (moment, self.order)

    def settle(self) -> None:
        """Lets waiting workers take what they can; each must get what stands in front."""
        self.world.advance(0)
        taken: set[str] = set()
        turned_away = False
        for taker in [one for one in self.takers if one.done()]:
            self.takers.remove(taker)
            if isinstance(taker.exception(), Closed):
                turned_away = True
            else:
                taken.add(taker.result())
        assert not taken & set(self.working), "two workers on one key"
        in_order = [key for key in self.queue.statistics().working if key in taken]
        assert in_order == self.line[: len(taken)]
        del self.line[: len(taken)]
        self.working.extend(in_order)
        assert not turned_away or (self.closed and not self.line)
        assert not (self.takers and self.line), "a key is ready, a worker waits, and they do not find each other"
        if self.closed:
            assert not self.takers or self.again, "a worker waits for a closed queue"

    # What happens

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.call(lambda: self.queue.add(key))
        if not self.closed:
            self.expect_ready(key)
        self.settle()

    @rule(key=KEYS, seconds=SECONDS)
    def add_after(self, key: str, seconds: int) -> None:
        self.call(lambda: self.queue.add_after(key, seconds))
        if not self.closed:
            self.expect_due(key, self.world.now + seconds)
        self.settle()

    @precondition(lambda self: len(self.takers) < WORKERS)
    @rule()
    def take(self) -> None:
        self.takers.append(self.process.start(self.queue.get()))
        self.settle()

    @precondition(lambda self: self.takers)
    @rule(data=st.data())
    def cancel_a_waiting_worker(self, data: st.DataObject) -> None:
        taker = data.draw(st.sampled_from(self.takers))
        self.takers.remove(taker)
        taker.cancel()
        self.settle()

    @precondition(lambda self: self.takers)
    @rule(key=KEYS, data=st.data())
    def cancel_a_worker_in_the_moment_of_an_add(self, key: str, data: st.DataObject) -> None:
        taker = data.draw(st.sampled_from(self.takers))

        def both() -> None:
            self.queue.add(key)
            taker.cancel()

        self.call(both)
        self.takers.remove(taker)
        if not self.closed:
            self.expect_ready(key)
        self.settle()

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.working))

        def finished() -> None:
            self.queue.forget(key)
            self.queue.done(key)

        self.call(finished)
        self.failures.pop(key, None)
        self.expect_done(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.working))

        def failed() -> float:
            delay = self.queue.retry(key)
            self.queue.done(key)
            return delay

        delay = self.call(failed)
        self.failures[key] = self.failures.get(key, 0) + 1
        assert delay == min(2 ** (self.failures[key] - 1), 8)
        if not self.closed:
            self.expect_due(key, self.world.now + delay)
        self.expect_done(key)

    def expect_done(self, key: str) -> None:
        self.working.remove(key)
        if key in self.again:
            self.again.remove(key)
            self.line.append(key)
        self.settle()

    @rule(seconds=st.integers(min_value=1, max_value=10))
    def wait(self, seconds: int) -> None:
        self.world.advance(seconds)
        for moment, _, key in sorted((moment, order, key) for key, (moment, order) in self.due.items()):
            if moment <= self.world.now:
                self.expect_ready(key)
        self.settle()

    @rule(drain=st.booleans())
    @precondition(lambda self: len(self.working) > 0)
    def close(self, drain: bool) -> None:
        self.call(lambda: self.queue.close(drain=drain))
        self.closed = True
        self.due.clear()
        if not drain:
            self.line.clear()
            self.again.clear()
        self.settle()

    @invariant()
    def the_statistics_agree_with_the_model(self) -> None:
        statistics = self.queue.statistics()
        assert statistics.ready == len(self.line)
        assert set(statistics.working) == set(self.working)
        assert statistics.again == len(self.again)
        assert statistics.delayed == len(self.due)
        assert statistics.failing == len(self.failures)
        assert statistics.added >= statistics.coalesced + statistics.handed_out + statistics.ready

    def teardown(self) -> None:
        """Nothing is lost: what the model still expects is handed out, moment after moment."""
        while self.working:
            self.process.start(self.finish_now(self.working[0]))
            self.world.advance(0)
            self.expect_done(self.working[0])
        expected = {*self.line, *self.due}
        self.world.advance(1000)
        got: set[str] = {taker.result() for taker in self.takers if taker.done() and not taker.exception()}
        while self.queue.statistics().ready:
            task = self.process.start(self.queue.get())
            self.world.run_until(task.done)
            got.add(task.result())
        assert got == expected
        for taker in self.takers:
            taker.cancel()
        self.world.advance(0)
        self.world.close()

    async def finish_now(self, key: str) -> None:
        self.queue.done(key)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)

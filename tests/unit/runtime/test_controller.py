import asyncio
import datetime
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from grove.kube.fence import NotLeaderError
from grove.runtime.backoff import Backoff
from grove.runtime.controller import Controller, SourceEnded
from grove.runtime.outcomes import Outcome, RequeueAfter, RequeueAt, Retry, Terminal
from grove.runtime.source import Source, Watched
from grove.testing.virtualtime import VirtualClock, run


class Keys:
    """A source with these keys, which takes its time to find out what exists."""

    def __init__(self, clock: VirtualClock, *keys: str, sync: float = 0.0) -> None:
        self.clock = clock
        self.keys = keys
        self.sync = sync
        self.stopped = False

    async def run(self, add: Callable[[str], None]) -> None:
        for key in self.keys:
            add(key)
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped = True

    async def synced(self) -> None:
        await self.clock.sleep(self.sync)


def make(
    clock: VirtualClock,
    reconcile: Callable[[str], Awaitable[Outcome]],
    sources: Sequence[Source[str]],
    **settings: Any,
) -> Controller[str]:
    return Controller(
        "test",
        reconcile,
        sources,
        clock=clock,
        rng=random.Random(1),
        backoff=Backoff(first=1, longest=8, jitter=0),
        **settings,
    )


async def run_for(clock: VirtualClock, seconds: float, controller: Controller[str]) -> None:
    task = asyncio.ensure_future(controller.run())
    await clock.sleep(seconds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_every_key_is_reconciled_once_all_sources_have_seen_what_exists() -> None:
    async def scenario(clock: VirtualClock) -> None:
        seen: list[tuple[str, float]] = []

        async def reconcile(key: str) -> Outcome:
            seen.append((key, clock.monotonic()))
            return None

        controller = make(clock, reconcile, [Keys(clock, "a", "b"), Keys(clock, "b", "c", sync=7)])
        await run_for(clock, 100, controller)
        assert seen == [("a", 7), ("b", 7), ("c", 7)]
        assert controller.synced
        assert controller.statistics().done == 3
        assert controller.statistics().durations.count == 3

    run(scenario)


def test_a_crash_is_contained_logged_with_its_key_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(clock: VirtualClock) -> None:
        seen: list[tuple[str, float]] = []

        async def reconcile(key: str) -> Outcome:
            seen.append((key, clock.monotonic()))
            if key == "bad" and len(seen) < 5:
                raise ZeroDivisionError("oops")
            return None

        controller = make(clock, reconcile, [Keys(clock, "bad", "good")])
        await run_for(clock, 100, controller)
        assert seen == [("bad", 0), ("good", 0), ("bad", 1), ("bad", 3), ("bad", 7)]
        statistics = controller.statistics()
        assert (statistics.failed, statistics.done, statistics.queue.failing) == (3, 2, 0)

    run(scenario)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [(record.message, record.__dict__["key"]) for record in errors] == [("reconcile failed", "bad")] * 3
    assert all(record.exc_info is not None for record in errors)


def test_requeues_come_when_they_are_asked_for() -> None:
    async def scenario(clock: VirtualClock) -> None:
        seen: list[tuple[str, float]] = []
        outcomes: dict[str, Outcome] = {
            "after": RequeueAfter(30),
            "at": RequeueAt(clock.wall() + datetime.timedelta(seconds=50)),
        }

        async def reconcile(key: str) -> Outcome:
            seen.append((key, clock.monotonic()))
            return outcomes.pop(key, None)

        controller = make(clock, reconcile, [Keys(clock, "after", "at")])
        await run_for(clock, 100, controller)
        assert seen == [("after", 0), ("at", 0), ("after", 30), ("at", 50)]
        assert controller.statistics().requeued == 2

    run(scenario)


def test_the_end_of_a_term_stops_the_work_and_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        tried: list[str] = []

        async def reconcile(key: str) -> Outcome:
            tried.append(key)
            raise NotLeaderError("the term is over")

        controller = make(clock, reconcile, [Keys(clock, *(f"key-{number}" for number in range(1000)))], workers=2)
        await run_for(clock, 100, controller)
        assert tried == ["key-0"]
        assert controller.statistics().cancelled == 1
        assert controller.statistics().failed == 0

    with caplog.at_level(logging.INFO):
        run(main)
    told = [record for record in caplog.records if record.message == "controller may not write"]
    assert len(told) == 1
    assert not any(record.exc_info for record in told)


def test_reconciles_that_wait_for_nothing_let_others_run() -> None:
    async def main(clock: VirtualClock) -> None:
        tried: list[str] = []
        others: list[int] = []

        async def reconcile(key: str) -> Outcome:
            tried.append(key)
            return None

        async def other() -> None:
            while len(tried) < 100:
                others.append(len(tried))
                await clock.sleep(0)

        controller = make(clock, reconcile, [Keys(clock, *(f"key-{number}" for number in range(100)))])
        beside = asyncio.ensure_future(other())
        await run_for(clock, 1, controller)
        await beside
        assert len({count for count in others if 0 < count < 100}) > 50

    run(main)


def test_terminal_errors_are_not_retried_and_retry_says_when() -> None:
    async def scenario(clock: VirtualClock) -> None:
        seen: list[tuple[str, float]] = []

        async def reconcile(key: str) -> Outcome:
            seen.append((key, clock.monotonic()))
            if key == "hopeless":
                raise Terminal("no such field")
            if len(seen) < 3:
                raise Retry("the server is busy", after=42)
            return None

        controller = make(clock, reconcile, [Keys(clock, "hopeless", "later")])
        await run_for(clock, 100, controller)
        assert seen == [("hopeless", 0), ("later", 0), ("later", 42)]
        statistics = controller.statistics()
        assert (statistics.terminal, statistics.failed, statistics.done) == (1, 1, 1)

    run(scenario)


def test_an_outcome_that_makes_no_sense_is_a_failure_of_that_key_alone() -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def reconcile(key: str) -> Outcome:
            return RequeueAt(datetime.datetime(2030, 1, 1)) if key == "naive" else None

        controller = make(clock, reconcile, [Keys(clock, "naive", "good")])
        await run_for(clock, 10, controller)
        assert controller.statistics().done == 1
        assert controller.statistics().failed >= 3

    run(scenario)


def test_a_reconcile_that_hangs_is_ended_and_retried() -> None:
    async def scenario(clock: VirtualClock) -> None:
        starts: list[float] = []

        async def reconcile(key: str) -> Outcome:
            starts.append(clock.monotonic())
            if len(starts) == 1:
                await asyncio.Event().wait()
            return None

        controller = make(clock, reconcile, [Keys(clock, "a")], timeout=60)
        await run_for(clock, 100, controller)
        assert starts == [0, 61]

    run(scenario)


def test_the_cancellation_of_something_awaited_is_no_reason_to_end() -> None:
    async def scenario(clock: VirtualClock) -> None:
        starts: list[float] = []

        async def reconcile(key: str) -> Outcome:
            starts.append(clock.monotonic())
            if len(starts) == 1:
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                future.cancel()
                await future
            return None

        controller = make(clock, reconcile, [Keys(clock, "a")])
        await run_for(clock, 100, controller)
        assert starts == [0, 1]
        assert controller.statistics().failed == 1

    run(scenario)


def test_workers_work_side_by_side() -> None:
    async def scenario(clock: VirtualClock) -> None:
        ends: list[float] = []

        async def reconcile(key: str) -> Outcome:
            await clock.sleep(10)
            ends.append(clock.monotonic())
            return None

        controller = make(clock, reconcile, [Keys(clock, *"abcdef")], workers=3)
        await run_for(clock, 100, controller)
        assert ends == [10, 10, 10, 20, 20, 20]

    run(scenario)


def test_ending_lets_what_runs_finish_and_takes_up_nothing_new() -> None:
    async def scenario(clock: VirtualClock) -> None:
        ends: list[tuple[str, float]] = []

        async def reconcile(key: str) -> Outcome:
            await clock.sleep(10)
            ends.append((key, clock.monotonic()))
            return RequeueAfter(1)

        source = Keys(clock, "a", "b")
        controller = make(clock, reconcile, [source], stop_timeout=20)
        await run_for(clock, 5, controller)
        assert ends == [("a", 10)]
        assert source.stopped
        assert clock.monotonic() == 10
        assert controller.statistics().cancelled == 0

    run(scenario)


def test_what_does_not_finish_in_time_is_cut_short() -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def reconcile(key: str) -> Outcome:
            await clock.sleep(1000)
            return None

        controller = make(clock, reconcile, [Keys(clock, "a")], stop_timeout=20, timeout=2000)
        await run_for(clock, 5, controller)
        assert clock.monotonic() == 25
        assert controller.statistics().cancelled == 1

    run(scenario)


def test_a_second_cancellation_waits_for_nothing() -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def reconcile(key: str) -> Outcome:
            await clock.sleep(1000)
            return None

        controller = make(clock, reconcile, [Keys(clock, "a")], stop_timeout=500, timeout=2000)
        task = asyncio.ensure_future(controller.run())
        await clock.sleep(5)
        task.cancel()
        await clock.sleep(5)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await clock.sleep(0)
        assert controller.statistics().cancelled == 1
        assert clock.monotonic() == 10

    run(scenario)


def test_a_controller_that_never_synced_ends_at_once() -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def reconcile(key: str) -> Outcome:
            raise AssertionError("it acted on half a world")

        controller = make(clock, reconcile, [Keys(clock, "a", sync=1e9)])
        await run_for(clock, 5, controller)
        assert clock.monotonic() == 5
        assert not controller.synced

    run(scenario)


class Broken(Keys):
    """A source that ends."""

    def __init__(self, clock: VirtualClock, error: Exception | None) -> None:
        super().__init__(clock)
        self.error = error

    async def run(self, add: Callable[[str], None]) -> None:
        await self.clock.sleep(3)
        if self.error:
            raise self.error


@pytest.mark.parametrize(("error", "expected"), [(None, SourceEnded), (KeyError("gone"), KeyError)])
def test_a_source_that_ends_ends_the_controller(error: Exception | None, expected: type[Exception]) -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def reconcile(key: str) -> Outcome:
            return None

        controller = make(clock, reconcile, [Keys(clock, "a"), Broken(clock, error)])
        with pytest.raises(ExceptionGroup) as caught:
            await controller.run()
        assert caught.group_contains(expected)
        assert clock.monotonic() == 3

    run(scenario)


def test_a_watch_becomes_keys_and_an_odd_event_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def events() -> Any:
            for owners in (["a", "b"], None, ["a"]):
                yield {"owners": owners}

        async def synced() -> None:
            await clock.sleep(2)

        source: Watched[dict[str, Any], str] = Watched("pods", events, lambda event: event["owners"], synced=synced)
        keys: list[str] = []
        await source.run(keys.append)
        await source.synced()
        assert keys == ["a", "b", "a"]
        assert (source.events, source.failures, clock.monotonic()) == (3, 1, 2)

    run(scenario)
    assert [record.message for record in caplog.records] == ["event passed over"]

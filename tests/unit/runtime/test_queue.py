import asyncio
import random

import pytest

from grove.runtime.backoff import Backoff
from grove.runtime.queue import Closed, WorkQueue
from grove.testing.virtualtime import VirtualClock, run


def make(clock: VirtualClock) -> WorkQueue[str]:
    return WorkQueue(clock=clock, rng=random.Random(1), backoff=Backoff(first=1, longest=10, jitter=0))


def test_keys_are_handed_out_in_the_order_of_their_coming_and_once() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        for key in "abcab":
            queue.add(key)
        assert [await queue.get() for _ in range(3)] == ["a", "b", "c"]
        assert queue.statistics().coalesced == 2
        assert queue.statistics().ready == 0

    run(scenario)


def test_a_key_added_while_worked_on_comes_once_more_and_behind_the_others() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        queue.add("b")
        queue.add("a")
        assert await queue.get() == "b"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(100):
                await queue.get()
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert queue.statistics().ready == 0

    run(scenario)


def test_a_busy_key_starves_nobody() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add("busy")
        queue.add("patient")
        seen = []
        for _ in range(3):
            key = await queue.get()
            seen.append(key)
            queue.add("busy")
            queue.done(key)
        assert seen == ["busy", "patient", "busy"]

    run(scenario)


def test_the_earliest_moment_wins() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add_after("a", 50)
        queue.add_after("a", 20)
        queue.add_after("a", 90)
        queue.add_at("b", 30)
        assert (await queue.get(), clock.monotonic()) == ("a", 20)
        assert (await queue.get(), clock.monotonic()) == ("b", 30)
        assert queue.statistics().delayed == 0
        queue.add_at("c", 5)  # long ago
        assert (await queue.get(), clock.monotonic()) == ("c", 30)

    run(scenario)


def test_adding_now_replaces_a_later_moment() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add_after("a", 50)
        queue.add("a")
        assert (await queue.get(), clock.monotonic()) == ("a", 0)
        queue.done("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(100):
                await queue.get()

    run(scenario)


def test_a_moment_that_comes_while_the_key_is_worked_on_waits_for_the_work_to_end() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add("a")
        await queue.get()
        queue.add_after("a", 5)
        await clock.sleep(10)
        assert queue.statistics().again == 1
        queue.done("a")
        assert (await queue.get(), clock.monotonic()) == ("a", 10)

    run(scenario)


def test_a_key_that_fails_waits_longer_each_time_until_it_is_forgotten() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        delays = []
        queue.add("a")
        for _ in range(6):
            delays.append(queue.retry(await queue.get()))
            queue.done("a")
        assert delays == [1, 2, 4, 8, 10, 10]
        assert queue.failures("a") == 6
        assert queue.failures("b") == 0
        queue.forget("a")
        assert queue.retry(await queue.get()) == 1
        assert clock.monotonic() == sum(delays)
        assert queue.statistics().retries == 7

    run(scenario)


def test_jitter_only_shortens() -> None:
    rng = random.Random(7)
    backoff = Backoff(first=1, longest=60, jitter=0.5)
    delays = [backoff.delay(failures, rng) for failures in range(1, 10_000)]
    assert all(0.5 <= delay <= 60 for delay in delays)
    assert len(set(delays[100:])) > 1000


def test_many_workers_never_share_a_key() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        working: set[str] = set()
        counts: dict[str, int] = {}

        async def work(rng: random.Random) -> None:
            while True:
                key = await queue.get()
                assert key not in working
                working.add(key)
                await clock.sleep(rng.random())
                working.remove(key)
                counts[key] = counts.get(key, 0) + 1
                queue.done(key)

        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(work(random.Random(seed))) for seed in range(8)]
            for number in range(1000):
                queue.add(f"key-{number % 10}")
                await clock.sleep(0.05)
            await clock.sleep(10)
            for worker in workers:
                worker.cancel()
        assert len(counts) == 10
        statistics = queue.statistics()
        assert sum(counts.values()) == statistics.handed_out
        assert statistics.handed_out + statistics.coalesced == 1000

    run(scenario)


def test_a_worker_that_is_cancelled_in_the_moment_it_is_woken_passes_the_key_on() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        first = asyncio.ensure_future(queue.get())
        second = asyncio.ensure_future(queue.get())
        await clock.sleep(1)
        queue.add("a")
        first.cancel()
        assert await second == "a"

    run(scenario)


def test_closing_drops_what_waits_and_ends_the_workers() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add("a")
        await queue.get()
        waiting = asyncio.ensure_future(queue.get())
        await clock.sleep(1)
        queue.add("a")
        queue.add_after("c", 10)
        queue.close()
        with pytest.raises(Closed):
            await waiting
        queue.done("a")
        queue.add("d")
        with pytest.raises(Closed):
            await queue.get()
        assert queue.statistics().dropped == 3

    run(scenario)


def test_draining_hands_out_what_is_ready_and_what_comes_back() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add("a")
        await queue.get()
        queue.add("a")
        queue.add("b")
        queue.add_after("c", 10)
        queue.close(drain=True)
        queue.add("d")
        assert await queue.get() == "b"
        back = asyncio.ensure_future(queue.get())
        await clock.sleep(100)
        assert not back.done()
        queue.done("a")
        assert await back == "a"
        with pytest.raises(Closed):
            await queue.get()
        assert queue.statistics().dropped == 2

    run(scenario)


def test_moments_that_are_moved_again_and_again_take_no_memory() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        for number in range(10_000):
            queue.add_after("a", 20_000 - number)
        assert queue.statistics().delayed == 1
        assert len(queue._heap) < 200
        assert (await queue.get(), clock.monotonic()) == ("a", 10_001)

    run(scenario)


def test_statistics_show_ages() -> None:
    async def scenario(clock: VirtualClock) -> None:
        queue = make(clock)
        queue.add("a")
        queue.add("b")
        await clock.sleep(3)
        assert queue.statistics().oldest == 3
        await queue.get()
        await clock.sleep(4)
        statistics = queue.statistics()
        assert statistics.working == {"a": 4}
        assert (statistics.oldest, statistics.waited, statistics.ready) == (7, 3, 1)

    run(scenario)

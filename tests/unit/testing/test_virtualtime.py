import asyncio
import datetime

import pytest

from grove.testing.virtualtime import StuckError, VirtualClock, World, run


def test_time_jumps_to_the_next_timer_and_tasks_wake_in_order() -> None:
    seen: list[tuple[str, float]] = []

    async def sleeper(clock: VirtualClock, name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        seen.append((name, clock.monotonic()))

    async def scenario(clock: VirtualClock) -> datetime.datetime:
        before = clock.wall()
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeper(clock, "late", 7200))
            group.create_task(sleeper(clock, "early", 3600))
        assert clock.wall() - before == datetime.timedelta(hours=2)
        return clock.wall()

    first = run(scenario)
    assert seen == [("early", 3600), ("late", 7200)]
    assert run(scenario) == first


def test_timeouts_of_asyncio_follow_virtual_time() -> None:
    async def scenario(clock: VirtualClock) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await clock.sleep(20)
        assert clock.monotonic() == 10

    run(scenario)


def test_waiting_for_what_never_comes_is_an_error_that_names_the_task() -> None:
    async def never(clock: VirtualClock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(StuckError, match="never"):
        run(never)


def test_more_virtual_time_than_allowed_is_an_error() -> None:
    with pytest.raises(StuckError, match="not done within 10 s"):
        run(lambda clock: clock.sleep(20), limit=10)


def test_spinning_without_waiting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grove.testing.virtualtime.MAX_STEPS", 100)

    async def spin(clock: VirtualClock) -> None:
        while True:
            await clock.sleep(0)

    with pytest.raises(StuckError, match="without end"):
        run(spin)


def test_an_exception_that_nobody_retrieves_fails_the_run() -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def fail() -> None:
            raise ValueError("lost")

        lost = asyncio.get_running_loop().create_task(fail())
        await clock.sleep(1)
        del lost
        await clock.sleep(1)

    with pytest.raises(AssertionError, match="lost"):
        run(scenario)


async def tick(clock: VirtualClock, seen: list[float]) -> None:
    while True:
        await clock.sleep(1)
        seen.append(clock.monotonic())


def test_a_paused_process_stands_still_while_others_go_on_and_then_finds_its_timer_due() -> None:
    with World() as world:
        one, two = world.process("one"), world.process("two")
        seen_by_one: list[float] = []
        seen_by_two: list[float] = []
        one.start(tick(one.clock, seen_by_one))
        two.start(tick(two.clock, seen_by_two))
        world.advance(2)
        one.pause()
        world.advance(2.5)
        assert seen_by_one == [1, 2]
        assert seen_by_two == [1, 2, 3, 4]
        one.resume()
        world.advance(1)
        assert seen_by_one == [1, 2, 4.5, 5.5]


def test_a_killed_process_does_not_even_clean_up() -> None:
    seen: list[str] = []

    async def work(clock: VirtualClock) -> None:
        try:
            await clock.sleep(10)
        finally:
            seen.append("cleaned up")

    with World() as world:
        process = world.process()
        process.start(work(process.clock))
        world.advance(1)
        process.kill()
        world.advance(100)
        assert seen == []


def test_a_stopped_process_cleans_up() -> None:
    seen: list[str] = []

    async def work(clock: VirtualClock) -> None:
        try:
            await clock.sleep(10)
        finally:
            await clock.sleep(1)
            seen.append("cleaned up")

    with World() as world:
        process = world.process()
        process.start(work(process.clock))
        world.advance(1)
        process.stop()
        world.advance(1)
    assert seen == ["cleaned up"]


def test_the_time_of_day_of_one_process_can_be_wrong() -> None:
    with World() as world:
        right, wrong = world.process(), world.process()
        wrong.clock.wall_offset = datetime.timedelta(hours=-3)
        assert right.clock.wall() - wrong.clock.wall() == datetime.timedelta(hours=3)
        assert right.clock.monotonic() == wrong.clock.monotonic()

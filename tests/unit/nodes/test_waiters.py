"""Tasks for the containers that really do their work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from grove.nodes.objects import ContainerSpec, PodRecord
from grove.nodes.waiters import BROKEN, Key, Result, Run, Waiters
from grove.testing.virtualtime import VirtualClock, run

POD = msgspec.convert({"metadata": {"name": "p", "namespace": "n", "uid": "u"}}, PodRecord)
SPEC = ContainerSpec(name="grove-initc")
FIRST, SECOND = Run("u", 0, 0), Run("u", 0, 1)


class Works:
    """What containers do: they end when the test says so."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled = 0
        self.end: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    async def __call__(self, pod: PodRecord, container: ContainerSpec) -> Result:
        self.begun.append(container.name)
        try:
            return await asyncio.shield(self.end)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


@contextlib.asynccontextmanager
async def running(waiters: Waiters) -> AsyncIterator[list[Key]]:
    """The waiters at work, and the keys that they want looked at."""
    keys: list[Key] = []
    task = asyncio.ensure_future(waiters.run(keys.append))
    await waiters.synced()
    try:
        yield keys
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_a_run_that_is_wanted_runs_once_and_its_end_is_told() -> None:
    async def scene(clock: VirtualClock) -> None:
        works = Works()
        waiters = Waiters(works)
        async with running(waiters) as keys:
            for _ in range(3):
                waiters.want(POD, {FIRST: SPEC})
                await clock.sleep(1)
            assert works.begun == ["grove-initc"]
            assert (len(waiters), waiters.result(FIRST), keys) == (1, None, [])
            works.end.set_result(Result(0, "done"))
            await clock.sleep(1)
            assert (len(waiters), waiters.result(FIRST), keys) == (0, Result(0, "done"), [("n", "p")])
            waiters.want(POD, {FIRST: SPEC})  # it has ended: it is not begun again
            await clock.sleep(1)
            assert works.begun == ["grove-initc"]
            waiters.want(POD, {})
            assert waiters.result(FIRST) is None

    run(scene)


def test_a_run_that_is_not_wanted_any_more_is_cancelled_and_tells_nothing() -> None:
    async def scene(clock: VirtualClock) -> None:
        works = Works()
        waiters = Waiters(works)
        async with running(waiters) as keys:
            waiters.want(POD, {FIRST: SPEC})
            await clock.sleep(1)
            waiters.want(POD, {SECOND: SPEC})
            await clock.sleep(1)
            assert (len(waiters), works.cancelled, len(works.begun)) == (1, 1, 2)
            waiters.leave("u")
            await clock.sleep(1)
            assert (len(waiters), works.cancelled, keys) == (0, 2, [])

    run(scene)


def test_runs_of_other_pods_are_left_alone() -> None:
    async def scene(clock: VirtualClock) -> None:
        works = Works()
        waiters = Waiters(works)
        async with running(waiters):
            waiters.want(POD, {FIRST: SPEC})
            other = msgspec.convert({"metadata": {"name": "q", "uid": "v"}}, PodRecord)
            waiters.want(other, {Run("v", 0, 0): SPEC})
            waiters.leave("u")
            await clock.sleep(1)
            assert len(waiters) == 1

    run(scene)


def test_a_waiter_that_breaks_ends_alone() -> None:
    async def scene(clock: VirtualClock) -> None:
        async def work(pod: PodRecord, _: ContainerSpec) -> Result:
            raise RuntimeError("bug")

        waiters = Waiters(work)
        async with running(waiters) as keys:
            waiters.want(POD, {FIRST: SPEC})
            await clock.sleep(1)
            assert waiters.result(FIRST) == Result(BROKEN, "RuntimeError: bug")
            assert keys == [("n", "p")]

    run(scene)


def test_all_end_with_the_process() -> None:
    async def scene(clock: VirtualClock) -> None:
        works = Works()
        waiters = Waiters(works)
        async with running(waiters):
            waiters.want(POD, {FIRST: SPEC})
            await clock.sleep(1)
        assert works.cancelled == 1

    run(scene)


def test_nothing_is_begun_before_it_runs() -> None:
    async def scene(clock: VirtualClock) -> None:
        waiters = Waiters(Works())
        with pytest.raises(AssertionError, match="do not run"):
            waiters.want(POD, {FIRST: SPEC})

    run(scene)

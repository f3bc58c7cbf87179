import asyncio

import pytest

from grove.runtime.batches import Momentum, write_in_batches
from grove.testing.virtualtime import VirtualClock, run


class Server:
    """Takes a second for each write, and refuses some."""

    def __init__(self, clock: VirtualClock, *refused: int) -> None:
        self.clock = clock
        self.refused = refused
        self.starts: dict[float, list[int]] = {}

    async def write(self, item: int) -> str:
        self.starts.setdefault(self.clock.monotonic(), []).append(item)
        await self.clock.sleep(1 if item % 2 else 0.5)
        if item in self.refused:
            raise ValueError(f"refused {item}")
        return f"wrote {item}"


def test_batches_grow_up_to_a_bound() -> None:
    async def scenario(clock: VirtualClock) -> None:
        server = Server(clock)
        outcome = await write_in_batches(range(30), server.write, largest=8)
        assert [len(batch) for batch in server.starts.values()] == [1, 2, 4, 8, 8, 7]
        assert [item for item, _ in outcome.written] == list(range(30))
        assert outcome.written[3] == (3, "wrote 3")
        assert not outcome.failed
        assert not outcome.skipped
        outcome.raise_first()

    run(scenario)


def test_a_failing_batch_is_the_last_and_is_waited_for() -> None:
    async def scenario(clock: VirtualClock) -> None:
        server = Server(clock, 4, 5)
        outcome = await write_in_batches(range(100), server.write)
        assert [item for item, _ in outcome.written] == [0, 1, 2, 3, 6]
        assert [(item, str(error)) for item, error in outcome.failed] == [(4, "refused 4"), (5, "refused 5")]
        assert list(outcome.skipped) == list(range(7, 100))
        with pytest.raises(ValueError, match="refused 4") as caught:
            outcome.raise_first()
        assert caught.value.__notes__ == ["5 written, 2 failed, 93 not tried after that"]

    run(scenario)


def test_one_refusal_of_many_costs_one_request() -> None:
    async def scenario(clock: VirtualClock) -> None:
        server = Server(clock, 0)
        outcome = await write_in_batches(range(1000), server.write)
        assert sum(map(len, server.starts.values())) == 1
        assert len(outcome.skipped) == 999

    run(scenario)


def test_nothing_to_write_is_nothing_written() -> None:
    async def scenario(clock: VirtualClock) -> None:
        none: list[int] = []
        outcome = await write_in_batches(none, Server(clock).write)
        assert (outcome.written, outcome.failed, outcome.skipped) == ([], [], [])

    run(scenario)


def test_a_cancellation_cancels_what_is_under_way() -> None:
    async def scenario(clock: VirtualClock) -> None:
        server = Server(clock)
        task = asyncio.ensure_future(write_in_batches(range(100), server.write))
        await clock.sleep(0.75)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await clock.sleep(10)
        assert sum(map(len, server.starts.values())) == 3

    run(scenario)


def test_batches_that_make_no_sense_are_refused() -> None:
    async def scenario(clock: VirtualClock) -> None:
        for first, largest in ((0, 5), (6, 5)):
            with pytest.raises(ValueError, match="must be 1 or more"):
                await write_in_batches([1], Server(clock).write, first=first, largest=largest)

    run(scenario)


def test_momentum_begins_where_the_last_batches_ended_well() -> None:
    async def scenario(clock: VirtualClock) -> None:
        momentum: Momentum[str] = Momentum(largest=8)
        for expected in ([1, 2, 1], [8, 2]):
            server = Server(clock)
            await momentum.write("pods", range(sum(expected)), server.write)
            assert [len(batch) for batch in server.starts.values()] == expected
        assert momentum.first("pods") == 8
        assert momentum.first("others") == 1

    run(scenario)


def test_momentum_is_lost_with_a_failure() -> None:
    async def scenario(clock: VirtualClock) -> None:
        momentum: Momentum[str] = Momentum()
        await momentum.write("pods", range(10), Server(clock).write)
        outcome = await momentum.write("pods", range(10), Server(clock, 3).write)
        assert [item for item, _ in outcome.failed] == [3]
        assert momentum.first("pods") == 1
        await momentum.write("pods", (), Server(clock).write)
        assert momentum.first("pods") == 1, "nothing written tells nothing"

    run(scenario)


def test_momentum_forgets_what_was_not_asked_for_longest() -> None:
    async def scenario(clock: VirtualClock) -> None:
        momentum: Momentum[str] = Momentum(memory=2)
        for key in ("a", "b", "a", "c"):
            await momentum.write(key, range(2), Server(clock).write)
        assert [momentum.first(key) for key in "abc"] == [8, 1, 4]

    run(scenario)

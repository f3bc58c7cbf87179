"""The cache over time: how it lists, follows, resumes and gives way, with a server and a clock that the test moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from grove.kube.cache import Cache, Pace
from grove.kube.decoding import Bookmark, Event
from grove.kube.indexes import by_owner
from grove.kube.sharing import Sharing
from grove.kube.store import Change
from tests.unit.kube.fakes import (
    FakeClock,
    FakeServer,
    FakeSource,
    Thing,
    cut,
    gone,
    owned_by,
    settle,
    thing,
    version_of,
)


class World:
    """A server with two things, a source, a clock and a cache."""

    def __init__(self, *, streams: bool = True, **options: Any) -> None:
        self.server = FakeServer()
        self.server.create("a", owner_references=owned_by("p"))
        self.server.create("b")
        self.source = FakeSource(self.server, streams=streams)
        self.clock = FakeClock()
        self.cache: Cache[Thing] = Cache(
            self.source, clock=self.clock, rng=random.Random(1), indexes={"owner": by_owner}, **options
        )
        self.changes: list[Change[Thing]] = []
        self.cache.follow(self.changes.append)

    async def happens(self, what: Callable[[], object]) -> None:
        """Something happens on the server, and the watch tells of it."""
        what()
        self.source.tell()
        assert self.source.pipe is not None
        self.source.pipe.deliver()
        await settle()

    async def ends(self, error: Any = None) -> None:
        assert self.source.pipe is not None
        self.source.pipe.end(error)
        await settle()

    async def later(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await settle()

    def names(self) -> list[str]:
        return sorted(one.metadata.name for one in self.cache)


def run(play: Callable[[World], Awaitable[None]], **options: Any) -> World:
    """Plays a scene with a running cache, which is cancelled afterwards."""

    async def main() -> World:
        world = World(**options)
        task = asyncio.create_task(world.cache.run())
        await settle()
        try:
            await play(world)
            assert not task.done() or task.cancelled()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert world.source.pipe is None, "the watch is closed when the cache ends"
        return world

    return asyncio.run(main())


@pytest.mark.parametrize("streams", [True, False])
def test_it_lists_and_then_follows(streams: bool) -> None:
    async def play(world: World) -> None:
        assert world.cache.is_synced
        assert world.names() == ["a", "b"]
        await world.happens(lambda: world.server.create("c"))
        await world.happens(lambda: world.server.update("a", value=7))
        await world.happens(lambda: world.server.delete("b"))
        assert world.names() == ["a", "c"]
        assert [one.value for one in world.cache.find("owner", "p")] == [7]
        assert world.cache.revision == str(world.server.revision)

    world = run(play, streams=streams)
    assert world.source.asked == (["stream"] if streams else ["stream", "list", "watch 102"])
    assert world.cache.statistics().streamed == (1 if streams else 0)


def test_a_server_that_passes_over_streaming_gets_paged_lists() -> None:
    async def main() -> list[str]:
        world = World()
        world.source.ignores_streaming = True
        task = asyncio.create_task(world.cache.run())
        await world.cache.synced()
        await settle()
        task.cancel()
        return world.source.asked

    assert asyncio.run(main()) == ["stream", "list", "watch 102"]


def test_a_streamed_list_that_breaks_off_is_followed_by_one_in_pages() -> None:
    async def main() -> list[str]:
        world = World()
        world.source.list_failures.append(cut())
        task = asyncio.create_task(world.cache.run())
        await settle()
        assert not world.cache.is_synced
        assert world.cache.age() is None
        await world.later(60)
        assert world.cache.is_synced
        task.cancel()
        return world.source.asked

    assert asyncio.run(main()) == ["stream", "list", "watch 102"]


def test_what_changes_while_a_list_is_streamed_is_part_of_it() -> None:
    class Busy(FakeSource):
        async def watch(self, revision: str, *, initial_events: bool) -> Any:
            yield Event("ADDED", thing("a", 5))
            yield Event("ADDED", thing("b", 6))
            yield Event("MODIFIED", thing("a", 8))
            yield Event("DELETED", thing("b", 9))
            yield Bookmark("9", initial_events_end=True)
            await asyncio.Event().wait()

    async def main() -> None:
        cache: Cache[Thing] = Cache(Busy(FakeServer()), clock=FakeClock(), rng=random.Random(1))
        task = asyncio.create_task(cache.run())
        await cache.synced()
        assert [version_of(one) for one in cache] == [8]
        task.cancel()

    asyncio.run(main())


def test_a_watch_that_ends_in_time_goes_on_at_once_where_it_was() -> None:
    async def play(world: World) -> None:
        await world.happens(lambda: world.server.create("c"))
        world.clock.now += 400
        world.server.create("d")  # while nobody watches
        await world.ends()
        assert world.source.pipe is not None
        world.source.pipe.deliver()
        await settle()
        assert world.names() == ["a", "b", "c", "d"]

    world = run(play)
    assert world.source.asked == ["stream", "watch 103"]
    assert world.clock.slept == []


def test_it_goes_on_after_the_last_bookmark() -> None:
    async def play(world: World) -> None:
        assert world.source.pipe is not None
        world.source.pipe.inject(Bookmark("900"))
        await settle()
        await world.ends(cut())
        await world.later(60)

    world = run(play)
    assert world.source.asked == ["stream", "watch 900"]
    assert world.cache.revision == "900"


def test_410_lists_anew_and_tells_only_the_difference() -> None:
    async def play(world: World) -> None:
        world.changes.clear()
        old = world.cache.get("b", "ns")
        world.server.update("b", value=3)
        await world.ends(gone(102))
        assert world.source.asked == ["stream"], "not at once: everyone got a 410 in this moment"
        await world.later(60)
        assert world.source.asked == ["stream", "stream"]
        assert world.changes == [(old, world.cache.get("b", "ns"))]

    assert run(play).cache.statistics().gone == 1


def test_failures_in_a_row_are_tried_ever_less_often_and_by_chance() -> None:
    async def play(world: World) -> None:
        for _ in range(12):
            await world.ends(cut())
            world.clock.now += 1
            while world.source.pipe is None:
                await world.later(60)

    slept = run(play, pace=Pace(first=1, longest=30)).clock.slept
    bounds = [1.0, 2.0, 4.0, 8.0, 16.0, *[30.0] * 7]
    assert all(bound / 2 <= seconds <= bound for seconds, bound in zip(slept, bounds, strict=True))
    assert len(set(slept)) == len(slept)


def test_a_watch_that_tells_something_ends_the_row_of_failures() -> None:
    async def play(world: World) -> None:
        for number in range(6):
            await world.ends(cut())
            await world.later(60)
            await world.happens(lambda number=number: world.server.create(f"n{number}"))  # type: ignore[misc]

    assert max(run(play, pace=Pace(first=1)).clock.slept) <= 1


def test_a_server_that_closes_every_watch_at_once_is_listed_again_and_never_in_a_hurry() -> None:
    async def play(world: World) -> None:
        for _ in range(4):
            await world.ends()
            await world.later(0)
            assert world.source.pipe is None, "it waits"
            await world.later(60)

    world = run(play)
    assert world.source.asked == ["stream", "watch 102", "watch 102", "stream", "stream"]


def test_our_own_write_is_read_at_once_and_told_once() -> None:
    async def play(world: World) -> None:
        world.changes.clear()
        written = world.server.update("a", value=9)
        world.source.tell()
        world.cache.wrote(written)
        assert world.cache.get("a", "ns") is written
        assert world.source.pipe is not None
        world.source.pipe.deliver()
        await settle()
        assert [change.new for change in world.changes] == [written]
        assert world.cache.statistics().store.echoes == 1

    run(play)


def test_our_own_deletion_is_seen_at_once() -> None:
    async def play(world: World) -> None:
        world.cache.deleted(world.server.delete("a"))
        assert world.names() == ["b"]
        assert world.cache.find("owner", "p") == ()

    run(play)


def test_a_late_follower_begins_with_what_is_there() -> None:
    async def play(world: World) -> None:
        late: list[Change[Thing]] = []
        end = world.cache.follow(late.append)
        assert {change.new.metadata.name for change in late if change.new and not change.old} == {"a", "b"}
        end()
        await world.happens(lambda: world.server.create("c"))
        assert len(late) == 2
        assert len(world.changes) == 3

    run(play)


def test_a_handler_that_fails_keeps_nothing_from_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def fail(change: Change[Thing]) -> None:
        raise RuntimeError("no")

    async def play(world: World) -> None:
        world.cache.follow(fail)
        last: list[Change[Thing]] = []
        world.cache.follow(last.append)
        await world.happens(lambda: world.server.create("c"))
        assert len(last) == len(world.changes) == 3

    assert run(play).cache.statistics().handler_errors == 3
    assert caplog.messages == ["cache handler failed"] * 3


def test_a_handler_that_writes_is_told_in_order() -> None:
    async def play(world: World) -> None:
        seen: list[tuple[str, int]] = []

        def writes(change: Change[Thing]) -> None:
            if change.new is not None and change.new.value == 1:
                world.cache.wrote(world.server.update("a", value=2))

        world.cache.follow(writes)
        world.cache.follow(lambda change: seen.append(("second", change.new.value)) if change.new else None)
        seen.clear()
        await world.happens(lambda: world.server.update("a", value=1))
        assert seen == [("second", 1), ("second", 2)]

    run(play)


def test_one_can_wait_for_a_revision() -> None:
    async def play(world: World) -> None:
        await world.cache.wait_for("102")
        waiter = asyncio.create_task(world.cache.wait_for("104"))
        gives_up = asyncio.create_task(world.cache.wait_for("103"))
        await settle()
        gives_up.cancel()
        await world.happens(lambda: world.server.create("c"))
        assert not waiter.done()
        await world.happens(lambda: world.server.create("d"))
        assert waiter.done()
        with pytest.raises(ValueError, match="cannot be compared"):
            await world.cache.wait_for("x7")

    run(play)


def test_staleness_shows() -> None:
    async def play(world: World) -> None:
        world.clock.now += 42
        assert world.cache.statistics().age == 42
        await world.happens(lambda: world.server.create("c"))
        assert world.cache.age() == 0

    run(play)


def test_errors_of_our_own_end_it() -> None:
    async def main() -> None:
        world = World()
        task = asyncio.create_task(world.cache.run())
        await settle()
        assert world.source.pipe is not None
        world.source.pipe.inject(Event("ADDED", thing("broken", "")))
        with pytest.raises(ValueError, match="ns/broken"):
            await task

    asyncio.run(main())


def test_a_cache_may_share_equal_parts() -> None:
    async def play(world: World) -> None:
        await world.happens(lambda: world.server.create("c", labels={"app": "".join(["x", "yz"])}))
        await world.happens(lambda: world.server.create("d", labels={"app": "".join(["xy", "z"])}))
        one, other = (world.cache.get(name, "ns") for name in "cd")
        assert one is not None
        assert other is not None
        assert (one.metadata.labels or {})["app"] is (other.metadata.labels or {})["app"]

    run(play, sharing=Sharing())

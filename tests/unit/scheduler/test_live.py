"""How the engine is told what happens, and when it is asked to decide."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from typing import Any, cast

from grove.kube.client import Client
from grove.kube.resources import NODES, PODS
from grove.scheduler.live import Live
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Decision
from grove.scheduler.world import World
from tests.unit.scheduler.apiserver import SCHEDULER, SchedulerServer, play


class Mind:
    """Writes down what it is told; decides what it was given."""

    def __init__(self, server: SchedulerServer) -> None:
        self.told: list[tuple[str, str]] = []
        self.asked: list[float] = []
        self.decisions: list[Decision] = []
        self.wakes: list[float] = []
        self.surroundings = Surroundings()
        self._server = server

    def __getattr__(self, name: str) -> Callable[..., None]:
        def note(*arguments: Any) -> None:
            view = arguments[-1]
            self.told.append((name, view if isinstance(view, str) else view.metadata.name))

        return note

    def decide(self, now: float, *, limit: int) -> list[Decision]:
        self.asked.append(self._server.clock.monotonic())
        found, self.decisions = self.decisions[:limit], self.decisions[limit:]
        return found

    def next_wake(self, now: float) -> float | None:
        if self.decisions:
            return now
        later = [moment for moment in self.wakes if moment > now]
        return min(later) if later else None

    def unfit(self, uids: Collection[str]) -> Collection[str]:
        return ()


class Stage:
    def __init__(self, server: SchedulerServer) -> None:
        clock = server.clock
        self.server, self.mind = server, Mind(server)
        self.world = World(cast(Client, server), scheduler_names=[SCHEDULER], clock=clock, rng=random.Random(1))
        self.carried: list[Decision] = []
        self.under_way = 0
        self.recovered: list[int] = []
        self.live = Live(
            world=self.world,
            mind=cast(Any, self.mind),
            carry=self.carried.append,
            recover=lambda: self.recovered.append(len(self.mind.told)),
            under_way=lambda: self.under_way,
            clock=clock,
        )
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        runs = (self.world.caches.run, self.world.ended.run, self.live.run)
        self.tasks = [asyncio.ensure_future(run()) for run in runs]

    async def settled(self, seconds: float = 0.1) -> None:
        await self.server.clock.sleep(seconds)

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


def show(story: Callable[[Stage], Awaitable[None]]) -> None:
    async def main(server: SchedulerServer) -> None:
        stage = Stage(server)
        await story(stage)
        await stage.end()

    play(main)


def test_all_that_is_there_is_told_before_anything_is_decided() -> None:
    async def story(stage: Stage) -> None:
        stage.server.add_gang("g", {"worker": 2})
        stage.server.add_node("a")
        stage.start()
        await stage.settled()
        assert [kind for kind, _ in stage.mind.told] == ["node", "pod", "pod", "gang"]
        assert stage.recovered == [4]
        assert stage.live.has_started

    show(story)


def test_nothing_is_decided_while_a_cache_has_not_been_read() -> None:
    async def story(stage: Stage) -> None:
        stage.server.is_away = True
        stage.start()
        await stage.settled(60)
        assert stage.mind.asked == []
        stage.server.is_away = False
        await stage.settled(60)
        assert stage.mind.asked

    show(story)


def test_changes_that_come_together_are_told_together_and_only_the_last_of_each_object() -> None:
    async def story(stage: Stage) -> None:
        stage.start()
        await stage.settled()
        before = len(stage.mind.asked)
        for number in range(5):
            stage.server.add_node(f"n{number}")
            stage.server.edit(NODES, "n0", {"metadata": {"labels": {"turn": str(number)}}})
        await stage.settled()
        assert sorted(stage.mind.told) == [("node", f"n{number}") for number in range(5)]
        assert len(stage.mind.asked) == before + 1

    show(story)


def test_what_goes_is_told_and_what_comes_again_too() -> None:
    async def story(stage: Stage) -> None:
        stage.server.add_pod("p")
        stage.start()
        await stage.settled()
        stage.server.remove(PODS, "p", "default")
        stage.server.add_pod("p")
        await stage.settled()
        assert stage.mind.told == [("pod", "p"), ("pod_gone", "p"), ("pod", "p")]

    show(story)


def test_it_wakes_at_the_moment_that_the_engine_names() -> None:
    async def story(stage: Stage) -> None:
        wall = stage.server.clock.wall().timestamp()
        stage.mind.wakes = [wall + 100, wall + 200]
        stage.start()
        await stage.settled(250)
        assert [round(moment) for moment in stage.mind.asked] == [0, 100, 200]

    show(story)


def test_no_more_is_decided_while_many_pods_are_on_their_way() -> None:
    async def story(stage: Stage) -> None:
        stage.under_way = 10_000
        stage.mind.decisions = cast(Any, ["one"])
        stage.start()
        await stage.settled(10)
        assert stage.carried == []
        stage.under_way = 0
        stage.live.bound("uid")
        await stage.settled()
        assert cast(Any, stage.carried) == ["one"]

    show(story)


def test_a_long_row_of_decisions_leaves_room_for_others() -> None:
    async def story(stage: Stage) -> None:
        stage.mind.decisions = cast(Any, list(range(1000)))
        stage.start()
        await stage.settled()
        assert len(stage.carried) == 1000
        assert stage.live.statistics().decisions == 1000

    show(story)

"""How room is made: the plan is written down, victims go within their budgets, and everyone says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.scheduler import record
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.kinds import POD_GANGS, PREEMPTION
from grove.scheduler.verdicts import Evict, Victim
from tests.unit.scheduler.apiserver import Scheduler, SchedulerServer, engine, play


class Told:
    """An engine that remembers what became of victims."""

    def __init__(self) -> None:
        self.evicted: list[str] = []
        self.stayed: list[str] = []


def show(story: Callable[[SchedulerServer, Scheduler, Told], Awaitable[None]]) -> None:
    async def main(server: SchedulerServer) -> None:
        told, mind = Told(), engine()
        vars(mind).update(evicted=told.evicted.append, evict_failed=lambda uid, _: told.stayed.append(uid))
        scheduler = Scheduler(server, mind=mind)
        scheduler.start()
        server.add_node("a", gpus=2)
        for name in server.add_gang("low", {"worker": 2}):
            server.edit(PODS, name, {"metadata": {"finalizers": ["example.com/slow"]}}, "default")
        await server.clock.sleep(5)
        server.add_gang("high", {"worker": 2})
        await server.clock.sleep(5)
        await story(server, scheduler, told)
        scheduler.check()
        await scheduler.kill()

    play(main)


def plan(server: SchedulerServer, seconds: float = 60) -> Evict:
    def uid(name: str) -> str:
        found: str = server.one(PODS, name)["metadata"]["uid"]
        return found

    cls = engine().cluster.classes.of(msgspec.convert(server.one(PODS, "high-worker-0"), PodView))
    waiting = tuple(Pending(uid(name), "default", name, cls) for name in ("high-worker-0", "high-worker-1"))
    group = Group("high-worker", 2, (), waiting)
    gang = Gang("default/high", server.one(POD_GANGS, "high")["metadata"]["uid"], Scope("high", groups=(group,)))
    return Evict(
        gang=gang,
        victims=tuple(Victim(uid(name), "default", name, "default/low") for name in ("low-worker-0", "low-worker-1")),
        puts=tuple((pod, "a") for pod in waiting),
        until=server.clock.wall().timestamp() + seconds,
        why="its priority is 100",
    )


def disrupted(server: SchedulerServer, name: str) -> str:
    told = server.one(PODS, name)["status"].get("conditions", [])
    return next((one["reason"] for one in told if one["type"] == "DisruptionTarget"), "")


def test_victims_go_and_everyone_says_why() -> None:
    async def story(server: SchedulerServer, scheduler: Scheduler, told: Told) -> None:
        made = plan(server)
        scheduler.term.evictor.carry_out(made)
        await server.clock.sleep(1)
        assert sorted(told.evicted) == sorted(one.uid for one in made.victims)
        found = record.read(server.one(POD_GANGS, "high")["metadata"]["annotations"][PREEMPTION])
        assert found is not None
        assert found.victims == ("default/low-worker-0", "default/low-worker-1")
        assert server.condition("low", "DisruptionTarget") == ("True", "PreemptionByScheduler")
        for name in ("low-worker-0", "low-worker-1"):
            assert "deletionTimestamp" in server.one(PODS, name)["metadata"]
            assert disrupted(server, name) == "PreemptionByScheduler"
        for name in ("high-worker-0", "high-worker-1"):
            assert server.one(PODS, name)["status"]["nominatedNodeName"] == "a"

    show(story)


def test_a_victim_with_a_budget_is_asked_again_until_the_plan_ends() -> None:
    async def story(server: SchedulerServer, scheduler: Scheduler, told: Told) -> None:
        made = plan(server)
        server.protected = {"low-worker-0"}
        scheduler.term.evictor.carry_out(made)
        await server.clock.sleep(30)
        assert told.evicted == [made.victims[1].uid]
        server.protected = set()
        await server.clock.sleep(30)
        assert len(told.evicted) == 2
        assert told.stayed == []

    show(story)


def test_a_victim_that_may_not_go_is_given_up_in_the_end() -> None:
    async def story(server: SchedulerServer, scheduler: Scheduler, told: Told) -> None:
        made = plan(server)
        server.protected = {"low-worker-0"}
        scheduler.term.evictor.carry_out(made)
        await server.clock.sleep(90)
        assert told.stayed == [made.victims[0].uid]
        assert scheduler.term.evictor.statistics().failed == 1

    show(story)


def test_nobody_goes_for_a_gang_that_is_gone() -> None:
    async def story(server: SchedulerServer, scheduler: Scheduler, told: Told) -> None:
        made = plan(server)
        server.remove(POD_GANGS, "high", "default")
        scheduler.term.evictor.carry_out(made)
        await server.clock.sleep(10)
        assert sorted(told.stayed) == sorted(one.uid for one in made.victims)
        assert set(server.where()) == {"low-worker-0", "low-worker-1"}

    show(story)

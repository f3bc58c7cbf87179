"""A scheduler on an API server: gangs get their nodes, statuses cost little, and nothing is left half done."""

from __future__ import annotations

from typing import Literal

from grove.api import labels
from grove.kube.errors import Conflict, Forbidden, InternalError, TooManyRequests, Unavailable
from grove.kube.resources import CORE_EVENTS, PODS, Resource
from grove.scheduler import record
from grove.scheduler.kinds import DECISION, POD_GANGS
from tests.unit.operator.apiserver import no_fault
from tests.unit.scheduler.apiserver import PATIENCE, Scheduler, SchedulerServer, play


async def passes(server: SchedulerServer, seconds: float) -> None:
    await server.clock.sleep(seconds)


def test_a_gang_is_written_down_bound_and_told_of_in_one_status() -> None:
    async def story(server: SchedulerServer) -> None:
        for name in ("a", "b", "c"):
            server.add_node(name)
        scheduler = Scheduler(server).start()
        names = server.add_gang("g", {"leader": 1, "worker": 2})
        await passes(server, 0.5)
        assert set(server.where()) == set(names)
        server.ready(*names)
        await passes(server, 5)
        order = [(one.verb, one.resource, one.name, one.subresource) for one in server.writes]
        assert order == [
            ("patch", "podgangs", "g", ""),
            ("create", "pods", "g-worker-0", "binding"),
            ("create", "pods", "g-worker-1", "binding"),
            ("create", "pods", "g-leader-0", "binding"),
            ("patch", "podgangs", "g", "status"),
        ]
        status = server.status("g")
        assert status["phase"] == "Running"
        assert {one["type"]: one["status"] for one in status["conditions"]} == {
            "Initialized": "True",
            "Scheduled": "True",
            "Ready": "True",
        }
        assert status["placementScore"] == 1.0
        found = record.read(server.one(POD_GANGS, "g")["metadata"]["annotations"][DECISION])
        assert found is not None
        scheduler.check()
        await scheduler.kill()

    play(story)


def test_lone_pods_cost_one_write() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a", gpus=8)
        scheduler = Scheduler(server).start()
        for index in range(8):
            server.add_pod(f"p{index}")
        await passes(server, 10)
        assert len(server.where()) == 8
        assert len(server.writes) == 8
        await scheduler.kill()

    play(story)


def test_a_gang_that_takes_long_to_start_is_told_of_twice() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a", gpus=2)
        scheduler = Scheduler(server).start()
        names = server.add_gang("g", {"worker": 2})
        await passes(server, 10)
        assert server.status("g")["phase"] == "Starting"
        server.ready(*names)
        await passes(server, 1)
        assert server.status("g")["phase"] == "Running"
        assert server.count(resource="podgangs", subresource="status") == 2
        await scheduler.kill()

    play(story)


def test_a_gang_without_room_is_told_once_and_its_pods_too() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        scheduler = Scheduler(server).start()
        names = server.add_gang("g", {"worker": 2})
        await passes(server, 600)
        assert server.condition("g", "Scheduled") == ("False", "Unschedulable")
        assert server.status("g")["phase"] == "Pending"
        for name in names:
            (told,) = server.one(PODS, name)["status"]["conditions"]
            assert (told["type"], told["status"], told["reason"]) == ("PodScheduled", "False", "Unschedulable")
        assert server.count(resource="podgangs") == 1
        assert server.count(resource="pods") == 2
        assert len(server.names(CORE_EVENTS)) == 3
        server.add_node("b")
        await passes(server, 10)
        assert set(server.where()) == set(names)
        assert server.condition("g", "Scheduled") == ("True", "PodGangScheduled")
        await scheduler.kill()

    play(story)


def test_what_the_operator_says_is_kept() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        server.add_gang("g", {"worker": 1})
        said = {"type": "Initialized", "status": "True", "reason": "PodGangPodsCreated", "message": "all there"}
        said["lastTransitionTime"] = "2026-11-20T00:00:00Z"
        server.edit(POD_GANGS, "g", {"status": {"phase": "Pending", "conditions": [said]}}, "default")
        scheduler = Scheduler(server).start()
        await passes(server, 10)
        assert said in server.status("g")["conditions"]
        assert server.condition("g", "Scheduled")[0] == "True"
        await scheduler.kill()

    play(story)


def test_lost_answers_and_refusals_end_well() -> None:
    async def story(server: SchedulerServer) -> None:
        for name in "abcd":
            server.add_node(name)
        turns = iter(range(100))

        def fault(verb: str, resource: Resource, name: str) -> Literal["lost"] | None:
            if verb != "binding":
                return None
            match next(turns):
                case 0:
                    return "lost"
                case 1:
                    raise TooManyRequests("later", code=429)
                case 2:
                    raise InternalError("oh", code=500)
                case 3:
                    raise Unavailable("not now", code=503)
            return None

        server.fault = fault
        scheduler = Scheduler(server).start()
        names = server.add_gang("g", {"worker": 4})
        await passes(server, 30)
        assert set(server.where()) == set(names)
        statistics = scheduler.term.binder.statistics()
        assert statistics.bound == 4
        assert not statistics.failed
        assert statistics.under_way == 0
        await scheduler.kill()

    play(story)


def test_a_pod_that_somebody_else_binds_is_taken_as_it_is() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        server.add_node("b")

        def fault(verb: str, resource: Resource, name: str) -> None:
            if verb == "binding" and not server.one(PODS, name)["spec"]["nodeName"]:
                server.edit(PODS, name, {"spec": {"nodeName": "b"}}, "default")
                raise Conflict("it is assigned already", code=409)

        server.fault = fault
        scheduler = Scheduler(server).start()
        server.add_pod("p")
        await passes(server, 10)
        assert server.where() == {"p": "b"}
        assert scheduler.term.binder.statistics().failed == {"Foreign": 1}
        await scheduler.kill()

    play(story)


def test_a_pod_that_goes_and_comes_back_meanwhile_is_decided_anew() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a", gpus=2)
        gone: list[str] = []

        def fault(verb: str, resource: Resource, name: str) -> None:
            if verb == "binding" and name == "g-worker-1" and not gone:
                gone.append(name)
                server.remove(PODS, name, "default")
                server.add_pod(name, gang="g")

        server.fault = fault
        scheduler = Scheduler(server).start()
        names = server.add_gang("g", {"worker": 2})
        await passes(server, 30)
        assert gone
        assert set(server.where()) == set(names)
        await scheduler.kill()

    play(story)


def test_a_scheduler_killed_before_any_write_leaves_nothing_half_done() -> None:
    """Another one carries on, wherever it was."""
    for fatal in range(8):

        async def story(server: SchedulerServer, fatal: int = fatal) -> None:
            for name in "abcd":
                server.add_node(name)
            server.fatal = fatal
            first = Scheduler(server).start()
            names = server.add_gang("g", {"leader": 1, "worker": 3})
            await passes(server, 5)
            before = server.where()
            assert len(before) == min(max(0, fatal - 1), 4)
            decided = server.one(POD_GANGS, "g")["metadata"].get("annotations")
            await first.kill()
            second = Scheduler(server, seed=2).start()
            await passes(server, 5)
            after = server.where()
            assert set(after) == set(names)
            assert before.items() <= after.items()
            assert len(set(after.values())) == 4
            assert (fatal == 0) == (decided is None)
            server.ready(*names)
            await passes(server, 5)
            assert server.status("g")["phase"] == "Running"
            second.check()
            await second.kill()

        play(story)


def test_a_decision_that_was_written_down_is_carried_on_to_the_same_nodes() -> None:
    async def story(server: SchedulerServer) -> None:
        for name in "abcd":
            server.add_node(name)
        server.fatal = 2  # the record and one pod
        first = Scheduler(server).start()
        server.add_gang("g", {"worker": 2})
        await passes(server, 5)
        await first.kill()
        server.add_node("0")  # first fit would go there
        second = Scheduler(server).start()
        await passes(server, 5)
        assert server.where() == {"g-worker-0": "a", "g-worker-1": "b"}
        assert second.term.binder.statistics().bound == 1
        await second.kill()

    play(story)


def test_a_gang_that_cannot_be_finished_is_taken_back() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        server.add_node("b")
        server.fatal = 2
        first = Scheduler(server).start()
        server.add_gang("g", {"worker": 2})
        await passes(server, 5)
        await first.kill()
        assert len(server.where()) == 1
        server.add_pod("thief", node="b", schedulerName="other")
        second = Scheduler(server).start()
        await passes(server, PATIENCE + 10)
        assert server.where() == {"thief": "b"}
        assert not server.get_now(PODS, "g-worker-0", "default")
        assert server.condition("g", "Scheduled")[1] in ("BindConflict", "WaitingForPods")
        assert second.term.takeback.gangs == 1
        await second.kill()

    play(story)


def test_a_gang_that_ran_and_lost_a_pod_keeps_the_others() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        server.add_node("b")
        scheduler = Scheduler(server).start()
        names = server.add_gang("g", {"worker": 2})
        await passes(server, 5)
        server.ready(*names)
        await passes(server, 5)
        server.remove(PODS, "g-worker-0", "default")
        server.add_pod("thief", node="a", schedulerName="other")
        await passes(server, 1)
        server.add_pod("g-worker-0", gang="g")
        await passes(server, 5 * PATIENCE)
        assert set(server.where()) == {"thief", "g-worker-1"}
        assert server.condition("g", "Scheduled") == ("False", "Unschedulable")
        assert scheduler.term.takeback.gangs == 0
        await scheduler.kill()

    play(story)


def test_a_pod_that_admission_refuses_is_tried_ever_less_often_and_told_so() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        tries: list[float] = []

        def fault(verb: str, resource: Resource, name: str) -> None:
            if verb == "binding":
                tries.append(server.clock.monotonic())
                raise Forbidden("a webhook does not want it", code=403)

        server.fault = fault
        scheduler = Scheduler(server).start()
        server.add_gang("g", {"worker": 1})
        await passes(server, 300)
        assert len(tries) < 15
        assert server.condition("g", "Scheduled") == ("False", "BindConflict")
        assert "a webhook does not want it" in str(server.status("g")["conditions"])
        server.fault = no_fault
        await passes(server, 61)
        assert set(server.where()) == {"g-worker-0"}
        await scheduler.kill()

    play(story)


def test_gangs_that_are_made_for_another_scheduler_are_told_of_by_the_operator() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a")
        names = server.add_gang("g", {"worker": 1})
        server.edit(POD_GANGS, "g", {"metadata": {"labels": {labels.SCHEDULER_NAME: "default-scheduler"}}}, "default")
        scheduler = Scheduler(server).start()
        await passes(server, 30)
        assert set(server.where()) == set(names)  # its pods name us all the same
        assert server.status("g") == {}
        await scheduler.kill()

    play(story)

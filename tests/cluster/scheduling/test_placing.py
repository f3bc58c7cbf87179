"""Gangs and lone pods on a real API server: they get their nodes, or are told why not."""

from grove.testing.waiting import eventually
from tests.cluster.scheduling.gangs import PATIENCE, Gangs
from tests.cluster.scheduling.scheduler import Scheduler


def test_a_lone_pod_that_names_the_scheduler_gets_a_node(gangs: Gangs, scheduler: Scheduler) -> None:
    gangs.pod("alone")
    gangs.placed("alone")


def test_a_pod_that_names_no_scheduler_is_left_to_kubernetes(gangs: Gangs, scheduler: Scheduler) -> None:
    gangs.pod("foreign", schedulerName="default-scheduler")
    gangs.placed("foreign")
    before = scheduler.value("grove_scheduler_pods_bound_total")
    gangs.pod("ours")
    gangs.placed("ours")
    assert scheduler.value("grove_scheduler_pods_bound_total") == before + 1


def test_a_gang_comes_into_one_rack_and_says_how_it_fares(gangs: Gangs, scheduler: Scheduler) -> None:
    names = gangs.gang("train", {"leader": 1, "worker": 2})
    where = gangs.placed(*names)
    assert len({gangs.rack_of(node) for node in where.values()}) == 1
    status = gangs.running("train")
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "Initialized": "True",
        "Scheduled": "True",
        "Ready": "True",
    }
    assert 0 < status["placementScore"] <= 1
    assert status["lastScheduled"] <= status["lastReady"]
    assert "scheduler.grove.io/decision" in gangs.view("train")["metadata"]["annotations"]


def test_a_gang_without_room_waits_whole_and_everyone_is_told(gangs: Gangs, scheduler: Scheduler) -> None:
    names = gangs.gang("large", {"worker": 4})  # racks have three nodes
    condition = gangs.waits("large", "Unschedulable")
    assert condition["message"]
    assert gangs.where() == {}

    def told() -> set[str]:
        return {
            name
            for name, pod in gangs.pods().items()
            for one in pod["status"].get("conditions", ())
            if (one["type"], one["status"], one["reason"]) == ("PodScheduled", "False", "Unschedulable")
        }

    eventually(told, lambda found: found == set(names), timeout=PATIENCE)
    eventually(lambda: [one["reason"] for one in gangs.events("large")], lambda found: found == ["Unschedulable"])
    event = eventually(lambda: gangs.events(names[0]), timeout=PATIENCE)[0]
    assert (event["type"], event["reason"], event["source"]["component"]) == (
        "Warning",
        "Unschedulable",
        "grove-scheduler",
    )
    assert gangs.status("large")["phase"] == "Pending"


def test_room_that_becomes_free_is_found(gangs: Gangs, scheduler: Scheduler) -> None:
    first = gangs.gang("first", {"worker": 12}, required=None)
    gangs.placed(*first)
    second = gangs.gang("second", {"worker": 2})
    gangs.waits("second", "Unschedulable")
    gangs.remove("first", first)
    where = gangs.placed(*second)
    assert len({gangs.rack_of(node) for node in where.values()}) == 1
    gangs.running("second")


def test_pods_beyond_the_minimum_come_when_there_is_room(gangs: Gangs, scheduler: Scheduler) -> None:
    for number in range(10):
        gangs.pod(f"other-{number}", gpus=8)
    gangs.placed(*(f"other-{number}" for number in range(10)))
    names = gangs.gang("elastic", {"worker": 3}, minimum=1, required=None)
    eventually(lambda: len(set(names) & set(gangs.where())), lambda found: found == 2, timeout=PATIENCE)
    gangs.running("elastic")
    gangs.delete("other-0")
    gangs.placed(*names)


def test_pods_that_come_late_wait_for_their_gang(gangs: Gangs, scheduler: Scheduler) -> None:
    names = gangs.gang("late", {"worker": 2}, pods=False)
    gangs.pod(names[0], gang="late", gpus=8)
    gangs.waits("late", "WaitingForPods")
    assert gangs.where() == {}
    gangs.pod(names[1], gang="late", gpus=8)
    gangs.placed(*names)
    gangs.running("late")


def test_a_pod_that_others_hold_back_is_not_touched(gangs: Gangs, scheduler: Scheduler) -> None:
    gangs.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    gangs.pod("free")
    gangs.placed("free")
    assert "gated" not in gangs.where()

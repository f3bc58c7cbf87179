"""What the engine decides, and what it makes of what it is told."""

from __future__ import annotations

import msgspec
import pytest

from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGangStatus
from grove.api.kinds.queue import Queue, QueueSpec
from grove.kube.objects import PodStatus, SchedulingGate
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.verdicts import Bind, Refuse
from grove.scheduler.views import PriorityClassView
from tests.unit.scheduler.fleets import pod, spec
from tests.unit.scheduler.worlds import World, terminating


def priority_class(name: str, value: int) -> PriorityClassView:
    return PriorityClassView(metadata=ObjectMeta(name=name), value=value)


def test_a_gang_is_placed_whole() -> None:
    world = World()
    world.gang("g", {"a": 2, "b": 3})
    (bind,) = world.decide()
    assert isinstance(bind, Bind)
    assert bind.first
    assert {pod.name for pod, _ in bind.puts} == {"g-a-0", "g-a-1", "g-b-0", "g-b-1", "g-b-2"}
    assert world.decide() == []


def test_a_gang_without_room_waits_whole_and_is_told_so_once() -> None:
    world = World(nodes=1)
    world.gang("g", {"a": 9})
    (refusal,) = world.decide()
    assert isinstance(refusal, Refuse)
    assert refusal.reason == "Unschedulable"
    assert world.where() == {}
    world.pod("other", on="n0")
    world.gone("other")
    assert world.decide() == []


def test_a_gang_waits_until_its_minimum_of_pods_exists() -> None:
    world = World()
    world.gang("g", {"a": 3}, pods=False)
    world.pod("g-a-0", gang="g")
    (refusal,) = world.decide()
    assert refusal.reason == "WaitingForPods"
    assert refusal.message == "it waits until these pods exist without scheduling gates: 3 of g-a"
    world.pod("g-a-1", gang="g")
    world.pod("g-a-2", gang="g")
    assert [type(one) for one in world.decide()] == [Bind]


def test_a_gang_that_is_not_initialized_waits() -> None:
    world = World()
    gang = world.gang("g", {"a": 1})
    condition = {
        "type": "Initialized",
        "status": "False",
        "reason": "PodGangPodsCreationPending",
        "message": "",
        "lastTransitionTime": "2026-11-19T00:00:00Z",
    }
    status = msgspec.convert({"phase": "Pending", "conditions": [condition]}, PodGangStatus)
    world.engine.gang(msgspec.structs.replace(gang, status=status))
    (refusal,) = world.decide()
    assert refusal.reason == "WaitingForPods"


def test_pods_with_gates_do_not_count() -> None:
    world = World()
    world.gang("g", {"a": 2})
    gated = msgspec.structs.replace(
        world.pods["g-a-1"], spec=msgspec.structs.replace(spec(gpus=1), scheduling_gates=(SchedulingGate(name="x"),))
    )
    world.tell(gated)
    (refusal,) = world.decide()
    assert refusal.reason == "WaitingForPods"


def test_extras_follow_where_there_is_room() -> None:
    world = World(nodes=1)
    world.gang("g", {"a": 10}, minimum=4)
    bind, refusal = world.settle()
    assert (len(bind.puts), bind.left) == (8, 2)
    assert refusal.gang.is_placed
    world.gone("g-a-0")
    more, refusal = world.settle()
    assert not more.first
    assert (len(more.puts), more.left) == (1, 1)
    assert refusal.message.endswith("1 pod wait")


def test_a_scaled_gang_waits_for_its_base() -> None:
    world = World(nodes=1)
    world.gang("s", {"a": 1}, base="b")
    (refusal,) = world.decide()
    assert refusal.reason == "WaitingForBase"
    world.gang("b", {"a": 1})
    assert [one.gang.key for one in world.decide()] == ["default/b", "default/s"]


def test_a_pod_without_a_gang_is_a_gang_of_one() -> None:
    world = World()
    world.pod("lone")
    (bind,) = world.decide()
    assert bind.gang.key == "default/pod:lone"
    assert world.where() == {"lone": "n0"}


def test_pods_of_other_schedulers_take_room_and_are_left_alone() -> None:
    world = World(nodes=1)
    foreign = msgspec.structs.replace(spec(gpus=6), scheduler_name="default-scheduler")
    world.pod("waits", foreign)
    world.pod("runs", foreign, on="n0")
    world.gang("g", {"a": 3})
    (refusal,) = world.decide()
    assert refusal.reason == "Unschedulable"


def test_a_failed_bind_frees_the_room_and_is_tried_again() -> None:
    world = World()
    world.gang("g", {"a": 2})
    (bind,) = world.decide()
    world.engine.bind_failed(bind.puts[0][0].uid, BindFailure("Gone"))
    (again,) = world.decide()
    assert [pod.name for pod, _ in again.puts] == ["g-a-0"]


def test_a_bind_that_failed_late_is_no_failure_if_the_pod_is_there() -> None:
    world = World()
    world.pod("lone")
    (bind,) = world.settle()
    world.engine.bind_failed(bind.puts[0][0].uid, BindFailure("Gone"))
    assert world.decide() == []
    assert world.where() == {"lone": "n0"}


def test_a_terminating_pod_keeps_its_room_until_it_is_gone() -> None:
    world = World(nodes=1)
    world.pod("old", spec(gpus=8), on="n0")
    world.tell(terminating(world.pods["old"]))
    world.pod("new", spec(gpus=8))
    (refusal,) = world.decide()
    assert refusal.reason == "RoomHeld"
    world.gone("old")
    assert [type(one) for one in world.decide()] == [Bind]


def test_a_pod_may_come_before_its_node() -> None:
    world = World(nodes=0)
    world.pod("early", spec(gpus=8), on="late")
    world.pod("lone")
    world.decide()
    world.node("late")
    assert world.decide() == []
    assert world.where() == {"early": "late"}


def test_a_node_that_goes_and_comes_back_has_its_pods_again() -> None:
    world = World(nodes=1)
    world.pod("lone")
    world.settle()
    world.engine.node_gone("n0")
    assert world.where() == {}
    world.node("n0")
    assert world.where() == {"lone": "n0"}


@pytest.mark.parametrize("told_first", ["pods", "gang"])
def test_it_does_not_matter_what_is_told_first(told_first: str) -> None:
    world = World()
    world.gang("g", {"a": 2}, pods=told_first == "pods")
    if told_first == "gang":
        world.decide()
        world.pod("g-a-0", gang="g")
        world.pod("g-a-1", gang="g")
    (bind,) = world.decide()
    assert len(bind.puts) == 2


def test_pods_are_found_by_reference_where_they_have_no_label() -> None:
    world = World()
    world.pod("g-a-0")
    world.gang("g", {"a": 1}, pods=False)
    (bind,) = world.decide()
    assert bind.gang.key == "default/g"


def test_more_important_gangs_come_first() -> None:
    world = World(nodes=1)
    world.engine.priority_class(priority_class("high", 100))
    world.gang("low", {"a": 8})
    world.gang("high", {"a": 8}, priority="high")
    decisions = world.decide()
    assert [(type(one).__name__, one.gang.key) for one in decisions] == [
        ("Bind", "default/high"),
        ("Refuse", "default/low"),
    ]


def test_less_important_gangs_make_room() -> None:
    world = World(nodes=1)
    world.engine.priority_class(priority_class("high", 100))
    world.gang("low", {"a": 8})
    world.settle()
    world.gang("high", {"a": 8}, priority="high")
    evict, refusal = world.decide()
    assert {one.name for one in evict.victims} == {f"low-a-{index}" for index in range(8)}
    assert refusal.reason == "Preempting"
    for index in range(8):
        assert not [one for one in world.decide() if one.gang.key == "default/high"]
        world.gone(f"low-a-{index}")
    (bind,) = [one for one in world.decide() if one.gang.key == "default/high"]
    assert isinstance(bind, Bind)


def test_room_that_was_made_is_kept() -> None:
    world = World(nodes=1)
    world.engine.priority_class(priority_class("high", 100))
    world.gang("low", {"a": 8})
    world.settle()
    world.gang("high", {"a": 8}, priority="high")
    world.decide()
    for index in range(7):
        world.gone(f"low-a-{index}")
    world.pod("thief")
    assert not [one for one in world.decide() if isinstance(one, Bind)]
    world.gone("low-a-7")
    (bind,) = [one for one in world.decide() if isinstance(one, Bind)]
    assert bind.gang.key == "default/high"


def test_nobody_goes_for_a_gang_that_does_not_fit_anyway() -> None:
    world = World(nodes=1)
    world.engine.priority_class(priority_class("high", 100))
    world.gang("low", {"a": 8})
    world.settle()
    world.gang("high", {"a": 9}, priority="high")
    (refusal,) = world.decide()
    assert refusal.reason == "Unschedulable"


def test_a_victim_that_stays_ends_the_plan_and_frees_the_room() -> None:
    world = World(nodes=1)
    world.engine.priority_class(priority_class("high", 100))
    world.gang("low", {"a": 8})
    world.settle()
    world.gang("high", {"a": 8}, priority="high")
    evict, _ = world.decide()
    world.engine.evict_failed(evict.victims[0].uid, "its disruption budget allows none")
    assert world.cluster.holds == {}


def test_pods_nominated_elsewhere_hold_back_only_who_is_less_important() -> None:
    world = World(nodes=1)
    world.engine.priority_class(priority_class("high", 100))
    theirs = world.pod("theirs", spec(gpus=8, schedulerName="other", priority=50))
    theirs = world.tell(msgspec.structs.replace(theirs, status=PodStatus(nominated_node_name="n0")))
    world.gang("low", {"a": 2})
    (refusal,) = world.decide()
    assert refusal.reason == "Unschedulable"
    world.gang("high", {"a": 2}, priority="high")
    (bind,) = world.decide()
    assert bind.gang.key == "default/high"
    world.tell(msgspec.structs.replace(theirs, status=PodStatus()))
    (bind,) = world.decide()
    assert bind.gang.key == "default/low"


def test_pods_beyond_the_minimum_wait_where_the_queue_has_a_limit() -> None:
    world = World()
    world.engine.queue(Queue(metadata=ObjectMeta(name="team"), spec=QueueSpec(limit={"nvidia.com/gpu": "3"})))
    gang = world.gang("g", {"a": 5}, minimum=2)
    meta = msgspec.structs.replace(gang.metadata, labels={"grove.io/queue": "team"})
    world.engine.gang(msgspec.structs.replace(gang, metadata=meta))
    bind, *others = world.settle()
    assert isinstance(bind, Bind)
    assert (len(bind.puts), bind.left) == (3, 2)
    (refusal,) = others or world.settle()
    assert refusal.reason == "QueueLimit"
    world.engine.queue(Queue(metadata=ObjectMeta(name="team"), spec=QueueSpec(limit={"nvidia.com/gpu": "4"})))
    (bind,) = (one for one in world.settle() if isinstance(one, Bind))
    assert (len(bind.puts), bind.left) == (1, 1)


def test_a_node_that_refused_a_pod_is_trusted_less_for_a_while() -> None:
    world = World(nodes=1)
    world.pod("first", spec(gpus=8))
    world.settle()
    world.gone("first")
    world.engine.rejected(msgspec.structs.replace(pod("first", spec(gpus=8)), node_name="n0"))
    world.pod("second", spec(gpus=8))
    (refusal,) = world.decide()
    assert refusal.reason == "RoomHeld"
    assert "n0, which has just refused a pod" in refusal.message
    world.now += 60
    (bind,) = world.decide()
    assert isinstance(bind, Bind)


def test_what_was_said_once_is_said_again_when_it_is_another_matter() -> None:
    world = World(nodes=1)
    world.gang("g", {"a": 9})
    (first,) = world.decide()
    world.gone("g-a-0")
    (second,) = world.decide()
    assert (first.reason, second.reason) == ("Unschedulable", "WaitingForPods")


def test_all_that_is_known_of_a_wait_can_be_asked_without_changing_anything() -> None:
    world = World(nodes=1)
    world.gang("g", {"a": 9})
    world.gang("h", {"a": 1}, base="g")
    world.decide()
    why = world.engine.why("default/g")
    assert why is not None
    assert (why.reason, why.proven, why.position) == ("Unschedulable", True, 1)
    waits = world.engine.why("default/h")
    assert waits is not None
    assert waits.reason == "WaitingForBase"
    assert world.engine.why("default/none") is None
    assert world.decide() == []


def test_who_waits_for_room_that_is_kept_for_another_is_told_so() -> None:
    world = World(nodes=1)
    world.gang("g", {"a": 8})
    world.settle()
    world.gone("g-a-0")
    world.pod("other")
    (refusal,) = [one for one in world.decide() if one.gang.key == "default/pod:other"]
    assert refusal.reason == "RoomHeld"
    assert refusal.message.endswith("kept for a moment for pods of another gang: default/g")

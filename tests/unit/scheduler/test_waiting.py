"""Whose turn it is."""

from __future__ import annotations

from grove.scheduler.gangs import Gang, Group
from grove.scheduler.queues import Queues
from grove.scheduler.resources import Resources
from grove.scheduler.waiting import Waiter, Waiting, stage
from tests.unit.scheduler.fleets import fleet, gang, group, occupy, spec
from tests.unit.scheduler.queuetrees import Shared, queue


def taken(waiting: Waiting) -> list[str]:
    found = []
    while (one := waiting.pop()) is not None:
        found.append(one.key)
    return found


def flat(*waiters: Waiter) -> Waiting:
    waiting = Waiting(Queues(Resources()))
    for one in waiters:
        waiting.put(one)
    return waiting


def test_priority_comes_before_starving_stage_age_and_name() -> None:
    waiters = [
        Waiter("high", 9, created=5),
        Waiter("starving", 1, stage=3, created=4, starving=True),
        Waiter("broken", 1, stage=0, created=4),
        Waiter("base-old", 1, created=1),
        Waiter("base-old-too", 1, created=1),
        Waiter("base-young", 1, created=3),
        Waiter("scaled", 1, stage=2, created=0),
        Waiter("extras", 1, stage=3, created=0),
        Waiter("low", 0, stage=0, created=0, starving=True),
    ]
    waiting = flat(*reversed(waiters))
    assert waiting.order() == [one.key for one in waiters]
    assert taken(waiting) == [one.key for one in waiters]


def test_who_was_taken_is_asleep_until_it_is_woken_or_changes() -> None:
    waiting = flat(Waiter("a"), Waiter("b"), Waiter("c"))
    assert taken(waiting) == ["a", "b", "c"]
    assert waiting.pop() is None
    waiting.wake(["c", "b", "gone"])
    waiting.drop("b")
    waiting.put(Waiter("a", priority=1))
    waiting.put(Waiter("a", priority=2))
    assert taken(waiting) == ["a", "c"]
    assert len(waiting) == 2
    assert "b" not in waiting


def test_a_turn_may_become_another_while_a_gang_sleeps() -> None:
    waiting = flat(Waiter("a"), Waiter("b"), Waiter("c"))
    assert taken(waiting) == ["a", "b", "c"]
    waiting.note(Waiter("c", starving=True))
    assert waiting.pop() is None
    assert waiting.statistics().starving == 1
    waiting.wake(["a", "b", "c"])
    waiting.note(Waiter("b", priority=1))
    assert taken(waiting) == ["b", "c", "a"]


def test_those_who_wait_are_counted() -> None:
    waiting = flat(Waiter("a", starving=True), Waiter("b"), Waiter("c", starving=True))
    waiting.put(Waiter("b", starving=True))
    waiting.put(Waiter("a"))
    waiting.drop("c")
    waiting.drop("c")
    assert waiting.pop() == Waiter("b", starving=True)
    found = waiting.statistics()
    assert (found.ready, found.asleep, found.starving, found.taken, waiting.ready) == (1, 1, 1, 1, 1)


def test_a_gang_that_changes_before_its_turn_has_one_turn() -> None:
    waiting = flat(Waiter("a", created=1), Waiter("b", created=2))
    waiting.put(Waiter("a", created=3))
    waiting.put(Waiter("a", created=1))
    assert taken(waiting) == ["a", "b"]
    assert waiting.statistics().taken == 2


def test_the_queue_with_least_of_its_share_comes_first_each_time() -> None:
    shared = Shared(30, queue("a"), queue("b", weight=2))
    waiting = Waiting(shared.queues)
    for name in ("a", "b"):
        for at in range(6):
            waiting.put(Waiter(f"{name}{at}", queue=name, created=at))
            shared.wait(name, 5)
    order = []
    while (one := waiting.pop()) is not None:
        order.append(one.key)
        shared.queues.start(one.queue, shared.gpus(5))
    assert order[:6] == ["a0", "b0", "b1", "a1", "b2", "b3"]


def test_a_guarantee_that_is_not_used_up_comes_before_priority_of_queues() -> None:
    shared = Shared(30, queue("a", guaranteed=10), queue("b", priority=5), queue("c"))
    waiting = Waiting(shared.queues)
    for name in ("c", "b", "a"):
        waiting.put(Waiter(name, queue=name))
        waiting.put(Waiter(f"{name}-urgent", 7, name))
        shared.wait(name, 20)
    assert taken(waiting) == ["a-urgent", "b-urgent", "c-urgent", "a", "b", "c"]
    shared.use("a", 10)
    waiting.wake(["a", "b", "c"])
    assert taken(waiting) == ["b", "c", "a"]


def test_the_order_follows_what_is_given_back() -> None:
    shared = Shared(30, queue("a"), queue("b"))
    shared.use("a", 4)
    waiting = Waiting(shared.queues)
    for key in ("a1", "a2", "b1", "b2"):
        waiting.put(Waiter(key, queue=key[0]))
    assert waiting.pop() == Waiter("b1", queue="b")
    shared.use("b", 6)
    assert waiting.pop() == Waiter("a1", queue="a")
    shared.use("b", -6)
    assert taken(waiting) == ["b2", "a2"]


def test_the_order_follows_the_tree_of_queues() -> None:
    shared = Shared(30)
    waiting = Waiting(shared.queues)
    for key in ("a", "b"):
        waiting.put(Waiter(key, queue=key, created=ord(key)))
    shared.queues.put([queue("a"), queue("b", priority=1)])
    assert taken(waiting) == ["b", "a"]


def test_a_gang_that_lost_pods_comes_before_new_ones_and_extras_come_last() -> None:
    cluster = fleet(1, 2)
    fresh = gang(group(cluster, "a", 2, spec()))
    running = occupy(cluster, 0, spec())
    part = fresh.root.groups[0]
    broken = _with(fresh, part._replace(placed=(running,), waiting=part.waiting[:1]))
    extras = _with(fresh, part._replace(minimum=1, placed=(running,)))
    scaled = fresh._replace(base="default/base")
    assert [stage(one) for one in (broken, fresh, scaled, extras)] == [0, 1, 2, 3]


def _with(fresh: Gang, *groups: Group) -> Gang:
    return fresh._replace(root=fresh.root._replace(groups=groups))

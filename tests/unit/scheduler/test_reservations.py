"""Room that is kept for gangs."""

from __future__ import annotations

from grove.scheduler.cluster import Cluster, Hold, Placed
from grove.scheduler.placement.budget import Budget
from grove.scheduler.reservations import (
    SUCCESSION,
    attachment,
    bequeath,
    credit,
    expire,
    give_up,
    heir,
    keep,
    kept,
    next_expiry,
    opened,
    used,
)
from grove.scheduler.resources import Vector
from grove.scheduler.verdicts import Found, Put
from tests.unit.scheduler.fleets import fleet, gang, group, occupy, pending, pod, spec
from tests.unit.scheduler.preemption.scene import NOW, certain

FULL = spec(gpus=8)
OWNER = "default/new"


def vector(cluster: Cluster) -> Vector:
    return cluster.classes.of(pod("x", FULL)).requests


def hold(cluster: Cluster, slot: int, *, until: float = NOW + 10, kind: str = "preempted", owner: str = OWNER) -> Hold:
    return Hold(owner, slot, vector(cluster), kind=kind, until=until)


def fits(cluster: Cluster) -> list[int]:
    found: list[int] = cluster.capacity(cluster.classes.of(pod("x", FULL))).tolist()
    return found


def going(cluster: Cluster, slot: int, name: str, gang: str = "") -> Placed:
    cls = cluster.classes.of(pod(name, FULL))
    found = Placed(f"uid-{name}", "default", name, cls, slot, gang=gang, terminating=True)
    cluster.put(found)
    return found


def test_room_is_seen_as_free_only_by_its_owner() -> None:
    cluster = fleet(1, 2)
    keep(cluster, [hold(cluster, 1)])
    assert fits(cluster) == [1, 0]
    with opened(cluster, OWNER):
        assert fits(cluster) == [1, 1]
    assert fits(cluster) == [1, 0]


def test_a_new_plan_takes_the_place_of_the_old_one_and_of_nothing_else() -> None:
    cluster = fleet(1, 3)
    keep(cluster, [hold(cluster, 0)])
    cluster.hold(hold(cluster, 1, kind="update"))
    keep(cluster, [hold(cluster, 2)])
    assert fits(cluster) == [1, 0, 0]
    assert give_up(cluster, OWNER, "update")
    assert not give_up(cluster, OWNER, "update")
    assert fits(cluster) == [1, 1, 0]


def test_room_that_was_not_used_in_time_is_free_again() -> None:
    cluster = fleet(1, 2)
    cluster.hold(hold(cluster, 0, until=NOW + 5))
    cluster.hold(hold(cluster, 1, until=NOW + 20))
    assert next_expiry(cluster) == NOW + 5
    assert expire(cluster, NOW) == []
    assert expire(cluster, NOW + 5) == [OWNER]
    assert fits(cluster) == [1, 0]
    assert expire(cluster, NOW + 20) == [OWNER]
    assert next_expiry(cluster) is None
    assert [*cluster.recount()] == []


def test_the_room_of_a_pod_goes_to_who_replaces_it() -> None:
    lacking = {"default/old": 1, "default/new": 1}
    successors = {"default/old": "default/new"}
    assert heir("default/old", lambda key: lacking.get(key, 0), successors) == "default/new"
    lacking["default/new"] = 0
    assert heir("default/old", lambda key: lacking.get(key, 0), successors) == "default/old"
    lacking["default/old"] = 0
    assert heir("default/old", lambda key: lacking.get(key, 0), successors) is None
    assert heir("", lambda _: 1, {}) is None


def test_the_room_of_a_pod_is_kept_for_a_while_and_given_up_as_its_successor_comes() -> None:
    cluster = fleet(1, 3)
    for slot in (0, 1):
        old = occupy(cluster, slot, FULL)
        cluster.take(old.uid)
        room = bequeath(cluster, old, OWNER, NOW)
        assert room.until == NOW + SUCCESSION
    assert (fits(cluster), kept(cluster, OWNER)) == ([0, 0, 1], 2)
    wanted = attachment(cluster, gang(name="new"))
    assert wanted is not None
    assert wanted.tolist() == [0, 0, 1]
    used(cluster, OWNER, [Put(pending(cluster, pod("n0", FULL)), 1)])
    assert fits(cluster) == [0, 1, 1]
    used(cluster, OWNER, [Put(pending(cluster, pod("n1", FULL)), 2)])
    assert fits(cluster) == [1, 1, 1]
    assert attachment(cluster, gang(name="new")) is None


def test_a_gang_may_be_decided_onto_nodes_whose_pods_are_going() -> None:
    cluster = fleet(1, 3)
    occupy(cluster, 0, FULL)
    last = going(cluster, 1, "last")
    wanted = gang(group(cluster, "w", 2, FULL))
    found = credit(cluster, wanted, [last.uid], place=certain, budget=Budget(1000), until=NOW + 90)
    assert found is not None
    assert found.awaited == (last.uid,)
    assert sorted(room.slot for room in found.holds) == [1, 2]
    keep(cluster, found.holds)
    another = gang(group(cluster, "v", 1, FULL))
    assert credit(cluster, another, [last.uid], place=certain, budget=Budget(1000), until=NOW + 90) is None
    cluster.take(last.uid)
    with opened(cluster, wanted.key):
        assert isinstance(certain(cluster, wanted, Budget(1000)), Found)
    assert [*cluster.recount()] == []


def test_nobody_is_waited_for_where_there_is_room() -> None:
    cluster = fleet(1, 2)
    last = going(cluster, 1, "last")
    wanted = gang(group(cluster, "w", 1, FULL))
    found = credit(cluster, wanted, [last.uid], place=certain, budget=Budget(1000), until=NOW + 90)
    assert found is not None
    assert found.awaited == ()

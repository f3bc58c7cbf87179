"""Who is woken by what."""

from __future__ import annotations

from grove.scheduler.cluster import Cluster, Hold
from grove.scheduler.deviceneeds import NO_DEVICES
from grove.scheduler.gangs import Gang, Pack, Scope
from grove.scheduler.needs import Claimed
from grove.scheduler.verdicts import NotFound, Shortfall
from grove.scheduler.volumeneeds import NO_VOLUMES
from grove.scheduler.wakes import SEES, Wakes
from tests.unit.scheduler.fleets import BLOCK, HOST, KEYS, RACK, fleet, gang, group, node, occupy, spec
from tests.unit.scheduler.queuetrees import Shared, queue

REFUSED = NotFound(proven=True, scope="x", key="rack")


class Sleepers:
    """Two racks of two nodes with eight GPUs each, of which one node a rack has room; and who sleeps there."""

    def __init__(self, racks: int = 2, used: int = 6) -> None:
        self.cluster: Cluster = fleet(racks, 2, blocks=2)
        self.shared = Shared(32)
        self.wakes = Wakes(self.cluster, self.shared.queues)
        self.used = [occupy(self.cluster, slot, spec(gpus=used)) for slot in range(self.cluster.size)]

    def gang(self, count: int, gpus: int, required: str | None = RACK, name: str = "g", **more: object) -> Gang:
        one = gang(group(self.cluster, name, count, spec(gpus=gpus)), required=required, name=name)
        return one._replace(**more)  # type: ignore[arg-type]

    def park(self, *gangs: Gang, looked: int = 0, now: float = 0.0) -> None:
        for one in gangs:
            self.wakes.park(one, REFUSED._replace(scope=one.root.name, looked=looked), now)

    def free(self, slot: int) -> None:
        self.cluster.take(self.used[slot].uid)


def test_room_that_is_not_enough_wakes_nobody_and_enough_does() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(2, 8))
    assert sleepers.wakes.due(1.0) == []
    sleepers.free(0)
    sleepers.free(2)
    assert sleepers.wakes.due(1.0) == []  # a node in each rack
    sleepers.free(3)
    assert sleepers.wakes.due(1.0) == ["default/g"]
    assert sleepers.wakes.due(1.0) == []
    assert not sleepers.wakes.is_asleep("default/g")


def test_only_as_many_of_a_kind_wake_as_there_could_be_room_for() -> None:
    sleepers = Sleepers()
    gangs = [sleepers.gang(1, 8, name=f"g{at}", created=float(9 - at), priority=at == 2) for at in range(5)]
    sleepers.park(*gangs)
    sleepers.free(0)
    sleepers.free(3)
    assert sleepers.wakes.due(1.0) == ["default/g2", "default/g4"]


def test_when_one_of_a_kind_is_placed_the_next_wakes_while_there_is_room() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(1, 8, name="a"), sleepers.gang(1, 8, name="b", created=1.0))
    sleepers.free(0)
    assert sleepers.wakes.due(1.0) == ["default/a"]
    sleepers.wakes.forget("default/a")
    sleepers.free(1)
    occupy(sleepers.cluster, 0, spec(gpus=8))
    assert sleepers.wakes.due(1.0) == ["default/b"]


def test_what_was_woken_and_went_away_leaves_its_turn_to_the_next() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(1, 8, name="a"), sleepers.gang(1, 8, name="b", created=1.0))
    sleepers.free(0)
    assert sleepers.wakes.due(1.0) == ["default/a"]
    assert sleepers.wakes.due(1.0) == []
    sleepers.wakes.forget("default/a")
    assert sleepers.wakes.due(1.0) == ["default/b"]


def test_one_of_a_kind_speaks_for_the_others_until_there_is_more() -> None:
    sleepers = Sleepers()
    first, second = sleepers.gang(2, 8, name="a"), sleepers.gang(2, 8, name="b")
    assert sleepers.wakes.known(first) is None
    verdict = NotFound(True, "a", RACK, (Shortfall("r1", 0, 2, "a"),))
    sleepers.wakes.park(first, verdict, 0.0)
    assert sleepers.wakes.known(second) == NotFound(True, "b", RACK, (Shortfall("r1", 0, 2, "b"),))
    assert sleepers.wakes.known(sleepers.gang(3, 8, name="c")) is None
    occupy(sleepers.cluster, 2, spec(gpus=1))
    assert sleepers.wakes.known(second) is not None
    sleepers.free(0)
    sleepers.free(1)
    assert sleepers.wakes.known(second) is None
    assert sleepers.wakes.statistics().known == 2


def test_all_scopes_must_have_come_to_fit() -> None:
    sleepers = Sleepers(racks=4)
    parts = [
        Scope(name, Pack(key), KEYS, (), (group(sleepers.cluster, name, count, spec(gpus=gpus)),))
        for name, key, count, gpus in (("s", HOST, 2, 4), ("t", RACK, 2, 8))
    ]
    one = gang(group(sleepers.cluster, "w", 1, spec(gpus=1)), required=BLOCK, scopes=parts)
    sleepers.park(one)
    sleepers.free(0)  # a host for s
    assert sleepers.wakes.due(1.0) == []
    sleepers.free(2)
    sleepers.free(4)  # enough in a block, but no rack for t
    assert sleepers.wakes.due(2.0) == []
    sleepers.free(1)
    assert sleepers.wakes.due(3.0) == [one.key]


def test_where_pods_run_only_that_domain_counts() -> None:
    sleepers = Sleepers()
    running = occupy(sleepers.cluster, 2, spec(gpus=1))
    whole = sleepers.gang(3, 8)
    part = whole.root.groups[0]._replace(placed=(running,), waiting=whole.root.groups[0].waiting[:2])
    one = whole._replace(root=whole.root._replace(groups=(part,)))
    sleepers.park(one)
    sleepers.free(0)
    sleepers.free(1)
    assert sleepers.wakes.due(1.0) == []
    sleepers.cluster.take(running.uid)
    sleepers.free(2)
    sleepers.free(3)
    assert sleepers.wakes.due(1.0) == [one.key]


def test_who_wants_more_wakes_for_one_pod() -> None:
    sleepers = Sleepers(used=8)
    running = occupy(sleepers.cluster, 2, spec(gpus=0))
    whole = sleepers.gang(4, 3)
    part = whole.root.groups[0]._replace(minimum=1, placed=(running,), waiting=whole.root.groups[0].waiting[:3])
    one = whole._replace(root=whole.root._replace(groups=(part,)))
    sleepers.park(one)
    sleepers.free(0)
    assert sleepers.wakes.due(1.0) == []
    sleepers.free(3)
    assert sleepers.wakes.due(1.0) == [one.key]


def test_who_has_all_it_needs_and_no_place_wakes_when_anything_becomes_more() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(2, 2))
    occupy(sleepers.cluster, 0, spec(gpus=1))
    assert sleepers.wakes.due(1.0) == []
    sleepers.free(2)
    assert sleepers.wakes.due(1.0) == ["default/g"]


def test_what_a_search_touches_and_puts_back_wakes_nobody() -> None:
    sleepers = Sleepers()
    one = sleepers.gang(2, 2)
    sleepers.cluster.hold(Hold(one.key, 0, ((0, 1000),), kind="head", until=9.0))
    sleepers.park(one)
    mark = sleepers.cluster.mark()
    sleepers.free(0)
    sleepers.cluster.rollback(mark)
    assert sleepers.wakes.due(1.0) == []
    occupy(sleepers.cluster, 3, spec(gpus=1))  # who has room held wakes at every change
    assert sleepers.wakes.due(1.0) == [one.key]


def test_looking_in_vain_is_repeated_later_the_more_it_cost() -> None:
    sleepers = Sleepers(racks=10)
    one = sleepers.gang(2, 2)
    sleepers.park(one)
    sleepers.free(0)
    assert sleepers.wakes.due(10.0) == [one.key]
    sleepers.park(one, looked=25_000, now=10.0)  # a quarter of a second
    sleepers.free(1)
    assert sleepers.wakes.due(10.1) == []
    retry = sleepers.wakes.next_wake()
    assert retry is not None
    assert 15.0 <= retry < 15.1
    assert sleepers.wakes.due(retry) == [one.key]
    assert sleepers.wakes.statistics().in_vain == 1


def test_a_new_node_and_a_changed_one_wake_who_fits_there() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(2, 8))
    sleepers.cluster.node(node("new-1", {BLOCK: "b9", RACK: "r9"}))
    assert sleepers.wakes.due(1.0) == []
    sleepers.cluster.node(node("new-2", {BLOCK: "b8", RACK: "r9"}))
    assert sleepers.wakes.due(2.0) == []
    sleepers.cluster.node(node("new-2", {BLOCK: "b9", RACK: "r9"}))
    assert sleepers.wakes.due(3.0) == ["default/g"]


def test_limits_wake_as_many_as_they_allow() -> None:
    sleepers = Sleepers()
    shared = sleepers.shared
    shared.queues.put([queue("top", limit=8), queue("a", "top"), queue("b", "top")])
    shared.use("a", 8)
    for name in "xyz":
        sleepers.wakes.park_limited(sleepers.gang(1, 2, name=name, queue="b"), shared.gpus(2))
    assert sleepers.wakes.due(1.0) == []
    shared.use("a", -1)
    assert sleepers.wakes.due(1.0) == []
    shared.use("a", -1)
    assert sleepers.wakes.due(1.0) == ["default/x"]
    shared.queues.put([queue("a"), queue("b")])
    assert sleepers.wakes.due(1.0) == ["default/y", "default/z"]
    assert sleepers.wakes.statistics().parked == {}


def test_a_limit_that_one_did_not_use_is_left_to_the_next() -> None:
    sleepers = Sleepers()
    sleepers.shared.queues.put([queue("b", limit=2)])
    sleepers.shared.use("b", 2)
    for name in "xy":
        sleepers.wakes.park_limited(sleepers.gang(1, 2, name=name, queue="b"), sleepers.shared.gpus(2))
    sleepers.shared.use("b", -2)
    assert sleepers.wakes.due(1.0) == ["default/x"]
    assert sleepers.wakes.due(1.0) == []
    sleepers.park(sleepers.gang(1, 2, name="x", queue="b"))
    assert sleepers.wakes.due(1.0) == ["default/y"]


def test_events_wake_who_waits_for_them() -> None:
    sleepers = Sleepers()
    sleepers.wakes.park_until("default/s", "WaitingForBase", ("base", "default/b"))
    sleepers.wakes.park_until("default/t", "WaitingForBase", ("base", "default/c"))
    sleepers.park(sleepers.gang(1, 8, name="u", base="default/b"))
    assert sleepers.wakes.statistics().parked == {"Unschedulable": 1, "WaitingForBase": 2}
    sleepers.wakes.event(("base", "default/b"), ("base", "default/nobody"))
    assert sleepers.wakes.due(1.0) == ["default/s", "default/u"]
    only = sleepers.cluster.alive[:4].copy()
    sleepers.park(sleepers.gang(1, 8, name="u", within=only), sleepers.gang(1, 8, name="w"))
    sleepers.wakes.event(("spread", "default"))
    assert sleepers.wakes.known(sleepers.gang(1, 8, name="v", within=only)) is None
    assert sleepers.wakes.due(1.0) == ["default/u"]


def test_moments_wake() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(2, 8))
    sleepers.wakes.at("default/g", 300.0)
    sleepers.wakes.at("default/g", 400.0)
    assert sleepers.wakes.next_wake() == 300.0
    assert sleepers.wakes.due(299.0) == []
    assert sleepers.wakes.due(300.0) == ["default/g"]
    sleepers.park(sleepers.gang(2, 8))
    assert sleepers.wakes.next_wake() is None


def test_who_is_forgotten_is_not_woken() -> None:
    sleepers = Sleepers()
    sleepers.park(sleepers.gang(1, 8))
    sleepers.wakes.at("default/g", 5.0)
    sleepers.wakes.forget("default/g")
    sleepers.free(0)
    assert sleepers.wakes.due(9.0) == []
    assert sleepers.wakes.next_wake() is None
    assert sleepers.wakes.statistics().groups == 0


def test_replicas_spread_by_a_mask_look_again_when_nodes_come() -> None:
    sleepers = Sleepers()
    only = sleepers.cluster.alive[:4].copy()
    only[2:] = False
    sleepers.park(sleepers.gang(1, 8, within=only))
    sleepers.free(3)
    assert sleepers.wakes.due(1.0) == []
    sleepers.cluster.node(node("new"))
    assert sleepers.wakes.due(1.0) == ["default/g"]


def test_who_sees_something_else_is_no_measure_for_others() -> None:
    sleepers = Sleepers()
    one, other = sleepers.gang(1, 1, name="a"), sleepers.gang(1, 1, name="b")
    sleepers.wakes.park(one, REFUSED._replace(scope="a"), 0.0, sees=("nominated", "p"))
    assert sleepers.wakes.known(other) is None
    assert sleepers.wakes.known(other, sees=("nominated", "p")) is not None
    occupy(sleepers.cluster, 1, spec())
    assert sleepers.wakes.due(1.0) == [one.key]
    sleepers.wakes.park(one, REFUSED._replace(scope="a"), 1.0, sees=("nominated", "p"))
    sleepers.wakes.event(SEES)
    assert sleepers.wakes.due(2.0) == [one.key]


def test_what_volumes_depend_on_wakes_who_has_volumes() -> None:
    cluster = Cluster(needs=lambda pod: Claimed(NO_VOLUMES, NO_DEVICES) if pod.metadata.name.startswith("v") else None)
    cluster.node(node("a"))
    wakes = Wakes(cluster, Shared(8).queues)
    for name in ("plain", "volumes"):
        one = gang(group(cluster, name, 1, spec(gpus=4)), name=name)
        wakes.park(one, REFUSED._replace(scope=name), 0.0)
    wakes.stir()
    assert wakes.due(1.0) == ["default/volumes"]

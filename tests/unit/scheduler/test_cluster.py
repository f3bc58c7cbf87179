"""Columns of nodes and pods."""

from __future__ import annotations

import numpy as np
import pytest

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Hold
from grove.scheduler.predicates.rule import Lenient
from tests.unit.scheduler.fleets import BLOCK, GPU, KEYS, RACK, fleet, group, node, occupy, pod, spec


def test_a_node_takes_as_many_pods_as_its_scarcest_resource_allows() -> None:
    cluster = fleet(1, 2)
    (cls,) = {one.cls for one in group(cluster, "w", 2, spec(gpus=2, cpu="16")).waiting}
    assert cluster.capacity(cls).tolist() == [2, 2]
    occupy(cluster, 0, spec(gpus=7))
    assert cluster.capacity(cls).tolist() == [0, 2]


def test_what_is_done_after_a_mark_can_be_undone() -> None:
    cluster = fleet(2, 2)
    first = occupy(cluster, 0, spec(gpus=4))
    before = cluster.free.copy()
    mark = cluster.mark()
    occupy(cluster, 1, spec(gpus=8))
    cluster.take(first.uid)
    cluster.hold(Hold("default/g", 2, ((0, 1000),), kind="head", until=5.0))
    inner = cluster.mark()
    cluster.release("default/g")
    cluster.commit(inner)
    cluster.rollback(mark)
    assert np.array_equal(cluster.free, before)
    assert [*cluster.pods] == [first.uid]
    assert not cluster.holds
    assert [*cluster.recount()] == []


def test_capacities_follow_every_change() -> None:
    cluster = fleet(40, 4)
    (cls,) = {one.cls for one in group(cluster, "w", 1, spec(gpus=1)).waiting}
    assert cluster.capacity(cls).sum() == 160 * 8
    placed = occupy(cluster, 7, spec(gpus=3))
    assert cluster.capacity(cls)[7] == 5
    cluster.take(placed.uid)
    assert cluster.capacity(cls)[7] == 8
    cluster.node(node("n000-000", {RACK: "r000"}, gpus=2))
    assert cluster.capacity(cls)[0] == 2
    cluster.node_gone("n000-001")
    assert cluster.capacity(cls)[1] == 0
    cluster.node(node("new", {RACK: "r000"}, gpus=4))
    assert cluster.capacity(cls)[1] == 4


def test_pods_of_a_node_that_went_are_given_back() -> None:
    cluster = fleet(1, 2)
    placed = occupy(cluster, 1, spec(gpus=1))
    assert cluster.node_gone("n000-001") == [placed]
    assert not cluster.pods
    assert [*cluster.recount()] == []


def test_a_node_that_went_takes_the_room_that_was_kept_there() -> None:
    cluster = fleet(1, 2)
    for slot in (0, 1):
        cluster.hold(Hold("default/g", slot, ((0, 1000),), kind="preempted", until=5.0))
    assert cluster.holders(1) == ["default/g"]
    cluster.node_gone("n000-001")
    assert [hold.slot for hold in cluster.holds["default/g"]] == [0]
    assert [*cluster.recount()] == []


def test_an_overcommitted_node_takes_nothing_of_what_it_lacks_and_the_rest_still() -> None:
    cluster = fleet(1, 1)
    occupy(cluster, 0, spec(gpus=8, cpu="40"))
    (greedy, modest) = (cluster.classes.of(pod("a", spec(cpu="1"))), cluster.classes.of(pod("b", spec(cpu="0"))))
    assert cluster.capacity(greedy).tolist() == [0]
    assert cluster.capacity(modest).tolist() == [109]
    assert cluster.reasons(greedy, 0) == ["insufficient cpu"]


def test_a_pod_is_on_one_node_only() -> None:
    cluster = fleet(1, 2)
    occupy(cluster, 0, spec(), name="a")
    with pytest.raises(ValueError, match="is on a node already"):
        occupy(cluster, 1, spec(), name="a")


def test_pods_of_one_template_are_of_one_class_until_a_selector_tells_them_apart() -> None:
    cluster = fleet(1, 1)
    one, two = pod("a", spec(gpus=1), labels={"i": "0"}), pod("b", spec(gpus=1), labels={"i": "1"})
    assert cluster.classes.of(one) is cluster.classes.of(two)
    assert cluster.classes.speak_of(["i"])
    assert cluster.classes.of(one) is not cluster.classes.of(two)
    assert not cluster.classes.speak_of(["i"])


def test_a_domain_is_its_whole_path_and_a_node_without_a_label_is_in_none() -> None:
    cluster = Cluster()
    cluster.node(node("a", {BLOCK: "b1", RACK: "r1"}))
    cluster.node(node("b", {BLOCK: "b2", RACK: "r1"}))
    cluster.node(node("c", {BLOCK: "b2"}))
    cluster.node(node("d", {BLOCK: "b1", RACK: "r1"}, gpus=4))
    tree = cluster.tree((BLOCK, RACK))
    racks = tree.levels[1]
    assert racks.paths == [("b1", "r1"), ("b2", "r1")]
    assert racks.domain_of.tolist() == [0, 1, -1, 0]
    gpus = cluster.free[cluster.resources.row(GPU)]
    assert [found.tolist() for found in tree.sums(gpus)] == [[12, 16], [12, 8]]
    assert [cluster.names[slot] for slot in tree.slots(1, 0)] == ["a", "d"]
    assert tree.children(0, 1, 1) == range(1, 2)


def test_a_tree_follows_the_nodes() -> None:
    cluster = fleet(4, 2, blocks=2)
    assert [len(level) for level in cluster.tree(KEYS).levels] == [1, 2, 4, 8]
    cluster.node_gone("n003-001")
    assert [len(level) for level in cluster.tree(KEYS).levels] == [1, 2, 4, 7]
    cluster.node(node("n003-000", {BLOCK: "b9", RACK: "r9"}))
    assert [len(level) for level in cluster.tree(KEYS).levels] == [1, 3, 4, 7]


def test_pods_interact_where_a_rule_limits_them_and_does_not_say_that_they_do_not() -> None:
    class OneInAll(Lenient):
        def is_dynamic(self, cls: PodClass) -> bool:
            return bool(cls.accelerators)

    cluster = fleet(1, 2, rules=[OneInAll()])
    limited, free = (group(cluster, "w", 1, spec(gpus=gpus)).waiting[0].cls for gpus in (1, 0))
    assert cluster.interacts([free, limited])
    assert not cluster.interacts([free])

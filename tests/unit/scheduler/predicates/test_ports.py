"""Two pods on a node do not take the same port of it."""

from __future__ import annotations

from typing import Any

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.ports import Ports
from tests.unit.scheduler.predicates.worlds import a_class, node, places, put, under, why


def two() -> Cluster:
    return under(Ports, node("a"), node("b"))


def listening(cluster: Cluster, *ports: int | dict[str, Any]) -> PodClass:
    told = [one if isinstance(one, dict) else {"hostPort": one} for one in ports]
    return a_class(cluster, containers=[{"name": "c", "ports": [{"containerPort": 1, **one} for one in told]}])


def test_a_pod_without_host_ports_is_plain() -> None:
    cluster = two()
    cls = a_class(cluster, containers=[{"name": "c", "ports": [{"containerPort": 80}]}])
    assert cluster.is_plain(cls)
    assert cluster.capacity(cls).tolist() == [9, 9]


def test_one_pod_of_a_class_takes_the_port_from_the_next() -> None:
    cluster = two()
    cls = listening(cluster, 80)
    assert not cluster.is_plain(cls)
    assert cluster.capacity(cls).tolist() == [1, 1]
    placed = put(cluster, cls, 0, "p")
    assert cluster.capacity(cls).tolist() == [0, 1]
    assert why(cluster, cls) == ["host port 80/TCP is taken", ""]
    cluster.take(placed.uid)
    assert cluster.capacity(cls).tolist() == [1, 1]


def test_pods_of_other_classes_are_in_the_way_whether_they_came_before_or_after_it_was_asked() -> None:
    cluster = two()
    put(cluster, listening(cluster, 80, 443), 0, "before")
    cls = listening(cluster, 443, 22)
    assert places(cluster, cls) == ["b"]
    put(cluster, listening(cluster, 22), 1, "after")
    assert places(cluster, cls) == []


def test_addresses_and_protocols_tell_ports_apart() -> None:
    cluster = two()
    put(cluster, listening(cluster, {"hostPort": 80, "hostIP": "10.0.0.1"}), 0, "p")
    put(cluster, listening(cluster, {"hostPort": 80, "protocol": "UDP"}), 1, "q")
    assert places(cluster, listening(cluster, 80)) == ["b"]
    assert places(cluster, listening(cluster, {"hostPort": 80, "hostIP": "10.0.0.2"})) == ["a", "b"]
    assert places(cluster, listening(cluster, {"hostPort": 80, "hostIP": "10.0.0.2", "protocol": "UDP"})) == ["a"]
    assert places(cluster, listening(cluster, 81)) == ["a", "b"]


def test_a_port_is_free_when_the_last_pod_that_has_it_is_gone() -> None:
    cluster = two()
    first, second = (
        put(cluster, listening(cluster, {"hostPort": 80, "hostIP": address}), 0, address)
        for address in ("1.1.1.1", "2.2.2.2")
    )
    cls = listening(cluster, 80)
    cluster.take(first.uid)
    assert places(cluster, cls) == ["b"]
    cluster.take(second.uid)
    assert places(cluster, cls) == ["a", "b"]


def test_a_trial_leaves_no_ports_behind() -> None:
    cluster = two()
    cls = listening(cluster, 80)
    mark = cluster.mark()
    put(cluster, cls, 0, "p")
    put(cluster, cls, 1, "q")
    assert places(cluster, cls) == []
    cluster.rollback(mark)
    assert places(cluster, cls) == ["a", "b"]


def test_nodes_that_come_later_are_free_and_may_be_many() -> None:
    cluster = two()
    cls = listening(cluster, 80)
    put(cluster, cls, 0, "p")
    assert places(cluster, cls) == ["b"]
    for number in range(200):
        cluster.node(node(f"n{number}"))
    put(cluster, cls, 201, "last")
    assert len(places(cluster, cls)) == 200
    cluster.node_gone("a")
    assert len(places(cluster, cls)) == 200

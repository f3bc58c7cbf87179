"""Taints keep pods off."""

from __future__ import annotations

from typing import Any

from grove.kube.objects import Taint
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.taints import TASTE, Taints
from tests.unit.scheduler.predicates.worlds import a_class, node, places, under, why


def taint(key: str, effect: str = "NoSchedule", value: str = "", **more: str) -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value, **more}


def tainted() -> Cluster:
    return under(
        Taints,
        node("free"),
        node("spot", taints=[taint("spot", value="yes")]),
        node("ill", taints=[taint("ill", "NoExecute", timeAdded="2026-11-20T00:00:00Z")]),
        node("cordoned", unschedulable=True),
        node("costly", taints=[taint("costly", "PreferNoSchedule"), taint("far", "PreferNoSchedule")]),
    )


def tolerating(cluster: Cluster, *tolerations: dict[str, Any]) -> list[str]:
    return places(cluster, a_class(cluster, tolerations=[*tolerations]))


def test_only_pods_that_tolerate_all_taints_go_there() -> None:
    cluster = tainted()
    assert tolerating(cluster) == ["free", "costly"]
    assert tolerating(cluster, {"key": "spot", "value": "yes"}) == ["free", "spot", "costly"]
    assert tolerating(cluster, {"key": "ill", "operator": "Exists"}) == ["free", "ill", "costly"]
    assert tolerating(cluster, {"operator": "Exists"}) == [*cluster.names]


def test_a_cordoned_node_takes_who_tolerates_that() -> None:
    cluster = tainted()
    key = "node.kubernetes.io/unschedulable"
    assert tolerating(cluster, {"key": key, "operator": "Exists"}) == ["free", "cordoned", "costly"]
    assert tolerating(cluster, {"key": key, "operator": "Exists", "effect": "NoExecute"}) == ["free", "costly"]


def test_a_node_without_taints_has_nothing_against_anyone() -> None:
    cluster = under(Taints, node("a"))
    (rule,) = cluster.rules
    assert places(cluster, a_class(cluster)) == ["a"]
    assert rule.penalty(a_class(cluster)) is None


def test_taints_that_come_and_go_are_followed() -> None:
    cluster = tainted()
    cls = a_class(cluster)
    assert places(cluster, cls) == ["free", "costly"]
    cluster.node(node("spot"))
    cluster.node(node("free", unschedulable=True))
    cluster.node_gone("costly")
    cluster.node(node("new"))
    assert places(cluster, cls) == ["spot", "new"]


def test_soft_taints_are_a_matter_of_taste() -> None:
    cluster = tainted()
    (rule,) = cluster.rules
    found = rule.penalty(a_class(cluster))
    assert found is not None
    assert found.tolist() == [0, 0, 0, 0, TASTE]
    found = rule.penalty(a_class(cluster, tolerations=[{"key": "far", "operator": "Exists"}]))
    assert found is not None
    assert found.tolist() == [0, 0, 0, 0, TASTE]
    assert rule.penalty(a_class(cluster, tolerations=[{"operator": "Exists", "effect": "PreferNoSchedule"}])) is None


def test_a_taint_that_is_tolerated_only_for_a_time_is_disliked() -> None:
    cluster = under(Taints, node("free"), node("ill", taints=[taint("ill", "NoExecute")]))
    (rule,) = cluster.rules
    for_ever = {"key": "ill", "operator": "Exists", "effect": "NoExecute"}
    cls = a_class(cluster, tolerations=[{**for_ever, "tolerationSeconds": 300}])
    found = rule.penalty(cls)
    assert found is not None
    assert found.tolist() == [0, TASTE]
    assert places(cluster, cls) == ["free", "ill"]
    assert rule.penalty(a_class(cluster, tolerations=[for_ever])) is None


def test_numbers_are_compared_only_where_that_is_switched_on() -> None:
    dear = node("dear", taints=[taint("price", value="7")])
    cheap = {"key": "price", "operator": "Lt", "value": "10"}
    off, on = under(Taints, dear), under(lambda cluster: Taints(cluster, compares=True), dear)
    assert tolerating(off, cheap) == []
    assert tolerating(on, cheap) == ["dear"]


def test_it_names_the_taint_that_is_not_tolerated() -> None:
    cluster = tainted()
    assert why(cluster, a_class(cluster)) == [
        "",
        "taint spot=yes:NoSchedule is not tolerated",
        "taint ill:NoExecute is not tolerated",
        "unschedulable",
        "",
    ]


def test_equal_taints_are_one_set_whenever_they_came() -> None:
    cluster = under(Taints)
    for number in range(5):
        cluster.node(node(f"n{number}", taints=[taint("ill", timeAdded=f"2026-11-20T00:00:0{number}Z")]))
    (rule,) = cluster.rules
    assert isinstance(rule, Taints)
    assert rule.sets == [(), (Taint(key="ill", effect="NoSchedule"),)]

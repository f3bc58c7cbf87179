"""Pods go to nodes that they ask for."""

from __future__ import annotations

from typing import Any

from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.nodeselection import TASTE, NodeSelection
from tests.unit.scheduler.predicates.worlds import a_class, node, places, under, why


def three() -> Cluster:
    return under(
        NodeSelection,
        node("a", {"gpu": "h100", "rank": "1"}),
        node("b", {"gpu": "a100", "rank": "20"}),
        node("c", {"rank": "x"}),
    )


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}}


def preferred(*weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    terms = [{"weight": weight, "preference": term} for weight, term in weighted]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def on(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}


def named(operator: str, value: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [value]}]}


def test_a_pod_that_asks_for_nothing_goes_anywhere() -> None:
    cluster = three()
    cls = a_class(cluster)
    assert places(cluster, cls) == ["a", "b", "c"]
    assert not NodeSelection(cluster).is_static(cls)


def test_labels_of_the_selector_must_all_be_there() -> None:
    cluster = three()
    assert places(cluster, a_class(cluster, nodeSelector={"gpu": "h100"})) == ["a"]
    assert places(cluster, a_class(cluster, nodeSelector={"gpu": "h100", "rank": "20"})) == []
    assert places(cluster, a_class(cluster, nodeSelector={"gpu": "never seen"})) == []
    assert places(cluster, a_class(cluster, nodeSelector={"none": ""})) == []


def test_one_term_of_an_affinity_is_enough_and_its_requirements_hold_all() -> None:
    cluster = three()
    either = required(on("gpu", "In", "h100", "b200"), on("rank", "Gt", "10"))
    assert places(cluster, a_class(cluster, affinity=either)) == ["a", "b"]
    both = required(
        {"matchExpressions": [*on("gpu", "Exists")["matchExpressions"], *on("rank", "Lt", "10")["matchExpressions"]]}
    )
    assert places(cluster, a_class(cluster, affinity=both)) == ["a"]
    assert places(cluster, a_class(cluster, affinity=required({}))) == []
    assert places(cluster, a_class(cluster, affinity=required({}, on("gpu", "NotIn", "h100")))) == ["b", "c"]
    assert places(cluster, a_class(cluster, affinity=required(on("gpu", "DoesNotExist")))) == ["c"]


def test_a_node_is_asked_for_by_name() -> None:
    cluster = three()
    assert places(cluster, a_class(cluster, affinity=required(named("In", "b")))) == ["b"]
    assert places(cluster, a_class(cluster, affinity=required(named("NotIn", "b")))) == ["a", "c"]
    assert places(cluster, a_class(cluster, affinity=required(named("In", "nobody")))) == []


def test_selector_and_affinity_hold_both() -> None:
    cluster = three()
    cls = a_class(cluster, nodeSelector={"rank": "1"}, affinity=required(on("gpu", "In", "a100")))
    assert places(cluster, cls) == []


def test_nodes_that_change_are_looked_at_again() -> None:
    cluster = three()
    cls = a_class(cluster, affinity=required(on("rank", "Gt", "10")))
    assert places(cluster, cls) == ["b"]
    cluster.node(node("c", {"rank": "30"}))
    cluster.node(node("d", {"rank": "11"}))
    cluster.node_gone("b")
    assert places(cluster, cls) == ["c", "d"]


def test_preferences_speak_against_nodes_that_miss_them() -> None:
    cluster = three()
    (rule,) = cluster.rules
    assert rule.penalty(a_class(cluster)) is None
    cls = a_class(cluster, affinity=preferred((60, on("gpu", "Exists")), (40, on("rank", "In", "1"))))
    found = rule.penalty(cls)
    assert found is not None
    assert found.tolist() == [0, TASTE * 40 // 100, TASTE]
    assert rule.penalty(cls) is found, "it is computed once"
    cluster.node(node("c", {"rank": "1"}))
    again = rule.penalty(cls)
    assert again is not None
    assert again.tolist() == [0, TASTE * 40 // 100, TASTE * 60 // 100]
    assert places(cluster, cls) == ["a", "b", "c"]


def test_it_says_what_the_node_lacks() -> None:
    cluster = three()
    cls = a_class(cluster, nodeSelector={"gpu": "h100"})
    assert why(cluster, cls) == ["", *["label gpu=h100 is asked for by nodeSelector"] * 2]
    cls = a_class(cluster, affinity=required(on("gpu", "In", "h100", "b200"), on("rank", "Gt", "10")))
    assert why(cluster, cls) == ["", "", "node affinity asks for gpu In h100,b200 or rank Gt 10"]
    cluster.node_gone("a")
    assert not cluster.rules[0].explain(cls, 0)

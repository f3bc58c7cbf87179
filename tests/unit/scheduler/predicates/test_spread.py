"""Pods are spread over domains as evenly as they ask."""

from __future__ import annotations

from typing import Any

from grove.scheduler.cluster import PLENTY
from grove.scheduler.predicates.spread import TASTE
from tests.unit.scheduler.fleets import HOST, RACK
from tests.unit.scheduler.predicates.neighbourhood import Neighbourhood, app, even
from tests.unit.scheduler.predicates.worlds import node


def test_a_domain_takes_no_more_than_the_skew_above_the_emptiest() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **even())
    assert there.places(web) == ["a0", "a1", "b0", "b1"]
    there.put("a0", web)
    assert there.places(web) == ["b0", "b1"]
    assert there.why(web, "a1") == f"pods would be spread over {RACK} less evenly than maxSkew 1 allows"
    assert there.why(web, "out") == f"label {RACK} is missing, over which pods are spread"
    there.put("b1", web)
    assert there.places(web) == ["a0", "a1", "b0", "b1"]
    loose = there.cls(app("web"), **even(skew=2))
    there.put("a0", web)
    assert there.places(loose) == ["a0", "a1", "b0", "b1"]


def test_limits_say_how_many_could_come_to_one_domain() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **even(skew=3))
    there.put("a0", web)
    limit = there.spread.limit(web)
    assert limit is not None
    assert limit[:4].tolist() == [2, 2, 4, 4]
    there.put("b0", web)
    for _ in range(3):
        there.put("a0", there.cls(app("web")))
    limit = there.spread.limit(web)
    assert limit is not None
    assert limit[:4].tolist() == [0, 0, 6, 6]


def test_pods_that_do_not_count_themselves_come_in_any_number_or_not_at_all() -> None:
    there = Neighbourhood()
    other = there.cls(app("other"), **even())
    there.put("a0", there.cls(app("web")))
    limit = there.spread.limit(other)
    assert limit is not None
    assert limit[:4].tolist() == [PLENTY] * 4
    there.put("a0", there.cls(app("web")))
    assert there.places(other) == ["b0", "b1"]
    assert not there.cluster.interacts([other])
    assert there.cluster.interacts([other, there.cls(app("web"))])


def test_where_there_are_too_few_domains_the_emptiest_is_taken_to_be_empty() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **even(minDomains=3))
    there.put("a0", web)
    there.put("b0", web)
    assert there.places(web) == []
    there.cluster.node(node("c0", {HOST: "c0", RACK: "c"}))
    assert there.places(web) == ["c0"]
    there.put("c0", web)
    assert there.places(web) == ["a0", "a1", "b0", "b1", "c0"]


def test_only_pods_of_the_own_namespace_that_stay_are_counted() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **even())
    there.put("a0", there.cls(app("web"), "elsewhere"))
    there.put("a0", there.cls(app("web")), terminating=True)
    assert there.places(web) == ["a0", "a1", "b0", "b1"]


def test_domains_are_those_of_nodes_that_the_policies_leave() -> None:
    there = Neighbourhood()
    there.cluster.node(
        node("c0", {HOST: "c0", RACK: "c", "disk": "hdd"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    )
    for name in ("a0", "b0"):
        there.put(name, there.cls(app("web")))
    web = there.cls(app("web"), **even())
    assert there.places(web) == []
    honest = there.cls(app("web"), **even(nodeTaintsPolicy="Honor"))
    assert there.places(honest) == ["a0", "a1", "b0", "b1"]
    affinity = {"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [affinity]}}
    choosy: dict[str, Any] = {"affinity": {"nodeAffinity": required}}
    assert there.places(there.cls(app("web"), **even(), **choosy)) == ["a0", "a1", "b0", "b1"]
    assert there.places(there.cls(app("web"), **even(nodeAffinityPolicy="Ignore"), **choosy)) == []
    there.cluster.node(node("c0", {HOST: "c0", RACK: "c"}))
    assert there.places(honest) == ["c0"]


def test_a_node_without_one_of_the_labels_is_in_no_domain_of_the_others() -> None:
    there = Neighbourhood()
    both = even()["topologySpreadConstraints"] + even(HOST)["topologySpreadConstraints"]
    web = there.cls(app("web"), topologySpreadConstraints=both)
    for name in ("a0", "a1", "b0", "b1"):
        there.put(name, web)
    assert there.places(web) == ["a0", "a1", "b0", "b1"]


def test_pods_are_told_apart_by_the_labels_that_are_to_match_their_own() -> None:
    there = Neighbourhood()
    old = there.cls({"app": "web", "tier": "1"}, **even(matchLabelKeys=["tier"]))
    new = there.cls({"app": "web", "tier": "2"}, **even(matchLabelKeys=["tier"]))
    there.put("a0", old)
    assert there.places(old) == ["b0", "b1"]
    assert there.places(new) == ["a0", "a1", "b0", "b1"]


def test_a_selector_that_is_empty_or_missing_counts_nothing() -> None:
    there = Neighbourhood()
    selectors: tuple[dict[str, str] | None, ...] = ({}, None)
    for selector in selectors:
        web = there.cls(app("web"), **even(labelSelector=selector))
        for _ in range(3):
            there.put("a0", web)
        assert there.places(web) == ["a0", "a1", "b0", "b1"]
        assert there.spread.limit(web) is None


def test_nominated_pods_fill_their_domain_and_no_other_is_compared_with_them() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **even())
    there.put("a0", web)
    placed = there.put("b0", web, nominated=True)
    assert there.places(web) == ["b0", "b1"]
    there.put("b1", web, nominated=True)
    assert there.places(web) == []
    there.cluster.take(placed.uid)
    there.put("b0", web)
    assert there.places(web) == ["a0", "a1"]


def test_what_should_be_even_is_a_matter_of_taste() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **even(whenUnsatisfiable="ScheduleAnyway"))
    assert there.cluster.is_plain(web)
    there.put("a0", web)
    there.put("a0", web)
    there.put("b0", web)
    assert there.places(web) == ["a0", "a1", "b0", "b1", "out"]
    penalty = there.cluster.penalty(web)
    assert penalty is not None
    near, far, nowhere = penalty[2], penalty[0], penalty[4]
    assert 0 == near < far < nowhere <= TASTE

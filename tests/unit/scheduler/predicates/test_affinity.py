"""Pods near those that they want near them, and far from others."""

from __future__ import annotations

from grove.scheduler.cluster import PLENTY
from grove.scheduler.predicates.affinity import TASTE
from tests.unit.scheduler.fleets import HOST, RACK
from tests.unit.scheduler.predicates.neighbourhood import Neighbourhood, app, far, liking, near, term


def test_pods_go_where_all_that_they_want_is_one_pod() -> None:
    there = Neighbourhood()
    wants = there.cls(**near(term("db"), term("db", HOST)))
    assert there.places(wants) == []
    there.put("a1", there.cls(app("db")))
    assert there.places(wants) == ["a1"]
    assert there.why(wants, "a0") == f"no pod of those wanted near by pod affinity is in the same {HOST}"
    assert there.why(wants, "b0") == f"no pod of those wanted near by pod affinity is in the same {RACK}"
    assert there.why(wants, "out") == f"label {RACK} is missing, by which pods have affinity"


def test_one_pod_must_match_all_terms() -> None:
    there = Neighbourhood()
    tier = {"topologyKey": RACK, "labelSelector": {"matchLabels": {"tier": "1"}}}
    wants = there.cls(**near(term("db"), tier))
    there.put("a0", there.cls(app("db")))
    there.put("a1", there.cls({"app": "other", "tier": "1"}))
    assert there.places(wants) == []
    there.put("b0", there.cls({"app": "db", "tier": "1"}))
    assert there.places(wants) == ["b0", "b1"]


def test_the_first_of_pods_that_want_one_another_goes_to_any_domain_and_draws_the_others() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **near(term("web")))
    assert there.places(web) == ["a0", "a1", "b0", "b1"]
    first = there.put("b0", web)
    assert there.places(web) == ["b0", "b1"]
    there.cluster.take(first.uid)
    there.put("out", web)  # in no domain, and so as if it were not there
    assert there.places(web) == ["a0", "a1", "b0", "b1"]


def test_pods_keep_away_from_those_that_they_avoid_and_those_from_them() -> None:
    there = Neighbourhood()
    web, shy = there.cls(app("web")), there.cls(app("shy"), **far(term("web")))
    assert there.cluster.is_plain(web)
    placed = there.put("a0", web)
    assert there.places(shy) == ["b0", "b1", "out"]
    assert there.why(shy, "a1") == f"a pod that is avoided by pod anti-affinity is in the same {RACK}"
    there.cluster.take(placed.uid)
    placed = there.put("b1", shy)
    assert not there.cluster.is_plain(web)
    assert there.places(web) == ["a0", "a1", "out"]
    assert there.why(web, "b0") == "a pod is near that avoids this one by its pod anti-affinity"
    there.cluster.take(placed.uid)
    assert there.cluster.is_plain(web)


def test_pods_that_avoid_one_another_go_to_one_node_each() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"), **far(term("web", HOST)))
    assert there.cluster.capacity(web).tolist() == [1, 1, 1, 1, 1]
    assert not there.cluster.interacts([web])
    there.put("a0", web)
    assert there.cluster.capacity(web).tolist() == [0, 1, 1, 1, 1]


def test_pods_interact_where_one_is_wanted_or_avoided_by_another() -> None:
    there = Neighbourhood()
    web, plain = there.cls(app("web")), there.cls(app("db"))
    wants, avoids = there.cls(**near(term("web"))), there.cls(**far(term("web")))
    one_a_rack = there.cls(app("web"), **far(term("web")))
    assert not there.cluster.interacts([web, plain])
    assert not there.cluster.interacts([wants, avoids, plain])
    assert there.cluster.interacts([plain, wants, web])
    assert there.cluster.interacts([web, avoids])
    assert there.cluster.interacts([one_a_rack])


def test_namespaces_are_the_own_the_named_and_the_selected() -> None:
    there = Neighbourhood()
    spaces = there.surroundings.namespaces
    spaces.put("blue", "", {"team": "blue"})
    there.put("a0", there.cls(app("db"), "blue"))
    there.put("b0", there.cls(app("db"), "default"))
    blue = {"matchLabels": {"team": "blue"}}
    assert there.places(there.cls(**near(term("db")))) == ["b0", "b1"]
    assert there.places(there.cls(**near(term("db", namespaces=["blue"])))) == ["a0", "a1"]
    assert there.places(there.cls(**near(term("db", namespaceSelector={})))) == ["a0", "a1", "b0", "b1"]
    chosen = there.cls(**near(term("db", namespaceSelector=blue)))
    assert there.places(chosen) == ["a0", "a1"]
    spaces.put("default", "", {"team": "blue"})
    assert there.places(chosen) == ["a0", "a1", "b0", "b1"]
    spaces.put("blue", "", {})
    assert there.places(chosen) == ["b0", "b1"]


def test_pods_are_found_by_the_namespaces_that_those_who_avoid_them_mean() -> None:
    there = Neighbourhood()
    spaces = there.surroundings.namespaces
    there.put("a0", there.cls(**far(term("web", namespaceSelector={"matchLabels": {"team": "blue"}}))))
    web = there.cls(app("web"), "blue")
    assert there.places(web) == ["a0", "a1", "b0", "b1", "out"]
    spaces.put("blue", "", {"team": "blue"})
    assert there.places(web) == ["b0", "b1", "out"]


def test_terminating_pods_count() -> None:
    there = Neighbourhood()
    there.put("a0", there.cls(app("web")), terminating=True)
    assert there.places(there.cls(**near(term("web")))) == ["a0", "a1"]
    assert there.places(there.cls(**far(term("web")))) == ["b0", "b1", "out"]


def test_nominated_pods_are_avoided_and_avoid_but_satisfy_nobody() -> None:
    there = Neighbourhood()
    there.put("a0", there.cls(app("web"), **far(term("db"))), nominated=True)
    assert there.places(there.cls(**near(term("web")))) == []
    assert there.places(there.cls(**far(term("web")))) == ["b0", "b1", "out"]
    assert there.places(there.cls(app("db"))) == ["b0", "b1", "out"]
    selfish = there.cls(app("web"), **near(term("web")))
    assert there.places(selfish) == ["a0", "a1", "b0", "b1"]


def test_preferences_of_both_sides_are_a_matter_of_taste() -> None:
    there = Neighbourhood()
    assert there.cluster.penalty(there.cls(**liking(web=10))) is None
    there.put("a0", there.cls(app("web")))
    penalty = there.cluster.penalty(there.cls(**liking(web=10)))
    assert penalty is not None
    assert penalty.tolist() == [0, 0, TASTE, TASTE, TASTE]
    there.put("b0", there.cls(app("db"), **liking(web=-5)))
    penalty = there.cluster.penalty(there.cls(app("web")))
    assert penalty is not None
    assert penalty.tolist() == [0, 0, TASTE, TASTE, 0]


def test_required_affinity_of_others_draws_a_little() -> None:
    there = Neighbourhood()
    there.put("a0", there.cls(**near(term("web"))))
    penalty = there.cluster.penalty(there.cls(app("web")))
    assert penalty is not None
    assert penalty.tolist() == [0, 0, TASTE, TASTE, TASTE]


def test_a_pod_without_terms_may_go_anywhere() -> None:
    there = Neighbourhood()
    web = there.cls(app("web"))
    there.put("a0", there.cls(**far(term("other"))))
    assert there.affinity.limit(web) is None
    assert there.places(web) == ["a0", "a1", "b0", "b1", "out"]


def test_affinity_alone_allows_any_number() -> None:
    there = Neighbourhood()
    there.put("a0", there.cls(app("db")))
    limit = there.affinity.limit(there.cls(**near(term("db"))))
    assert limit is not None
    assert limit.tolist() == [PLENTY, PLENTY, 0, 0, 0]

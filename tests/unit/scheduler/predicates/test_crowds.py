"""How many pods are where."""

from __future__ import annotations

import pytest

from grove.scheduler.predicates import crowds
from tests.unit.scheduler.fleets import HOST, RACK, pod, spec
from tests.unit.scheduler.predicates.neighbourhood import Neighbourhood, app, even, far, near, term
from tests.unit.scheduler.predicates.worlds import node


def test_pods_that_were_there_before_anyone_asked_are_counted() -> None:
    there = Neighbourhood()
    there.put("a0", there.cls(app("web")))
    there.put("b0", there.cls(app("web")), terminating=True)
    web = there.cls(app("web"), **even())
    assert there.places(web) == ["b0", "b1"]
    assert [*there.crowds.recount()] == []


def test_pods_move_with_the_label_of_their_node() -> None:
    there = Neighbourhood()
    wants = there.cls(**near(term("web")))
    there.put("a0", there.cls(app("web")))
    assert there.places(wants) == ["a0", "a1"]
    there.cluster.node(node("a0", {HOST: "a0", RACK: "b"}))
    assert there.places(wants) == ["a0", "b0", "b1"]
    there.cluster.node_gone("a0")
    assert there.places(wants) == []
    assert [*there.crowds.recount()] == []


def test_what_nobody_needs_is_forgotten_and_counted_again_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "_ROOM", 20)
    there = Neighbourhood()
    web, shy = there.cls(app("web"), **even()), there.cls(app("shy"), **far(term("web")))
    there.put("a0", web)
    there.put("b1", shy)
    for number in range(60):
        name = f"job-{number}"
        placed = there.put("b0", there.cls(app(name), **far(term(name)), **even()))
        there.places(there.cls(app(name), **near(term(name))))
        there.cluster.take(placed.uid)
        assert there.places(web) == []
        assert there.places(shy) == ["b0", "b1", "out"]
    assert [*there.crowds.recount()] == []
    assert there.crowds.statistics()["classes"] < 60
    assert there.crowds.statistics()["crowds"] < 60


def test_asking_for_labels_that_were_never_announced_is_refused() -> None:
    there = Neighbourhood()
    unheard = near({"topologyKey": RACK, "labelSelector": {"matchLabels": {"shown": "yes"}}})
    cls = there.cluster.classes.of(pod("p", spec(**unheard)))
    with pytest.raises(ValueError, match=r"before selectors' keys were announced: \['shown'\]"):
        there.places(cls)

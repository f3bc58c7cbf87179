"""Why a gang waits, in words."""

from __future__ import annotations

import msgspec

from grove.scheduler import explain
from grove.scheduler.gangs import Gang, Group, Pack, Scope
from grove.scheduler.verdicts import NotFound, Shortfall
from tests.unit.scheduler.fleets import GPU, KEYS, RACK, fleet, gang, group, spec

LACKING = Shortfall("r12", 14, 16, "prefill", GPU, 16)


def wanted(*scopes: Scope) -> Gang:
    return gang(group(fleet(1, 1), "prefill", 16, spec(gpus=8)), required=RACK, scopes=scopes, name="my-0")


def says(verdict: NotFound, budget: str = "250ms") -> str:
    return explain.refused(wanted(), verdict, budget=budget).sentence


def test_the_nearest_domain_is_named_with_what_it_lacks() -> None:
    assert says(NotFound(True, "my-0", "topology.kubernetes.io/rack", (LACKING,))) == (
        f"rack r12 comes nearest: it fits 14 of 16 pods of prefill and lacks 16 {GPU}; "
        "proven: no rack can take them now"
    )


def test_where_the_search_ended_it_is_told_how_to_look_longer() -> None:
    verdict = NotFound(False, "my-0", "kubernetes.io/hostname", (LACKING._replace(domain="n1", fits=16),))
    assert says(verdict) == (
        "node n1 comes nearest: it has room for 16 pods of prefill, but not with the rest beside them; "
        "not proven: the search ended when its budget of 250ms was spent; "
        "a greater placement.searchBudget lets it look longer"
    )


def test_without_a_constraint_the_cluster_is_what_lacks() -> None:
    one = Shortfall("", 0, 1, "router", "memory", 5 * 2**30 + 1)
    assert says(NotFound(True, "my-0", "", (one,))) == (
        "the cluster fits 0 of 1 pod of router and lacks 6Gi memory; proven: there is no room for them now"
    )
    assert says(NotFound(True, "my-0", "", (one._replace(lacks=1500, resource="cpu"),))).startswith(
        "the cluster fits 0 of 1 pod of router and lacks 1500m cpu;"
    )


def test_why_nodes_refuse_is_told_without_counting_them() -> None:
    verdict = NotFound(True, "my-0", "rack", (LACKING,), (("taint a=b is not tolerated", 812), ("insufficient cpu", 3)))
    assert says(verdict).endswith("; nodes refuse its pods because of: taint a=b is not tolerated, insufficient cpu")


def test_a_level_that_no_node_has_is_said_to_be_missing() -> None:
    assert says(NotFound(True, "my-0", "rack")) == (
        "no node has the label of a rack; proven: no rack can take them now"
    )


def test_a_part_of_the_gang_is_named() -> None:
    inner = Scope("my-0-workers-1", Pack(RACK), KEYS)
    verdict = NotFound(True, "my-0-workers-1", "rack", (LACKING,))
    said = explain.refused(wanted(inner), verdict, budget="1s", levels={"rack": "cabinet"})
    assert said.sentence.startswith("cabinet r12 comes nearest: it fits 14 of 16 pods of prefill and lacks 16")
    assert "(for my-0-workers-1); proven: no cabinet can take them now" in said.sentence


def test_a_sentence_stands_while_only_numbers_change() -> None:
    first = NotFound(True, "my-0", "rack", (LACKING,))
    said = explain.refused(wanted(), first, budget="1s")
    held = explain.steady(None, said, 100.0)
    assert held.at == 100.0
    assert explain.steady(held, said, 9999.0) is held
    other = explain.refused(
        wanted(), NotFound(True, "my-0", "rack", (LACKING._replace(domain="r3", fits=2),)), budget="1s"
    )
    assert explain.steady(held, other, 399.0) is held
    assert explain.steady(held, other, 400.0) == other._replace(at=400.0)
    ended = explain.refused(wanted(), first._replace(proven=False), budget="1s")
    assert explain.steady(held, ended, 101.0) == ended._replace(at=101.0)
    assert explain.steady(held, explain.preempting(1), 101.0).reason == "Preempting"


def test_other_reasons_are_sentences_too() -> None:
    cluster = fleet(1, 1)
    short = Group("decode", 4, (), group(cluster, "decode", 3, spec()).waiting)
    waits = explain.waits_for_pods(gang(short, group(cluster, "router", 1, spec())))
    assert waits.sentence == "it waits until these pods exist without scheduling gates: 4 of decode"
    assert explain.waits_for_base("default/my-0").sentence.endswith("is placed: default/my-0")
    assert "held for a gang that has waited longer: default/big" in explain.room_held("default/big").sentence
    assert explain.preempting(3).sentence == "it waits until 3 pods that made room for it have ended"
    assert explain.limited("why").reason == "QueueLimit"
    assert explain.unsupported("why").reason == "Unsupported"


def test_a_sentence_has_at_most_a_kilobyte() -> None:
    found = explain.unsupported("ü" * 900).sentence
    assert len(found.encode()) <= 1000
    assert found.endswith("ü…")


def test_the_record_has_everything_and_is_json() -> None:
    verdict = NotFound(True, "my-0", RACK, (LACKING,), (("insufficient cpu", 3),), looked=7)
    said = explain.refused(wanted(), verdict, budget="1s")
    suggestion = explain.Suggestion("fewer", "lower it", is_tried=True)
    record = explain.record(wanted(), said, verdict, suggestions=[suggestion], position=2)
    body = msgspec.json.decode(msgspec.json.encode(record))
    assert body["nearest"] == [
        {"domain": "r12", "group": "prefill", "fits": 14, "needs": 16, "resource": GPU, "lacks": "16"}
    ]
    assert body["reasons"] == [{"why": "insufficient cpu", "nodes": 3}]
    assert body["suggestions"] == [{"kind": "fewer", "text": "lower it", "isTried": True}]
    assert (body["proven"], body["level"], body["steps"], body["position"]) == (True, RACK, 7, 2)
    assert explain.record(wanted(), explain.waits_for_base("b")).nearest == ()

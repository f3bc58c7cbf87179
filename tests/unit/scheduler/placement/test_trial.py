"""Gangs whose pods heed each other, by the rules of Kubernetes."""

from __future__ import annotations

from typing import Any

import msgspec

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Group, Pack, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.place import place
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Found, NotFound
from tests.unit.scheduler.checker import faults
from tests.unit.scheduler.fleets import BLOCK, HOST, KEYS, RACK, ZONE, gang, node, pending, pod, spec


def ruled(racks: int, nodes: int) -> Cluster:
    cluster = Cluster()
    cluster.obey(rules(cluster, Surroundings(), SchedulerConfiguration()))
    cluster.classes.speak_of(["app"])
    for rack in range(racks):
        for at in range(nodes):
            cluster.node(node(f"n{rack}-{at}", {ZONE: "z", BLOCK: "b", RACK: f"r{rack}"}))
    return cluster


def apps(cluster: Cluster, app: str, count: int, *, minimum: int | None = None, **more: Any) -> Group:
    pods = [pod(f"{app}-{index}", spec(**more), labels={"app": app}) for index in range(count)]
    return Group(app, count if minimum is None else minimum, (), tuple(pending(cluster, one) for one in pods))


def away_from(app: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def near(app: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def asked(cluster: Cluster, *groups: Group, **more: Any) -> Found | NotFound:
    wanted = gang(*groups, **more)
    answer = place(cluster, wanted, Budget(50_000))
    assert [*cluster.recount()] == []
    if isinstance(answer, Found):
        assert [*faults(cluster, wanted, answer)] == []
    return answer


def test_pods_that_keep_off_each_others_nodes_have_one_each() -> None:
    cluster = ruled(1, 4)
    four = asked(cluster, apps(cluster, "w", 4, **away_from("w", HOST)), required=RACK)
    assert isinstance(four, Found)
    assert len({put.slot for put in four.puts}) == 4
    five = asked(cluster, apps(cluster, "w", 5, **away_from("w", HOST)), required=RACK)
    assert isinstance(five, NotFound)
    assert five.proven


def test_pods_that_keep_out_of_each_others_racks_have_one_each() -> None:
    cluster = ruled(3, 2)
    three = asked(cluster, apps(cluster, "w", 3, **away_from("w", RACK)), required=BLOCK)
    assert isinstance(three, Found)
    assert len({cluster.names[put.slot][:2] for put in three.puts}) == 3
    four = asked(cluster, apps(cluster, "w", 4, **away_from("w", RACK)), required=BLOCK)
    assert isinstance(four, NotFound)
    assert four.proven


def test_groups_that_avoid_each_other_share_no_node() -> None:
    cluster = ruled(1, 3)
    answer = asked(cluster, apps(cluster, "a", 4, **away_from("b", HOST)), apps(cluster, "b", 2), required=RACK)
    assert isinstance(answer, Found)
    where = {app: {put.slot for put in answer.puts if put.pod.name.startswith(app)} for app in ("a", "b")}
    assert not where["a"] & where["b"]


def test_a_follower_goes_where_its_leader_goes_whichever_comes_first() -> None:
    cluster = ruled(3, 2)
    answer = asked(cluster, apps(cluster, "f", 3, gpus=4, **near("l", RACK)), apps(cluster, "l", 1, gpus=4))
    assert isinstance(answer, Found)
    assert len({cluster.names[put.slot][:2] for put in answer.puts}) == 1


def test_pods_that_must_be_spread_are_spread() -> None:
    cluster = ruled(3, 3)
    constraint = {
        "maxSkew": 1,
        "topologyKey": RACK,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "w"}},
    }
    answer = asked(cluster, apps(cluster, "w", 6, topologySpreadConstraints=[constraint]))
    assert isinstance(answer, Found)
    racks = [cluster.names[put.slot][:2] for put in answer.puts]
    assert sorted(racks.count(rack) for rack in {*racks}) == [2, 2, 2]


def test_pods_with_the_same_host_port_have_a_node_each() -> None:
    cluster = ruled(2, 3)
    port = [{"containerPort": 80, "hostPort": 80}]
    containers = [{"name": "c", "ports": port, "resources": {"requests": {"cpu": "1"}}}]
    answer = asked(cluster, apps(cluster, "w", 3, containers=containers), required=RACK)
    assert isinstance(answer, Found)
    assert len({put.slot for put in answer.puts}) == 3
    more = asked(cluster, apps(cluster, "w", 4, containers=containers), required=RACK)
    assert isinstance(more, NotFound)
    assert more.proven


def test_parts_of_a_gang_keep_apart_and_together_at_once() -> None:
    cluster = ruled(4, 3)
    parts = [
        Scope(f"p{at}", Pack(RACK), KEYS, (), (apps(cluster, f"p{at}", 2, **away_from(f"p{1 - at}", RACK)),))
        for at in range(2)
    ]
    answer = asked(cluster, scopes=parts, required=BLOCK)
    assert isinstance(answer, Found)
    racks = [{cluster.names[put.slot][:2] for put in answer.puts if put.pod.name.startswith(f"p{at}")} for at in (0, 1)]
    assert [len(one) for one in racks] == [1, 1]
    assert racks[0] != racks[1]


def test_extras_heed_each_other_too() -> None:
    cluster = ruled(1, 3)
    answer = asked(cluster, apps(cluster, "w", 5, minimum=2, **away_from("w", HOST)), required=RACK)
    assert isinstance(answer, Found)
    assert len(answer.puts) == 3
    assert len(answer.left) == 2


def test_a_tainted_node_is_refused_with_its_reason() -> None:
    cluster = ruled(1, 1)
    view = node("tainted", {ZONE: "z", BLOCK: "b", RACK: "r0"})
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    cluster.node(type(view)(metadata=view.metadata, spec=_spec_with(view, taint), status=view.status))
    answer = asked(cluster, apps(cluster, "w", 2, gpus=8), required=RACK)
    assert isinstance(answer, NotFound)
    assert answer.proven
    (shortfall,) = answer.shortfalls
    assert (shortfall.fits, shortfall.needs) == (1, 2)
    assert [count for _, count in answer.reasons] == [1]
    assert "taint" in answer.reasons[0][0]


def _spec_with(view: Any, taint: dict[str, str]) -> Any:
    return msgspec.convert({"taints": [taint]}, type(view.spec))


def test_whoever_is_wanted_near_and_is_nowhere_is_told() -> None:
    cluster = ruled(2, 2)
    answer = asked(cluster, apps(cluster, "w", 3), apps(cluster, "f", 1, **near("nobody", RACK)), required=BLOCK)
    assert isinstance(answer, NotFound)
    assert answer.proven
    assert [(one.group, one.fits, one.needs) for one in answer.shortfalls] == [("f", 0, 1)]
    assert answer.reasons == (("no pod of those wanted near by pod affinity is in the same rack", 4),)

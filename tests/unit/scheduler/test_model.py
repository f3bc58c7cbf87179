"""From PodGangs to what the search places."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grove.api import labels
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodView
from grove.scheduler import model
from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang, Pack, Pending
from grove.scheduler.topologies import Topologies
from tests.unit.scheduler.fleets import BLOCK, HOST, RACK, ZONE, pod, spec

LEVELS = (ZONE, BLOCK, RACK, HOST)


def binding(name: str, keys: tuple[str, ...]) -> ClusterTopologyBinding:
    levels = [{"domain": f"d{index}", "key": key} for index, key in enumerate(keys)]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"levels": levels}}, ClusterTopologyBinding)


def build(spec_: dict[str, Any], *, pods: list[PodView] | None = None, meta: Any = None, **options: Any) -> Gang:
    """The gang of a PodGang whose pods all wait."""
    cluster = Cluster()
    view = msgspec.convert({"metadata": {"name": "g", "namespace": "ns"} | (meta or {}), "spec": spec_}, PodGang)
    known = {one.metadata.name: one for one in pods or []}
    for group in view.spec.podgroups:
        for reference in group.pod_references:
            known.setdefault(reference.name, pod(reference.name, spec(gpus=1), namespace="ns"))
    topologies = Topologies()
    topologies.put(binding("default", LEVELS))
    topologies.put(binding("other", ("hall", "row")))
    return model.of_gang(
        view,
        member=lambda _, name: known.get(name),
        state=lambda one: Pending(one.metadata.uid or "", "ns", one.metadata.name, cluster.classes.of(one)),
        priorities={"high": (1000, "PreemptLowerPriority"), "meek": (10, "Never")},
        topologies=topologies,
        **options,
    )


def group(name: str, *pods: str, minimum: int = 1, **more: Any) -> dict[str, Any]:
    references = [{"namespace": "ns", "name": one} for one in pods]
    return {"name": name, "podReferences": references, "minReplicas": minimum} | more


def packed(required: str = "", preferred: str = "") -> dict[str, Any]:
    found = {key: value for key, value in (("required", required), ("preferred", preferred)) if value}
    return {"topologyConstraint": {"packConstraint": found}}


def test_constraints_nest_as_they_are_stated() -> None:
    gang = build(
        {
            "podgroups": [group("a", "a-0", **packed(HOST)), group("b", "b-0"), group("c", "c-0")],
            "topologyConstraintGroupConfigs": [{"name": "part", "podGroupNames": ["a", "b"]} | packed(RACK, HOST)],
        }
        | packed(BLOCK, RACK)
    )
    assert (gang.root.pack, gang.root.keys) == (Pack(BLOCK, RACK), LEVELS)
    (part,) = gang.root.scopes
    assert (part.name, part.pack) == ("part", Pack(RACK, HOST))
    assert [one.name for one in part.groups] == ["b"]
    assert [(one.name, one.pack, [it.name for it in one.groups]) for one in part.scopes] == [("a", Pack(HOST), ["a"])]
    assert [one.name for one in gang.root.groups] == ["c"]


def test_a_part_without_a_constraint_packs_nothing() -> None:
    gang = build(
        {"podgroups": [group("a", "a-0")], "topologyConstraintGroupConfigs": [{"name": "p", "podGroupNames": ["a"]}]}
    )
    assert (gang.root.scopes[0].pack, gang.root.scopes[0].keys) == (Pack(), ())


def test_the_named_topology_says_what_the_levels_are() -> None:
    meta = {"annotations": {labels.TOPOLOGY_NAME: "other"}}
    assert build({"podgroups": [group("a", "a-0")]} | packed("row"), meta=meta).root.keys == ("hall", "row")


def test_a_key_of_no_topology_is_a_level_of_its_own() -> None:
    assert build({"podgroups": [group("a", "a-0")]} | packed("shelf")).root.keys == ("shelf",)


def test_groups_that_should_be_close_on_the_network_are_packed_as_close_as_a_network_matters() -> None:
    wish = {"networkPackGroupConfigs": [{"podGroupNames": ["a", "b"]}]}
    gang = build({"podgroups": [group("a", "a-0"), group("b", "b-0"), group("c", "c-0")]} | wish)
    (close,) = gang.root.scopes
    assert (close.pack, close.keys) == (Pack(preferred=RACK), LEVELS)
    assert [one.name for one in close.groups] == ["a", "b"]


def test_such_a_wish_takes_in_whole_parts() -> None:
    config = {"topologyConstraintGroupConfigs": [{"name": "part", "podGroupNames": ["a"]} | packed(HOST)]}
    wish = {"networkPackGroupConfigs": [{"podGroupNames": ["a", "b"]}]}
    gang = build({"podgroups": [group("a", "a-0"), group("b", "b-0")]} | config | wish)
    (close,) = gang.root.scopes
    assert [one.name for one in close.scopes] == ["part"]
    assert [one.name for one in close.groups] == ["b"]


def test_every_group_is_in_the_gang_once() -> None:
    wish = {"networkPackGroupConfigs": [{"podGroupNames": ["a", "b"]}, {"podGroupNames": ["b", "c"]}]}
    gang = build({"podgroups": [group("a", "a-0"), group("b", "b-0"), group("c", "c-0")]} | wish)
    assert sorted(one.name for one in gang.groups()) == ["a", "b", "c"]


def test_pods_with_low_indices_come_first() -> None:
    pods = [
        pod(name, spec(gpus=1), labels={labels.POD_CLIQUE_POD_INDEX: index}, namespace="ns")
        for name, index in (("x", "10"), ("y", "2"), ("z", "0"))
    ]
    gang = build({"podgroups": [group("a", "x", "y", "z")]}, pods=pods)
    assert [one.name for one in next(gang.groups()).waiting] == ["z", "y", "x"]


@pytest.mark.parametrize(
    ("named", "priority", "preempts"),
    [("high", 1000, True), ("meek", 10, False), ("missing", 7, True), (None, 7, True)],
)
def test_the_gangs_own_class_decides_its_priority_before_its_pods(
    named: str | None, priority: int, preempts: bool
) -> None:
    one = pod("a-0", spec(gpus=1, priority=7), namespace="ns")
    gang = build({"podgroups": [group("a", "a-0")], "priorityClassName": named}, pods=[one])
    assert (gang.priority, gang.preempts) == (priority, preempts)


def test_pods_that_must_not_preempt_keep_their_gang_from_it() -> None:
    one = pod("a-0", spec(gpus=1, preemptionPolicy="Never"), namespace="ns")
    assert not build({"podgroups": [group("a", "a-0")]}, pods=[one]).preempts


@pytest.mark.parametrize(
    ("affinity", "pack"), [("preferred", Pack(preferred=BLOCK)), ("required", Pack(required=BLOCK)), ("none", None)]
)
def test_a_scaled_gang_goes_near_its_base(affinity: model.Affinity, pack: Pack | None) -> None:
    base_spec = {"podgroups": [group("a", "a-0")]} | packed(BLOCK)
    base = msgspec.convert({"metadata": {"name": "b", "namespace": "ns"}, "spec": base_spec}, PodGang)
    meta = {"labels": {labels.BASE_POD_GANG: "b"}}
    wanted = {"podgroups": [group("s", "s-0")]} | packed(RACK)
    gang = build(wanted, meta=meta, base=base, base_slots=[3, 4], replica_affinity=affinity)
    assert gang.base == "ns/b"
    if pack is None:
        assert gang.root.pack == Pack(RACK)
    else:
        assert (gang.root.pack, gang.root.anchors) == (pack, (3, 4))
        assert [one.pack for one in gang.root.scopes] == [Pack(RACK)]

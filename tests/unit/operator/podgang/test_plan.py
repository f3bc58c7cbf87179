"""What a PodGang says, and what of it is written."""

from typing import Any

import pytest

from grove.api import codec, labels
from grove.api.kinds.podgang import PodGangSpec
from grove.operator.podgang import plan
from grove.operator.tree import GangPlace
from tests.unit.operator.podgang.builders import BASE, Cluster, clique, patched, pcs, pod, recorded, stored

JSON = dict[str, Any]

KEYS = {"zone": "topology.kubernetes.io/zone", "rack": "example.com/rack", "host": "kubernetes.io/hostname"}
GROUP = {"name": "sg", "cliqueNames": ["w", "l"], "replicas": 3, "minAvailable": 2}


def packed(**pack: str) -> JSON:
    return {"topologyConstraint": {"topologyName": "t", "pack": pack}}


def key(**pack: str) -> JSON:
    return {"packConstraint": pack}


def spec_of(cluster: Cluster, place: GangPlace = BASE, keys: JSON | None = None) -> JSON:
    return codec.encode(cluster.wanted(place, KEYS if keys is None else keys).spec)


def with_topology() -> Cluster:
    cliques = [clique("r"), clique("w", 2, **packed(preferred="host")), clique("l")]
    return Cluster(pcs(cliques, [GROUP | packed(required="rack")], template=packed(required="zone")))


def test_a_base_gang_holds_standalone_cliques_and_the_first_copies_in_order() -> None:
    cluster = Cluster(pcs([clique("w", 2, spec={"minAvailable": 1}), clique("r", 3), clique("l")], [GROUP]))
    groups = cluster.wanted().spec.podgroups
    assert [(one.name, one.min_replicas) for one in groups] == [
        ("set-0-r", 3),
        ("set-0-sg-0-w", 1),
        ("set-0-sg-0-l", 1),
        ("set-0-sg-1-w", 1),
        ("set-0-sg-1-l", 1),
    ]
    assert [one.name for one in groups[1].pod_references] == ["set-0-sg-0-w-p0", "set-0-sg-0-w-p1"]
    assert {one.namespace for group in groups for one in group.pod_references} == {"ns"}
    scaled = cluster.wanted(GangPlace(0, "sg", 2)).spec.podgroups
    assert [one.name for one in scaled] == ["set-0-sg-2-w", "set-0-sg-2-l"]


def test_references_are_the_active_pods_sorted_by_name() -> None:
    cluster = Cluster(pcs([clique("a", 2)]))
    cluster.pods["set-0-a"] = [
        pod("z"),
        pod("b"),
        pod("going", metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"}),
        pod("lost", phase="Failed"),
        pod("done", phase="Succeeded", restart="Never"),
    ]
    references = cluster.wanted().spec.podgroups[0].pod_references
    assert [one.name for one in references] == ["b", "done", "z"]


def test_a_clique_that_is_scaled_to_zero_does_not_hold_the_gang_up() -> None:
    cluster = Cluster(pcs([clique("a", 2), clique("b", 2, spec={"minAvailable": 1})]))
    cluster.add_clique("set-0-b", 0, cluster.cliques["set-0-b"].metadata.labels or {})
    assert [one.min_replicas for one in cluster.wanted().spec.podgroups] == [2, 0]


def test_constraints_of_a_base_gang_are_translated_at_every_level() -> None:
    spec = spec_of(with_topology())
    assert spec["topologyConstraint"] == key(required="topology.kubernetes.io/zone")
    assert spec["topologyConstraintGroupConfigs"] == [
        {
            "name": f"set-0-sg-{copy}",
            "podGroupNames": [f"set-0-sg-{copy}-w", f"set-0-sg-{copy}-l"],
            "topologyConstraint": key(required="example.com/rack"),
        }
        for copy in (0, 1)
    ]
    by_name = {one["name"]: one.get("topologyConstraint") for one in spec["podgroups"]}
    assert by_name["set-0-sg-0-w"] == key(preferred="kubernetes.io/hostname")
    assert by_name["set-0-r"] is None


def test_a_scaled_gang_is_packed_as_its_group_says() -> None:
    spec = spec_of(with_topology(), GangPlace(0, "sg", 2))
    assert spec["topologyConstraint"] == key(required="example.com/rack")
    assert "topologyConstraintGroupConfigs" not in spec


def test_a_scaled_gang_without_a_constraint_of_its_group_is_packed_as_the_set_says() -> None:
    cluster = Cluster(pcs([clique("w"), clique("l")], [GROUP], template=packed(required="zone")))
    assert spec_of(cluster, GangPlace(0, "sg", 2))["topologyConstraint"] == key(required="topology.kubernetes.io/zone")


def test_nothing_is_packed_without_a_topology() -> None:
    cluster = with_topology()
    spec = spec_of(cluster, keys={})
    assert "topologyConstraint" not in spec
    assert "topologyConstraintGroupConfigs" not in spec
    assert not any("topologyConstraint" in one for one in spec["podgroups"])
    assert labels.TOPOLOGY_NAME not in cluster.wanted().annotations
    assert cluster.wanted(keys=KEYS).annotations[labels.TOPOLOGY_NAME] == "t"


def test_a_group_whose_level_is_missing_is_still_listed() -> None:
    spec = spec_of(with_topology(), keys={"zone": "z"})
    assert [sorted(one) for one in spec["topologyConstraintGroupConfigs"]] == [["name", "podGroupNames"]] * 2


def test_priority_packing_and_spreading_reach_the_gang() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    template = {
        "priorityClassName": "high",
        "schedulingPolicyConfig": {"networkPackGroupConfigs": [{"cliqueNames": ["r", "l"]}, {"cliqueNames": ["r"]}]},
    }
    cliques = [clique("r"), clique("w"), clique("l")]
    cluster = Cluster(pcs(cliques, [GROUP], template=template, replicaSpreadConstraints=[constraint]))
    spec = spec_of(cluster)
    assert spec["priorityClassName"] == "high"
    assert spec["networkPackGroupConfigs"] == [
        {"podGroupNames": ["set-0-r", "set-0-sg-0-l", "set-0-sg-1-l"]},
        {"podGroupNames": ["set-0-r"]},
    ]
    selector = {"matchLabels": {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.PART_OF: "set"}}
    assert spec["spreadConstraints"] == [constraint | {"labelSelector": selector}]
    assert spec_of(cluster, GangPlace(0, "sg", 2))["networkPackGroupConfigs"] == [{"podGroupNames": ["set-0-sg-2-l"]}]


def test_labels_say_where_the_gang_stands() -> None:
    cluster = Cluster(pcs([clique("w"), clique("l")], [GROUP]))
    base = {
        labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
        labels.PART_OF: "set",
        labels.POD_CLIQUE_SET: "set",
        labels.COMPONENT: "podgang",
        labels.POD_CLIQUE_SET_REPLICA_INDEX: "0",
        labels.SCHEDULER_NAME: "grove-scheduler",
    }
    assert cluster.wanted().labels == base
    assert cluster.wanted(GangPlace(0, "sg", 2)).labels == base | {
        labels.SCALING_GROUP: "set-0-sg",
        labels.SCALING_GROUP_REPLICA_INDEX: "2",
        labels.BASE_POD_GANG: "set-0",
    }


def test_the_sets_labels_and_annotations_are_mirrored_without_groves_and_kubectls_own() -> None:
    metadata = {
        "labels": {"team": "a", labels.MANAGED_BY: "Helm", "grove.io/x": "y", labels.QUEUE: "research"},
        "annotations": {"note": "b", "grove.io/reconcile-trigger": "1", "kubectl.kubernetes.io/last": "{}"},
    }
    wanted = Cluster(pcs([clique("a")], metadata=metadata)).wanted()
    assert {"team": "a", labels.MANAGED_BY: "grove-operator", labels.QUEUE: "research"}.items() <= wanted.labels.items()
    assert "grove.io/x" not in wanted.labels
    assert {name for name in wanted.annotations if not labels.is_groves(name)} == {"note"}


def test_what_the_set_tells_the_scheduler_its_gangs_tell_too() -> None:
    said = {labels.PREEMPTION: "never", labels.RESTART_COST: "30m", labels.EXPECTED_DURATION: "2h"}
    wanted = Cluster(pcs([clique("a")], metadata={"annotations": said})).wanted()
    assert said.items() <= wanted.annotations.items()


def gang_of(cluster: Cluster, **more: Any) -> Any:
    return stored(plan.creation(cluster.tree, GangPlace(0), cluster.wanted(keys=KEYS)), **more)


def test_a_new_gang_belongs_to_its_set() -> None:
    body = plan.creation(with_topology().tree, GangPlace(0), with_topology().wanted())
    assert body["metadata"]["name"] == "set-0"
    assert [(one["kind"], one["uid"], one["controller"]) for one in body["metadata"]["ownerReferences"]] == [
        ("PodCliqueSet", "set-uid", True)
    ]


def test_nothing_is_written_of_a_gang_that_is_as_it_is_to_be() -> None:
    cluster = with_topology()
    assert plan.change(gang_of(cluster), cluster.wanted(keys=KEYS)) is None


def test_pods_that_come_change_references_only() -> None:
    cluster = with_topology()
    held = gang_of(cluster)
    cluster.pods["set-0-r"].append(pod("set-0-r-new"))
    change = plan.change(held, cluster.wanted(keys=KEYS))
    assert change is not None
    assert change.references_only
    assert change.patch.keys() == {"metadata", "spec"}
    assert change.patch["metadata"] == {"uid": "gang-uid"}
    assert change.patch["spec"].keys() == {"podgroups"}
    assert plan.change(patched(held, change.patch), cluster.wanted(keys=KEYS)) is None


def test_a_topology_that_goes_takes_its_constraints_and_its_name_along() -> None:
    cluster = with_topology()
    held = gang_of(cluster)
    change = plan.change(held, cluster.wanted())
    assert change is not None
    assert change.touched == ("annotations", "podgroups", "topologyConstraint", "topologyConstraintGroupConfigs")
    after = patched(held, change.patch)
    assert after.spec.topology_constraint is None
    assert labels.TOPOLOGY_NAME not in (after.metadata.annotations or {})


def test_a_level_that_goes_is_taken_out_of_a_constraint() -> None:
    cluster = Cluster(pcs([clique("a")], template=packed(required="zone", preferred="host")))
    held = gang_of(cluster)
    change = plan.change(held, cluster.wanted(keys={"zone": "example.com/zone"}))
    assert change is not None
    assert change.patch["spec"] == {
        "topologyConstraint": {"packConstraint": {"required": "example.com/zone", "preferred": None}}
    }


def test_what_the_set_drops_goes_from_the_gang_and_what_others_added_stays() -> None:
    before = Cluster(pcs([clique("a")], metadata={"labels": {"team": "a"}, "annotations": {"note": "b"}}))
    held = gang_of(before)
    held = patched(held, {"metadata": {"labels": {"x": "1", "grove.io/y": "2"}, "annotations": {"kai/skip": "true"}}})
    assert plan.change(held, before.wanted(keys=KEYS)) is None
    change = plan.change(held, Cluster(pcs([clique("a")])).wanted())
    assert change is not None
    after = patched(held, change.patch)
    found = after.metadata.labels or {}
    assert "team" not in found
    assert (found["x"], found["grove.io/y"]) == ("1", "2")
    assert after.metadata.annotations == {"kai/skip": "true"}
    assert recorded(after).labels == ()


@pytest.mark.parametrize("record", ["", "{", "[]", '{"labels": 3}'])
def test_a_spoilt_record_removes_nothing_and_is_put_right(record: str) -> None:
    cluster = Cluster(pcs([clique("a")], metadata={"labels": {"team": "a"}}))
    held = patched(gang_of(cluster), {"metadata": {"annotations": {"grove.io/mirrored": record}}})
    change = plan.change(held, cluster.wanted())
    assert change is not None
    assert change.patch["metadata"]["annotations"] == {"grove.io/mirrored": '{"labels":["team"]}'}


def test_a_reservation_that_another_has_set_is_left_alone() -> None:
    cluster = Cluster(pcs([clique("a")]))
    held = patched(gang_of(cluster), {"spec": {"reuseReservationRef": {"namespace": "ns", "name": "other"}}})
    assert plan.change(held, cluster.wanted()) is None


def test_all_fields_of_the_spec_but_the_reservation_are_decided_here() -> None:
    assert {one.name for one in plan.OURS} == set(PodGangSpec.__struct_fields__) - {"reuse_reservation_ref"}

"""Everything that is made for a set, and what is changed and deleted when the set changes."""

from __future__ import annotations

import copy

import msgspec
import pytest
import yaml

from grove.api import labels
from grove.operator.podcliqueset import plan
from grove.operator.tree import TEMPLATE_REPLICAS
from tests.unit.operator.podcliqueset.builders import JSON, Stage, clique, decoded, group, pcs


def everywhere(_: int) -> bool:
    return True


def nowhere(_: int) -> bool:
    return False


def simple1(replicas: int = 1) -> Stage:
    with open("examples/simple1.yaml") as file:
        tree = yaml.safe_load(file)
    tree["spec"]["replicas"] = replicas
    tree["metadata"] |= {"uid": "uid-simple1", "generation": 1, "resourceVersion": "1"}
    return Stage(decoded(tree))


def test_the_set_of_the_architecture_page_consists_of_what_it_says() -> None:
    stage = simple1()
    stage.settle()
    assert set(stage.cliques) == {"simple1-0-pca", "simple1-0-pcd"}
    assert set(stage.groups) == {"simple1-0-sga"}
    assert set(stage.members) == {"simple1-0-sga-0-pcb", "simple1-0-sga-0-pcc"}
    assert set(stage.services) == {"simple1-0"}
    assert set(stage.roles) == set(stage.role_bindings) == {"grove.io:pcs:simple1"}
    targets = {name: one["spec"]["scaleTargetRef"]["kind"] for name, one in stage.autoscalers.items()}
    assert targets == {"simple1-0-pca": "PodClique", "simple1-0-sga": "PodCliqueScalingGroup"}
    assert [stage.autoscalers[name]["spec"]["minReplicas"] for name in sorted(targets)] == [3, 1]


def test_a_plan_that_is_carried_out_leaves_nothing_to_plan() -> None:
    stage = simple1(replicas=2)
    stage.settle()
    assert not plan.make(stage.snapshot(), everywhere)
    assert not plan.make(stage.snapshot(), nowhere)


def test_everything_of_a_replica_that_is_scaled_away_goes() -> None:
    stage = simple1(replicas=3)
    stage.settle()
    stage.pcs = simple1(replicas=1).pcs
    found = plan.make(stage.snapshot(), everywhere)
    assert {one.name for one in found.services.deletes} == {"simple1-1", "simple1-2"}
    assert {one.name for one in found.autoscalers.deletes} == {
        f"simple1-{replica}-{target}" for replica in (1, 2) for target in ("pca", "sga")
    }
    assert len(found.groups.deletes) == 2
    assert len(found.cliques.deletes) == 4
    assert {one.metadata.name for one in found.members} == {
        f"simple1-{replica}-sga-0-{name}" for replica in (1, 2) for name in ("pcb", "pcc")
    }
    stage.apply(found)
    assert not plan.make(stage.snapshot(), everywhere)


def test_what_is_missing_and_what_is_too_much_is_told_by_name_not_by_number() -> None:
    stage = Stage(pcs(clique("a"), replicas=3))
    stage.settle()
    del stage.cliques["demo-0-a"]
    stage.pcs = pcs(clique("a"), replicas=2)
    found = plan.make(stage.snapshot(), everywhere)
    assert [one.body["metadata"]["name"] for one in found.cliques.creates] == ["demo-0-a"]
    assert [one.metadata.name for one in found.cliques.deletes] == ["demo-2-a"]


def test_a_template_is_followed_where_it_may_be() -> None:
    stage = Stage(pcs(clique("a"), replicas=2))
    stage.settle()
    stage.pcs = pcs(clique("a", image="main:v2"), replicas=2)
    found = plan.make(stage.snapshot(), lambda replica: replica == 1)
    (patch,) = found.cliques.patches
    assert patch.held.metadata.name == "demo-1-a"
    stage.apply(found)
    images = {name: one["spec"]["podSpec"]["containers"][0]["image"] for name, one in stage.cliques.items()}
    assert images == {"demo-0-a": "main:v1", "demo-1-a": "main:v2"}
    assert not plan.make(stage.snapshot(), lambda replica: replica == 1)


def test_a_new_replica_is_born_with_the_new_template() -> None:
    stage = Stage(pcs(clique("a")))
    stage.settle()
    stage.pcs = pcs(clique("a", image="main:v2"), replicas=2)
    (create,) = plan.make(stage.snapshot(), nowhere).cliques.creates
    assert create.body["metadata"]["name"] == "demo-1-a"
    assert create.body["spec"]["podSpec"]["containers"][0]["image"] == "main:v2"


def test_nothing_is_planned_for_a_child_that_is_being_deleted() -> None:
    stage = simple1()
    stage.settle()
    for store in (stage.cliques, stage.groups, stage.services, stage.autoscalers, stage.roles, stage.role_bindings):
        for one in store.values():
            one["metadata"]["deletionTimestamp"] = "2026-11-19T12:00:00Z"
            one["metadata"]["labels"].pop(labels.MANAGED_BY)
    assert not plan.make(stage.snapshot(), everywhere)
    stage.pcs = simple1(replicas=0).pcs
    assert not plan.make(stage.snapshot(), everywhere).cliques


@pytest.mark.parametrize("kind", ["cliques", "groups", "services", "autoscalers", "roles", "role_bindings"])
def test_labels_that_somebody_took_away_are_put_back(kind: str) -> None:
    stage = simple1()
    stage.settle()
    before: dict[str, JSON] = copy.deepcopy(getattr(stage, kind))
    for one in getattr(stage, kind).values():
        one["metadata"]["labels"] |= {labels.COMPONENT: "mine", "theirs": "stays"}
    stage.apply(plan.make(stage.snapshot(), everywhere))
    for name, one in getattr(stage, kind).items():
        assert one["metadata"]["labels"] == before[name]["metadata"]["labels"] | {"theirs": "stays"}


def test_replicas_of_the_template_reach_what_nobody_scaled() -> None:
    def of(count: int) -> Stage:
        return Stage(pcs(clique("a", count, minAvailable=1), clique("b"), groups=[group("g", ["b"], replicas=count)]))

    stage = of(2)
    stage.settle()
    stage.pcs = of(4).pcs
    stage.apply(plan.make(stage.snapshot(), nowhere))
    assert stage.cliques["demo-0-a"]["spec"]["replicas"] == 4
    assert stage.groups["demo-0-g"]["spec"]["replicas"] == 4
    # Somebody scales both; the template does not take that back.
    stage.cliques["demo-0-a"]["spec"]["replicas"] = stage.groups["demo-0-g"]["spec"]["replicas"] = 7
    stage.pcs = of(5).pcs
    stage.apply(plan.make(stage.snapshot(), nowhere))
    assert stage.cliques["demo-0-a"]["spec"]["replicas"] == stage.groups["demo-0-g"]["spec"]["replicas"] == 7
    assert stage.groups["demo-0-g"]["metadata"]["annotations"][TEMPLATE_REPLICAS] == "5"
    # Until it is scaled back to what the template says.
    stage.cliques["demo-0-a"]["spec"]["replicas"] = stage.groups["demo-0-g"]["spec"]["replicas"] = 5
    stage.pcs = of(3).pcs
    stage.apply(plan.make(stage.snapshot(), nowhere))
    assert stage.cliques["demo-0-a"]["spec"]["replicas"] == stage.groups["demo-0-g"]["spec"]["replicas"] == 3


def test_replicas_of_a_scaling_group_that_an_autoscaler_scales_are_its_own() -> None:
    def of(count: int) -> Stage:
        scale = {"maxReplicas": 9}
        return Stage(pcs(clique("b"), groups=[group("g", ["b"], replicas=count, scaleConfig=scale)]))

    stage = of(2)
    stage.settle()
    stage.pcs = of(4).pcs
    stage.apply(plan.make(stage.snapshot(), nowhere))
    assert stage.groups["demo-0-g"]["spec"]["replicas"] == 2
    assert stage.groups["demo-0-g"]["metadata"]["annotations"][TEMPLATE_REPLICAS] == "4"


def test_a_patch_of_replicas_is_for_the_version_that_was_seen() -> None:
    stage = Stage(pcs(clique("b"), groups=[group("g", ["b"], replicas=2)]))
    stage.settle()
    stage.pcs = pcs(clique("b"), groups=[group("g", ["b"], replicas=3)])
    (patch,) = plan.make(stage.snapshot(), nowhere).groups.patches
    assert patch.guarded


def test_annotations_of_a_scaling_group_follow_the_template_and_leave_others_alone() -> None:
    def of(annotations: dict[str, str]) -> Stage:
        return Stage(pcs(clique("b"), groups=[group("g", ["b"], annotations=annotations)]))

    stage = of({"one": "1", "two": "2"})
    stage.settle()
    stage.groups["demo-0-g"]["metadata"]["annotations"]["theirs"] = "stays"
    stage.pcs = of({"two": "3"}).pcs
    stage.apply(plan.make(stage.snapshot(), nowhere))
    found = stage.groups["demo-0-g"]["metadata"]["annotations"]
    assert (found.get("one"), found["two"], found["theirs"]) == (None, "3", "stays")
    stage.pcs = of({}).pcs
    stage.apply(plan.make(stage.snapshot(), nowhere))
    assert stage.groups["demo-0-g"]["metadata"]["annotations"] == {"theirs": "stays", TEMPLATE_REPLICAS: "1"}
    assert not plan.make(stage.snapshot(), nowhere)


def test_the_pace_and_the_finalizer_of_a_scaling_group_are_mended() -> None:
    stage = Stage(pcs(clique("b"), groups=[group("g", ["b"], replicas=3, rollingUpdate={"maxUnavailable": 2})]))
    stage.settle()
    held = stage.groups["demo-0-g"]
    held["spec"]["minAvailable"] = 2
    held["metadata"]["finalizers"] = ["somebody/else"]
    stage.pcs = pcs(clique("b"), groups=[group("g", ["b"], replicas=3)])
    stage.apply(plan.make(stage.snapshot(), nowhere))
    held = stage.groups["demo-0-g"]
    assert held["spec"] == {"replicas": 3, "minAvailable": 1, "cliqueNames": ["b"]}
    assert held["metadata"]["finalizers"] == ["somebody/else", labels.SCALING_GROUP_FINALIZER]


def test_a_plan_can_be_printed() -> None:
    stage = simple1()
    assert msgspec.json.encode(plan.make(stage.snapshot(), everywhere).services)

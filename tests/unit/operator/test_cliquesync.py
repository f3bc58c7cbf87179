"""What must be written so that PodCliques are as their set says."""

from __future__ import annotations

from typing import Any

import pytest

from grove.api import labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.operator import cliquesync, owners
from grove.operator.cliquesync import TEMPLATE_KEYS, Plan
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.tree import TEMPLATE_REPLICAS, CliquePlace, Tree
from tests.unit.operator.scalinggroup.builders import CliqueStore, clique, pod_clique_set, pod_spec

ROUTER = CliquePlace(0, "router")
NAME = "x-0-router"


def a_set(**spec: Any) -> PodCliqueSet:
    return pod_clique_set(clique("router", **spec))


def plan(
    pcs: PodCliqueSet, store: CliqueStore, *, follow: bool = False, places: tuple[CliquePlace, ...] = (ROUTER,)
) -> Plan:
    owner = owners.reference(POD_CLIQUE_SETS, pcs.metadata)
    return cliquesync.plan(Tree(pcs, {}), places, store.views(), owner=owner, may_follow_template=lambda _: follow)


def made(pcs: PodCliqueSet) -> CliqueStore:
    """A store with the router as the set makes it."""
    store = CliqueStore()
    store.apply(plan(pcs, store))
    return store


def change(pcs: PodCliqueSet, store: CliqueStore, *, follow: bool = False) -> Any:
    """The one patch that is planned; nothing where there is none."""
    planned = plan(pcs, store, follow=follow)
    assert not planned.creates
    assert not planned.deletes
    return planned.patches[0].change if planned.patches else {}


# Creating and deleting


def test_a_missing_podclique_is_made_with_owner_finalizer_and_all_that_the_tree_says() -> None:
    pcs = a_set(labels={"app": "a"}, annotations={"note": "n"})
    tree = Tree(pcs, {})
    (create,) = plan(pcs, CliqueStore()).creates
    metadata = create.body["metadata"]
    assert metadata["name"] == NAME
    assert metadata["namespace"] == "ns"
    assert metadata["finalizers"] == [labels.POD_CLIQUE_FINALIZER]
    assert metadata["labels"] == tree.clique_labels(ROUTER)
    assert metadata["labels"]["app"] == "a"
    assert metadata["annotations"] == {
        "note": "n",
        TEMPLATE_REPLICAS: "2",
        TEMPLATE_KEYS: '{"labels":["app"],"annotations":["note"]}',
    }
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("PodCliqueSet", "set", True)
    assert create.body["spec"] == tree.clique_spec(ROUTER)


def test_nothing_is_planned_for_what_is_as_it_should_be() -> None:
    pcs = a_set(labels={"app": "a"}, rollingUpdate={"maxUnavailable": 2})
    assert not plan(pcs, made(pcs))
    assert not plan(pcs, made(pcs), follow=True)


def test_a_set_without_defaults_has_podcliques_that_are_as_they_should_be() -> None:
    """Where no webhook filled in the role."""
    pcs = a_set(roleName="")
    assert not plan(pcs, made(pcs))


def test_what_is_not_wanted_is_deleted() -> None:
    pcs = a_set()
    (gone,) = plan(pcs, made(pcs), places=()).deletes
    assert gone.metadata.name == NAME


def test_one_that_is_being_deleted_keeps_its_name_until_it_is_gone() -> None:
    pcs = a_set()
    store = made(pcs)
    store.delete(NAME)
    assert not plan(pcs, store)
    assert not plan(pcs, store, places=())
    store.sweep()
    assert plan(pcs, store).creates


def test_one_whose_labels_were_taken_away_is_mended_and_not_deleted() -> None:
    pcs = a_set()
    store = made(pcs)
    store.bodies[NAME]["metadata"]["labels"] = {"mine": "yes"}
    store.patch(NAME, change(pcs, store, follow=True))
    assert store.bodies[NAME]["metadata"]["labels"] == Tree(pcs, {}).clique_labels(ROUTER) | {"mine": "yes"}


# Drift


def test_drift_of_the_spec_is_mended() -> None:
    pcs = pod_clique_set(
        clique("router", rollingUpdate={"maxUnavailable": 2}),
        clique("second", startsAfter=["router"]),
        cliqueStartupType="CliqueStartupTypeExplicit",
    )
    second = CliquePlace(0, "second")
    store = CliqueStore()
    store.apply(plan(pcs, store, places=(ROUTER, second)))
    store.patch(NAME, {"spec": {"roleName": "else", "minAvailable": 2, "startsAfter": ["a"], "rollingUpdate": None}})
    store.patch("x-0-second", {"spec": {"startsAfter": None}})
    changes = {one.held.metadata.name: one.change for one in plan(pcs, store, places=(ROUTER, second)).patches}
    assert changes == {
        NAME: {
            "spec": {
                "roleName": "router",
                "minAvailable": 1,
                "startsAfter": None,
                "rollingUpdate": {"maxUnavailable": 2},
            }
        },
        "x-0-second": {"spec": {"startsAfter": [NAME]}},
    }


def test_a_pod_spec_that_somebody_changed_is_mended_field_by_field() -> None:
    pcs = a_set()
    store = made(pcs)
    store.patch(NAME, {"spec": {"podSpec": {"hostNetwork": True, "containers": [{"name": "evil", "image": "evil"}]}}})
    assert change(pcs, store) == {
        "spec": {"podSpec": {"hostNetwork": None, "containers": [{"name": "main", "image": "server:v1"}]}}
    }


def test_what_the_api_server_fills_in_is_no_drift() -> None:
    spec = {"containers": [{"name": "main", "image": "a", "ports": [{"containerPort": 80}]}]}
    pcs = a_set(podSpec=spec, autoScalingConfig={"maxReplicas": 4, "metrics": [{"type": "Resource"}]})
    store = made(pcs)
    filled = [{"name": "main", "image": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]
    store.patch(NAME, {"spec": {"podSpec": {"containers": filled}}})
    assert not plan(pcs, store)


def test_our_finalizer_is_put_back_beside_those_of_others_and_only_on_this_version() -> None:
    pcs = a_set()
    store = made(pcs)
    store.bodies[NAME]["metadata"]["finalizers"] = ["example.com/other"]
    (patch,) = plan(pcs, store).patches
    assert patch.guarded
    assert patch.change == {"metadata": {"finalizers": ["example.com/other", labels.POD_CLIQUE_FINALIZER]}}


def test_what_others_wrote_is_never_touched() -> None:
    pcs = a_set(labels={"app": "a"})
    store = made(pcs)
    foreign = {
        "labels": {"theirs": "1"},
        "annotations": {"theirs": "2"},
        "finalizers": ["b", labels.POD_CLIQUE_FINALIZER],
    }
    store.patch(NAME, {"metadata": foreign})
    assert not plan(pcs, store, follow=True)


def test_a_minimum_that_is_put_back_takes_the_replicas_with_it() -> None:
    pcs = a_set(replicas=4, minAvailable=3)
    store = made(pcs)
    store.patch(NAME, {"spec": {"replicas": 1, "minAvailable": 1}})
    assert change(pcs, store) == {"spec": {"replicas": 3, "minAvailable": 3}}


def test_one_that_is_scaled_to_zero_stays_so() -> None:
    pcs = a_set(replicas=4, minAvailable=3)
    store = made(pcs)
    store.patch(NAME, {"spec": {"replicas": 0}})
    assert not plan(pcs, store)


# Another template


def test_a_new_template_waits_until_it_may_be_followed() -> None:
    store = made(a_set(labels={"app": "a", "old": "1"}, annotations={"note": "n"}))
    before = store.view(NAME)
    pcs = a_set(labels={"app": "b"}, podSpec=pod_spec("server:v2"), minAvailable=2)
    assert change(pcs, store) == {"spec": {"minAvailable": 2}}
    store.patch(NAME, change(pcs, store))
    assert store.view(NAME).metadata.labels == before.metadata.labels
    followed = change(pcs, store, follow=True)
    assert followed == {
        "metadata": {
            "labels": {"app": "b", "old": None, labels.POD_TEMPLATE_HASH: Tree(pcs, {}).template_hashes["router"]},
            "annotations": {"note": None, TEMPLATE_KEYS: '{"labels":["app"]}'},
        },
        "spec": {"podSpec": {"containers": [{"name": "main", "image": "server:v2"}]}},
    }
    store.patch(NAME, followed)
    assert not plan(pcs, store)


def test_a_template_that_gives_no_labels_any_more_leaves_no_trace() -> None:
    store = made(a_set(labels={"app": "a"}))
    pcs = a_set()
    store.patch(NAME, change(pcs, store, follow=True))
    assert not {"app"} & store.bodies[NAME]["metadata"]["labels"].keys()
    assert store.bodies[NAME]["metadata"]["annotations"] == {TEMPLATE_REPLICAS: "2"}


def test_labels_of_the_old_template_that_the_operator_owns_now_stay_the_operators() -> None:
    store = made(a_set(labels={labels.PART_OF: "me"}))
    pcs = a_set()
    store.patch(NAME, change(pcs, store, follow=True))
    assert store.bodies[NAME]["metadata"]["labels"][labels.PART_OF] == "x"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"labels": 1}', "null"])
def test_notes_of_the_template_that_nobody_can_read_are_written_anew(text: str) -> None:
    pcs = a_set(labels={"app": "a"})
    store = made(pcs)
    store.patch(NAME, {"metadata": {"annotations": {TEMPLATE_KEYS: text}}})
    assert change(pcs, store) == {"metadata": {"annotations": {TEMPLATE_KEYS: '{"labels":["app"]}'}}}


# Replicas


def test_a_change_of_the_templates_replicas_reaches_what_nobody_scaled() -> None:
    store = made(a_set(replicas=2))
    assert change(a_set(replicas=5), store) == {
        "metadata": {"annotations": {TEMPLATE_REPLICAS: "5"}},
        "spec": {"replicas": 5},
    }


def test_what_somebody_scaled_keeps_its_replicas_and_learns_of_the_templates() -> None:
    store = made(a_set(replicas=2))
    store.patch(NAME, {"spec": {"replicas": 7}})
    assert change(a_set(replicas=5), store) == {"metadata": {"annotations": {TEMPLATE_REPLICAS: "5"}}}


def test_what_an_autoscaler_scales_keeps_its_replicas() -> None:
    scaled = {"maxReplicas": 9}
    store = made(a_set(replicas=2, autoScalingConfig=scaled))
    assert change(a_set(replicas=5, autoScalingConfig=scaled), store) == {
        "metadata": {"annotations": {TEMPLATE_REPLICAS: "5"}}
    }


def test_replicas_are_kept_where_it_is_not_known_what_the_template_said() -> None:
    store = made(a_set(replicas=2))
    del store.bodies[NAME]["metadata"]["annotations"][TEMPLATE_REPLICAS]
    assert change(a_set(replicas=5), store) == {"metadata": {"annotations": {TEMPLATE_REPLICAS: "5"}}}


# Names


def test_a_clique_whose_name_ends_like_anothers_gets_its_own_template() -> None:
    pcs = pod_clique_set(clique("a", podSpec=pod_spec("a")), clique("ba", podSpec=pod_spec("ba")))
    created = plan(pcs, CliqueStore(), places=(CliquePlace(0, "a"), CliquePlace(0, "ba"))).creates
    images = {one.body["metadata"]["name"]: one.body["spec"]["podSpec"]["containers"][0]["image"] for one in created}
    assert images == {"x-0-a": "a", "x-0-ba": "ba"}

"""Hashes of pod templates: they follow what pods are made of, and nothing else."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from grove.api import admission, codec, hashes
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSet
from tests.model.strategies import JSON, POLICY, at, places, pod_specs, podcliquesets, put

maps = st.dictionaries(st.sampled_from(["a", "b", "example.com/c", "protocol", "restartPolicy"]), st.text(max_size=3))
POD_DEFAULTS = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30}


def template(pod_spec: JSON, labels: Any = None, annotations: Any = None) -> CliqueTemplate:
    spec = {"roleName": "worker", "replicas": 1, "podSpec": pod_spec}
    tree = {"name": "worker", "labels": labels, "annotations": annotations, "spec": spec}
    return codec.decode({key: value for key, value in tree.items() if value is not None}, CliqueTemplate)


def pod_hash(pod_spec: JSON, labels: Any = None, annotations: Any = None, priority: str | None = None) -> str:
    return hashes.pod_template_hash(template(pod_spec, labels, annotations), priority)


def admitted(tree: JSON) -> PodCliqueSet:
    return codec.decode(admission.review(tree, POLICY).admitted, PodCliqueSet)


def generation_hash(tree: JSON) -> str:
    return hashes.generation_hash(admitted(tree).spec.template)


def shuffled(tree: Any, order: random.Random) -> Any:
    """The same tree with its fields in another order, and with fields of null."""
    if isinstance(tree, list):
        return [shuffled(one, order) for one in tree]
    if not isinstance(tree, dict):
        return tree
    fields = [(key, shuffled(value, order)) for key, value in tree.items()]
    order.shuffle(fields)
    return dict(fields) | {"nothing": None}


@given(pod_specs(), maps, st.randoms(use_true_random=False))
def test_the_order_of_fields_and_nulls_do_not_count(spec: JSON, labels: JSON, order: random.Random) -> None:
    reordered = dict(reversed(labels.items()))
    assert pod_hash(spec, labels, labels) == pod_hash(shuffled(spec, order), reordered, reordered)


@given(pod_specs(), st.sampled_from([{}, [], "", None]))
def test_empty_fields_do_not_count(spec: JSON, empty: Any) -> None:
    container = spec["containers"][0] | {"securityContext": empty, "args": empty, "workingDir": empty}
    fuller = spec | {"containers": [container], "affinity": empty, "tolerations": empty, "hostname": empty}
    assert pod_hash(fuller) == pod_hash(spec)
    assert pod_hash(spec, {}, {}, "") == pod_hash(spec)


@given(pod_specs())
def test_stated_defaults_do_not_count(spec: JSON) -> None:
    stated: JSON = copy.deepcopy({**POD_DEFAULTS, **spec})
    for port in stated["containers"][0].get("ports", ()):
        port["protocol"] = "TCP"
    assert pod_hash(stated) == pod_hash(spec)


@given(pod_specs(), maps, st.data())
def test_every_value_of_a_pod_spec_counts(spec: JSON, labels: JSON, data: st.DataObject) -> None:
    leaves = [place for place in places(spec) if not isinstance(at(spec, place), dict | list)]
    place = data.draw(st.sampled_from(leaves))
    value = at(spec, place)
    other = value + 1 if isinstance(value, int) else f"{value}x"
    assert pod_hash(put(spec, place, other), labels) != pod_hash(spec, labels)


@given(pod_specs(), st.data())
def test_every_field_that_is_taken_away_counts(spec: JSON, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(places(spec)))
    less = copy.deepcopy(spec)
    parent = at(less, place[:-1])
    removed = parent.pop(place[-1])
    # The entries of lists and of the user's own maps count whatever they hold, and an emptyDir is always empty.
    is_own = isinstance(place[-1], int) or place[:-1] == ("nodeSelector",) or place[-1] == "emptyDir"
    is_default = len(place) == 1 and removed == POD_DEFAULTS.get(str(place[0]))
    assert (pod_hash(less) == pod_hash(spec)) is (is_default or (removed in ({}, [], "") and not is_own))


@given(pod_specs(), maps, maps)
def test_labels_and_annotations_count_with_empty_values(spec: JSON, one: JSON, other: JSON) -> None:
    assert (pod_hash(spec, one) == pod_hash(spec, other)) is (one == other)
    assert (pod_hash(spec, None, one) == pod_hash(spec, None, other)) is (one == other)
    assert (pod_hash(spec, one, other) == pod_hash(spec, other, one)) is (one == other)


@given(pod_specs(), st.text(min_size=1, max_size=4), st.text(min_size=1, max_size=4))
def test_the_priority_counts(spec: JSON, one: str, other: str) -> None:
    assert pod_hash(spec, priority=one) != pod_hash(spec)
    assert (pod_hash(spec, priority=one) == pod_hash(spec, priority=other)) is (one == other)


@given(podcliquesets())
def test_a_manifest_and_what_it_becomes_have_the_same_hash(tree: JSON) -> None:
    """Pods do not roll because the stored object has the defaults in it."""
    for before, after in zip(tree["spec"]["template"]["cliques"], admitted(tree).spec.template.cliques, strict=True):
        written = template(before["spec"]["podSpec"], before.get("labels"), before.get("annotations"))
        assert hashes.pod_template_hash(written, None) == hashes.pod_template_hash(after, None)


@given(podcliquesets(), st.randoms(use_true_random=False))
def test_the_order_of_cliques_does_not_count(tree: JSON, order: random.Random) -> None:
    found = admitted(tree).spec.template
    cliques = list(found.cliques)
    order.shuffle(cliques)
    assert hashes.generation_hash(replace(found, cliques=tuple(cliques))) == hashes.generation_hash(found)


@given(podcliquesets(), podcliquesets(), st.integers(1, 9))
def test_nothing_but_pod_templates_counts(tree: JSON, other: JSON, number: int) -> None:
    """Counts, order of start, topology, sharing, autoscaling, groups, the Service, the name: none of them roll pods."""
    changed = copy.deepcopy(tree)
    changed["metadata"] = other["metadata"]
    changed["spec"]["replicas"] = number
    changed["spec"].pop("updateStrategy", None)
    changed["spec"].pop("replicaSpreadConstraints", None)
    template = changed["spec"]["template"]
    for field in ("podCliqueScalingGroups", "topologyConstraint", "resourceSharing", "headlessServiceConfig"):
        template.pop(field, None)
    template["terminationDelay"] = f"{number}s"
    template.pop("startupType", None)
    template["cliqueStartupType"] = "InOrder"
    for clique in template["cliques"]:
        for field in ("topologyConstraint", "resourceSharing", "rollingUpdate"):
            clique.pop(field, None)
        clique["spec"] = {"podSpec": clique["spec"]["podSpec"], "replicas": number, "roleName": f"{clique['name']}-2"}
    assert admission.review(changed, POLICY).errors == ()
    assert generation_hash(changed) == generation_hash(tree)


@given(podcliquesets(), st.data())
def test_a_changed_clique_changes_the_hash_of_the_set(tree: JSON, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(tree["spec"]["template"]["cliques"]) - 1))
    changed = copy.deepcopy(tree)
    changed["spec"]["template"]["cliques"][position]["spec"]["podSpec"]["containers"][0]["image"] = "other:v9"
    assert generation_hash(changed) != generation_hash(tree)


CHANGES: list[tuple[str, Any]] = [
    ("a label", lambda clique: clique.setdefault("labels", {}).update(new="value")),
    ("a label without a value", lambda clique: clique.setdefault("labels", {}).update(new="")),
    ("an annotation", lambda clique: clique.setdefault("annotations", {}).update(new="value")),
    ("a label with the name of a default", lambda clique: clique.setdefault("labels", {}).update(protocol="TCP")),
    ("the image", lambda clique: clique["spec"]["podSpec"]["containers"][0].update(image="other:v9")),
    ("the command", lambda clique: clique["spec"]["podSpec"]["containers"][0].update(command=["run", ""])),
    ("a flag that is off", lambda clique: clique["spec"]["podSpec"].update(enableServiceLinks=False)),
    ("a number that is zero", lambda clique: clique["spec"]["podSpec"].update(securityContext={"runAsUser": 0})),
    (
        "a volume",
        lambda clique: clique["spec"]["podSpec"].setdefault("volumes", []).append({"name": "v", "emptyDir": {}}),
    ),
    ("the grace period", lambda clique: clique["spec"]["podSpec"].update(terminationGracePeriodSeconds=31)),
    ("a node selector", lambda clique: clique["spec"]["podSpec"].setdefault("nodeSelector", {}).update(pool="")),
    (
        "an affinity to all pods",
        lambda clique: clique["spec"]["podSpec"].update(
            affinity={
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}, "topologyKey": "zone"}]
                }
            }
        ),
    ),
]


@given(podcliquesets(), st.sampled_from(CHANGES), st.data())
def test_every_change_of_pods_counts(tree: JSON, change: tuple[str, Any], data: st.DataObject) -> None:
    changed = copy.deepcopy(tree)
    change[1](data.draw(st.sampled_from(changed["spec"]["template"]["cliques"])))
    assume(changed != tree)  # it may have been so already
    assert generation_hash(changed) != generation_hash(tree), change[0]

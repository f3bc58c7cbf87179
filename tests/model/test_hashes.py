"""The hash of a pod template changes with what must replace pods, and with nothing else."""

import copy
import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from grove.api import admission, codec, hashes
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from tests.model import strategies

POLICY = Policy(topologies=strategies.TOPOLOGIES)


def generation(document: dict[str, Any]) -> str:
    verdict = admission.review(document, POLICY)
    assume(verdict.allowed)
    return hashes.generation_hash(codec.decode(verdict.admitted, PodCliqueSet).spec.template)


def shuffled(node: Any, rng: random.Random) -> Any:
    if isinstance(node, dict):
        keys = list(node)
        rng.shuffle(keys)
        return {key: shuffled(node[key], rng) for key in keys}
    return [shuffled(one, rng) for one in node] if isinstance(node, list) else node


def cliques_of(document: dict[str, Any]) -> Any:
    return document["spec"]["template"]["cliques"]


@given(strategies.podcliquesets(), st.randoms(use_true_random=False))
def test_the_order_of_fields_does_not_matter(document: dict[str, Any], rng: random.Random) -> None:
    assert generation(shuffled(document, rng)) == generation(document)


@given(strategies.podcliquesets())
def test_nulls_and_empty_values_do_not_matter(document: dict[str, Any]) -> None:
    padded = copy.deepcopy(document)
    for clique in cliques_of(padded):
        clique.setdefault("labels", {})
        clique.setdefault("annotations", None)
        spec = clique["spec"]["podSpec"]
        spec |= {"hostname": "", "initContainers": [], "securityContext": {}, "dnsConfig": None, "affinity": {}}
        for container in spec["containers"]:
            container.setdefault("command", [])
            container.setdefault("workingDir", None)
            container.setdefault("resources", {})
    assert generation(padded) == generation(document)


@given(strategies.podcliquesets())
def test_stated_defaults_do_not_matter(document: dict[str, Any]) -> None:
    stated = copy.deepcopy(document)
    for clique in cliques_of(stated):
        clique["spec"]["podSpec"].setdefault("restartPolicy", "Always")
        clique["spec"]["podSpec"].setdefault("terminationGracePeriodSeconds", 30)
        for container in clique["spec"]["podSpec"]["containers"]:
            for port in container.get("ports", ()):
                port.setdefault("protocol", "TCP")
    assert generation(stated) == generation(document)


@given(strategies.podcliquesets())
def test_what_is_no_part_of_pods_does_not_matter(document: dict[str, Any]) -> None:
    changed = copy.deepcopy(document)
    changed["metadata"] |= {"name": "another", "labels": {"a": "b"}}
    changed["spec"]["replicas"] = 7
    changed["spec"]["updateStrategy"] = {"type": "RollingRecreate"}
    template = changed["spec"]["template"]
    template["terminationDelay"] = "77m"
    template["headlessServiceConfig"] = {"publishNotReadyAddresses": False}
    template["cliques"].reverse()
    template.pop("topologyConstraint", None)
    for clique in template["cliques"]:
        clique.pop("topologyConstraint", None)
        clique["spec"].pop("startsAfter", None)
        clique["spec"] |= {"replicas": 9, "minAvailable": 9}
        for field in ("autoScalingConfig", "scaleConfig"):
            clique["spec"].pop(field, None)
        clique.pop("rollingUpdate", None)
    for group in template.get("podCliqueScalingGroups", ()):
        group.pop("topologyConstraint", None)
        group |= {"replicas": 9, "minAvailable": 9}
        for field in ("autoScalingConfig", "scaleConfig"):
            group.pop(field, None)
    assert generation(changed) == generation(document)


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


@given(strategies.podcliquesets(), st.sampled_from(CHANGES), st.data())
def test_every_change_of_pods_matters(document: dict[str, Any], change: tuple[str, Any], data: st.DataObject) -> None:
    changed = copy.deepcopy(document)
    change[1](data.draw(st.sampled_from(cliques_of(changed))))
    assert generation(changed) != generation(document), change[0]


@given(strategies.podcliquesets())
def test_the_priority_class_matters(document: dict[str, Any]) -> None:
    changed = copy.deepcopy(document)
    changed["spec"]["template"]["priorityClassName"] = "another"
    assert generation(changed) != generation(document)


def test_an_affinity_to_all_pods_is_not_one_to_none() -> None:
    term = {"topologyKey": "zone"}
    assert hashes.digest({"terms": [{**term, "labelSelector": {}}]}) != hashes.digest({"terms": [term]})

"""Pinned hashes. A change here replaces every pod of every user: do not edit the values, mend the code."""

from typing import Any

import pytest

from grove.api import codec, hashes
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSetTemplate

PLAIN: dict[str, Any] = {
    "name": "worker",
    "spec": {"replicas": 2, "podSpec": {"containers": [{"name": "main", "image": "worker:v1"}]}},
}
FULL: dict[str, Any] = {
    "name": "worker",
    "labels": {"app": "x", "empty": ""},
    "annotations": {"note": "Grüße", "grove.io/topology-name": "left-out"},
    "spec": {
        "replicas": 2,
        "podSpec": {
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": 60,
            "hostNetwork": False,
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "initContainers": [{"name": "side", "image": "side:v1", "restartPolicy": "Always"}],
            "containers": [
                {
                    "name": "main",
                    "image": "worker:v1",
                    "args": ["", "-v"],
                    "ports": [{"containerPort": 80, "protocol": "UDP"}],
                    "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": 8}},
                    "env": [{"name": "A", "value": ""}],
                }
            ],
        },
    },
}


def clique(tree: dict[str, Any]) -> CliqueTemplate:
    return codec.decode(tree, CliqueTemplate)


@pytest.mark.parametrize(
    ("tree", "priority", "pinned"),
    [
        (PLAIN, None, "zqttbl2qq7vt"),
        (PLAIN, "high", "hp6pbskvnp6p"),
        (FULL, None, "4nlcmg8qj754"),
        (FULL, "high", "xhb6lzwhm54h"),
    ],
)
def test_pod_template_hashes_stay_as_they_are(tree: dict[str, Any], priority: str | None, pinned: str) -> None:
    assert hashes.pod_template_hash(clique(tree), priority) == pinned


def test_generation_hashes_stay_as_they_are() -> None:
    second = {**FULL, "name": "second"}
    template = codec.decode({"cliques": [PLAIN, second]}, PodCliqueSetTemplate)
    assert hashes.generation_hash(template) == "9bgdwhv9nlxf"
    reordered = codec.decode({"cliques": [second, PLAIN]}, PodCliqueSetTemplate)
    assert hashes.generation_hash(reordered) == "9bgdwhv9nlxf"


def test_the_canonical_form_sorts_keys_and_leaves_out_what_is_not_there() -> None:
    document = {"b": [None, {}, ""], "a": {"x": None, "y": {}, "z": []}, "c": "", "d": 0, "e": False, "f": 2.0}
    assert hashes.canonical(document) == b'{"b":[null,{},""],"d":0,"e":false,"f":2}'


def test_hashes_are_label_values() -> None:
    assert hashes.digest({"a": 1}).isalnum()
    assert len(hashes.digest({"a": 1})) == 12


SPEC: dict[str, Any] = PLAIN["spec"]["podSpec"]


def pod_hash(pod_spec: dict[str, Any], **fields: Any) -> str:
    return hashes.pod_template_hash(clique({**PLAIN, "spec": {"replicas": 1, "podSpec": pod_spec}, **fields}), None)


def changed(**container: Any) -> Any:
    return {"containers": [{**SPEC["containers"][0], **container}]}


def test_turning_an_init_container_into_a_sidecar_replaces_pods() -> None:
    init = {"name": "first", "image": "busybox"}
    sidecar = {**init, "restartPolicy": "Always"}
    assert pod_hash({**SPEC, "initContainers": [init]}) != pod_hash({**SPEC, "initContainers": [sidecar]})


def test_the_grace_period_of_a_probe_counts_and_that_of_the_pod_has_a_default() -> None:
    probe = {"tcpSocket": {"port": 80}}
    stated = {**probe, "terminationGracePeriodSeconds": 30}
    assert pod_hash(changed(livenessProbe=probe)) != pod_hash(changed(livenessProbe=stated))
    assert pod_hash({**SPEC, "terminationGracePeriodSeconds": 30}) == pod_hash(SPEC)
    assert pod_hash({**SPEC, "terminationGracePeriodSeconds": 0}) != pod_hash(SPEC)


@pytest.mark.parametrize("kind", ["emptyDir", "image", "configMap", "projected", "downwardAPI", "secret"])
def test_an_empty_source_of_a_volume_is_a_source(kind: str) -> None:
    without = {**SPEC, "volumes": [{"name": "a"}]}
    assert pod_hash(without) != pod_hash({**SPEC, "volumes": [{"name": "a", kind: {}}]})


def test_a_selector_of_everything_is_not_one_of_nothing() -> None:
    def affine(**term: Any) -> Any:
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", **term}]}
        return {**SPEC, "affinity": {"podAffinity": terms}}

    terms = (affine(), affine(labelSelector={}), affine(namespaceSelector={}))
    assert len({pod_hash(spec) for spec in terms}) == 3


def test_an_empty_storage_class_is_none_and_no_default() -> None:
    def claimed(**spec: Any) -> Any:
        return {**SPEC, "volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": {"spec": {"x": 1, **spec}}}}]}

    assert pod_hash(claimed()) != pod_hash(claimed(storageClassName=""))


def test_keys_of_the_user_have_no_meaning_of_ours() -> None:
    assert pod_hash(SPEC, labels={"protocol": "TCP"}) != pod_hash(SPEC)
    assert pod_hash({**SPEC, "nodeSelector": {"restartPolicy": "Always"}}) != pod_hash(SPEC)
    assert pod_hash(SPEC, labels={"a": ""}) != pod_hash(SPEC, labels={"b": ""})


def test_the_topology_that_grove_notes_on_a_clique_does_not_count() -> None:
    assert pod_hash(SPEC, annotations={"grove.io/topology-name": "gpus"}) == pod_hash(SPEC)


def test_numbers_are_what_they_are_however_they_are_written() -> None:
    assert hashes.digest({"a": 2.0}) == hashes.digest({"a": 2})
    assert hashes.digest({"a": True}) != hashes.digest({"a": 1})
    assert hashes.digest({"a": "2"}) != hashes.digest({"a": 2})


def test_the_entries_of_a_list_stay_in_their_places() -> None:
    assert pod_hash(changed(args=["a", "b"])) != pod_hash(changed(args=["b", "a"]))
    assert pod_hash(changed(args=["a", ""])) != pod_hash(changed(args=["a"]))

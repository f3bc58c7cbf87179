"""Hashes of pod templates. The fixtures hold them still: a release that changes one replaces all pods of all users."""

from __future__ import annotations

from typing import Any

import pytest

from grove.api import codec, grammar, hashes
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSetTemplate

PLAIN = {"containers": [{"name": "main", "image": "busybox"}]}
RICH = {
    "restartPolicy": "OnFailure",
    "terminationGracePeriodSeconds": 60,
    "nodeSelector": {"example.com/pool": ""},
    "containers": [
        {
            "name": "main",
            "image": "example.com/server:v1",
            "args": ["--modèle", "ünïcode", ""],
            "env": [{"name": "MODE", "value": "fast"}],
            "ports": [{"containerPort": 8000, "protocol": "UDP"}],
            "resources": {"limits": {"nvidia.com/gpu": 8, "memory": "64Gi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "terminationGracePeriodSeconds": 30},
        }
    ],
    "initContainers": [{"name": "sidecar", "image": "busybox", "restartPolicy": "Always"}],
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}},
}

PINNED = [
    (PLAIN, {}, None, "7sszzw5bkfgv"),
    (PLAIN, {"labels": {"app": "a"}}, None, "hshtrlhtwv97"),
    (PLAIN, {"annotations": {"note": ""}}, None, "lzhdgwjjfg49"),
    (PLAIN, {}, "high", "l78j5hvcmnsh"),
    (RICH, {"labels": {"app": "a", "empty": ""}, "annotations": {"b": "c"}}, "high", "mcmlgrv2jwhd"),
]


def clique(pod_spec: Any, name: str = "worker", **fields: Any) -> CliqueTemplate:
    tree = {"name": name, "spec": {"roleName": "worker", "replicas": 1, "podSpec": pod_spec}, **fields}
    return codec.decode(tree, CliqueTemplate)


def pod_hash(pod_spec: Any, **fields: Any) -> str:
    return hashes.pod_template_hash(clique(pod_spec, **fields), None)


def changed(**container: Any) -> Any:
    return {"containers": [{**PLAIN["containers"][0], **container}]}


@pytest.mark.parametrize(("pod_spec", "fields", "priority", "expected"), PINNED)
def test_hashes_never_change(pod_spec: Any, fields: Any, priority: str | None, expected: str) -> None:
    assert hashes.pod_template_hash(clique(pod_spec, **fields), priority) == expected


def test_the_hash_of_a_set_never_changes() -> None:
    template = PodCliqueSetTemplate(cliques=(clique(PLAIN, "a"), clique(RICH, "b")), priority_class_name="high")
    assert hashes.generation_hash(template) == "z9lrhgzj4z5r"


def test_a_hash_can_be_a_label_value_and_part_of_a_name() -> None:
    assert grammar.is_label(hashes.digest({}))
    assert len(hashes.digest({"a": 1})) == 12


def test_the_order_of_cliques_does_not_matter_but_their_templates_do() -> None:
    one, other = clique(PLAIN, "a"), clique(RICH, "b")
    swapped = (clique(RICH, "a"), clique(PLAIN, "b"))
    straight = hashes.generation_hash(PodCliqueSetTemplate(cliques=(one, other)))
    assert straight == hashes.generation_hash(PodCliqueSetTemplate(cliques=(other, one)))
    assert straight != hashes.generation_hash(PodCliqueSetTemplate(cliques=swapped))


def test_turning_an_init_container_into_a_sidecar_replaces_pods() -> None:
    init = {"name": "first", "image": "busybox"}
    sidecar = {**init, "restartPolicy": "Always"}
    assert pod_hash({**PLAIN, "initContainers": [init]}) != pod_hash({**PLAIN, "initContainers": [sidecar]})


def test_the_grace_period_of_a_probe_counts_and_that_of_the_pod_has_a_default() -> None:
    probe = {"tcpSocket": {"port": 80}}
    stated = {**probe, "terminationGracePeriodSeconds": 30}
    assert pod_hash(changed(livenessProbe=probe)) != pod_hash(changed(livenessProbe=stated))
    assert pod_hash({**PLAIN, "terminationGracePeriodSeconds": 30}) == pod_hash(PLAIN)
    assert pod_hash({**PLAIN, "terminationGracePeriodSeconds": 0}) != pod_hash(PLAIN)


@pytest.mark.parametrize("kind", ["emptyDir", "image", "configMap", "projected", "downwardAPI", "secret"])
def test_an_empty_source_of_a_volume_is_a_source(kind: str) -> None:
    without = {**PLAIN, "volumes": [{"name": "a"}]}
    assert pod_hash(without) != pod_hash({**PLAIN, "volumes": [{"name": "a", kind: {}}]})


def test_a_selector_of_everything_is_not_one_of_nothing() -> None:
    def affine(**term: Any) -> Any:
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", **term}]}
        return {**PLAIN, "affinity": {"podAffinity": terms}}

    terms = (affine(), affine(labelSelector={}), affine(namespaceSelector={}))
    assert len({pod_hash(spec) for spec in terms}) == 3


def test_an_empty_storage_class_is_none_and_no_default() -> None:
    def claimed(**spec: Any) -> Any:
        return {**PLAIN, "volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": {"spec": {"x": 1, **spec}}}}]}

    assert pod_hash(claimed()) != pod_hash(claimed(storageClassName=""))


def test_keys_of_the_user_have_no_meaning_of_ours() -> None:
    assert pod_hash(PLAIN, labels={"protocol": "TCP"}) != pod_hash(PLAIN)
    assert pod_hash({**PLAIN, "nodeSelector": {"restartPolicy": "Always"}}) != pod_hash(PLAIN)
    assert pod_hash(PLAIN, labels={"a": ""}) != pod_hash(PLAIN, labels={"b": ""})


def test_the_topology_that_grove_notes_on_a_clique_does_not_count() -> None:
    assert pod_hash(PLAIN, annotations={"grove.io/topology-name": "gpus"}) == pod_hash(PLAIN)


def test_numbers_are_what_they_are_however_they_are_written() -> None:
    assert hashes.digest({"a": 2.0}) == hashes.digest({"a": 2})
    assert hashes.digest({"a": True}) != hashes.digest({"a": 1})
    assert hashes.digest({"a": "2"}) != hashes.digest({"a": 2})


def test_the_entries_of_a_list_stay_in_their_places() -> None:
    assert pod_hash(changed(args=["a", "b"])) != pod_hash(changed(args=["b", "a"]))
    assert pod_hash(changed(args=["a", ""])) != pod_hash(changed(args=["a"]))

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

"""What a namespace looks like apart from chance: two that came about differently can be compared. Pure.

Left out is what differs from one run to the next: uids, versions, times, addresses, where pods run and which names they
got, how often something was written. Pods of a PodClique are told apart by what they consist of, not by their index:
which indices are left when some go depends on the second in which each was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

JSON = dict[str, Any]

CHANCE = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "observedGeneration",
        "managedFields",
        "creationTimestamp",
        "kubectl.kubernetes.io/last-applied-configuration",
        "lastTransitionTime",
        "lastUpdateTime",
        "lastScheduled",
        "lastReady",
        "updateStartedAt",
        "updateEndedAt",
        "readyPodsSelectedToUpdate",
        "readyReplicaIndicesSelectedToUpdate",
        "completed",
        "nodeName",
        "hostname",
        "grove.io/podclique-pod-index",
        "podReferences",
        "volumes",
        "volumeMounts",
        "tolerations",
    }
)


def portrait(objects: Mapping[str, list[JSON]], namespace: str) -> dict[str, list[str]]:
    """By kind and name, or for pods by their PodClique: the texts of all that is there."""
    found: dict[str, list[str]] = {}
    for kind, live in objects.items():
        for one in live:
            name = one["metadata"]["name"]
            if kind == "pods":
                name = one["metadata"]["labels"]["grove.io/podclique"]
                one = {"metadata": {key: part for key, part in one["metadata"].items() if key != "name"}, **_spec(one)}
            if kind == "horizontalpodautoscalers":  # what Kubernetes says of them comes every 15 s
                one = {key: part for key, part in one.items() if key != "status"}
            text = json.dumps(_plain(one), sort_keys=True).replace(namespace, "NAMESPACE")
            found.setdefault(f"{kind}/{name}", []).append(text)
    return {key: sorted(texts) for key, texts in sorted(found.items())}


def differences(one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> list[str]:
    """What the one has and the other has not, by kind and name."""
    return [
        f"{key}: {' '.join(map(str, _unlike(one.get(key, []), other.get(key, []))))}"
        for key in sorted(one.keys() | other.keys())
        if one.get(key) != other.get(key)
    ]


def _unlike(these: list[str], those: list[str]) -> Iterator[tuple[str, object, object]]:
    """Paths and values in which two lists of texts differ."""
    if len(these) != len(those):
        yield "number", len(these), len(those)
    for this, that in zip(these, those, strict=False):
        left, right = dict(_leaves(json.loads(this))), dict(_leaves(json.loads(that)))
        yield from (
            (path, left.get(path), right.get(path))
            for path in sorted(left.keys() | right.keys())
            if left.get(path) != right.get(path)
        )


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _leaves(value, f"{path}[{number}]")
    else:
        yield path, tree


def _spec(pod: JSON) -> JSON:
    return {"spec": pod["spec"]}


def _plain(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {
            key: _plain(value)
            for key, value in tree.items()
            if key not in CHANCE and not key.startswith("topology.kubernetes.io/")
        }
    if isinstance(tree, list):
        return [_plain(one) for one in tree]
    return tree

"""Two states that came about differently are alike; two that are different are told apart, and where."""

from typing import Any

from tests.cluster.operator.portrait import differences, portrait

JSON = dict[str, Any]


def pod(name: str, image: str = "main:v1") -> JSON:
    labels = {"grove.io/podclique": "s-0-w", "grove.io/podclique-pod-index": name[-1]}
    spec = {"nodeName": f"node-{name}", "containers": [{"image": image}]}
    return {"metadata": {"name": name, "uid": name, "labels": labels}, "spec": spec, "status": {"podIP": name}}


def test_names_indices_and_nodes_of_pods_are_chance() -> None:
    one = portrait({"pods": [pod("a0"), pod("b1")]}, "here")
    other = portrait({"pods": [pod("c4"), pod("d2")]}, "there")
    assert differences(one, other) == []


def test_what_pods_consist_of_is_not() -> None:
    one = portrait({"pods": [pod("a0")]}, "here")
    assert differences(one, portrait({"pods": [pod("a0", "main:v2")]}, "here")) == [
        "pods/s-0-w: ('.spec.containers[0].image', 'main:v1', 'main:v2')"
    ]
    assert differences(one, {}) == ["pods/s-0-w: ('number', 1, 0)"]


def test_a_status_is_compared_without_its_times() -> None:
    def clique(ready: int, time: str, namespace: str) -> dict[str, list[str]]:
        status = {"readyReplicas": ready, "conditions": [{"type": "A", "lastTransitionTime": time}]}
        body = {"metadata": {"name": "s-0-w", "namespace": namespace}, "status": status}
        return portrait({"podcliques": [body]}, namespace)

    assert differences(clique(1, "10:00", "here"), clique(1, "11:00", "there")) == []
    assert differences(clique(1, "10:00", "here"), clique(2, "10:00", "here")) == [
        "podcliques/s-0-w: ('.status.readyReplicas', 1, 2)"
    ]

"""What users do with workloads, by real kubectl, and what must hold of everything that Grove made for them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from grove.api import labels
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl, Result
from grove.testing.waiting import eventually
from tests.cluster.objects import MERGE

JSON = dict[str, Any]

EXAMPLES = Path(__file__).parents[3] / "examples"
PATIENCE = 90.0
"""For a machine that is busy with other things."""

GROVE = "/apis/grove.io/v1alpha1"
SETS, CLIQUES, GROUPS = "podcliquesets", "podcliques", "podcliquescalinggroups"
GANGS = "podgangs"
PODS = "pods"
PATHS = {
    SETS: GROVE,
    CLIQUES: GROVE,
    GROUPS: GROVE,
    GANGS: "/apis/scheduler.grove.io/v1alpha1",
    PODS: "/api/v1",
    "services": "/api/v1",
    "events": "/api/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
}
CHILDREN = (CLIQUES, GROUPS, GANGS, PODS, "services", "roles", "rolebindings", "horizontalpodautoscalers")


class Workloads:
    """The workloads of a test's namespace."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.kubectl: Kubectl = cluster.kubectl(namespace)

    # What users do

    def apply(self, *objects: JSON) -> Result:
        text = "\n---\n".join(json.dumps(one) for one in objects)
        return self.kubectl.run("apply", "-f", "-", stdin=text)

    def example(self, name: str, change: Callable[[JSON], None] = lambda _: None) -> JSON:
        """Applies the file of `examples/`, in the test's namespace; its PodCliqueSet."""
        found = [one for one in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()) if one]
        for one in found:
            one["metadata"].pop("namespace", None)
        [pcs] = [one for one in found if one["kind"] == "PodCliqueSet"]
        change(pcs)
        self.apply(*found)
        stored: JSON = pcs
        return stored

    def scale(self, kind: str, name: str, replicas: int) -> None:
        self.kubectl.run("scale", kind, name, f"--replicas={replicas}")

    def patch(self, kind: str, name: str, change: JSON, subresource: str = "") -> JSON:
        path = self.path(kind, name) + (f"/{subresource}" if subresource else "")
        status, answer = self.cluster.request("PATCH", path, change, content_type=MERGE)
        assert status == 200, answer
        changed: JSON = answer
        return changed

    def delete(self, pcs: str) -> None:
        """Deletes a PodCliqueSet and waits until nothing of it is left."""
        self.kubectl.run("delete", "pcs", pcs, "--wait=false")
        eventually(
            lambda: self.left_of(pcs), lambda left: not left, timeout=PATIENCE, message=f"something of {pcs} is left"
        )

    # What is there

    def path(self, kind: str, name: str = "") -> str:
        return f"{PATHS[kind]}/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    def all(self, kind: str, pcs: str = "") -> list[JSON]:
        """The objects of a kind, or those of one PodCliqueSet, by name."""
        query = f"?labelSelector={labels.PART_OF}={pcs}" if pcs else ""
        status, answer = self.cluster.request("GET", self.path(kind) + query)
        assert status == 200, answer
        found: list[JSON] = answer["items"]
        return sorted(found, key=name_of)

    def get(self, kind: str, name: str) -> JSON | None:
        status, answer = self.cluster.request("GET", self.path(kind, name))
        assert status in (200, 404), answer
        return answer if status == 200 else None

    def names(self, kind: str, pcs: str = "") -> list[str]:
        return [name_of(one) for one in self.all(kind, pcs)]

    def left_of(self, pcs: str) -> list[str]:
        left = [f"{kind}/{name}" for kind in CHILDREN for name in self.names(kind, pcs)]
        return left + ([f"{SETS}/{pcs}"] if self.get(SETS, pcs) else [])

    def pods(self, pcs: str = "") -> list[JSON]:
        """The pods that count: not on their way out, and not over."""
        return [one for one in self.all(PODS, pcs) if is_active(one)]

    def cliques(self, pcs: str) -> dict[str, int]:
        """The names of the pods without what makes each of its own, and how many there are of each."""
        return dict(Counter(label(one, labels.POD_CLIQUE) for one in self.pods(pcs)))

    def events(self, reason: str) -> list[JSON]:
        return [one for one in self.all("events") if one["reason"] == reason]

    # Waiting

    def when(self, kind: str, name: str, until: Callable[[JSON], object], message: str = "") -> JSON:
        """The object, when it is as a test wants it."""
        found = eventually(
            lambda: self.get(kind, name),
            lambda one: one is not None and until(one),
            timeout=PATIENCE,
            message=message or f"{kind}/{name} is not as it should be",
        )
        assert found is not None
        return found

    def gone(self, kind: str, name: str) -> None:
        eventually(lambda: self.get(kind, name), lambda one: one is None, timeout=PATIENCE, message=f"{name} is there")

    def ready(self, pcs: str, expected: dict[str, int]) -> list[JSON]:
        """The pods of a set, when there are these many of each PodClique, all of them ready and no other."""

        def seen() -> tuple[dict[str, int], list[str]]:
            pods = self.all(PODS, pcs)
            return (
                dict(Counter(label(one, labels.POD_CLIQUE) for one in pods)),
                [name_of(one) for one in pods if not (is_active(one) and is_ready(one))],
            )

        eventually(seen, lambda found: found == (expected, []), timeout=PATIENCE, message=f"pods of {pcs} not ready")
        return self.pods(pcs)

    def settled(self, pcs: str) -> JSON:
        """The set, when it says that it is available and that no update runs."""
        return self.when(
            SETS,
            pcs,
            lambda one: (
                one.get("status", {}).get("observedGeneration") == one["metadata"]["generation"]
                and one["status"].get("availableReplicas", 0) == one["spec"]["replicas"]
            ),
            f"{pcs} does not become available",
        )

    # What must hold

    def check(self) -> None:
        """Nothing without its owner, no pod index twice, every pod in one gang; waits for what is on its way."""
        eventually(self.disorder, lambda found: not found, timeout=PATIENCE, message="out of order")

    def disorder(self) -> list[str]:
        objects = {kind: self.all(kind) for kind in (SETS, *CHILDREN)}
        managed = [
            one
            for kind in CHILDREN
            for one in objects[kind]
            if label(one, labels.MANAGED_BY) == labels.MANAGED_BY_VALUE and controller(one)
        ]
        known = {one["metadata"]["uid"] for found in objects.values() for one in found}
        pods = [one for one in objects[PODS] if is_active(one) and controller(one)]
        return [
            *(f"{name_of(one)} has lost its owner" for one in managed if controller(one) not in known),
            *twice(pods),
            *ungrouped(pods, objects[GANGS]),
        ]


def name_of(obj: JSON) -> str:
    name: str = obj["metadata"]["name"]
    return name


def label(obj: JSON, key: str) -> str:
    found: str = (obj["metadata"].get("labels") or {}).get(key, "")
    return found


def controller(obj: JSON) -> str:
    """The uid of the controlling owner; empty if there is none."""
    owners = obj["metadata"].get("ownerReferences", [])
    return next((str(one["uid"]) for one in owners if one.get("controller")), "")


def is_active(pod: JSON) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Failed", "Succeeded")


def condition(obj: JSON, type: str) -> str:
    """`True`, `False` or `Unknown`; empty where the condition is not there."""
    found = (obj.get("status") or {}).get("conditions", ())
    return next((one["status"] for one in found if one["type"] == type), "")


def is_ready(obj: JSON) -> bool:
    return condition(obj, "Ready") == "True"


def image_of(pod: JSON) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def twice(pods: Iterable[JSON]) -> list[str]:
    """Indices that more than one active pod of a PodClique has."""
    counts = Counter((label(one, labels.POD_CLIQUE), label(one, labels.POD_CLIQUE_POD_INDEX)) for one in pods)
    return [
        f"index {index} of {clique} is there {count} times" for (clique, index), count in counts.items() if count > 1
    ]


def ungrouped(pods: Iterable[JSON], gangs: Iterable[JSON]) -> list[str]:
    """Pods that are not in exactly one gang, the one that they name."""
    found: dict[str, list[str]] = {}
    for gang in gangs:
        for group in gang["spec"]["podgroups"]:
            for reference in group["podReferences"]:
                found.setdefault(reference["name"], []).append(name_of(gang))
    return [
        f"pod {name_of(one)} is in the gangs {found.get(name_of(one), [])}, and says {label(one, labels.POD_GANG)}"
        for one in pods
        if found.get(name_of(one), []) != [label(one, labels.POD_GANG)]
    ]


def changed(tree: JSON, change: Callable[[JSON], None]) -> JSON:
    """A copy with a change."""
    made = copy.deepcopy(tree)
    change(made)
    return made

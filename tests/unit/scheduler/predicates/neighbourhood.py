"""A cluster under the rules about neighbours, and pods that say little but what they want near them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from grove.kube.objects import PodSpec
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.predicates.affinity import InterPodAffinity
from grove.scheduler.predicates.crowds import Crowds
from grove.scheduler.predicates.nodeselection import NodeSelection
from grove.scheduler.predicates.selectors import spoken
from grove.scheduler.predicates.spread import PodTopologySpread
from grove.scheduler.predicates.taints import Taints
from grove.scheduler.surroundings import Surroundings
from tests.unit.scheduler.fleets import HOST, RACK, pod
from tests.unit.scheduler.predicates.worlds import node

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Neighbourhood:
    """Two racks of two nodes, a0, a1, b0 and b1, and a node `out` that is in none."""

    def __init__(self) -> None:
        self.surroundings = Surroundings()
        self.cluster = Cluster()
        chosen, taints = NodeSelection(self.cluster), Taints(self.cluster)
        self.crowds = Crowds(self.cluster, self.surroundings)
        self.spread = PodTopologySpread(self.cluster, self.crowds, affinity=[chosen], taints=[taints])
        self.affinity = InterPodAffinity(self.cluster, self.crowds)
        self.cluster.obey([taints, chosen, self.crowds, self.spread, self.affinity])
        for name in ("a0", "a1", "b0", "b1"):
            self.cluster.node(node(name, {HOST: name, RACK: name[0]}))
        self.cluster.node(node("out", {HOST: "out"}))
        self.cluster.classes.speak_of(["app", "tier"])
        self._numbers = 0

    def cls(self, labels: Mapping[str, str] | None = None, namespace: str = "default", **spec: Any) -> PodClass:
        found = msgspec.convert({"containers": [{"name": "c"}], **spec}, PodSpec)
        assert spoken(found) <= self.cluster.classes.label_keys
        return self.cluster.classes.of(pod("p", found, labels=labels, namespace=namespace))

    def put(self, on: str, cls: PodClass, **more: Any) -> Placed:
        self._numbers += 1
        name = f"p{self._numbers}"
        placed = Placed(name, cls.namespace, name, cls, self.cluster.slot_of[on], **more)
        self.cluster.put(placed)
        return placed

    def places(self, cls: PodClass) -> list[str]:
        return [self.cluster.names[slot] for slot in self.cluster.capacity(cls).nonzero()[0]]

    def why(self, cls: PodClass, on: str) -> str:
        return ", ".join(self.cluster.reasons(cls, self.cluster.slot_of[on]))


def app(name: str) -> dict[str, str]:
    return {"app": name}


def term(name: str, key: str = RACK, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": app(name)}, **more}


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {REQUIRED: [*terms]}}}


def far(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [*terms]}}}


def liking(**weights: int) -> dict[str, Any]:
    """Below zero: disliking."""
    sides: dict[str, list[Any]] = {"podAffinity": [], "podAntiAffinity": []}
    for name, weight in weights.items():
        side = sides["podAffinity" if weight > 0 else "podAntiAffinity"]
        side.append({"weight": abs(weight), "podAffinityTerm": term(name)})
    return {"affinity": {side: {PREFERRED: found} for side, found in sides.items() if found}}


def even(key: str = RACK, *, skew: int = 1, **more: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": app("web")}}
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **selector, **more}
    return {"topologySpreadConstraints": [constraint]}

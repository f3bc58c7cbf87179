"""Small worlds of nodes and pods that want others near them or far, as manifests; and where Kubernetes lets a pod go.

`$` stands for the name of a world, so that many can lie in one cluster (tests/cluster/scheduler/judge.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

JSON = dict[str, Any]
Labels = Mapping[str, str]

ZONE, RACK, HOST, TEAM = "$-zone", "$-rack", "$-host", "$-team"
KEYS: Final = (ZONE, RACK, HOST)
SPACES: Final = {"$": {}, "$-b": {TEAM: "x"}, "$-c": {TEAM: "y"}}
"""Namespaces with their labels; the first is that of the pod that is asked about."""
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


# Worlds


def nodes(random: Random) -> list[JSON]:
    """A few in zones and racks, some without a label, some tainted."""
    found = []
    for number in range(random.randint(2, 8)):
        labels = {HOST: f"h{number}", "disk": random.choice(["ssd", "hdd"])}
        if random.random() < 0.9:
            labels[ZONE] = random.choice("abc")
        if random.random() < 0.9:
            labels[RACK] = f"r{number // 2}"
        taints = [{"key": "dedicated", "effect": "NoSchedule"}] if random.random() < 0.15 else []
        has, capacity = ({"cpu": "8", "memory": "32Gi", "pods": "110"} for _ in range(2))
        found.append(
            {
                "metadata": {"name": f"$-n{number}", "labels": labels},
                "spec": {"taints": taints} if taints else {},
                "status": {
                    "allocatable": has,
                    "capacity": capacity,
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
                },
            }
        )
    return found


def pod(random: Random, name: str, *, on: Sequence[JSON] = (), space: str = "$", likely: float = 0.3) -> JSON:
    """A pod with random labels, often of a common app; `likely` says how often it asks for something of neighbours."""
    spec: JSON = {"containers": [{"name": "c", "image": "i"}]}
    labels = {"app": random.choice("aaabc")}
    if random.random() < 0.5:
        labels["tier"] = random.choice("12")
    metadata: JSON = {"name": name, "namespace": space, "labels": labels}
    if on:
        spec["nodeName"] = random.choice(on)["metadata"]["name"]
        if random.random() < 0.15:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    affinity: JSON = {}
    if random.random() < likely:
        affinity["podAntiAffinity"] = {REQUIRED: [term(random, labels) for _ in range(random.choice([1, 1, 2]))]}
    if random.random() < likely:
        affinity["podAffinity"] = {REQUIRED: [term(random, labels) for _ in range(random.choice([1, 1, 2]))]}
    if affinity:
        spec["affinity"] = affinity
    return {"metadata": metadata, "spec": spec}


def spreads(random: Random, asked: JSON) -> JSON:
    """The pod with topology spread constraints in place of affinity, and perhaps a choice of nodes."""
    spec = asked["spec"]
    spec.pop("affinity", None)
    keys = random.sample(KEYS, random.choice([1, 1, 2]))
    spec["topologySpreadConstraints"] = [constraint(random, key, asked["metadata"]["labels"]) for key in keys]
    if random.random() < 0.3:
        spec["nodeSelector"] = {"disk": "ssd"}
    if random.random() < 0.3:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if random.random() < 0.2:
        expression = {"key": ZONE, "operator": random.choice(["In", "NotIn"]), "values": ["a"]}
        spec["affinity"] = {
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
    return asked


def constraint(random: Random, key: str, labels: Labels) -> JSON:
    found: JSON = {
        "maxSkew": random.choice([1, 1, 2, 3]),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if random.random() < 0.85 else "ScheduleAnyway",
    }
    if random.random() < 0.3 and found["whenUnsatisfiable"] == "DoNotSchedule":
        found["minDomains"] = random.randint(1, 4)
    if random.random() < 0.4:
        found["nodeAffinityPolicy"] = random.choice(["Honor", "Ignore"])
    if random.random() < 0.4:
        found["nodeTaintsPolicy"] = random.choice(["Honor", "Ignore"])
    wanted = selector(random, labels)
    if wanted is not None:
        found["labelSelector"] = wanted
        if random.random() < 0.3 and not _names(wanted, "tier"):
            found["matchLabelKeys"] = ["tier"]
    return found


def term(random: Random, labels: Labels) -> JSON:
    found: JSON = {"topologyKey": random.choice(KEYS)}
    wanted = selector(random, labels)
    if wanted is not None:
        found["labelSelector"] = wanted
        if random.random() < 0.25 and not _names(wanted, "tier"):
            found[random.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["tier"]
    if random.random() < 0.25:
        found["namespaces"] = random.sample(sorted(SPACES), random.choice([1, 2]))
    if random.random() < 0.25:
        found["namespaceSelector"] = random.choice(
            [
                {},
                {"matchLabels": {TEAM: "x"}},
                {"matchExpressions": [{"key": TEAM, "operator": "Exists"}]},
                {"matchExpressions": [{"key": TEAM, "operator": "In", "values": ["x", "y"]}]},
            ]
        )
    return found


def selector(random: Random, labels: Labels) -> JSON | None:
    """Often one that matches the pod itself."""
    dice = random.random()
    if dice < 0.04:
        return None
    if dice < 0.1:
        return {}
    if dice < 0.45:
        return {"matchLabels": {"app": labels["app"]}}
    if dice < 0.65:
        return {"matchLabels": {"app": random.choice("abc")}}
    operator = random.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    key = random.choice(["app", "tier"])
    values = random.sample("abc" if key == "app" else "12", random.choice([1, 2]))
    one = {"key": key, "operator": operator} | ({"values": values} if operator in ("In", "NotIn") else {})
    return {"matchExpressions": [one]}


def _names(wanted: JSON, key: str) -> bool:
    expressions = wanted.get("matchExpressions") or ()
    return key in wanted.get("matchLabels", ()) or any(one["key"] == key for one in expressions)


# As the API server stores it


def stored(asked: JSON) -> JSON:
    """The pod with matchLabelKeys and mismatchLabelKeys merged into its selectors."""
    labels, spec = asked["metadata"]["labels"], asked["spec"]
    affinity = spec.get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        for one in (affinity.get(side) or {}).get(REQUIRED, ()):
            _merge(one, "matchLabelKeys", "In", labels)
            _merge(one, "mismatchLabelKeys", "NotIn", labels)
    for one in spec.get("topologySpreadConstraints", ()):
        _merge(one, "matchLabelKeys", "In", labels)
    return asked


def _merge(one: JSON, field: str, operator: str, labels: Labels) -> None:
    for key in one.get(field, ()):
        if key in labels and one.get("labelSelector") is not None:
            expressions = [*one["labelSelector"].get("matchExpressions", ())]
            expressions.append({"key": key, "operator": operator, "values": [labels[key]]})
            one["labelSelector"] = one["labelSelector"] | {"matchExpressions": expressions}


# Where Kubernetes lets a pod go, pod by pod and node by node


class World:
    """Nodes, and pods on them."""

    def __init__(self, nodes: Sequence[JSON], spaces: Mapping[str, Labels] = SPACES) -> None:
        self.nodes = {one["metadata"]["name"]: one for one in nodes}
        self.spaces = spaces
        self.pods: dict[str, tuple[JSON, str]] = {}
        """By whatever tells them apart."""

    def allows(self, asked: JSON) -> set[str]:
        """The nodes that its neighbours leave to a pod."""
        return {name for name in self.nodes if self._near(asked, name) and self._even(asked, name)}

    def _labels(self, node: str) -> Labels:
        found: Labels = self.nodes[node]["metadata"].get("labels", {})
        return found

    def _near(self, asked: JSON, node: str) -> bool:
        wanted, avoided = terms(asked, "podAffinity"), terms(asked, "podAntiAffinity")
        here = self._labels(node)
        if any(one["topologyKey"] not in here for one in wanted):
            return False
        pods = self.pods.values()
        friends = [self._labels(on) for other, on in pods if all(self._means(one, asked, other) for one in wanted)]
        counted = any(one["topologyKey"] in labels for one in wanted for labels in friends)
        if wanted and not all(any(_together(one, here, labels) for labels in friends) for one in wanted):
            first = not counted and all(self._means(one, asked, asked) for one in wanted)
            if not first:
                return False
        for other, on in self.pods.values():
            there = self._labels(on)
            if any(_together(one, here, there) and self._means(one, asked, other) for one in avoided):
                return False
            theirs = terms(other, "podAntiAffinity")
            if any(_together(one, here, there) and self._means(one, other, asked) for one in theirs):
                return False
        return True

    def _means(self, one: JSON, owner: JSON, other: JSON) -> bool:
        """Whether a term of a pod speaks of another."""
        space = other["metadata"]["namespace"]
        spaces = one.get("namespaces", [])
        further = one.get("namespaceSelector")
        if not spaces and further is None:
            spaces = [owner["metadata"]["namespace"]]
        if space not in spaces and not matches(further, self.spaces.get(space, {})):
            return False
        return matches(one.get("labelSelector"), other["metadata"]["labels"])

    def _even(self, asked: JSON, node: str) -> bool:
        declared = asked["spec"].get("topologySpreadConstraints", [])
        hard = [one for one in declared if one["whenUnsatisfiable"] == "DoNotSchedule"]
        here = self._labels(node)
        for one in hard:
            key = one["topologyKey"]
            if key not in here:
                return False
            counts = self._counts(asked, one, hard)
            fewest = min(counts.values(), default=0)
            if len(counts) < one.get("minDomains", 1):
                fewest = 0
            itself = int(matches(one.get("labelSelector"), asked["metadata"]["labels"]))
            if counts.get(here[key], 0) + itself - fewest > one["maxSkew"]:
                return False
        return True

    def _counts(self, asked: JSON, one: JSON, hard: Sequence[JSON]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name in self.nodes:
            labels = self._labels(name)
            if any(other["topologyKey"] not in labels for other in hard):
                continue
            if one.get("nodeAffinityPolicy", "Honor") == "Honor" and not self.chosen(asked, name):
                continue
            if one.get("nodeTaintsPolicy", "Ignore") == "Honor" and not self.tolerated(asked, name):
                continue
            domain = labels[one["topologyKey"]]
            counts[domain] = counts.get(domain, 0) + sum(
                1 for other, on in self.pods.values() if on == name and self._counted(asked, one, other)
            )
        return counts

    def _counted(self, asked: JSON, one: JSON, other: JSON) -> bool:
        wanted = one.get("labelSelector")
        return (
            other["metadata"]["namespace"] == asked["metadata"]["namespace"]
            and "deletionTimestamp" not in other["metadata"]
            and bool(wanted and (wanted.get("matchLabels") or wanted.get("matchExpressions")))
            and matches(wanted, other["metadata"]["labels"])
        )

    def chosen(self, asked: JSON, node: str) -> bool:
        """Whether a pod chooses a node by its labels."""
        labels = self._labels(node)
        spec = asked["spec"]
        if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
            return False
        required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
        return required is None or any(matches(one, labels) for one in required["nodeSelectorTerms"])

    def tolerated(self, asked: JSON, node: str) -> bool:
        """Whether a pod tolerates a node's taints."""
        keys = {one["key"] for one in asked["spec"].get("tolerations", ())}
        return all(taint["key"] in keys for taint in self.nodes[node]["spec"].get("taints", ()))


def terms(asked: JSON, side: str) -> list[JSON]:
    found: list[JSON] = asked["spec"].get("affinity", {}).get(side, {}).get(REQUIRED, [])
    return found


def _together(one: JSON, here: Labels, there: Labels) -> bool:
    key = one["topologyKey"]
    return key in here and key in there and here[key] == there[key]


def matches(wanted: JSON | None, labels: Labels) -> bool:
    """A label selector, written out."""
    return wanted is not None and all(_requirements(wanted, labels))


def _requirements(wanted: JSON, labels: Labels) -> Iterator[bool]:
    for key, value in (wanted.get("matchLabels") or {}).items():
        yield labels.get(key) == value
    for one in wanted.get("matchExpressions") or ():
        has = one["key"] in labels
        inside = has and labels[one["key"]] in one.get("values", ())
        yield {"In": inside, "NotIn": not inside, "Exists": has, "DoesNotExist": not has}[one["operator"]]

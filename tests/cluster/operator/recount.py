"""What must be there when everything has settled, counted from scratch, and where the cluster differs from it.

From the wish to the objects in the test's own words: nothing here asks `grove.operator` what it would make. Statuses
are counted again from the pods. Names, labels and owners are those of chapters 2 and 3 of the specification.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.cluster.operator.wishes import Place, Wish
from tests.cluster.operator.workloads import condition, image_of, is_active, is_ready, label, name_of, twice

JSON = dict[str, Any]
Objects = Mapping[str, list[JSON]]
"""By the plural of their kind, all of a namespace."""

SETS, CLIQUES, GROUPS, GANGS, PODS = "podcliquesets", "podcliques", "podcliquescalinggroups", "podgangs", "pods"
SERVICES, ROLES, BINDINGS = "services", "roles", "rolebindings"
AUTOSCALERS = "horizontalpodautoscalers"
ORDER = (SETS, GROUPS, CLIQUES, GANGS, PODS, SERVICES, ROLES, BINDINGS, AUTOSCALERS)
"""What is asked for first is small, and says soon that nothing has settled yet."""

SET, CLIQUE, GROUP = "PodCliqueSet", "PodClique", "PodCliqueScalingGroup"
MANAGED = {"app.kubernetes.io/managed-by": "grove-operator"}


class Recount:
    """The wishes of a namespace against what is there. `spared`: the uids of pods that may have an older image."""

    def __init__(self, wishes: list[Wish], look: Callable[[str], list[JSON]], spared: frozenset[str] = frozenset()):
        self._wishes = wishes
        self._look = look
        self._spared = spared
        self._seen: dict[str, list[JSON]] = {}

    def __getitem__(self, kind: str) -> list[JSON]:
        if kind not in self._seen:
            self._seen[kind] = self._look(kind)
        return self._seen[kind]

    def first(self) -> list[str]:
        """What differs in the first kind in which something does: enough to know that it has not settled."""
        return next((found for found in self._by_kind() if found), [])

    def _by_kind(self) -> Iterator[list[str]]:
        yield list(self._sets_have_looked())
        for kind in ORDER[1:]:
            yield self._names(kind)
        yield list(self._pods())
        yield list(self._cliques())
        yield list(self._groups())
        yield list(self._gangs())
        yield list(self._access())
        yield list(self._autoscalers())
        yield list(self._sets())

    # What there is

    def _expected(self, kind: str) -> dict[str, Wish]:
        """The names of all objects of a kind but pods."""
        found: dict[str, Wish] = {}
        for wish in self._wishes:
            match kind:
                case "podcliques":
                    names = [place.name for place in wish.places()]
                case "podcliquescalinggroups":
                    names = [wish.group_name(i, one.name) for i in range(wish.replicas) for one in wish.groups]
                case "podgangs":
                    names = list(wish.gangs())
                case "services":
                    names = [f"{wish.name}-{i}" for i in range(wish.replicas)]
                case "roles" | "rolebindings":
                    names = [f"grove.io:pcs:{wish.name}"] if wish.in_order and len(wish.cliques) > 1 else []
                case "horizontalpodautoscalers":
                    names = list(wish.autoscalers())
                case _:
                    names = [wish.name]
            found |= dict.fromkeys(names, wish)
        return found

    def _names(self, kind: str) -> list[str]:
        if kind == PODS:
            return list(self._counts())
        expected, live = self._expected(kind), {name_of(one) for one in self[kind]}
        going = [name_of(one) for one in self[kind] if "deletionTimestamp" in one["metadata"]]
        return [
            *(f"{kind}/{name} is missing" for name in sorted(expected.keys() - live)),
            *(f"{kind}/{name} is too many" for name in sorted(live - expected.keys())),
            *(f"{kind}/{name} is being deleted" for name in going),
        ]

    def _counts(self) -> Iterator[str]:
        live = collections.Counter(label(pod, "grove.io/podclique") for pod in self[PODS])
        expected = {place.name: wish.pods(place.name) for wish, place in self._places()}
        for name in sorted(live.keys() | expected.keys()):
            if live[name] != expected.get(name, 0):
                yield f"{name} has {live[name]} pods, not {expected.get(name, 0)}"

    def _places(self) -> Iterator[tuple[Wish, Place]]:
        for wish in self._wishes:
            for place in wish.places():
                yield wish, place

    # Pods

    def _pods(self) -> Iterator[str]:
        owners = {name_of(one): one for one in self[CLIQUES]}
        places = {place.name: (wish, place) for wish, place in self._places()}
        yield from twice(self[PODS])
        for pod in self[PODS]:
            name = label(pod, "grove.io/podclique")
            wish, place = places[name]
            who = f"pod {name_of(pod)}"
            if not is_active(pod) or not is_ready(pod):
                yield f"{who} is not ready"
            yield from _labels(who, pod, {**self._place_labels(wish, place), "grove.io/podclique": name})
            yield from _owned(who, pod, CLIQUE, owners.get(name))
            if label(pod, "grove.io/pod-template-hash") != label(owners[name], "grove.io/pod-template-hash"):
                if pod["metadata"]["uid"] not in self._spared:
                    yield f"{who} is of an older template"
            elif image_of(pod) != wish.clique(place.clique).image:
                yield f"{who} has the image {image_of(pod)}, not {wish.clique(place.clique).image}"
            if gates := pod["spec"].get("schedulingGates"):
                yield f"{who} is held by {gates}"
            index = label(pod, "grove.io/podclique-pod-index")
            expected = (f"{name}-{index}", f"{wish.name}-{place.replica}")
            if (pod["spec"].get("hostname"), pod["spec"].get("subdomain")) != expected:
                yield f"{who} is not found as {'.'.join(expected)}"
            waits = any(one["name"] == "grove-initc" for one in pod["spec"].get("initContainers", ()))
            if waits != bool(wish.parents(place)):
                yield f"{who} waits: {waits}, its parents are {wish.parents(place)}"

    # PodCliques

    def _place_labels(self, wish: Wish, place: Place) -> dict[str, str]:
        found = _common(wish, place.name, place.replica) | {
            "app.kubernetes.io/component": "pcsg-podclique" if place.group else "pcs-podclique",
            "grove.io/clique": place.clique,
            "grove.io/role": place.clique,
            "grove.io/podgang": place.gang,
        }
        if place.group:
            found["grove.io/podcliquescalinggroup"] = place.group
            found["grove.io/podcliquescalinggroup-replica-index"] = str(place.copy)
        if place.base:
            found["grove.io/base-podgang"] = place.base
        return found

    def _cliques(self) -> Iterator[str]:
        live = {name_of(one): one for one in self[CLIQUES]}
        sets = {name_of(one): one for one in self[SETS]}
        groups = {name_of(one): one for one in self[GROUPS]}
        hashes: dict[tuple[str, str], set[str]] = {}
        for wish, place in self._places():
            one, who = live[place.name], f"PodClique {place.name}"
            template = wish.clique(place.clique)
            spec = one["spec"]
            hashes.setdefault((wish.name, place.clique), set()).add(label(one, "grove.io/pod-template-hash"))
            yield from _labels(who, one, self._place_labels(wish, place), but=("grove.io/pod-template-hash",))
            yield from _owned(who, one, *((GROUP, groups.get(place.group)) if place.group else (SET, sets[wish.name])))
            yield from _differ(
                who,
                {
                    "replicas": (spec["replicas"], wish.pods(place.name)),
                    "minAvailable": (spec["minAvailable"], template.least),
                    "startsAfter": (spec.get("startsAfter", []), wish.parents(place)),
                    "roleName": (spec["roleName"], place.clique),
                    "image": (spec["podSpec"]["containers"][0]["image"], template.image),
                    "finalizers": (one["metadata"].get("finalizers"), ["grove.io/podclique.grove.io"]),
                },
            )
            yield from self._clique_status(who, one)
        yield from (f"clique {key} has the hashes {found}" for key, found in hashes.items() if len(found) > 1)

    def _clique_status(self, who: str, one: JSON) -> Iterator[str]:
        pods = self._of(one)
        hash = label(one, "grove.io/pod-template-hash")
        new = sum(label(pod, "grove.io/pod-template-hash") == hash for pod in pods)
        expected = {
            "replicas": len(pods),
            "readyReplicas": sum(map(is_ready, pods)),
            "scheduledReplicas": sum("nodeName" in pod["spec"] for pod in pods),
            "scheduleGatedReplicas": sum(bool(pod["spec"].get("schedulingGates")) for pod in pods),
            "updatedReplicas": new,
            "phase": "Running" if pods else "Pending",
        }
        if new == len(pods):
            expected["currentPodTemplateHash"] = hash
        yield from _status(who, one, expected)
        yield from _conditions(who, one, {"PodCliqueScheduled": "True", "MinAvailableBreached": "False"})

    def _of(self, clique: JSON) -> list[JSON]:
        return [pod for pod in self[PODS] if label(pod, "grove.io/podclique") == name_of(clique)]

    # Scaling groups

    def _groups(self) -> Iterator[str]:
        live = {name_of(one): one for one in self[GROUPS]}
        sets = {name_of(one): one for one in self[SETS]}
        cliques = {name_of(one): one for one in self[CLIQUES]}
        for wish in self._wishes:
            for replica in range(wish.replicas):
                for group in wish.groups:
                    name = wish.group_name(replica, group.name)
                    one, who = live[name], f"scaling group {name}"
                    copies = wish.copies(replica, group.name)
                    marks = _common(wish, name, replica) | {"app.kubernetes.io/component": "pcs-podcliquescalinggroup"}
                    yield from _labels(who, one, marks)
                    yield from _owned(who, one, SET, sets[wish.name])
                    yield from _differ(
                        who,
                        {
                            "replicas": (one["spec"]["replicas"], copies),
                            "minAvailable": (one["spec"]["minAvailable"], group.least),
                            "cliqueNames": (one["spec"]["cliqueNames"], group.cliques),
                            "finalizers": (
                                one["metadata"].get("finalizers"),
                                ["grove.io/podcliquescalinggroup.grove.io"],
                            ),
                        },
                    )
                    members = [[cliques[f"{name}-{j}-{member}"] for member in group.cliques] for j in range(copies)]
                    yield from _status(
                        who,
                        one,
                        {
                            "replicas": copies,
                            "scheduledReplicas": copies,
                            "availableReplicas": copies,
                            "updatedReplicas": sum(all(map(self._is_new, copy)) for copy in members),
                            "phase": "Running",
                        },
                    )
                    yield from _conditions(who, one, {"MinAvailableBreached": "False", "UpdateInProgress": "False"})

    def _is_new(self, clique: JSON) -> bool:
        hash = label(clique, "grove.io/pod-template-hash")
        return all(label(pod, "grove.io/pod-template-hash") == hash for pod in self._of(clique))

    # Gangs

    def _gangs(self) -> Iterator[str]:
        live = {name_of(one): one for one in self[GANGS]}
        sets = {name_of(one): one for one in self[SETS]}
        pods: dict[str, list[str]] = {}
        for pod in self[PODS]:
            pods.setdefault(label(pod, "grove.io/podclique"), []).append(name_of(pod))
        for wish in self._wishes:
            for name, places in wish.gangs().items():
                one, who = live[name], f"gang {name}"
                expected = [
                    {
                        "name": place.name,
                        "minReplicas": wish.clique(place.clique).least if wish.pods(place.name) else 0,
                        "pods": sorted(pods.get(place.name, [])),
                    }
                    for place in places
                ]
                found = [
                    {
                        "name": group["name"],
                        "minReplicas": group["minReplicas"],
                        "pods": [reference["name"] for reference in group["podReferences"]],
                    }
                    for group in one["spec"]["podgroups"]
                ]
                if found != expected:
                    yield f"{who} consists of {found}, not of {expected}"
                marks = MANAGED | {
                    "app.kubernetes.io/part-of": wish.name,
                    "app.kubernetes.io/component": "podgang",
                    "grove.io/podcliqueset-replica-index": str(places[0].replica) if places else "0",
                }
                yield from _labels(who, one, marks, exactly=False)
                yield from _owned(who, one, SET, sets[wish.name])
                if (phase := (one.get("status") or {}).get("phase")) != "Running":
                    yield f"{who} is {phase}"
                yield from _conditions(who, one, {"Initialized": "True", "Scheduled": "True", "Ready": "True"})

    # The rest

    def _access(self) -> Iterator[str]:
        sets = {name_of(one): one for one in self[SETS]}
        for kind in (SERVICES, ROLES, BINDINGS):
            live = {name_of(one): one for one in self[kind]}
            for name, wish in self._expected(kind).items():
                yield from _labels(f"{kind}/{name}", live[name], MANAGED, exactly=False)
                yield from _owned(f"{kind}/{name}", live[name], SET, sets[wish.name])

    def _autoscalers(self) -> Iterator[str]:
        sets = {name_of(one): one for one in self[SETS]}
        live = {name_of(one): one for one in self[AUTOSCALERS]}
        for wish in self._wishes:
            for name, (kind, part) in wish.autoscalers().items():
                one, who = live[name], f"autoscaler {name}"
                spec = one["spec"]
                target = {"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name}
                yield from _labels(who, one, MANAGED | {"app.kubernetes.io/part-of": wish.name}, exactly=False)
                yield from _owned(who, one, SET, sets[wish.name])
                yield from _differ(
                    who,
                    {
                        "scaleTargetRef": (spec["scaleTargetRef"], target),
                        "minReplicas": (spec["minReplicas"], part.least),
                        "maxReplicas": (spec["maxReplicas"], part.most),
                    },
                )

    def _sets_have_looked(self) -> Iterator[str]:
        yield from self._names(SETS)
        for one in self[SETS]:
            status = one.get("status") or {}
            if status.get("observedGeneration") != one["metadata"]["generation"]:
                yield f"set {name_of(one)} is at generation {status.get('observedGeneration')}"

    def _sets(self) -> Iterator[str]:
        live = {name_of(one): one for one in self[SETS]}
        cliques = {name_of(one): one for one in self[CLIQUES]}
        gangs = {name_of(one): one for one in self[GANGS]}
        for wish in self._wishes:
            one, who = live[wish.name], f"set {wish.name}"
            new = [all(self._is_new(cliques[p.name]) for p in wish.places_of(i)) for i in range(wish.replicas)]
            yield from _status(
                who,
                one,
                {
                    "replicas": wish.replicas,
                    "availableReplicas": wish.replicas,
                    "updatedReplicas": sum(new),
                    "phase": "Available",
                },
            )
            told = [(part["name"], part["phase"]) for part in (one.get("status") or {}).get("podGangStatuses", ())]
            expected = [(name, gangs[name]["status"]["phase"]) for name in sorted(wish.gangs())]
            if told != expected:
                yield f"{who} tells of the gangs {told}, not {expected}"
            yield from _conditions(who, one, {"Available": "True", "UpdateInProgress": "False", "Degraded": "False"})


def _common(wish: Wish, name: str, replica: int) -> dict[str, str]:
    return MANAGED | {
        "app.kubernetes.io/part-of": wish.name,
        "app.kubernetes.io/name": name,
        "grove.io/podcliqueset": wish.name,
        "grove.io/podcliqueset-replica-index": str(replica),
    }


NODE = "topology.kubernetes.io/"
"""The API server copies these labels from nodes to pods that are bound to them."""
CHANGING = ("grove.io/pod-template-hash", "grove.io/podclique-pod-index")


def _labels(
    who: str, obj: JSON, expected: Mapping[str, str], *, exactly: bool = True, but: tuple[str, ...] = CHANGING
) -> Iterator[str]:
    found = {
        key: text
        for key, text in obj["metadata"].get("labels", {}).items()
        if key not in but and not key.startswith(NODE)
    }
    for key in sorted(expected.keys() | found.keys() if exactly else expected.keys()):
        if found.get(key) != expected.get(key):
            yield f"{who} has the label {key}={found.get(key)}, not {expected.get(key)}"


def _owned(who: str, obj: JSON, kind: str, owner: JSON | None) -> Iterator[str]:
    found = [(one["kind"], one["uid"], one.get("controller")) for one in obj["metadata"].get("ownerReferences", ())]
    if owner is None or found != [(kind, owner["metadata"]["uid"], True)]:
        yield f"{who} is owned by {found}, not by {kind} {owner and owner['metadata']['uid']}"


def _differ(who: str, fields: Mapping[str, tuple[object, object]]) -> Iterator[str]:
    for field, (found, expected) in fields.items():
        if found != expected:
            yield f"{who}: {field} is {found}, not {expected}"


def _status(who: str, obj: JSON, expected: Mapping[str, object]) -> Iterator[str]:
    status = obj.get("status") or {}
    found = {key: (status.get(key), value) for key, value in expected.items()}
    found["observedGeneration"] = (status.get("observedGeneration"), obj["metadata"]["generation"])
    found["lastErrors"] = (status.get("lastErrors", []), [])
    progress = status.get("updateProgress")
    if progress is not None:
        found["the end of its update"] = ("updateEndedAt" in progress, True)
    yield from _differ(f"status of {who}", found)


def _conditions(who: str, obj: JSON, expected: Mapping[str, str]) -> Iterator[str]:
    yield from _differ(who, {type: (condition(obj, type), status) for type, status in expected.items()})

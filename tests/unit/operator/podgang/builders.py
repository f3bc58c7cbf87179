"""A PodCliqueSet with its PodCliques and pods as the caches would hold them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from grove.api import codec, labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import Condition, PodView
from grove.operator.podgang import marks, plan
from grove.operator.podgang.members import Held, Member, all_whole, members
from grove.operator.topology import levels
from grove.operator.tree import Copies, GangPlace, Tree
from grove.operator.views import PodCliqueView

JSON = dict[str, Any]
T = TypeVar("T")

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
BASE = GangPlace(0)
MADE = "2026-01-02T03:04:00Z"


def clique(name: str, replicas: int = 1, **more: Any) -> JSON:
    spec = {"roleName": name, "replicas": replicas, "podSpec": {"containers": []}} | more.pop("spec", {})
    return {"name": name, "spec": spec, **more}


def pcs(cliques: Sequence[JSON], groups: Sequence[JSON] = (), **more: Any) -> PodCliqueSet:
    metadata = {"name": "set", "namespace": "ns", "uid": "set-uid", "generation": 1} | more.pop("metadata", {})
    template = {"cliques": list(cliques), "podCliqueScalingGroups": list(groups)} | more.pop("template", {})
    return codec.decode({"metadata": metadata, "spec": {"replicas": 1, "template": template, **more}}, PodCliqueSet)


class Cluster:
    """The PodCliques of a set and their pods; complete at first."""

    def __init__(self, pcs: PodCliqueSet, copies: Copies | None = None) -> None:
        self.tree = Tree(pcs, copies or {})
        self.cliques: dict[str, PodCliqueView] = {}
        self.pods: dict[str, list[PodView]] = {}
        for gang in self.tree.gangs():
            for place in self.tree.gang_cliques(gang):
                name = self.tree.clique_name(place)
                self.add_clique(name, self.tree.cliques[place.clique].spec.replicas, self.tree.clique_labels(place))

    def add_clique(self, name: str, replicas: int, found: Mapping[str, str]) -> None:
        tree = {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"{name}-uid",
                "creationTimestamp": MADE,
                "labels": dict(found),
            },
            "spec": {"replicas": replicas},
        }
        self.cliques[name] = view_of(tree, PodCliqueView)
        self.pods[name] = [pod(f"{name}-p{index}", gang=found[labels.POD_GANG]) for index in range(replicas)]

    def held(self) -> Held:
        def find(name: str) -> tuple[PodCliqueView, Sequence[PodView]] | None:
            return (self.cliques[name], self.pods[name]) if name in self.cliques else None

        return find

    def members(self, place: GangPlace = BASE) -> list[Member]:
        return members(self.tree, place, self.held())

    def is_all_whole(self, place: GangPlace = BASE) -> bool:
        return all_whole(self.tree, place, self.held())

    def wanted(
        self,
        place: GangPlace = BASE,
        keys: levels.Keys | None = None,
    ) -> plan.Wanted:
        return plan.wanted(self.tree, place, self.members(place), keys or {}, "grove-scheduler")

    def all_pods(self) -> Iterator[PodView]:
        for found in self.pods.values():
            yield from found


def pod(name: str, *, gang: str = "set-0", node: str = "", phase: str = "Pending", **more: Any) -> PodView:
    found = {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.POD_GANG: gang}
    metadata = {"name": name, "namespace": "ns", "uid": f"{name}-uid", "labels": found}
    conditions = [{"type": "Ready", "status": "True"}] if more.pop("ready", False) else []
    tree = {
        "metadata": metadata | more.pop("metadata", {}),
        "spec": {"nodeName": node, "restartPolicy": more.pop("restart", "Always")},
        "status": {"phase": phase, "conditions": conditions},
    }
    return view_of(tree, PodView)


def unschedulable(held: PodView, why: str) -> PodView:
    """The pod, of which its scheduler says that there is no room."""
    said = Condition(type="PodScheduled", status="False", reason="Unschedulable", message=why)
    return replace(held, status=replace(held.status, conditions=(said, *held.status.conditions)))


def stored(body: JSON, **metadata: Any) -> PodGang:
    """A PodGang as the server gives it, of what was sent."""
    sent = body["metadata"]
    return codec.decode(body | {"metadata": {**sent, "uid": "gang-uid", **metadata}}, PodGang)


def patched(held: PodGang, patch: JSON) -> PodGang:
    """The PodGang after a merge patch."""
    return codec.decode(merged(codec.encode(held), patch), PodGang)


def merged(tree: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    found = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def view_of(tree: JSON, kind: type[T]) -> T:
    """The object as a cache decodes it."""
    return msgspec.json.decode(msgspec.json.encode(tree), type=kind)


def tree_of(obj: Any) -> JSON:
    """The JSON of an object of the caches, or of a body."""
    tree: JSON = msgspec.json.decode(msgspec.json.encode(obj))
    return tree


def with_metadata(obj: Any, **metadata: Any) -> Any:
    """The object with other metadata."""
    tree = tree_of(obj)
    return view_of({**tree, "metadata": {**tree["metadata"], **metadata}}, type(obj))


def recorded(gang: PodGang) -> marks.Record:
    return marks.recorded(gang.metadata.annotations)

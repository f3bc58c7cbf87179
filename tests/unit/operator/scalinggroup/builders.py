"""Sets, scaling groups, PodCliques and pods for tests, and a store that takes plans as an API server would."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from grove.api import codec, labels
from grove.api.conditions import timestamp
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.objects import PodView
from grove.operator import cliquesync, owners
from grove.operator.resources import SCALING_GROUPS
from grove.operator.tree import CliquePlace, GroupPlace, Tree
from grove.operator.views import PodCliqueView

JSON = dict[str, Any]

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
PLACE = GroupPlace(0, "sg")


def after(seconds: float) -> datetime.datetime:
    return START + datetime.timedelta(seconds=seconds)


def clique(name: str, **spec: Any) -> JSON:
    """A clique of a template; `labels`, `annotations` and `rollingUpdate` stand beside its spec."""
    outer: JSON = {key: spec.pop(key) for key in ("labels", "annotations", "rollingUpdate") if key in spec}
    inner: JSON = {"roleName": name, "replicas": 2, "minAvailable": 1, "podSpec": pod_spec()} | spec
    return {"name": name, **outer, "spec": inner}


def pod_spec(image: str = "server:v1") -> JSON:
    return {"containers": [{"name": "main", "image": image}]}


def pod_clique_set(
    *cliques: JSON, group: Iterable[str] = (), status: JSON | None = None, **fields: Any
) -> PodCliqueSet:
    """A set `x`; a scaling group `sg` of the cliques that `group` names. `fields` are those of the group, of the
    template, or of the spec."""
    groups: list[JSON] = []
    if group:
        config: JSON = {
            key: fields.pop(key) for key in ("minAvailable", "scaleConfig", "rollingUpdate") if key in fields
        }
        groups = [{"name": "sg", "cliqueNames": list(group), "replicas": fields.pop("copies", 2), **config}]
    template: JSON = {"cliques": list(cliques)} | ({"podCliqueScalingGroups": groups} if groups else {})
    spec = {key: fields.pop(key) for key in ("replicas", "updateStrategy") if key in fields}
    return codec.decode(
        {
            "metadata": {"name": "x", "namespace": "ns", "uid": "set", "generation": 1},
            "spec": {"replicas": 1, **spec, "template": {**template, **fields}},
            **({"status": status} if status else {}),
        },
        PodCliqueSet,
    )


def leader_and_worker(image: str = "server:v1", **fields: Any) -> PodCliqueSet:
    """A set with a scaling group of two cliques."""
    cliques = (clique("leader", replicas=1, podSpec=pod_spec(image)), clique("worker", podSpec=pod_spec(image)))
    return pod_clique_set(*cliques, group=("leader", "worker"), **fields)


def scaling_group(replicas: int = 2, *, status: JSON | None = None, **spec: Any) -> PodCliqueScalingGroup:
    """The scaling group of the set's first replica."""
    return codec.decode(
        {
            "metadata": {
                "name": "x-0-sg",
                "namespace": "ns",
                "uid": "group",
                "generation": 1,
                "creationTimestamp": timestamp(START),
                "finalizers": [labels.SCALING_GROUP_FINALIZER],
                "labels": labels.common("x") | {labels.POD_CLIQUE_SET_REPLICA_INDEX: "0"},
            },
            "spec": {"replicas": replicas, "minAvailable": 1, "cliqueNames": ["leader", "worker"], **spec},
            **({"status": status} if status else {}),
        },
        PodCliqueScalingGroup,
    )


OWNER = owners.reference(SCALING_GROUPS, scaling_group().metadata)


def condition(type: str, status: str, since: float = 0.0) -> JSON:
    return {
        "type": type,
        "status": status,
        "reason": "Because",
        "message": "",
        "lastTransitionTime": timestamp(after(since)),
    }


def view(body: Mapping[str, Any]) -> PodCliqueView:
    """A PodClique as a cache holds it."""
    return msgspec.json.decode(msgspec.json.encode(body), type=PodCliqueView)


def pod(of: PodCliqueView, index: int = 0, *, hash: str = "", ready: bool = True, node: str = "node") -> PodView:
    """A pod of a PodClique, by default of its own template."""
    own = of.metadata.labels or {}
    since = timestamp(after(60.0))
    body: JSON = {
        "metadata": {
            "name": f"{of.metadata.name}-{index}",
            "namespace": "ns",
            "uid": f"{of.metadata.uid}-{index}",
            "labels": own | ({labels.POD_TEMPLATE_HASH: hash} if hash else {}),
        },
        "spec": {"nodeName": node} if node else {},
        "status": {
            "phase": "Running" if ready else "Pending",
            "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": since}],
        },
    }
    return msgspec.convert(body, PodView)


def pods(of: PodCliqueView, count: int | None = None, **rest: Any) -> tuple[PodView, ...]:
    return tuple(pod(of, index, **rest) for index in range(of.spec.replicas if count is None else count))


class CliqueStore:
    """PodCliques by name, written as an API server writes them."""

    def __init__(self, bodies: Iterable[JSON] = ()) -> None:
        self.bodies: dict[str, JSON] = {}
        self._made = 0
        for body in bodies:
            self.create(body)

    @classmethod
    def of(cls, tree: Tree, places: Iterable[CliquePlace], owner: JSON = OWNER) -> CliqueStore:
        """With what a first plan makes."""
        store = cls()
        store.apply(cliquesync.plan(tree, places, (), owner=owner, may_follow_template=lambda _: False))
        return store

    def create(self, body: JSON, **metadata: Any) -> None:
        name = body["metadata"]["name"]
        assert name not in self.bodies, f"{name} is taken"
        self._made += 1
        held = copy.deepcopy(body)
        held["metadata"] |= {"uid": f"uid-{self._made}", "creationTimestamp": timestamp(START), **metadata}
        self.bodies[name] = held

    def patch(self, name: str, change: JSON) -> None:
        self.bodies[name] = merged(self.bodies[name], change)

    def delete(self, name: str) -> None:
        """Asked for: the finalizer holds it."""
        self.bodies[name]["metadata"]["deletionTimestamp"] = timestamp(START)

    def apply(self, plan: cliquesync.Plan) -> None:
        for gone in plan.deletes:
            self.delete(gone.metadata.name)
        for change in plan.patches:
            self.patch(change.held.metadata.name, change.change)
        for made in plan.creates:
            self.create(made.body)

    def sweep(self) -> None:
        """What is being deleted vanishes."""
        self.bodies = {name: body for name, body in self.bodies.items() if "deletionTimestamp" not in body["metadata"]}

    def view(self, name: str) -> PodCliqueView:
        return view(self.bodies[name])

    def views(self, keep: Callable[[str], bool] = lambda _: True) -> list[PodCliqueView]:
        return [view(body) for name, body in self.bodies.items() if keep(name)]


def merged(target: Any, change: Any) -> Any:
    """A merge patch applied."""
    if not isinstance(change, dict):
        return change
    found = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found

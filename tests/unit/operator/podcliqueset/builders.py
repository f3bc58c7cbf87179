"""Sets for tests, as admission leaves them, and a stage on which plans are carried out without a cluster."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from grove.api import codec, conditions, defaults, labels, schema, structural
from grove.api.errors import Problems
from grove.api.kinds import catalog
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.policy import Policy
from grove.kube.objects import PodView
from grove.operator import owners
from grove.operator.cliquesync import Plan as CliquePlan
from grove.operator.podcliqueset import children
from grove.operator.podcliqueset import plan as plans
from grove.operator.podcliqueset.snapshot import Snapshot
from grove.operator.resources import SCALING_GROUPS
from grove.operator.tree import GroupPlace, Tree
from grove.operator.views import AutoscalerView, PodCliqueView, RoleBindingView, RoleView, ServiceView
from tests.unit.nodes.apiserver import merged

JSON = dict[str, Any]


class Outline(msgspec.Struct):
    """An object of which only the metadata matter."""

    metadata: ObjectMeta


NOW = datetime.datetime(2026, 11, 19, 12, tzinfo=datetime.UTC)
SCHEMA = schema.of_kind(catalog.POD_CLIQUE_SET)


def at(seconds: float) -> datetime.datetime:
    """So many seconds after NOW."""
    return NOW + datetime.timedelta(seconds=seconds)


def clique(name: str, replicas: int = 1, *, image: str = "main:v1", pod: JSON | None = None, **spec: Any) -> JSON:
    """A clique template; `pod` are further fields of its pod spec."""
    pod_spec: JSON = {"containers": [{"name": "main", "image": image}], **(pod or {})}
    outer: JSON = {key: spec.pop(key) for key in ("labels", "annotations", "topologyConstraint") if key in spec}
    return {"name": name, **outer, "spec": {"replicas": replicas, "podSpec": pod_spec, **spec}}


def group(name: str, members: Sequence[str], **rest: Any) -> JSON:
    return {"name": name, "cliqueNames": list(members), **rest}


def pcs(
    *cliques: JSON,
    groups: Iterable[JSON] = (),
    name: str = "demo",
    replicas: int = 1,
    strategy: str = "",
    status: PodCliqueSetStatus | None = None,
    generation: int = 1,
    annotations: dict[str, str] | None = None,
    **template: Any,
) -> PodCliqueSet:
    """A set as it is stored."""
    spec: JSON = {"replicas": replicas, "template": {"cliques": list(cliques), **template}}
    if found := list(groups):
        spec["template"]["podCliqueScalingGroups"] = found
    if strategy:
        spec["updateStrategy"] = {"type": strategy}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "generation": generation,
        "resourceVersion": "1",
        "creationTimestamp": conditions.timestamp(NOW),
    }
    if annotations:
        metadata["annotations"] = annotations
    stored = decoded({"metadata": metadata, "spec": spec})
    return msgspec.structs.replace(stored, status=status)


def decoded(tree: JSON) -> PodCliqueSet:
    """A set as the schema and the defaulting webhook leave it."""
    tree = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", **tree}
    whole = structural.with_defaults(structural.normal(tree, SCHEMA), SCHEMA)
    return defaults.podcliqueset(codec.decode(whole, PodCliqueSet), Policy(), Problems())


def pod(clique: JSON, index: int, hash: str, *, ready: bool = True, node: str = "n1", **rest: Any) -> PodView:
    """A pod of a PodClique."""
    name = f"{clique['metadata']['name']}-{index}-{hash}"
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    body = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {**clique["metadata"]["labels"], labels.POD_TEMPLATE_HASH: hash},
            "ownerReferences": [],
            **rest,
        },
        "spec": {"nodeName": node, "containers": [{"name": "main"}]},
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=PodView)


def condition(type: str, status: str, since: float, reason: str = "Because") -> JSON:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": conditions.timestamp(at(since)),
    }


class Stage:
    """The objects of one set. What other controllers do is done by tests."""

    def __init__(self, pcs: PodCliqueSet) -> None:
        self.pcs = pcs
        self.cliques: dict[str, JSON] = {}
        self.groups: dict[str, JSON] = {}
        self.members: dict[str, JSON] = {}
        self.services: dict[str, JSON] = {}
        self.autoscalers: dict[str, JSON] = {}
        self.roles: dict[str, JSON] = {}
        self.role_bindings: dict[str, JSON] = {}
        self.gangs: list[PodGang] = []
        self.pods: dict[str, list[PodView]] = {}
        """By the name of the PodClique."""
        self._made = 0

    # What is there

    @property
    def tree(self) -> Tree:
        plain = Tree(self.pcs, {})
        copies = {}
        for replica in range(self.pcs.spec.replicas):
            for name in plain.groups:
                found = self.groups.get(plain.group_name(GroupPlace(replica, name)))
                if found is not None:
                    copies[replica, name] = found["spec"]["replicas"]
        return Tree(self.pcs, copies)

    def snapshot(self) -> Snapshot:
        cliques = {name: read(one, PodCliqueView) for name, one in self.cliques.items()}
        members = [read(one, PodCliqueView) for one in self.members.values()]
        return Snapshot(
            tree=self.tree,
            cliques=cliques,
            groups={name: read(one, PodCliqueScalingGroup) for name, one in self.groups.items()},
            members={
                name: [one for one in members if owners.is_controlled_by(one.metadata, read(held, Outline).metadata)]
                for name, held in self.groups.items()
            },
            gangs=self.gangs,
            services=[read(one, ServiceView) for one in self.services.values()],
            autoscalers=[read(one, AutoscalerView) for one in self.autoscalers.values()],
            roles=[read(one, RoleView) for one in self.roles.values()],
            role_bindings=[read(one, RoleBindingView) for one in self.role_bindings.values()],
            pods_of=lambda view: self.pods.get(view.metadata.name, []),
        )

    # What the set's controller does

    def apply(self, plan: plans.Plan) -> None:
        """Carries a plan out, as the API server would."""
        for store, one in (
            (self.services, plan.services),
            (self.roles, plan.roles),
            (self.role_bindings, plan.role_bindings),
            (self.groups, plan.groups),
            (self.autoscalers, plan.autoscalers),
            (self.cliques, _as_children(plan.cliques)),
        ):
            self._carry_out(store, one)
        for member in plan.members:
            self.members.pop(member.metadata.name, None)
        names = self.cliques.keys() | self.members.keys()
        self.pods = {name: found for name, found in self.pods.items() if name in names}

    def settle(self) -> None:
        """Makes everything that the set consists of."""
        self.apply(plans.make(self.snapshot(), lambda _: True))
        self.make_members()

    # What the controller of scaling groups does

    def make_members(self) -> None:
        """The PodCliques of scaling groups that are missing, and no others."""
        tree = self.tree
        for replica in range(self.pcs.spec.replicas):
            for name in tree.groups:
                place = GroupPlace(replica, name)
                held = self.groups.get(tree.group_name(place))
                if held is None:
                    continue
                owner = owners.reference(SCALING_GROUPS, read(held, Outline).metadata)
                for copy in range(held["spec"]["replicas"]):
                    for one in tree.member_places(replica, name, copy):
                        body = {
                            "metadata": {
                                "name": tree.clique_name(one),
                                "namespace": "default",
                                "labels": tree.clique_labels(one),
                                "ownerReferences": [owner],
                            },
                            "spec": tree.clique_spec(one),
                        }
                        if tree.clique_name(one) not in self.members:
                            self.members[tree.clique_name(one)] = self._stored(body)

    # What the controller of PodCliques does

    def fill(self, *names: str, ready: bool = True) -> None:
        """Gives PodCliques (all, where none is named) the pods they are to have, and their statuses."""
        for name, one in (*self.cliques.items(), *self.members.items()):
            if not names or name in names:
                hash = one["metadata"]["labels"][labels.POD_TEMPLATE_HASH]
                count = one["spec"]["replicas"]
                self.pods[name] = [pod(one, index, hash, ready=ready) for index in range(count)]
                self.tell(name, ready=count if ready else 0)

    def tell(self, name: str, *, ready: int, **rest: Any) -> None:
        """The status of a PodClique whose pods all follow its template."""
        one = self.cliques.get(name) or self.members[name]
        hash = one["metadata"]["labels"][labels.POD_TEMPLATE_HASH]
        one["status"] = {
            "readyReplicas": ready,
            "updatedReplicas": one["spec"]["replicas"],
            "scheduleGatedReplicas": 0,
            "scheduledReplicas": one["spec"]["replicas"],
            "currentPodTemplateHash": hash,
            "conditions": [condition("PodCliqueScheduled", "True", 1), condition("MinAvailableBreached", "False", 1)],
            **rest,
        }

    def tell_groups(self, **rest: Any) -> None:
        """The statuses of scaling groups of which all copies are available."""
        for one in self.groups.values():
            one["status"] = {
                "availableReplicas": one["spec"]["replicas"],
                "conditions": [condition("MinAvailableBreached", "False", 1)],
                **rest,
            }

    def whole(self) -> Stage:
        """The set, all of it ready."""
        self.settle()
        self.fill()
        self.tell_groups()
        return self

    # The API server

    def _carry_out(self, store: dict[str, JSON], plan: children.Plan) -> None:
        for held in plan.deletes:
            del store[held.name]
        for patch in plan.patches:
            found = store[patch.held.name] = merged(store[patch.held.name], patch.change)
            found["metadata"]["generation"] += 1
        for body in plan.creates:
            assert body["metadata"]["name"] not in store
            store[body["metadata"]["name"]] = self._stored(body)

    def _stored(self, body: JSON) -> JSON:
        self._made += 1
        name = body["metadata"]["name"]
        held: JSON = msgspec.json.decode(msgspec.json.encode(body))
        held["metadata"] |= {
            "uid": f"uid-{name}-{self._made}",
            "resourceVersion": str(self._made),
            "generation": 1,
            "creationTimestamp": conditions.timestamp(NOW),
        }
        return held


def read(obj: JSON, type: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(obj), type=type)


def _as_children(plan: CliquePlan) -> children.Plan:
    return children.Plan(
        tuple(one.body for one in plan.creates),
        tuple(children.Patch(one.held.metadata, one.change) for one in plan.patches),
        tuple(one.metadata for one in plan.deletes),
    )

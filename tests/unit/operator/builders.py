"""Objects for tests of the operator, with as little said as the test cares for."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from grove.api import labels
from grove.api.conditions import timestamp
from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta, OwnerReference
from grove.api.kinds.podclique import PodCliqueStatus
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import Condition, PodView
from grove.operator.views import PodCliqueView

NOW = datetime.datetime(2030, 1, 1, 12, 0, tzinfo=datetime.UTC)
NAMESPACE = "ns"
OLD, NEW = "old", "new"


def at(seconds: float) -> datetime.datetime:
    """A moment after NOW, or before it."""
    return NOW + datetime.timedelta(seconds=seconds)


def pcs(name: str = "demo", *cliques: JSON, generation_hash: str = "generation", **spec: Any) -> PodCliqueSet:
    """A PodCliqueSet; a clique may be said as its template's spec and name."""
    template = {"cliques": list(cliques) or [template_clique("worker")], **spec.pop("template", {})}
    tree = {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "generation": 1},
        "spec": {"replicas": 1, "template": template, **spec},
        "status": {"currentGenerationHash": generation_hash},
    }
    return msgspec.convert(tree, PodCliqueSet)


def template_clique(name: str, replicas: int = 1, *, pod_spec: JSON | None = None, **spec: Any) -> JSON:
    pod = {"containers": [{"name": "main", "image": "busybox"}]} if pod_spec is None else pod_spec
    rest: JSON = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    return {"name": name, "spec": {"roleName": name, "replicas": replicas, "podSpec": pod, **spec}, **rest}


def clique(
    name: str = "demo-0-worker",
    replicas: int = 1,
    *,
    least: int | None = None,
    hash: str = NEW,
    gang: str = "demo-0",
    status: PodCliqueStatus | None = None,
    pod_spec: JSON | None = None,
    metadata: JSON | None = None,
    **spec: Any,
) -> PodCliqueView:
    found = {
        **labels.common("demo"),
        labels.POD_CLIQUE_SET_REPLICA_INDEX: "0",
        labels.CLIQUE: "worker",
        labels.POD_GANG: gang,
        labels.POD_TEMPLATE_HASH: hash,
    }
    tree = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": timestamp(at(-3600)),
            "finalizers": [labels.POD_CLIQUE_FINALIZER],
            **(metadata or {}),
            "labels": {**found, **((metadata or {}).get("labels") or {})},
        },
        "spec": {
            "replicas": replicas,
            "minAvailable": replicas if least is None else least,
            "podSpec": pod_spec or {"containers": [{"name": "main", "image": "busybox"}]},
            **spec,
        },
    }
    view = msgspec.json.decode(msgspec.json.encode(tree), type=PodCliqueView)
    return msgspec.structs.replace(view, status=status)


def unschedulable(held: PodView) -> PodView:
    """The pod, for which its scheduler finds no room."""
    said = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="0/3 nodes are available")
    return replace(held, status=replace(held.status, conditions=(said, *held.status.conditions)))


def pod(
    index: int | None = 0,
    *,
    name: str = "",
    owner: PodCliqueView | None = None,
    hash: str = NEW,
    gang: str = "demo-0",
    node: str = "",
    ready: bool = False,
    since: datetime.datetime | None = None,
    phase: str = "",
    created: datetime.datetime = NOW,
    deleted: bool = False,
    policy: str = "Always",
    gates: tuple[str, ...] = (),
    container: JSON | None = None,
    annotations: dict[str, str] | None = None,
    more_labels: dict[str, str] | None = None,
) -> PodView:
    """A pod; one that is ready has a node and runs."""
    held = owner or clique()
    marks = {
        **labels.common("demo"),
        labels.POD_CLIQUE: held.metadata.name,
        labels.POD_TEMPLATE_HASH: hash,
        labels.POD_GANG: gang,
    }
    if index is not None:
        marks[labels.POD_CLIQUE_POD_INDEX] = str(index)
    is_placed = bool(node or ready)
    name = name or f"{held.metadata.name}-{index}"
    tree: JSON = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "labels": marks | (more_labels or {}),
            "annotations": annotations,
            "creationTimestamp": timestamp(created),
            "deletionTimestamp": timestamp(NOW) if deleted else None,
            "ownerReferences": msgspec.to_builtins([owned_by(held.metadata)]),
        },
        "spec": {
            "restartPolicy": policy,
            "nodeName": (node or "node") if is_placed else "",
            "schedulingGates": [{"name": gate} for gate in gates],
        },
        "status": {
            "phase": phase or ("Running" if ready else "Pending"),
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if ready else "False",
                    "lastTransitionTime": timestamp(since or created),
                }
            ],
            "containerStatuses": [container] if container else [],
        },
    }
    return msgspec.convert(tree, PodView)


def owned_by(metadata: ObjectMeta, kind: str = "PodClique") -> OwnerReference:
    return OwnerReference(
        api_version="grove.io/v1alpha1", kind=kind, name=metadata.name, uid=metadata.uid or "", controller=True
    )


def crashed(*, started: bool = True) -> JSON:
    """The status of a container that ended badly the last time."""
    return {"name": "main", "started": started, "lastState": {"terminated": {"exitCode": 1}}}


def gang(name: str = "demo-0", *, initialized: bool = True, **groups: tuple[int, tuple[str, ...]]) -> PodGang:
    """A PodGang; groups by clique (dashes as underscores): the least and the pods' names."""
    tree = {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"},
        "spec": {
            "podgroups": [
                {
                    "name": clique_name.replace("_", "-"),
                    "minReplicas": least,
                    "podReferences": [{"namespace": NAMESPACE, "name": one} for one in pods],
                }
                for clique_name, (least, pods) in groups.items()
            ]
        },
        "status": {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "Initialized",
                    "status": "True" if initialized else "False",
                    "reason": "PodGangPodsCreated",
                    "message": "",
                    "lastTransitionTime": timestamp(NOW),
                }
            ],
        },
    }
    return msgspec.convert(tree, PodGang)

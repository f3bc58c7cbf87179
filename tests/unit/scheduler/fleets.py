"""Small clusters to place pods on."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.objects import NodeView, PodSpec, PodView
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Group, Pack, Pending, Scope
from grove.scheduler.predicates.rule import Rule

GPU = "nvidia.com/gpu"
ZONE, BLOCK, RACK, HOST = "topology.kubernetes.io/zone", "block", "rack", "kubernetes.io/hostname"
KEYS = (ZONE, BLOCK, RACK, HOST)

_numbers = itertools.count()


def node(
    name: str, labels: Mapping[str, str] | None = None, *, cpu: str = "32", gpus: int = 8, **more: Any
) -> NodeView:
    """A node that is ready; `more` are further resources."""
    allocatable = {"cpu": cpu, "memory": "256Gi", "pods": "110", GPU: gpus} | more
    body = {
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    return msgspec.convert(body, NodeView)


def fleet(racks: int, nodes: int, *, blocks: int = 1, gpus: int = 8, rules: Sequence[Rule] = ()) -> Cluster:
    """Racks of equal nodes, spread evenly over the blocks of one zone."""
    cluster = Cluster()
    cluster.obey(rules)
    for rack, at in itertools.product(range(racks), range(nodes)):
        labels = {ZONE: "z", BLOCK: f"b{rack * blocks // racks}", RACK: f"r{rack:03}"}
        cluster.node(node(f"n{rack:03}-{at:03}", labels, gpus=gpus))
    return cluster


def spec(gpus: int = 0, cpu: str = "1", **more: Any) -> PodSpec:
    requests: dict[str, str | int] = {"cpu": cpu}
    if gpus:
        requests[GPU] = gpus
    body = {"schedulerName": "grove-scheduler", "containers": [{"name": "c", "resources": {"requests": requests}}]}
    return msgspec.convert(body | more, PodSpec)


def pod(name: str, spec: PodSpec, *, labels: Mapping[str, str] | None = None, namespace: str = "default") -> PodView:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "labels": dict(labels or {})}
    return PodView(metadata=msgspec.convert(metadata, ObjectMeta), spec=spec)


def pending(cluster: Cluster, wanted: PodView) -> Pending:
    meta = wanted.metadata
    return Pending(meta.uid or "", meta.namespace or "", meta.name, cluster.classes.of(wanted))


def group(cluster: Cluster, name: str, count: int, wanted: PodSpec, *, minimum: int | None = None) -> Group:
    """A group of equal pods that all wait."""
    waiting = tuple(pending(cluster, pod(f"{name}-{index}", wanted)) for index in range(count))
    return Group(name, count if minimum is None else minimum, (), waiting)


def gang(
    *groups: Group,
    required: str | None = None,
    preferred: str | None = None,
    scopes: Sequence[Scope] = (),
    keys: tuple[str, ...] = KEYS,
    name: str = "",
) -> Gang:
    name = name or f"gang-{next(_numbers)}"
    root = Scope(name, Pack(required, preferred), keys, tuple(scopes), tuple(groups))
    return Gang(f"default/{name}", f"uid-{name}", root)


def occupy(cluster: Cluster, slot: int, wanted: PodSpec, name: str = "") -> Placed:
    """A pod that runs on a slot."""
    view = pod(name or f"other-{next(_numbers)}", wanted)
    placed = Placed(view.metadata.uid or "", "default", view.metadata.name, cluster.classes.of(view), slot)
    cluster.put(placed)
    return placed

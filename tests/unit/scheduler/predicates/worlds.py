"""Clusters of a few nodes under one rule, and what the rule says of a pod there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from grove.kube.objects import NodeView, PodSpec
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.predicates.rule import Rule
from tests.unit.scheduler.fleets import pod

READY = {"type": "Ready", "status": "True"}


def node(
    name: str, labels: dict[str, str] | None = None, *, meta: Any = None, status: Any = None, **spec: Any
) -> NodeView:
    body = {
        "metadata": {"name": name, "labels": labels or {}, **(meta or {})},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "pods": "9"}, "conditions": [READY], **(status or {})},
    }
    return msgspec.convert(body, NodeView)


def under(rule: Callable[[Cluster], Rule], *nodes: NodeView) -> Cluster:
    cluster = Cluster()
    cluster.obey([rule(cluster)])
    for one in nodes:
        cluster.node(one)
    return cluster


def a_class(cluster: Cluster, **spec: Any) -> PodClass:
    body = {"containers": [{"name": "c"}], **spec}
    return cluster.classes.of(pod("p", msgspec.convert(body, PodSpec)))


def places(cluster: Cluster, cls: PodClass) -> list[str]:
    """The nodes that would take a pod of the class."""
    return [cluster.names[slot] for slot in cluster.capacity(cls).nonzero()[0]]


def why(cluster: Cluster, cls: PodClass) -> list[str]:
    """What is said of each node."""
    return [", ".join(cluster.reasons(cls, slot)) for slot in range(cluster.size)]


def put(cluster: Cluster, cls: PodClass, slot: int, name: str) -> Placed:
    placed = Placed(name, "default", name, cls, slot)
    cluster.put(placed)
    return placed

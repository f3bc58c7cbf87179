"""Whether a node takes in a pod that was bound to it, judged as a kubelet does. Pure.

A scheduler that bound it knows better in most cases; where it did not, or where two were bound at once, the pod that
came later fails, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from grove.kube import demand, nodechoice
from grove.kube.demand import PODS, Amounts
from grove.kube.objects import Taint, Toleration
from grove.nodes.objects import NodeRecord, PodRecord


class Rejection(msgspec.Struct, frozen=True):
    """Why the pod fails: what its status says."""

    reason: str
    message: str


def judge(pod: PodRecord, node: NodeRecord, others: Iterable[PodRecord]) -> Rejection | None:
    """`others` are the pods that the node has taken in and that have not ended."""
    others = tuple(others)
    reason, why = next(_objections(pod, node, others), ("", ""))
    return Rejection(reason, f"Pod was rejected: {why}") if reason else None


def _objections(pod: PodRecord, node: NodeRecord, others: tuple[PodRecord, ...]) -> Iterator[tuple[str, str]]:
    """In the order in which a kubelet looks; the first one counts."""
    yield from _shortages(pod, node, others)
    labels, name = node.metadata.labels or {}, node.metadata.name
    if not nodechoice.wants(pod.spec.node_selector, pod.spec.affinity, name=name, labels=labels):
        yield (
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        )
    if _host_ports(pod) & {port for other in others for port in _host_ports(other)}:
        yield (
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        )
    for taint in node.spec.taints:
        if taint.effect == "NoExecute" and not any(_tolerates(one, taint) for one in pod.spec.tolerations):
            yield (
                "TaintToleration",
                "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
            )


def _shortages(pod: PodRecord, node: NodeRecord, others: tuple[PodRecord, ...]) -> Iterator[tuple[str, str]]:
    capacity = demand.amounts(node.status.allocatable or {})
    used: Amounts = {PODS: len(others)}
    for other in others:
        for name, amount in demand.of_pod(other.spec).items():
            used[name] = used.get(name, 0) + amount
    for name, amount in ({PODS: 1} | demand.of_pod(pod.spec)).items():
        # A resource that the node does not know at all is counted by somebody else for the whole cluster.
        if amount and name in capacity and used.get(name, 0) + amount > capacity[name]:
            numbers = f"requested: {amount}, used: {used.get(name, 0)}, capacity: {capacity[name]}"
            yield f"OutOf{name}", f"Node didn't have enough resource: {name}, {numbers}"


def _host_ports(pod: PodRecord) -> set[tuple[str, int]]:
    return {(port.protocol, port.host_port) for one in pod.spec.containers for port in one.ports if port.host_port}


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.key == taint.key and toleration.value == taint.value

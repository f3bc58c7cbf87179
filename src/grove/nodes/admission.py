"""Whether a node takes in a pod that was bound to it, judged as a kubelet does. Pure.

A scheduler that bound it knows better in most cases; where it did not, or where two were bound at once, the pod that
came later fails, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from grove.kube import demand, nodechoice
from grove.kube.demand import CPU, PODS, Amounts
from grove.kube.hostports import HostPort, host_ports
from grove.kube.taints import tolerates
from grove.nodes.objects import NodeRecord, PodRecord

REJECTED: Final = "Pod was rejected: "
"""How the message of a pod begins that was not taken in."""

FIRST_LOOKED_AT: Final = (PODS, CPU, "memory", "ephemeral-storage")


class Rejection(msgspec.Struct, frozen=True):
    """Why the pod fails: what its status says."""

    reason: str
    message: str


def judge(pod: PodRecord, node: NodeRecord, others: Iterable[PodRecord]) -> Rejection | None:
    """`others` are the pods that the node has taken in and that have not ended."""
    others = tuple(others)
    reason, why = next(_objections(pod, node, others), ("", ""))
    return Rejection(reason, f"{REJECTED}{why}") if reason else None


def _objections(pod: PodRecord, node: NodeRecord, others: tuple[PodRecord, ...]) -> Iterator[tuple[str, str]]:
    """In the order in which a kubelet looks; the first one counts."""
    yield from _shortages(pod, node, others)
    labels, name = node.metadata.labels or {}, node.metadata.name
    if not nodechoice.wants(pod.spec.node_selector, pod.spec.affinity, name=name, labels=labels):
        yield _objection("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if (ports := host_ports(pod.spec)) and any(_are_taken(ports, host_ports(other.spec)) for other in others):
        yield _objection("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    for taint in node.spec.taints:
        if taint.effect == "NoExecute" and not any(tolerates(one, taint) for one in pod.spec.tolerations):
            yield _objection("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _objection(predicate: str, why: str) -> tuple[str, str]:
    return predicate, f"Predicate {predicate} failed: {why}"


def _shortages(pod: PodRecord, node: NodeRecord, others: tuple[PodRecord, ...]) -> Iterator[tuple[str, str]]:
    asked = {PODS: 1} | demand.of_pod(pod.spec)
    capacity = demand.amounts(node.status.allocatable or {})
    used = _used(others)
    for name in sorted(asked, key=_rank):
        # An extended resource that the node does not know at all is counted by somebody else for the whole cluster.
        if not asked[name] or (name not in capacity and _is_extended(name)):
            continue
        taken, most = used.get(name, 0), capacity.get(name, 0)
        if taken + asked[name] > most:
            numbers = f"requested: {asked[name]}, used: {taken}, capacity: {most}"
            yield f"OutOf{name}", f"Node didn't have enough resource: {name}, {numbers}"


def _used(others: tuple[PodRecord, ...]) -> Amounts:
    used: Amounts = {PODS: len(others)}
    for other in others:
        for name, amount in demand.of_pod(other.spec).items():
            used[name] = used.get(name, 0) + amount
    return used


def _rank(name: str) -> tuple[int, str]:
    return FIRST_LOOKED_AT.index(name) if name in FIRST_LOOKED_AT else len(FIRST_LOOKED_AT), name


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def _are_taken(wanted: list[HostPort], taken: list[HostPort]) -> bool:
    return any(one.is_in_the_way_of(other) for one in wanted for other in taken)

"""Platform: the operating system and the abilities that a node must have for a pod. Pure.

kube-scheduler looks only at declared features; the rest a kubelet refuses when the pod has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from grove.kube.objects import NodeView, PodSpec
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.distinct import Distinct
from grove.scheduler.predicates.rule import Lenient, Mask, Slots

OS: Final = "kubernetes.io/os"
STRICT_GROUPS: Final = "supplementalGroupsPolicy"
USER_NAMESPACES: Final = "UserNamespacesHostNetworkSupport"
RESTART_ALL: Final = "RestartAllContainersOnContainerExits"

Offer: TypeAlias = tuple[str, frozenset[str]]
"""The operating system, empty where the node does not say it, and what the node can do."""


class Platform(Lenient):
    """What pods need of a node's system, and nodes say of theirs."""

    name = "Platform"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._offers: Distinct[Offer] = Distinct(("", frozenset()))

    def node_changed(self, slot: int) -> None:
        view = self._cluster.views[slot]
        self._offers.put(slot, ("", frozenset()) if view is None else offered(view))

    def is_static(self, cls: PodClass) -> bool:
        return _needs_any(cls.spec)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        needed = (_system(cls.spec), frozenset(needs(cls.spec)))
        refused = self._offers.table(needed, lambda offer: bool(_lacking(needed, offer)))
        return np.equal(refused[self._offers.codes[slots]], 0)

    def explain(self, cls: PodClass, slot: int) -> str:
        return _lacking((_system(cls.spec), frozenset(needs(cls.spec))), self._offers.says(slot))


def offered(node: NodeView) -> Offer:
    """What the node says of itself."""
    abilities = set(node.status.declared_features)
    if node.status.features is not None and node.status.features.supplemental_groups_policy:
        abilities.add(STRICT_GROUPS)
    return (node.metadata.labels or {}).get(OS, ""), frozenset(abilities)


def needs(spec: PodSpec) -> Iterator[str]:
    """The abilities without which a node refuses the pod."""
    if spec.security_context is not None and spec.security_context.supplemental_groups_policy == "Strict":
        yield STRICT_GROUPS
    if spec.host_network and spec.host_users is False:
        yield USER_NAMESPACES
    rules = (rule for one in (*spec.containers, *spec.init_containers) for rule in one.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in rules):
        yield RESTART_ALL


def _needs_any(spec: PodSpec) -> bool:
    return spec.os is not None or next(needs(spec), None) is not None


def _system(spec: PodSpec) -> str:
    return "" if spec.os is None else spec.os.name


def _lacking(needed: Offer, offer: Offer) -> str:
    system, abilities = needed
    if system and offer[0] not in ("", system):
        return f"operating system is {offer[0]}, not {system}"
    missing = sorted(abilities - offer[1])
    return f"node cannot do {', '.join(missing)}" if missing else ""

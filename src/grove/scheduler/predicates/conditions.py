"""Conditions: nodes that are ill, not yet ready or about to go take no new pods. Pure.

Here Grove is stricter than kube-scheduler, which waits until a controller has made taints of a node's conditions: for
some seconds it goes on to place pods there, and one such pod is enough to hold up a gang. And a pod that tolerates
everything may come to a node that is being emptied; here only a toleration that names the key lets it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.kube.objects import NodeView, Taint, Toleration
from grove.kube.taints import tolerates
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.distinct import Distinct
from grove.scheduler.predicates.rule import Lenient, Mask, Slots

PREFIX: Final = "node.kubernetes.io/"
BY_CONDITION: Final = {
    ("Ready", "False"): PREFIX + "not-ready",
    ("Ready", "Unknown"): PREFIX + "unreachable",
    ("MemoryPressure", "True"): PREFIX + "memory-pressure",
    ("DiskPressure", "True"): PREFIX + "disk-pressure",
    ("PIDPressure", "True"): PREFIX + "pid-pressure",
    ("NetworkUnavailable", "True"): PREFIX + "network-unavailable",
}
"""The keys of the taints that Kubernetes makes of conditions."""
LEAVING: Final = (
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
)
"""Keys of taints of nodes that are about to go, or not set up yet."""
SAID: Final = {
    PREFIX + "not-ready": "not ready",
    PREFIX + "unreachable": "unreachable",
    PREFIX + "memory-pressure": "short of memory",
    PREFIX + "disk-pressure": "short of disk space",
    PREFIX + "pid-pressure": "short of process ids",
    PREFIX + "network-unavailable": "without network",
    "ToBeDeletedByClusterAutoscaler": "about to be deleted",
    "karpenter.sh/disrupted": "about to be replaced",
    "karpenter.sh/disruption": "about to be replaced",
    "node.cloudprovider.kubernetes.io/uninitialized": "not initialized yet",
    "node.cloudprovider.kubernetes.io/shutdown": "shut down",
}
DELETED: Final = ""
"""In place of a key: the node's object is being deleted, and nothing tolerates that."""


class Conditions(Lenient):
    """What nodes' conditions, their deletion and certain taints say."""

    name = "Conditions"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sets: Distinct[tuple[str, ...]] = Distinct(())

    def node_changed(self, slot: int) -> None:
        view = self._cluster.views[slot]
        self._sets.put(slot, () if view is None else ailments(view))

    def is_static(self, cls: PodClass) -> bool:
        return True

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        if len(self._sets.values) == 1:
            return None
        tolerations = cls.spec.tolerations
        refused = self._sets.table(tolerations, lambda keys: _first(keys, tolerations) is not None)
        return np.equal(refused[self._sets.codes[slots]], 0)

    def explain(self, cls: PodClass, slot: int) -> str:
        key = _first(self._sets.says(slot), cls.spec.tolerations)
        if key is None:
            return ""
        return SAID[key] if key else "being deleted"


def ailments(node: NodeView) -> tuple[str, ...]:
    """What speaks against the node, as keys of taints."""
    found = [key for one in node.status.conditions if (key := BY_CONDITION.get((one.type, one.status))) is not None]
    if not any(one.type == "Ready" for one in node.status.conditions):
        found.append(PREFIX + "not-ready")
    found += [one.key for one in node.spec.taints if one.key in LEAVING]
    if node.metadata.deletion_timestamp is not None:
        found.append(DELETED)
    return tuple(found)


def _first(keys: tuple[str, ...], tolerations: tuple[Toleration, ...]) -> str | None:
    """The first that the tolerations do not name."""
    named = [one for one in tolerations if one.key]
    for key in keys:
        taint = Taint(key=key, effect="NoSchedule")
        if not key or not any(one.operator == "Exists" and tolerates(one, taint) for one in named):
            return key
    return None

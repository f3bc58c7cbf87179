"""Pods that other schedulers mean to put on a node soon: `status.nominatedNodeName`. Pure.

kube-scheduler asks twice about a node that it nominated others for: with them and without. The engine does the same at
once. Before it decides a gang it marks the cluster and puts those that are at least as important there, `nominated`;
afterwards it rolls back. Such a pod uses room, ports and devices, others avoid it and it avoids them; but it satisfies
no affinity and fills no domain that others are compared with, as it may never come (`crowds.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from grove.kube.objects import PodView
from grove.scheduler.cluster import Cluster, Placed


class Nominated:
    """Those there are."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster
        self._pods: dict[str, PodView] = {}
        self.version = 0
        """Grows when they are others, or elsewhere."""

    def __len__(self) -> int:
        return len(self._pods)

    def see(self, pod: PodView) -> None:
        """A pod of another scheduler came or changed."""
        uid = pod.metadata.uid or ""
        ended = pod.status.phase in ("Succeeded", "Failed")
        leaves = pod.metadata.deletion_timestamp is not None
        if pod.status.nominated_node_name and not (pod.node_name or ended or leaves):
            held = self._pods.get(uid)
            if held is None or held.status.nominated_node_name != pod.status.nominated_node_name:
                self.version += 1
            self._pods[uid] = pod
        else:
            self.gone(uid)

    def gone(self, uid: str) -> None:
        if self._pods.pop(uid, None) is not None:
            self.version += 1

    def before(self, priority: int) -> Iterator[Placed]:
        """To be put there, inside a mark, before pods of a priority are decided about."""
        for uid, pod in self._pods.items():
            slot = self._cluster.slot_of.get(pod.status.nominated_node_name)
            if slot is not None and pod.spec.priority >= priority and uid not in self._cluster.pods:
                meta = pod.metadata
                cls = self._cluster.classes.of(pod)
                yield Placed(uid, meta.namespace or "", meta.name, cls, slot, nominated=True)

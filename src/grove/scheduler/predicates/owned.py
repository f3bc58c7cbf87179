"""Owned: the nodes that the configuration gives to this scheduler. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.nodeselection import Labels
from grove.scheduler.predicates.rule import Lenient, Mask, Slots


class Owned(Lenient):
    """What `nodes.ownedNodeSelector` says."""

    name = "Owned"

    def __init__(self, cluster: Cluster, selector: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._selector = selector
        self._labels = Labels(cluster)

    def is_static(self, cls: PodClass) -> bool:
        return bool(self._selector)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        return self._labels.having(self._selector, slots)

    def explain(self, cls: PodClass, slot: int) -> str:
        view = self._cluster.views[slot]
        labels = (view and view.metadata.labels) or {}
        if all(labels.get(key) == value for key, value in self._selector.items()):
            return ""
        return "not a node of this scheduler: see ownedNodeSelector"

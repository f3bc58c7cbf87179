"""VolumeZone: a volume with the labels of a zone or region is used on nodes of it. Pure.

Nodes without any such label are in no zone that could be a wrong one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.needs import volumes_of
from grove.scheduler.predicates.rule import Lenient, Mask, Slots
from grove.scheduler.volumeneeds import ZONES

NEW_LABEL: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""What nodes may have in place of an old label of a volume."""


class VolumeZone(Lenient):
    """See the top of the module."""

    name = "VolumeZone"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def is_static(self, cls: PodClass) -> bool:
        needs = volumes_of(cls)
        return needs is not None and any(bound.zones for bound in needs.bound)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        needs = volumes_of(cls)
        if needs is None:
            return None
        anywhere = np.ones(len(slots), np.bool_)
        for key in ZONES:
            anywhere &= self._cluster.column(key).codes[slots] == 0
        found = np.ones(len(slots), np.bool_)
        for key, values in (one for bound in needs.bound for one in bound.zones):
            found &= self._having(key, values, slots)
        return found | anywhere

    def _having(self, key: str, values: tuple[str, ...], slots: Slots) -> Mask:
        column = self._cluster.column(key)
        codes = column.codes[slots]
        found = np.isin(codes, [column.find(value) for value in values])
        if key in NEW_LABEL:
            newer = self._cluster.column(NEW_LABEL[key])
            found |= (codes == 0) & np.isin(newer.codes[slots], [newer.find(value) for value in values])
        return found

    def explain(self, cls: PodClass, slot: int) -> str:
        found = self.static(cls, np.array([slot])) if self.is_static(cls) else None
        return "a volume of the pod is in another zone" if found is not None and not found[0] else ""

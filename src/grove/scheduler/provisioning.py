"""Where a volume can be made for a claim: what its storage class allows, and where its driver has room. Pure."""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.rule import Mask, Slots
from grove.scheduler.reach import Reach, by_labels, by_topology
from grove.scheduler.storage import CsiStorageCapacity, StorageClass
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumeneeds import Wanted

_MOST_KNOWN: Final = 1024


class Provisioning:
    """Remembers its answers while neither nodes nor storage change."""

    def __init__(self, cluster: Cluster, surroundings: Surroundings, reach: Reach) -> None:
        self._cluster = cluster
        self._surroundings = surroundings
        self._reach = reach
        self._known: dict[tuple[str, int | None], Mask] = {}
        self._age = (-1, -1)

    @property
    def epoch(self) -> int:
        found = self._surroundings
        return found.storage_classes.epoch + found.csi_drivers.epoch + found.csi_storage_capacities.epoch

    def mask(self, wanted: Wanted) -> Mask:
        """By slot whether one can be made there."""
        age = (self.epoch, self._cluster.reshaped.position)
        if age != self._age or len(self._known) >= _MOST_KNOWN:
            self._known.clear()
            self._age = age
        key = (wanted.storage_class, wanted.size)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._allowed(wanted) & self._has_room(wanted)
        return found

    def lacks_room(self, wanted: Wanted, slot: int) -> bool:
        """Whether it is for want of room that none can be made there."""
        return bool(self._allowed(wanted)[slot]) and not self._has_room(wanted)[slot]

    def _class(self, wanted: Wanted) -> StorageClass | None:
        return self._surroundings.storage_classes.get(wanted.storage_class)

    def _allowed(self, wanted: Wanted) -> Mask:
        size = self._cluster.size
        found = self._class(wanted)
        if found is None or not found.provisions:
            return np.zeros(size, np.bool_)
        selector = by_topology(found.allowed_topologies)
        return np.ones(size, np.bool_) if selector is None else self._reach.mask(selector, np.arange(size))

    def _has_room(self, wanted: Wanted) -> Mask:
        size = self._cluster.size
        found = self._class(wanted)
        driver = self._surroundings.csi_drivers.get(found.provisioner) if found is not None else None
        if wanted.size is None or driver is None or not driver.spec.storage_capacity:
            return np.ones(size, np.bool_)
        roomy = [
            one
            for one in self._surroundings.csi_storage_capacities
            if one.storage_class_name == wanted.storage_class and one.largest >= wanted.size
        ]
        return self._any_of(roomy, size)

    def _any_of(self, capacities: list[CsiStorageCapacity], size: int) -> Mask:
        mask = np.zeros(size, np.bool_)
        values: dict[str, set[str]] = {}
        slots: Slots = np.arange(size)
        for one in capacities:
            topology = one.node_topology
            if topology is None:
                continue  # nobody has access
            if len(topology.match_labels or {}) == 1 and not topology.match_expressions:
                # The usual case, one for each node: all are looked up at once.
                ((key, value),) = (topology.match_labels or {}).items()
                values.setdefault(key, set()).add(value)
                continue
            selector = by_labels(topology)
            if selector is None:
                return np.ones(size, np.bool_)
            mask |= self._reach.mask(selector, slots)
        for key, wanted in values.items():
            column = self._cluster.column(key)
            table = np.array([value in wanted for value in column.values], np.bool_)
            table[0] = False
            mask |= table[column.codes[:size]]
        return mask

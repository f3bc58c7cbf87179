"""NodeVolumeLimits: no more volumes of a storage driver are attached to a node than it can take. Pure.

A volume that several pods of a node use is attached once. One that is still attached, though no pod uses it any more,
takes its place too; for a new pod it counts once more, as kube-scheduler has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.columns import grown
from grove.scheduler.needs import volumes_of
from grove.scheduler.predicates.rule import Counts, Lenient
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumeneeds import Volumes

Handle: TypeAlias = tuple[str, str]
"""A volume: its driver, and how that calls it."""

FULL: Final = "as many volumes are attached as the node can take"


class NodeVolumeLimits(Lenient):
    """See the top of the module."""

    name = "NodeVolumeLimits"

    def __init__(self, cluster: Cluster, surroundings: Surroundings) -> None:
        self._cluster = cluster
        self._surroundings = surroundings
        self._limits: dict[str, Counts] = {}
        """By driver and slot; PLENTY: no limit."""
        self._limits_age = (-1, -1)
        self._users: dict[Handle, dict[int, int]] = {}
        """By volume and slot how many pods."""
        self._own: dict[str, Counts] = {}
        """By driver and slot how many volumes pods have for themselves."""
        self._taken: dict[str, Counts] = {}
        """By driver and slot how many volumes are attached or will be."""
        self._lingering: dict[int, set[Handle]] = {}
        """By slot what is attached, also where no pod uses it."""
        self._lingering_age = (-1, -1, -1)

    def is_dynamic(self, cls: PodClass) -> bool:
        needs = volumes_of(cls)
        return needs is not None and any(driver in self._limited() for driver in _drivers(needs))

    def limit(self, cls: PodClass) -> Counts | None:
        needs = volumes_of(cls)
        if needs is None:
            return None
        self._attach()
        found: Counts | None = None
        for driver, (handles, own) in _drivers(needs).items():
            if driver in self._limited():
                more = self._more(driver, handles, own)
                found = more if found is None else np.minimum(found, more)
        return found

    def explain(self, cls: PodClass, slot: int) -> str:
        found = self.limit(cls)
        return FULL if found is not None and not found[slot] else ""

    def _more(self, driver: str, handles: tuple[Handle, ...], own: int) -> Counts:
        """How many more pods each node can take, each with `own` volumes, all of them with the volumes `handles`."""
        size = self._cluster.size
        new = np.full(size, len(handles), np.int64)
        for handle in handles:
            new[[*self._users.get(handle, ())]] -= 1
        limits = self._limited()[driver][:size]
        left = limits - self._of(self._taken, driver)[:size] - new
        more = left // own if own else np.full(size, PLENTY, np.int64)
        more[left < 0] = 0
        # A pod that brings nothing new is welcome where there are too many, too.
        more[(limits == PLENTY) | ((new == 0) & (not own))] = PLENTY
        return more

    def placed(self, pod: Placed, sign: int) -> None:
        needs = volumes_of(pod.cls)
        if needs is None or not (needs.own or needs.handles):
            return
        self._attach()
        slot = pod.slot
        for driver, count in needs.own:
            self._of(self._own, driver)[slot] += sign * count
            self._of(self._taken, driver)[slot] += sign * count
        lingering = self._lingering.get(slot, ())
        for handle in needs.handles:
            users = self._users.setdefault(handle, {})
            before = users.get(slot, 0)
            users[slot] = before + sign
            if handle not in lingering and (not before or not users[slot]):
                self._of(self._taken, handle[0])[slot] += sign
            if not users[slot]:
                del users[slot]
            if not users:
                del self._users[handle]

    def _of(self, counts: dict[str, Counts], driver: str) -> Counts:
        found = counts.get(driver)
        room = self._cluster.alive.shape[0]
        if found is None or len(found) < room:
            found = counts[driver] = grown(np.zeros(0, np.int64) if found is None else found, room)
        return found

    def _limited(self) -> Mapping[str, Counts]:
        """What nodes can take, of drivers that say so."""
        age = (self._surroundings.csi_nodes.epoch, self._cluster.reshaped.position)
        if age != self._limits_age:
            self._limits_age = age
            self._limits = {}
            for node in self._surroundings.csi_nodes:
                slot = self._cluster.slot_of.get(node.metadata.name)
                for driver in node.spec.drivers if slot is not None else ():
                    if driver.allocatable.count is not None:
                        if driver.name not in self._limits:
                            self._limits[driver.name] = np.full(self._cluster.size, PLENTY, np.int64)
                        self._limits[driver.name][slot] = driver.allocatable.count
        return self._limits

    def _attach(self) -> None:
        """Counts anew what is attached, if that may differ."""
        found = self._surroundings
        age = (found.volume_attachments.epoch, found.persistent_volumes.epoch, self._cluster.reshaped.position)
        if age == self._lingering_age:
            return
        self._lingering_age = age
        self._lingering = {}
        for one in found.volume_attachments:
            slot = self._cluster.slot_of.get(one.spec.node_name)
            volume = found.persistent_volumes.get(one.spec.source.persistent_volume_name)
            if slot is not None and volume is not None and volume.spec.csi is not None and one.spec.attacher:
                self._lingering.setdefault(slot, set()).add((one.spec.attacher, volume.spec.csi.volume_handle))
        self._taken = {driver: counts.copy() for driver, counts in self._own.items()}
        for handle, users in self._users.items():
            self._of(self._taken, handle[0])[[*users]] += 1
        for slot, handles in self._lingering.items():
            for driver, name in handles:
                if slot not in self._users.get((driver, name), ()):
                    self._of(self._taken, driver)[slot] += 1


def _drivers(needs: Volumes) -> dict[str, tuple[tuple[Handle, ...], int]]:
    """By driver the volumes that all pods of the class share, and how many each has of its own."""
    found: dict[str, tuple[tuple[Handle, ...], int]] = {driver: ((), count) for driver, count in needs.own}
    for handle in needs.handles:
        shared, own = found.get(handle[0], ((), 0))
        found[handle[0]] = ((*shared, handle), own)
    return found

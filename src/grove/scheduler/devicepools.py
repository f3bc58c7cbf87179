"""The devices of the cluster, in the order in which they are given away, and where each can be used. Pure.

Devices that differ in nothing but their names are of one kind: whether an expression chooses them is found out once.
Only the newest generation of a pool counts, and only when all of its slices are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from grove.kube.affinity import NodeSelector
from grove.scheduler.cluster import Cluster
from grove.scheduler.devices import Device, DeviceId, ResourceSlice
from grove.scheduler.reach import Reach
from grove.scheduler.surroundings import Surroundings


class Kind(NamedTuple):
    """Devices that are alike."""

    driver: str
    device: Device
    """One of them."""
    strange: str
    """What they need that Grove does not know; empty: nothing."""


class Offer(NamedTuple):
    """A device."""

    id: DeviceId
    kind: int
    node: str
    """The one node that it can be used on; empty: several."""
    reach: NodeSelector | None
    """Those; None: all."""


class Pools:
    """Read anew when slices or nodes have changed."""

    def __init__(self, cluster: Cluster, surroundings: Surroundings, reach: Reach) -> None:
        self._cluster = cluster
        self._slices = surroundings.resource_slices
        self._reach = reach
        self._age = (-1, -1)
        self.kinds: list[Kind] = []
        self.offers: list[Offer] = []
        """In the order in which they are tried."""
        self.number: dict[DeviceId, int] = {}
        self._everywhere: list[int] = []
        self._at: dict[int, list[int]] = {}
        self._flaws: dict[int, list[str]] = {}
        self._flaws_everywhere: list[str] = []
        self._kind_of: dict[bytes, int] = {}

    @property
    def age(self) -> tuple[int, int]:
        """Differs whenever the pools do."""
        self._refresh()
        return self._age

    def at(self, slot: int) -> Sequence[int]:
        """The devices that can be used on a slot, in their order."""
        own = self._at.get(slot)
        return self._everywhere if own is None else sorted((*own, *self._everywhere)) if self._everywhere else own

    def flaws(self, slot: int) -> Sequence[str]:
        """What is wrong with pools that have devices for a slot."""
        return (*self._flaws.get(slot, ()), *self._flaws_everywhere)

    def slots(self, number: int) -> Sequence[int] | None:
        """The slots that a device can be used on; None: all."""
        offer = self.offers[number]
        return self._slots(offer.node, offer.reach)

    def _slots(self, node: str, reach: NodeSelector | None) -> Sequence[int] | None:
        if node:
            slot = self._cluster.slot_of.get(node)
            return () if slot is None else (slot,)
        return None if reach is None else self._reach.slots(reach).tolist()

    def _refresh(self) -> None:
        age = (self._slices.epoch, self._cluster.reshaped.position)
        if age == self._age:
            return
        self._age = age
        self.kinds, self.offers, self.number = [], [], {}
        self._everywhere, self._at, self._flaws, self._flaws_everywhere, self._kind_of = [], {}, {}, [], {}
        pools: dict[tuple[str, str], list[ResourceSlice]] = {}
        for one in self._slices:
            pools.setdefault((one.spec.driver, one.spec.pool.name), []).append(one)
        for (driver, name), slices in sorted(pools.items()):
            self._read(driver, name, slices)

    def _read(self, driver: str, name: str, slices: list[ResourceSlice]) -> None:
        newest = max(one.spec.pool.generation for one in slices)
        current = sorted(
            (one for one in slices if one.spec.pool.generation == newest), key=lambda one: one.metadata.name
        )
        names = [device.name for one in current for device in one.spec.devices]
        flaw = ""
        if len(current) != current[0].spec.pool.resource_slice_count:
            flaw = f"device pool {driver}/{name} is being changed"
        elif len(set(names)) < len(names):
            flaw = f"device pool {driver}/{name} has two devices of one name"
        for one in current:
            spec = one.spec
            slots = self._slots(spec.node_name, spec.node_selector)
            if spec.node_name or spec.node_selector or spec.all_nodes or spec.per_device_node_selection:
                if flaw:
                    self._note_flaw(flaw, slots)
                else:
                    self._offer(one, slots)

    def _note_flaw(self, flaw: str, slots: Sequence[int] | None) -> None:
        if slots is None:
            self._flaws_everywhere.append(flaw)
        else:
            for slot in slots:
                self._flaws.setdefault(slot, []).append(flaw)

    def _offer(self, one: ResourceSlice, slots: Sequence[int] | None) -> None:
        spec = one.spec
        for device in spec.devices:
            strange = "devices that choose their nodes each" if spec.per_device_node_selection else device.strange
            kind = self._kind(Kind(spec.driver, device, strange))
            number = len(self.offers)
            found = DeviceId(spec.driver, spec.pool.name, device.name)
            self.offers.append(Offer(found, kind, spec.node_name, spec.node_selector))
            self.number[found] = number
            if slots is None:
                self._everywhere.append(number)
            else:
                for slot in slots:
                    self._at.setdefault(slot, []).append(number)

    def _kind(self, found: Kind) -> int:
        device = found.device
        key = _encode((found.driver, found.strange, device.attributes, device.capacity, device.taints))
        known = self._kind_of.get(key)
        if known is None:
            known = self._kind_of[key] = len(self.kinds)
            self.kinds.append(found)
        return known


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode

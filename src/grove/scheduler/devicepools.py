"""The devices of the cluster, in the order in which they are given away, and where each can be used. Pure.

Devices that differ in nothing but their names are of one kind: whether an expression chooses them is found out once.
Only the newest generation of a pool counts, and only when all of its slices are there. When slices change, their pools
alone are read anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from grove.kube.affinity import NodeSelector
from grove.scheduler.cluster import Cluster
from grove.scheduler.devices import Device, DeviceId, ResourceSlice
from grove.scheduler.promises import Changes
from grove.scheduler.reach import Reach
from grove.scheduler.surroundings import Surroundings

PoolKey: TypeAlias = tuple[str, str]
"""Driver and name."""


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


class _Part(NamedTuple):
    """The devices of a slice."""

    node: str
    reach: NodeSelector | None
    offers: tuple[Offer, ...]


class _Pool(NamedTuple):
    parts: tuple[_Part, ...]
    flaw: str
    """What is wrong with it; empty: nothing."""

    @property
    def nodes(self) -> frozenset[str]:
        """Where its devices can be used; with an empty name: on several nodes at once."""
        return frozenset(part.node for part in self.parts)


class Pools:
    """See the top of the module."""

    def __init__(self, cluster: Cluster, surroundings: Surroundings, reach: Reach) -> None:
        self._cluster = cluster
        self._slices = surroundings.resource_slices
        self._reach = reach
        self._read = 0
        self.kinds: Final[list[Kind]] = []
        """Only ever more."""
        self._kind_of: dict[bytes, int] = {}
        self._pool_of: dict[str, PoolKey] = {}
        self._slices_of: dict[PoolKey, dict[str, ResourceSlice]] = {}
        self._pools: dict[PoolKey, _Pool] = {}
        self._on: dict[str, dict[PoolKey, None]] = {}
        """By node its pools; with an empty name those of several."""
        self._nodes: dict[DeviceId, str] = {}
        self._changes: Changes[str] = Changes()

    @property
    def position(self) -> int:
        """Of the log of what changed."""
        self._refresh()
        return self._changes.position

    def since(self, position: int) -> list[str] | None:
        """The nodes whose devices changed after a position, an empty name for several; None: too long ago to know."""
        self._refresh()
        return self._changes.since(position)

    def at(self, slot: int) -> tuple[list[Offer], tuple[str, ...]]:
        """The devices that can be used on a slot, in their order, and what is wrong with its pools."""
        node = self._cluster.names[slot]
        keys: Sequence[PoolKey] = [*self._on.get(node, ())]
        if wide := self._on.get(""):
            keys = [*dict.fromkeys((*keys, *wide))]
        offers: list[Offer] = []
        flaws = []
        for key in sorted(keys) if len(keys) > 1 else keys:
            pool = self._pools[key]
            parts = [one for one in pool.parts if (one.node == node if one.node else self._reaches(one.reach, slot))]
            if pool.flaw and parts:
                flaws.append(pool.flaw)
            for part in parts if not pool.flaw else ():
                offers += part.offers
        return offers, tuple(flaws)

    def node(self, device: DeviceId) -> str | None:
        """Where a device can be used; empty: on several nodes; None: there is no such device."""
        return self._nodes.get(device)

    def _reaches(self, reach: NodeSelector | None, slot: int) -> bool:
        return reach is None or self._reach.reaches(reach, slot)

    # Reading

    def _refresh(self) -> None:
        epoch = self._slices.epoch
        if self._read == epoch:
            return
        changed = self._slices.since(self._read)
        self._read = epoch
        names = [name for _, name in changed] if changed is not None else self._all_names()
        touched: dict[PoolKey, None] = {}
        for name in dict.fromkeys(names):
            touched.update(dict.fromkeys(self._move(name)))
        for key in touched:
            self._build(key)

    def _all_names(self) -> list[str]:
        return [*self._pool_of, *(one.metadata.name for one in self._slices)]

    def _move(self, name: str) -> Iterator[PoolKey]:
        """Puts a slice into its pool; gives the pools that it was in and is in."""
        before, found = self._pool_of.pop(name, None), self._slices.get(name)
        if before is not None:
            del self._slices_of[before][name]
            yield before
        if found is not None:
            key = self._pool_of[name] = (found.spec.driver, found.spec.pool.name)
            self._slices_of.setdefault(key, {})[name] = found
            yield key

    def _build(self, key: PoolKey) -> None:
        before = self._pools.pop(key, None)
        for part in before.parts if before is not None else ():
            for offer in part.offers:
                self._nodes.pop(offer.id, None)
        for node in before.nodes if before is not None else ():
            del self._on[node][key]
        slices = [*self._slices_of[key].values()]
        if slices:
            pool = self._pools[key] = self._pool(key, slices)
            for part in pool.parts:
                self._nodes.update((offer.id, offer.node) for offer in part.offers)
            for node in pool.nodes:
                self._on.setdefault(node, {})[key] = None
        else:
            del self._slices_of[key]
        for found in (before, self._pools.get(key)):
            for node in sorted(found.nodes) if found is not None else ():
                self._changes.append(node)

    def _pool(self, key: PoolKey, slices: list[ResourceSlice]) -> _Pool:
        driver, name = key
        newest = max(one.spec.pool.generation for one in slices)
        current = [one for one in slices if one.spec.pool.generation == newest]
        names = [device.name for one in current for device in one.spec.devices]
        flaw = ""
        if len(current) != current[0].spec.pool.resource_slice_count:
            flaw = f"device pool {driver}/{name} is being changed"
        elif len(set(names)) < len(names):
            flaw = f"device pool {driver}/{name} has two devices of one name"
        return _Pool(tuple(self._parts(sorted(current, key=lambda one: one.metadata.name))), flaw)

    def _parts(self, slices: list[ResourceSlice]) -> Iterator[_Part]:
        for one in slices:
            spec = one.spec
            if not (spec.node_name or spec.node_selector or spec.all_nodes or spec.per_device_node_selection):
                continue  # a way to say where that came after us, or counters
            offers = tuple(self._offer(one, device) for device in spec.devices)
            yield _Part(spec.node_name, spec.node_selector, offers)

    def _offer(self, one: ResourceSlice, device: Device) -> Offer:
        spec = one.spec
        strange = "devices that choose their nodes each" if spec.per_device_node_selection else device.strange
        found = DeviceId(spec.driver, spec.pool.name, device.name)
        return Offer(found, self._kind(Kind(spec.driver, device, strange)), spec.node_name, spec.node_selector)

    def _kind(self, found: Kind) -> int:
        device = found.device
        key = _encode((found.driver, found.strange, device.attributes, device.capacity, device.taints))
        known = self._kind_of.get(key)
        if known is None:
            known = self._kind_of[key] = len(self.kinds)
            self.kinds.append(found)
        return known


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode

"""How many pods of a class find devices on each node, when they come one after the other. Pure.

Nodes with equal devices, of which the same are free, are counted once. A node is counted again when a device of it was
taken or given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.allocator import Given, Impossible, Search
from grove.scheduler.cluster import PLENTY, Cluster
from grove.scheduler.columns import grown
from grove.scheduler.devicematch import Matches, Profiles
from grove.scheduler.deviceneeds import ClaimNeed
from grove.scheduler.devicepools import Offer, Pools
from grove.scheduler.devicestaken import Taken
from grove.scheduler.predicates.rule import Counts

_MOST_KNOWN: Final = 65_536


class _Position(NamedTuple):
    """In the logs of what changed."""

    taken: tuple[int, int]
    pools: int
    nodes: int


class DeviceDraw:
    """For the claims of a class, while device classes stay."""

    def __init__(
        self, claims: tuple[ClaimNeed, ...], cluster: Cluster, pools: Pools, taken: Taken, matches: Matches
    ) -> None:
        """`claims` are those that have no devices yet."""
        self.claims: Final = claims
        self._own = tuple(one for one in claims if not one.claim)
        self._cluster = cluster
        self._pools = pools
        self._taken = taken
        self._profiles = Profiles(claims, pools.kinds, matches)
        self._known: dict[tuple[tuple[int, ...], tuple[bool, ...], tuple[str, ...]], tuple[int, str]] = {}
        self._counts: Counts = np.zeros(0, np.int64)
        self._position: _Position | None = None

    def counts(self) -> Counts:
        """By slot. Do not change it. Sees what has changed; all else here asks it first."""
        position = _Position(self._taken.position, self._pools.position, self._cluster.reshaped.position)
        if self._position != position:
            self._counts = grown(self._counts, self._cluster.size)
            for slot in self._changed(position):
                self._counts[slot] = self._look(slot)[0]
            self._position = position
        return self._counts

    def reason(self, slot: int) -> str:
        """Why not even one pod finds what it needs there; empty: it does."""
        self.counts()
        return self._look(slot)[1]

    def choose(self, slot: int) -> tuple[tuple[Given, ...], Sequence[Offer]] | None:
        """What the next pod gets there, and the devices that were offered."""
        self.counts()
        offers, profiles, taken, flaws = self._offered(slot)
        try:
            found = self._search(self.claims, profiles, taken, flaws)
        except Impossible:
            return None
        return found, offers

    def _changed(self, position: _Position) -> Iterable[int]:
        everywhere, before = range(self._cluster.size), self._position
        if before is None:
            return everywhere
        devices, nodes = self._taken.since(before.taken), self._pools.since(before.pools)
        slots = self._cluster.reshaped.since(before.nodes)
        if devices is None or nodes is None or slots is None:
            return everywhere
        found: dict[int, None] = dict.fromkeys(slots.tolist())
        names = dict.fromkeys((*nodes, *(self._pools.node(device) for device in devices)))
        if "" in names:
            return everywhere
        for name in names:
            slot = None if name is None else self._cluster.slot_of.get(name)
            if slot is not None:
                found[slot] = None
        return found

    def _offered(self, slot: int) -> tuple[list[Offer], tuple[int, ...], tuple[bool, ...], tuple[str, ...]]:
        if not self._cluster.alive[slot]:
            return [], (), (), ()
        offers, flaws = self._pools.at(slot)
        profiles = tuple([self._profiles.of(one.kind) for one in offers])
        return offers, profiles, tuple([one.id in self._taken for one in offers]), flaws

    def _look(self, slot: int) -> tuple[int, str]:
        key = self._offered(slot)[1:]
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._count(*key)
        return found

    def _count(self, profiles: tuple[int, ...], taken: tuple[bool, ...], flaws: tuple[str, ...]) -> tuple[int, str]:
        left, turn, claims = [*taken], 0, self.claims
        while claims:
            try:
                found = self._search(claims, profiles, left, flaws)
            except Impossible as error:
                return turn, "" if turn else str(error)
            for one in found:
                left[one.device] = True
            # A claim that pods share gets its devices once.
            turn, claims = turn + 1, self._own
        return PLENTY, ""

    def _search(
        self, claims: tuple[ClaimNeed, ...], profiles: Sequence[int], taken: Sequence[bool], flaws: Sequence[str]
    ) -> tuple[Given, ...]:
        return Search(claims, self._profiles, offered=profiles, taken=taken, flaws=flaws).run()

"""How many pods of a class find devices on each node, when they come one after the other. Pure.

Nodes with equal devices, of which the same are free, are counted once. A node is counted again when a device of it was
taken or given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from grove.scheduler.allocator import Given, Impossible, Matches, Search
from grove.scheduler.cluster import PLENTY
from grove.scheduler.deviceneeds import ClaimNeed
from grove.scheduler.devicepools import Pools
from grove.scheduler.devicestaken import Taken
from grove.scheduler.predicates.rule import Counts

_MOST_KNOWN: Final = 65_536


class DeviceDraw:
    """For one class, while devices and nodes stay."""

    def __init__(
        self, claims: tuple[ClaimNeed, ...], pools: Pools, taken: Taken, matches: Matches, *, size: int
    ) -> None:
        """`claims` are those that have no devices yet."""
        self.claims: Final = claims
        self._own = tuple(one for one in claims if not one.claim)
        self._pools = pools
        self._taken = taken
        self._matches = matches
        self._known: dict[tuple[tuple[int, ...], tuple[bool, ...], tuple[str, ...]], tuple[int, str]] = {}
        self._counts: Counts = np.zeros(size, np.int64)
        self._position = (-1, -1)

    def counts(self) -> Counts:
        """By slot. Do not change it."""
        position = self._taken.position
        if self._position != position:
            for slot in self._changed():
                self._counts[slot] = self._look(slot)[0]
            self._position = position
        return self._counts

    def reason(self, slot: int) -> str:
        """Why not even one pod finds what it needs there; empty: it does."""
        return self._look(slot)[1]

    def choose(self, slot: int) -> tuple[tuple[Given, ...], Sequence[int]] | None:
        """What the next pod gets there, and the numbers of the devices that were offered."""
        offered, kinds, taken = self._offered(slot)
        try:
            found = self._search(self.claims, kinds, taken, tuple(self._pools.flaws(slot)))
        except Impossible:
            return None
        return found, offered

    def _changed(self) -> Iterable[int]:
        everywhere = range(len(self._counts))
        devices = None if self._position[0] < 0 else self._taken.since(self._position)
        if devices is None:
            return everywhere
        found: dict[int, None] = {}
        for device in dict.fromkeys(devices):
            number = self._pools.number.get(device)
            slots = () if number is None else self._pools.slots(number)
            if slots is None:
                return everywhere
            found.update(dict.fromkeys(slots))
        return found

    def _offered(self, slot: int) -> tuple[Sequence[int], tuple[int, ...], tuple[bool, ...]]:
        offered = self._pools.at(slot)
        offers = [self._pools.offers[number] for number in offered]
        return offered, tuple(one.kind for one in offers), tuple(one.id in self._taken for one in offers)

    def _look(self, slot: int) -> tuple[int, str]:
        _, kinds, taken = self._offered(slot)
        key = (kinds, taken, tuple(self._pools.flaws(slot)))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._count(*key)
        return found

    def _count(self, kinds: tuple[int, ...], taken: tuple[bool, ...], flaws: tuple[str, ...]) -> tuple[int, str]:
        left, turn, claims = [*taken], 0, self.claims
        while claims:
            try:
                found = self._search(claims, kinds, left, flaws)
            except Impossible as error:
                return turn, "" if turn else str(error)
            for one in found:
                left[one.device] = True
            # A claim that pods share gets its devices once.
            turn, claims = turn + 1, self._own
        return PLENTY, ""

    def _search(
        self, claims: tuple[ClaimNeed, ...], kinds: Sequence[int], taken: Sequence[bool], flaws: Sequence[str]
    ) -> tuple[Given, ...]:
        return Search(claims, self._pools.kinds, self._matches, offered=kinds, taken=taken, flaws=flaws).run()

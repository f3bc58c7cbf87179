"""How many pods of a class find volumes on each node, when they come one after the other. Pure.

Nodes are sorted by what can be used and made there, which changes seldom; each kind of node is counted once, and again
when a volume of it was promised or taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.cluster import PLENTY
from grove.scheduler.predicates.rule import Counts, Mask
from grove.scheduler.promises import Promises
from grove.scheduler.reach import Reach
from grove.scheduler.volumematch import Volume
from grove.scheduler.volumeneeds import Wanted


class _Kind(NamedTuple):
    """Slots that are alike: the same volumes can be used there, and volumes made for the same claims."""

    volumes: tuple[int, ...]
    makes: tuple[bool, ...]


class Draw:
    """How many pods of a class find volumes, by slot. Slots are counted by their kind."""

    def __init__(
        self,
        age: tuple[int, ...],
        wanted: tuple[Wanted, ...],
        *,
        offers: Sequence[Sequence[Volume]],
        makes: Sequence[Mask],
        reach: Reach,
        promises: Promises,
    ) -> None:
        """`offers` and `makes` are for each claim the volumes that fit it, and where one can be made for it."""
        self.age: Final = age
        self.wanted: Final = wanted
        self._promises = promises
        self._volumes: list[Volume] = []
        self._fits: list[tuple[bool, ...]] = []
        self._number: dict[str, int] = {}
        self._gather(offers)
        self._kinds: list[_Kind] = []
        self._kind_of: Counts = np.zeros(len(makes[0]), np.int64)
        self._kinds_with: list[list[int]] = [[] for _ in self._volumes]
        self._sort_slots(makes, reach)
        self._counts: Counts = np.array([self._count(kind) for kind in self._kinds], np.int64)
        self._position = promises.volume_log.position

    def _gather(self, offers: Sequence[Sequence[Volume]]) -> None:
        fits: dict[Volume, list[bool]] = {}
        for at, found in enumerate(offers):
            for volume in found:
                fits.setdefault(volume, [False] * len(offers))[at] = True
        for volume in sorted(fits, key=lambda one: (one.size, one.name)):
            self._number[volume.name] = len(self._volumes)
            self._volumes.append(volume)
            self._fits.append(tuple(fits[volume]))

    def _sort_slots(self, makes: Sequence[Mask], reach: Reach) -> None:
        everywhere: list[int] = []
        some: dict[int, list[int]] = {}
        for number, volume in enumerate(self._volumes):
            if volume.reach is None:
                everywhere.append(number)
            else:
                for slot in reach.slots(volume.reach).tolist():
                    some.setdefault(slot, []).append(number)
        made = np.stack(makes, axis=1).tolist()
        known: dict[_Kind, int] = {}
        usual = tuple(everywhere)
        for slot in range(len(made)):
            own = some.get(slot)
            kind = _Kind(tuple(sorted(everywhere + own)) if own else usual, tuple(made[slot]))
            if kind not in known:
                for at in kind.volumes:
                    self._kinds_with[at].append(len(self._kinds))
                known[kind] = len(self._kinds)
                self._kinds.append(kind)
            self._kind_of[slot] = known[kind]

    def counts(self) -> Counts:
        changes = self._promises.volume_log
        if self._position != changes.position:
            names = changes.since(self._position)
            changed = range(len(self._volumes)) if names is None else self._numbers(names)
            for kind in {kind for volume in changed for kind in self._kinds_with[volume]}:
                self._counts[kind] = self._count(self._kinds[kind])
            self._position = changes.position
        return self._counts[self._kind_of]

    def pick(self, slot: int) -> list[str]:
        """For each claim of the next pod the volume that it gets on a slot; empty: none."""
        kind = self._kinds[self._kind_of[slot]]
        picked = [""] * len(self.wanted)
        for at, found in self._drawn(range(len(self.wanted)), kind, self._free(kind)):
            if found is not None:
                picked[at] = self._volumes[found].name
        return picked

    def _free(self, kind: _Kind) -> list[int]:
        promised = self._promises.volumes
        return [number for number in kind.volumes if self._volumes[number].name not in promised]

    def _numbers(self, names: Iterable[str]) -> set[int]:
        return {self._number[name] for name in names if name in self._number}

    def _count(self, kind: _Kind) -> int:
        """How many pods one after the other find what they need."""
        if all(kind.makes):
            return PLENTY
        free = self._free(kind)
        wanted = [*range(len(self.wanted))]
        for turn in range(len(free) + 1):
            for at, found in self._drawn(wanted, kind, free):
                if found is not None:
                    free.remove(found)
                elif not kind.makes[at]:
                    return turn
            # A claim that pods share is drawn for once.
            wanted = [at for at in wanted if not self.wanted[at].claim]
            if not wanted:
                return PLENTY
        return PLENTY

    def _drawn(self, wanted: Sequence[int], kind: _Kind, free: Sequence[int]) -> Iterator[tuple[int, int | None]]:
        """The claims of one pod, each with the volume that it gets, if there is one."""
        left = [*free]
        for at in wanted:
            found = next((number for number in left if self._fits[number][at]), None)
            if found is not None:
                left.remove(found)
            yield at, found

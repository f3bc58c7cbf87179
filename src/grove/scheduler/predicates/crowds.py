"""How many pods are where, as far as the rules about neighbours ask. Pure.

A crowd is the pods that some selections match; a tally is a crowd by domain of one label key, kept up to date with
every pod that comes or goes. `Crowds` knows of each class how many of its pods are on each slot, so that a tally can be
begun at any time and forgotten at any time: what is asked for again is counted again.

It is a rule only to be told of pods, and is shared by the rules that ask. These keep tallies for as long as
`generation` gives the same number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Final, TypeAlias

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.columns import Column, grown
from grove.scheduler.predicates.rule import Counts, Lenient, Mask
from grove.scheduler.predicates.selectors import Labels, Place, Selection, filed, sought
from grove.scheduler.surroundings import Surroundings

HERE: Final = 0
LEAVING: Final = 1
"""Terminating."""
COMING: Final = 2
"""Nominated by another scheduler."""
_KINDS: Final = 3
_FEW: Final = 64
"""So many domains, and more where there are many, are kept one by one."""
_ROOM: Final = 8192
"""So many classes and crowds more than needed are remembered."""

Selections: TypeAlias = tuple[Selection, ...]
"""Pods that match all of them."""


def kind_of(pod: Placed) -> int:
    return COMING if pod.nominated else LEAVING if pod.terminating else HERE


class Area:
    """The slots whose pods count. Changes only for slots without pods."""

    __slots__ = ("mask",)

    def __init__(self, mask: Mask) -> None:
        self.mask = mask


class Tally:
    """Numbers of pods by the codes of a column; what is on nodes without the label is in none.

    Most crowds are the pods of one gang, and in few of the domains that hosts are.
    """

    __slots__ = ("_coming", "_few", "_many", "area", "column", "expected", "pods", "staying", "version")

    def __init__(self, column: Column, *, staying: bool = False, area: Area | None = None) -> None:
        self.column: Final = column
        self.staying: Final = staying
        """Whether terminating pods do not count."""
        self.area: Final = area
        self.pods = 0
        """In all domains."""
        self.expected = 0
        """Of those that are coming."""
        self.version = 0
        """Grows with each change."""
        self._few: dict[int, int] = {}
        self._many: Counts | None = None
        """In place of `_few`, once they are many."""
        self._coming: dict[int, int] = {}

    def add(self, slot: int, kind: int, pods: int, weight: int = 1) -> None:
        """So many pods more."""
        if self.staying and kind == LEAVING:
            return
        code = int(self.column.codes[slot])
        if not code or (self.area is not None and not self.area.mask[slot]):
            return
        self.version += 1
        if kind == COMING:
            self.expected += pods
            _add(self._coming, code, pods * weight)
            return
        self.pods += pods
        if self._many is not None:
            if code >= len(self._many):
                self._many = grown(self._many, 2 * len(self.column.values))
            self._many[code] += pods * weight
            return
        _add(self._few, code, pods * weight)
        if len(self._few) > _FEW + len(self.column.values) // _FEW:
            self._many = self.counts
            self._few = {}

    @property
    def counts(self) -> Counts:
        """By code, at least as many as there are; not to be changed."""
        values = len(self.column.values)
        if self._many is None:
            return _by_code(self._few, values)
        if len(self._many) < values:
            self._many = grown(self._many, 2 * values)
        return self._many

    @property
    def with_coming(self) -> Counts:
        """The same with those that are coming."""
        found = self.counts
        return found + _by_code(self._coming, len(found)) if self._coming else found


def _add(numbers: dict[int, int], code: int, more: int) -> None:
    left = numbers.get(code, 0) + more
    if left:
        numbers[code] = left
    else:
        numbers.pop(code, None)


def _by_code(numbers: dict[int, int], size: int) -> Counts:
    found = np.zeros(size, np.int64)
    if numbers:
        found[[*numbers]] = [*numbers.values()]
    return found


class _Present:
    """Where the pods of a class are."""

    __slots__ = ("cls", "crowds", "where")

    def __init__(self, cls: PodClass) -> None:
        self.cls: Final = cls
        self.where: Final[dict[int, int]] = {}
        """By slot and kind in one number."""
        self.crowds: list[_Crowd] = []


class _Crowd:
    """Pods that match selections."""

    __slots__ = ("classes", "selections", "tallies")

    def __init__(self, selections: Selections) -> None:
        self.selections: Final = selections
        self.classes: Final[list[_Present]] = []
        self.tallies: Final[dict[Hashable, Tally]] = {}


class Crowds(Lenient):
    """See the top of the module."""

    name = "Crowds"

    def __init__(self, cluster: Cluster, surroundings: Surroundings) -> None:
        self._cluster: Final = cluster
        self._namespaces: Final = surroundings.namespaces
        self._namespaces_epoch = surroundings.namespaces.epoch
        self._heeds_namespaces = False
        self._generation = 0
        self._present: dict[int, _Present] = {}
        self._present_at: dict[Place, list[_Present]] = {}
        self._crowds: dict[Selections, _Crowd] = {}
        self._crowds_at: dict[Place, list[_Crowd]] = {}
        self._bound = _ROOM

    def generation(self) -> int:
        """Tallies and matches that were given under another number are worth nothing."""
        if self._namespaces_epoch != self._namespaces.epoch:
            self._namespaces_epoch = self._namespaces.epoch
            if self._heeds_namespaces:
                self._forget()
        if len(self._present) + len(self._crowds) > self._bound:
            self._forget()
            self._present = {number: one for number, one in self._present.items() if one.where}
            self._present_at = {}
            for one in self._present.values():
                self._file(one)
            self._bound = 2 * len(self._present) + _ROOM
        return self._generation

    def matches(self, selections: Selections, cls: PodClass) -> bool:
        """Whether pods of a class match all."""
        return all(one.matches(cls.namespace, cls.labels, self._labels_of) for one in selections)

    def tally(self, selections: Selections, key: str, *, staying: bool = False, area: Area | None = None) -> Tally:
        """The crowd by domain of a label key."""
        crowd = self._crowds.get(selections) or self._gather(selections)
        which = (key, staying, id(area))  # the tally holds the area, so that no other gets its id
        tally = crowd.tallies.get(which)
        if tally is None:
            tally = crowd.tallies[which] = Tally(self._cluster.column(key), staying=staying, area=area)
            for present in crowd.classes:
                for at, pods in present.where.items():
                    tally.add(at // _KINDS, at % _KINDS, pods)
        return tally

    def placed(self, pod: Placed, sign: int) -> None:
        present = self._present.get(pod.cls.number)
        if present is None:
            present = self._meet(pod.cls)
        slot, kind = pod.slot, kind_of(pod)
        at = slot * _KINDS + kind
        left = present.where.get(at, 0) + sign
        if left:
            present.where[at] = left
        else:
            del present.where[at]
        for crowd in present.crowds:
            for tally in crowd.tallies.values():
                tally.add(slot, kind, sign)

    def statistics(self) -> Mapping[str, int]:
        return {"classes": len(self._present), "crowds": len(self._crowds)}

    def _meet(self, cls: PodClass) -> _Present:
        present = self._present[cls.number] = _Present(cls)
        self._file(present)
        for place in sought(cls.namespace, cls.labels):
            for crowd in self._crowds_at.get(place, ()):
                self._join(crowd, present)
        return present

    def _file(self, present: _Present) -> None:
        for place in sought(present.cls.namespace, present.cls.labels):
            self._present_at.setdefault(place, []).append(present)

    def _gather(self, selections: Selections) -> _Crowd:
        unheard = {key for one in selections for key in one.keys} - self._cluster.classes.label_keys
        if unheard:
            raise ValueError(f"pods were classed before selectors' keys were announced: {sorted(unheard)}")
        crowd = self._crowds[selections] = _Crowd(selections)
        for place in filed(selections[0]):
            self._crowds_at.setdefault(place, []).append(crowd)
            for present in self._present_at.get(place, ()):
                self._join(crowd, present)
        return crowd

    def _join(self, crowd: _Crowd, present: _Present) -> None:
        if self.matches(crowd.selections, present.cls):
            crowd.classes.append(present)
            present.crowds.append(crowd)

    def _forget(self) -> None:
        self._generation += 1
        self._heeds_namespaces = False
        self._crowds = {}
        self._crowds_at = {}
        for present in self._present.values():
            present.crowds = []

    def _labels_of(self, namespace: str) -> Labels:
        self._heeds_namespaces = True
        return self._namespaces.get(namespace) or {}

    # For the tests

    def recount(self) -> Iterator[str]:
        """What differs between the tallies and a count from scratch; nothing, unless there is a defect."""
        for crowd in self._crowds.values():
            for which, tally in crowd.tallies.items():
                again = Tally(tally.column, staying=tally.staying, area=tally.area)
                for pod in self._cluster.pods.values():
                    if self.matches(crowd.selections, pod.cls):
                        again.add(pod.slot, kind_of(pod), 1)
                if any(
                    (
                        (again.pods, again.expected) != (tally.pods, tally.expected),
                        not np.array_equal(again.counts, tally.counts[: len(again.counts)]),
                        not np.array_equal(again.with_coming, tally.with_coming[: len(again.counts)]),
                    )
                ):
                    yield f"{crowd.selections} by {which}: {tally.pods} pods, counted {again.pods}"

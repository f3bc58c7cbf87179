"""Room for gangs that have waited too long: it grows as others end, and only who is gone in time may use it. Pure.

For each priority and kind of device the first gang that starves becomes a head. It gets a domain, the one that is
likely to be free first, and holds there what is free of what it needs. Without expected durations nobody knows when
that will be enough: then the domain counts in which least has to become free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.cluster import Cluster, Hold
from grove.scheduler.gangs import Gang
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.preemption import needs
from grove.scheduler.preemption.bounds import Bounds
from grove.scheduler.preemption.needs import Need
from grove.scheduler.preemption.running import NO_GUARDS, Policy, Running
from grove.scheduler.preemption.units import Units
from grove.scheduler.reservations import give_up, opened
from grove.scheduler.resources import CPU, Vector, is_device

OVERDUE: Final = 60.0
"""Seconds until a gang ends that should have ended already."""
BETTER: Final = 0.8
"""A head moves to another domain if it has to wait there for less than this share of the time."""


class Head(NamedTuple):
    """A gang that room is held for."""

    gang: str
    priority: int
    kind: tuple[str, ...]
    """The devices that it needs; empty: none."""
    since: float
    """When the gang began to wait."""
    domain: tuple[str, ...]
    """The path of its domain, or the name of the node for a single pod; empty: the whole cluster."""
    start: float
    """When all of it is expected to be free; infinite: nobody knows."""
    lacking: int
    """How much is not free yet: devices, or pods where it needs none."""
    targets: tuple[tuple[int, Vector], ...]
    """By slot what the gang would use there."""


def kind(cluster: Cluster, gang: Gang) -> tuple[str, ...]:
    """The devices that a gang needs."""
    rows = {row for group in gang.groups() for pod in group.waiting for row, _ in pod.cls.accelerators}
    return tuple(sorted(cluster.resources.names[row] for row in rows))


def starving(cluster: Cluster, waiting: Iterable[Gang], now: float, after: float) -> list[Gang]:
    """Who is to be a head: of gangs that found no place, in the order of the queue, one a priority and kind."""
    found: dict[tuple[int, tuple[str, ...]], Gang] = {}
    for gang in waiting:
        if now - gang.created >= after:
            found.setdefault((gang.priority, kind(cluster, gang)), gang)
    return list(found.values())


def choose(
    cluster: Cluster, gang: Gang, running: Mapping[str, Running], *, now: float, old: Head | None = None
) -> Head | None:
    """The domain for a head, and what to hold there; the old one unless another is clearly better.

    None: it fits nowhere even when all gangs have ended. It looks at the whole cluster: ask when a gang becomes a head
    and then now and again, not at every change; `refresh` follows the changes.
    """
    need = needs.of(gang)
    if need is None or not need.total():
        return None
    with opened(cluster, gang.key):
        for uid in [uid for uid, pod in cluster.pods.items() if pod.terminating]:
            cluster.take(uid)
        return _Choice(cluster, gang, need, running, now).head(old)


class _Choice:
    """One call of `choose`."""

    def __init__(self, cluster: Cluster, gang: Gang, need: Need, running: Mapping[str, Running], now: float) -> None:
        self._cluster = cluster
        self._gang = gang
        self._need = need
        self._now = now
        self._counts = need.total()
        self._rows = sorted({row for cls in self._counts for row, _ in cls.requests})
        gangs = [*running.values()]
        self._units = Units(
            cluster,
            gangs,
            lambda one: one.key != gang.key,
            self._rows,
            policy=Policy(),
            guards=NO_GUARDS,
            repeats=lambda _: 0,
            now=now,
            spared=lambda uid: uid not in cluster.pods,
        )
        ends = [max(one.ends, now + OVERDUE) for one in gangs]
        self._ends = np.array(ends or [inf])[self._units.gangs] if gangs else np.zeros(0)
        self._bounds = Bounds(cluster, need, self._units, self._counts, self._rows, gang.within)
        size = cluster.size
        self._domain_of: Slots = self._bounds.level.domain_of if self._bounds.is_split else np.zeros(size, np.int64)
        self._number = {cls: at for at, cls in enumerate(self._counts)}

    def head(self, old: Head | None) -> Head | None:
        starts = self._starts()
        lacking = self._lacking()
        candidates = [int(domain) for domain in np.flatnonzero(starts >= 0)]
        if not candidates:
            return None
        best = min(candidates, key=lambda domain: (starts[domain], lacking[domain], domain))
        if old is not None:
            same = next((domain for domain in candidates if self._path(domain) == old.domain), None)
            if same is not None and not self._is_better(starts, lacking, best, same):
                best = same
        gang = self._gang
        return Head(
            gang.key,
            gang.priority,
            kind(self._cluster, gang),
            gang.created,
            self._path(best),
            float(starts[best]),
            int(lacking[best]),
            self._targets(best, float(starts[best])),
        )

    def _is_better(self, starts: Counts, lacking: Counts, one: int, other: int) -> bool:
        if starts[other] < inf:
            return bool(starts[one] - self._now < BETTER * (starts[other] - self._now))
        return bool(starts[one] < inf or lacking[one] < BETTER * lacking[other])

    def _path(self, domain: int) -> tuple[str, ...]:
        if self._need.level is not None:
            return self._bounds.level.paths[domain]
        return (self._cluster.names[domain],) if self._bounds.is_split else ()

    def _starts(self) -> Counts:
        """By domain when the gang could start there; below zero: never."""
        bounds, ends, units = self._bounds, self._ends, self._units
        if not bounds.possible(bounds.reclaimed(np.ones(len(ends), np.bool_))).any():
            return np.full(1, -1.0)
        moments = np.concatenate([[self._now], np.unique(ends[ends < inf]), [inf]])
        domains = len(bounds.level) if bounds.is_split else 1
        low, high = np.zeros(domains, np.int64), np.full(domains, len(moments) - 1)
        domain = self._domain_of[units.slots]
        ended = bounds.possible(bounds.reclaimed(domain >= 0))
        while (low < high).any():
            middle = (low + high) // 2
            gone = (domain >= 0) & (ends <= moments[middle][domain])
            fits = bounds.possible(bounds.reclaimed(gone))
            high = np.where(fits, middle, high)
            low = np.where(fits, low, np.minimum(middle + 1, high))
        return np.where(ended, moments[low], -1.0)

    def _lacking(self) -> Counts:
        found = np.zeros(len(self._bounds.level) if self._bounds.is_split else 1, np.int64)
        caps = self._bounds.capacity(self._bounds.free)
        inside = self._domain_of >= 0
        for (cls, count), cap in zip(self._counts.items(), caps, strict=True):
            room = np.zeros(len(found), np.int64)
            np.add.at(room, self._domain_of[inside], cap[inside])
            weight = max((amount for _, amount in cls.accelerators), default=1)
            found += weight * np.maximum(0, count - room)
        return found

    # What to hold

    def _targets(self, domain: int, start: float) -> tuple[tuple[int, Vector], ...]:
        """Nodes of a domain that have all by the start, those first that lack least now."""
        self._then = self._bounds.reclaimed((self._domain_of[self._units.slots] == domain) & (self._ends <= start))
        self._taken: dict[int, dict[int, int]] = {}
        self._take(self._need, np.flatnonzero(self._domain_of == domain))
        rows = self._rows
        return tuple(
            (slot, tuple((rows[row], amount) for row, amount in sorted(taken.items())))
            for slot, taken in sorted(self._taken.items())
        )

    def _take(self, need: Need, slots: Slots) -> None:
        for inner in need.inner:
            assert inner.level is not None
            level = self._cluster.tree(inner.keys).levels[inner.level]
            domains = [int(one) for one in np.unique(level.domain_of[slots]) if one >= 0]
            fitting = [one for one in domains if self._fits(inner, slots[level.domain_of[slots] == one], self._then)]
            if fitting:
                free = self._bounds.free
                shorts = [self._short(inner, slots[level.domain_of[slots] == one], free) for one in fitting]
                best = fitting[shorts.index(min(shorts))]
                self._take(inner, slots[level.domain_of[slots] == best])
        for cls, count in need.classes:
            self._take_class(self._number[cls], count, slots)

    def _take_class(self, number: int, count: int, slots: Slots) -> None:
        asked = self._bounds.asked[number]
        caps = self._bounds.capacity(self._then)[number][slots]
        now = np.minimum(caps, self._bounds.capacity(self._bounds.free)[number][slots])
        for at in np.lexsort((slots, -caps, caps - now)).tolist():
            many = min(count, int(caps[at]))
            if many <= 0:
                continue
            slot = int(slots[at])
            taken = self._taken.setdefault(slot, {})
            for row, amount in enumerate(asked):
                if amount:
                    self._then[row, slot] -= amount * many
                    taken[row] = taken.get(row, 0) + amount * many
            count -= many
            if not count:
                return

    def _fits(self, need: Need, slots: Slots, free: Counts) -> bool:
        return not self._short(need, slots, free)

    def _short(self, need: Need, slots: Slots, free: Counts) -> int:
        caps = self._bounds.capacity(free)
        return sum(max(0, count - int(caps[self._number[cls]][slots].sum())) for cls, count in need.total().items())


def refresh(cluster: Cluster, heads: Sequence[Head], *, percent: int) -> None:
    """Holds what is free now of what the heads want, the most important first, at most a share of all devices.

    Call it when something in their domains was released, and when there is one head more or less.
    """
    for head in heads:
        give_up(cluster, head.gang, "head")
    left: dict[int, int] = {}
    for head in sorted(heads, key=lambda one: (-one.priority, one.since, one.gang)):
        for slot, wanted in head.targets:
            if not cluster.alive[slot]:
                continue
            requests = _free_part(cluster, slot, wanted, left, percent)
            if requests:
                cluster.hold(Hold(head.gang, slot, requests, kind="head", until=inf))


def _free_part(cluster: Cluster, slot: int, wanted: Vector, left: dict[int, int], percent: int) -> Vector:
    """What is free of it; nothing where none of what is scarce is."""
    names = cluster.resources.names
    scarce = [row for row, _ in wanted if is_device(names[row])] or [CPU]
    found: list[tuple[int, int]] = []
    for row, amount in wanted:
        part = min(amount, int(cluster.free[row, slot]))
        if row in scarce:
            if row not in left:
                alive: Mask = cluster.alive[: cluster.size]
                left[row] = int(cluster.allocatable[row, : cluster.size][alive].sum()) * percent // 100
            part = min(part, left[row])
            if part <= 0:
                return ()
        if part > 0:
            found.append((row, part))
    for row, part in found:
        if row in scarce:
            left[row] -= part
    return tuple(found)


def open_to(heads: Iterable[Head], ends: float) -> list[str]:
    """The heads whose room somebody may use who is expected to end then: it is gone before they can start.

    Place it with what they hold `reservations.opened`, and `refresh` them when it is placed.
    """
    return [head.gang for head in heads if ends <= head.start < inf]

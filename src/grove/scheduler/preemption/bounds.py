"""Where a gang cannot fit whoever goes, and what it costs at least where it might. Pure; over all domains at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.preemption.needs import Need
from grove.scheduler.preemption.units import NEVER, Units
from grove.scheduler.topology import Level, Tree


class Least(NamedTuple):
    """What room in a domain costs at least."""

    gangs: int
    scaled: int
    stopped: int
    """Gangs of all kinds."""
    work: int


class Bounds:
    """The bounds for one gang."""

    def __init__(
        self,
        cluster: Cluster,
        need: Need,
        units: Units,
        counts: dict[PodClass, int],
        rows: Sequence[int],
        within: Mask | None,
    ) -> None:
        self._cluster = cluster
        self._need = need
        self._units = units
        self._counts = counts
        size = cluster.size
        self._is_one = need.level is None and sum(counts.values()) == 1
        nodes = np.arange(size)
        self._hosts = Level("", nodes, nodes + 1, nodes, [], size)
        self.free: Final[Counts] = cluster.free[list(rows), :size].copy()
        """By row of interest and slot."""
        self.asked: Final = [tuple(dict(cls.requests).get(row, 0) for row in rows) for cls in counts]
        """By class what a pod asks of each row of interest."""
        self.allowed: Final = [cluster.allowed(cls).copy() for cls in counts]
        """By class the slots that come into question."""
        if within is not None:
            for mask in self.allowed:
                mask &= within[:size]
        self._is_device = np.array([["/" in cluster.resources.names[row]] for row in rows], np.bool_)
        self._number = {cls: at for at, cls in enumerate(counts)}
        names = cluster.resources.names
        self._devices = [
            max(((amount, at) for at, amount in enumerate(asked) if amount and "/" in names[rows[at]]), default=(0, -1))
            for asked in self.asked
        ]

    def levels(self) -> list[int]:
        """The priorities at which something goes, lowest first."""
        found = np.unique(self._units.levels)
        return [int(level) for level in found if level < NEVER]

    def reclaimed(self, pods: Mask) -> Counts:
        """What is free when some pods are gone."""
        free = self.free.copy()
        slots = self._units.slots[pods]
        for row, amounts in enumerate(self._units.amounts):
            np.add.at(free[row], slots, amounts[pods])
        return free

    def capacity(self, free: Counts) -> list[Counts]:
        """By class and slot how many pods fit."""
        found = []
        for asked, allowed in zip(self.asked, self.allowed, strict=True):
            cap: Counts | None = None
            for row, amount in enumerate(asked):
                if amount:
                    times = free[row] // amount if amount > 1 else free[row]
                    cap = times if cap is None else np.minimum(cap, times)
            assert cap is not None  # every class asks for a pod
            found.append(np.where(allowed, np.maximum(cap, 0), 0))
        return found

    # Where it is possible

    def domains(self, level: int) -> list[tuple[Least, int]]:
        """The domains that could take the gang when all up to a priority are gone, with what that costs at least.

        Where any nodes will do there is one domain, -1: the whole cluster.
        """
        gone = self._units.levels <= level
        free = self.reclaimed(gone)
        possible = self.possible(free)
        if not self.is_split or not possible.any():
            return [(Least(0, 0, 0, 0), -1)] * int(possible.any())
        least = self._least(self.level, self.capacity(free), gone)
        domains = np.flatnonzero(possible)
        order = np.lexsort((domains, *least[::-1, domains]))
        return [
            (Least(*fields), domain)
            for fields, domain in zip(least[:, domains[order]].T.tolist(), domains[order].tolist(), strict=True)
        ]

    @property
    def is_split(self) -> bool:
        """Whether the gang goes into one domain of several: also a single pod does, onto a node."""
        return self._need.level is not None or self._is_one

    @property
    def level(self) -> Level:
        """The domains that are asked about."""
        if self._is_one:
            return self._hosts
        assert self._need.level is not None
        return self._cluster.tree(self._need.keys).levels[self._need.level]

    def slots(self, domain: int) -> Slots:
        """The nodes of a domain."""
        if self._is_one:
            return np.array([domain])
        assert self._need.level is not None
        return self._cluster.tree(self._need.keys).slots(self._need.level, domain)

    def possible(self, free: Counts) -> Mask:
        """By domain whether the gang could fit into it with so much free; of length one where any nodes will do."""
        need = self._need
        caps = self.capacity(free)
        if self._is_one:
            return caps[0] > 0
        if need.level is None:
            return np.array([self._fits_anywhere(need, caps, free)])
        tree = self._cluster.tree(need.keys)
        at = tree.levels[need.level]
        found = self._possible(need, tree, at, caps, free)
        for pinned in need.pinned:
            mine = np.zeros(len(at), np.bool_)
            if at.domain_of[pinned] >= 0:
                mine[at.domain_of[pinned]] = True
            found &= mine
        return found

    def _fits_anywhere(self, need: Need, caps: Sequence[Counts], free: Counts) -> bool:
        if any(caps[self._number[cls]].sum() < count for cls, count in need.total().items()):
            return False
        some: Mask = np.logical_or.reduce([self.allowed[self._number[cls]] for cls in need.total()])
        for row, wanted in self._wanted(need).items():
            if np.maximum(free[row][some], 0).sum() < wanted:
                return False
        return self._fits_inside(need, caps, free)

    def _fits_inside(self, need: Need, caps: Sequence[Counts], free: Counts) -> bool:
        for inner in need.inner:
            tree = self._cluster.tree(inner.keys)
            assert inner.level is not None
            at = tree.levels[inner.level]
            if not self._possible(inner, tree, at, caps, free).any():
                return False
        return True

    def _possible(self, need: Need, tree: Tree, at: Level, caps: Sequence[Counts], free: Counts) -> Mask:
        """By domain whether the need could fit into it."""
        total = need.total()
        found = np.ones(len(at), np.bool_)
        for cls, count in total.items():
            totals = tree.totals(caps[self._number[cls]])
            found &= totals[at.ends] - totals[at.starts] >= count
        if len(total) > 1:
            some: Mask = np.logical_or.reduce([self.allowed[self._number[cls]] for cls in total])
            for row, wanted in self._wanted(need).items():
                totals = tree.totals(np.where(some, np.maximum(free[row], 0), 0))
                found &= totals[at.ends] - totals[at.starts] >= wanted
        for inner in need.inner:
            if inner.keys != need.keys or inner.level is None or need.level is None or inner.level < need.level:
                continue
            deeper = tree.levels[inner.level]
            fits = np.flatnonzero(self._possible(inner, tree, deeper, caps, free))
            above = at.domain_of[tree.order[deeper.starts[fits]]]
            mine = np.zeros(len(at), np.bool_)
            mine[above[above >= 0]] = True
            found &= mine
        return found

    def _wanted(self, need: Need) -> dict[int, int]:
        wanted: dict[int, int] = {}
        for cls, count in need.total().items():
            for row, amount in enumerate(self.asked[self._number[cls]]):
                if amount:
                    wanted[row] = wanted.get(row, 0) + amount * count
        return wanted

    # Where to look first

    def promising(self, level: int, many: int) -> Slots:
        """Nodes where a pod of the gang's fits, or would for little: enough for so many pods. An estimate.

        A gang that goes is charged to the nodes where that makes room, in equal parts.
        """
        units = self._units
        gone = np.flatnonzero(units.levels <= level)
        slots, owners = units.slots[gone], units.gangs[gone]
        now: Counts = np.add.reduce(self.capacity(self.free))
        full: Counts = np.add.reduce(self.capacity(self.reclaimed(units.levels <= level)))
        gains = np.maximum(0, full - now)
        people = len(units.running)
        alone = units.spare[gone] | np.array([gang.pods == 1 for gang in units.running], np.bool_)[owners]
        work = units.rates[gone] * np.maximum(1, units.amounts[:, gone].max(axis=0, initial=0, where=self._is_device))
        # By gang its work and what its nodes gain; by slot its share of those that go as a whole, and of its pods.
        total = np.bincount(owners, work, people)
        gained = np.bincount(owners, gains[slots], people)
        whole = np.divide(total, gained, out=np.zeros(people), where=gained > 0)
        stops = np.divide(1.0, gained, out=np.zeros(people), where=gained > 0)
        size = len(now)
        price = np.bincount(slots, np.where(alone, work / np.maximum(1, gains[slots]), whole[owners]), size)
        gangs = np.bincount(slots, np.where(alone, 0.0, stops[owners]), size)
        good = np.flatnonzero(gains > 0)
        order = good[np.lexsort((good, price[good], gangs[good]))]
        enough = int(np.searchsorted(np.cumsum(gains[order]), many)) + 1
        return np.union1d(np.flatnonzero(now > 0), order[:enough])

    # What it costs at least

    def _least(self, at: Level, full: Sequence[Counts], gone: Mask) -> Counts:
        """By field of `Least` and domain."""
        units = self._units
        running = units.running
        scaled = np.array([bool(gang.base) for gang in running], np.bool_)[units.gangs]
        lone = np.array([gang.pods == 1 and not gang.base for gang in running], np.bool_)[units.gangs]
        index = {gang.key: number for number, gang in enumerate(running)}
        roots = np.array([index.get(gang.base, number) for number, gang in enumerate(running)], np.int64)[units.gangs]
        easy = gone & (units.soft | lone)
        softer = self.capacity(self.reclaimed(easy))
        soft = self.capacity(self.reclaimed(easy | (gone & scaled)))
        only = self.capacity(self.reclaimed(gone & units.soft))
        now = self.capacity(self.free)
        found = np.zeros((4, len(at)), np.int64)
        for number, count in enumerate(self._counts.values()):
            plus, some, few, least = full[number], soft[number], softer[number], only[number]
            gangs = self._fewest(at, plus - some, count - _sums(at, some), roots, gone)
            scaling = self._fewest(at, some - few, count - _sums(at, few), units.gangs, gone & scaled)
            stopped = self._fewest(at, plus - least, count - _sums(at, least), roots, gone)
            work = self._work(at, number, now[number], plus, count, gone)
            found = np.maximum(found, np.stack([gangs, np.where(gangs > 0, 0, scaling), stopped, work]))
        found[1][found[0] > 0] = 0
        return found

    def _fewest(self, at: Level, gains: Counts, lacking: Counts, owners: Slots, gone: Mask) -> Counts:
        """By domain how many owners must go for it to gain what it lacks, if each had all that its nodes gain."""
        slots, owner = self._units.slots[gone], owners[gone]
        inside = (at.domain_of[slots] >= 0) & (gains[slots] > 0)
        size = self._cluster.size
        pairs = np.unique(owner[inside] * size + slots[inside])
        domain = at.domain_of[pairs % size]
        people = len(self._units.running)
        credit, inverse = np.unique(domain * people + pairs // size, return_inverse=True)
        value = np.zeros(len(credit), np.int64)
        np.add.at(value, inverse, gains[pairs % size])
        domain = credit // people
        order = np.lexsort((-value, domain))
        domain, value = domain[order], value[order]
        running = np.cumsum(value)
        starts = np.searchsorted(domain, np.arange(len(at)))
        before = np.concatenate([[0], running])[starts]
        counts = np.where(lacking > 0, 1, 0)
        np.add.at(counts, domain, (running - before[domain] < lacking[domain]).astype(np.int64))
        return np.where(lacking > 0, counts, 0)

    def _work(self, at: Level, number: int, now: Counts, plus: Counts, count: int, gone: Mask) -> Counts:
        """By domain the work that is lost at least, by the devices that must become free."""
        amount, row = self._devices[number]
        lacking = np.maximum(0, count - _sums(at, now))
        if not amount:
            return np.zeros(len(at), np.int64)
        units = self._units
        holds = gone & (units.amounts[row] > 0) & (at.domain_of[units.slots] >= 0)
        cheapest = np.full(len(at), NEVER, np.int64)
        np.minimum.at(cheapest, at.domain_of[units.slots[holds]], units.rates[holds])
        cheapest[cheapest == NEVER] = 0
        free = np.maximum(self.free[row], 0)
        gains = (at.domain_of >= 0) & (plus > now)
        idle = np.where(gains, np.minimum(plus - now, np.maximum(0, free // amount - now)), 0)
        lacking = np.maximum(0, lacking - _sums(at, idle))
        parts = np.flatnonzero(gains & (plus - now > idle))
        domain, price = at.domain_of[parts], amount - free[parts] % amount
        order = np.lexsort((price, domain))
        domain, price = domain[order], price[order]
        rank = np.arange(len(domain)) - np.searchsorted(domain, domain)
        taken = rank < lacking[domain]
        devices = np.zeros(len(at), np.int64)
        np.add.at(devices, domain[taken], price[taken])
        began = np.zeros(len(at), np.int64)
        np.add.at(began, domain[taken], 1)
        devices += (lacking - began) * amount
        return 1000 * devices * cheapest


def _sums(at: Level, values: Counts) -> Counts:
    """By domain the total over its slots."""
    found = np.zeros(len(at), np.int64)
    inside = at.domain_of >= 0
    np.add.at(found, at.domain_of[inside], values[inside])
    return found

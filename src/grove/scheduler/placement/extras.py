"""Pods above the minimum: as many as there is room for, where the gang is. Pure.

Called in a trial, with the minimum put. A scope that has pods keeps to their domain of the level that it requires, and
stays in their domain of a narrower one as long as there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

import numpy as np

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.placement.fill import Ground, Shares, fill, nodes
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.problem import SQUATTING, levels_of, pins
from grove.scheduler.placement.score import span
from grove.scheduler.placement.wear import devices, wear
from grove.scheduler.predicates.rule import Counts, Mask
from grove.scheduler.topology import Tree
from grove.scheduler.verdicts import Put

_CLEAN: Final = 1 << 40
_NEVER: Final = 1 << 60


class _Place:
    """A scope and where its pods are."""

    __slots__ = ("preferred", "required", "slots", "tree")

    def __init__(self, tree: Tree, required: int, preferred: int, slots: dict[int, None]) -> None:
        self.tree: Final = tree
        self.required: Final = required
        self.preferred: Final = preferred
        self.slots: Final = slots

    def domains(self, level: int) -> list[int]:
        found = self.tree.levels[level].domain_of[[*self.slots]] if self.slots else np.zeros(0, np.int64)
        return [int(domain) for domain in np.unique(found) if domain >= 0]


class Extras:
    """Places the extras of a gang; `slot_of` has the minimum that was just put."""

    def __init__(self, cluster: Cluster, gang: Gang, slot_of: dict[str, int], options: Options) -> None:
        self._cluster = cluster
        self._gang = gang
        self._slot_of = slot_of
        self._options = options
        self.puts: list[Put] = []
        self.left: list[Pending] = []

    def run(self) -> None:
        for chain, group in self._groups(self._gang.root, []):
            for _, pods in groupby(group.waiting[group.missing :], key=lambda pod: pod.cls.number):
                waiting = [*pods]
                while waiting:
                    done = self._some(chain, waiting)
                    if not done:
                        break
                    del waiting[:done]
                self.left += waiting

    def _groups(self, scope: Scope, around: list[_Place]) -> Iterator[tuple[list[_Place], Group]]:
        tree, required, preferred = levels_of(self._cluster, scope, self._options)
        new = (self._slot_of[pod.uid] for group in scope.all_groups() for pod in group.waiting[: group.missing])
        slots = dict.fromkeys([*pins(scope).tolist(), *new])
        chain = [*around, _Place(tree, required, preferred, slots)]
        for group in scope.groups:
            yield chain, group
        for inner in scope.scopes:
            yield from self._groups(inner, chain)

    def _some(self, chain: list[_Place], pods: list[Pending]) -> int:
        """Puts the first ones of pods of one class; how many."""
        cluster, cls = self._cluster, pods[0].cls
        count = len(pods) if cluster.is_plain(cls) else 1
        room = np.where(self._open(chain), cluster.capacity(cls), 0)
        unpinned = [place for place in chain if place.required >= 0 and not place.slots]
        if unpinned:
            if len({place.tree.keys for place in unpinned}) > 1:
                count = 1
            room = self._one_domain(unpinned[-1], room, count)
        for place in reversed(chain):
            if place.preferred > place.required and place.slots:
                level, domain = span(place.tree, np.array([*place.slots], np.int64))
                if level > place.required:
                    near = np.where(place.tree.levels[level].domain_of == domain, room, 0)
                    if near.any():
                        room = near
                        break
        total = int(room.sum())
        if not total:
            return 0
        count = min(count, total)
        shares = self._shares(chain[-1].tree, room, count, cls.number, pods[0])
        at = 0
        for slot, many in shares:
            for pod in pods[at : at + many]:
                cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, slot, gang=self._gang.key))
                self.puts.append(Put(pod, slot))
            at += many
            for place in chain:
                place.slots[slot] = None
        return count

    def _open(self, chain: list[_Place]) -> Mask:
        found: Mask = np.ones(self._cluster.size, np.bool_)
        if self._gang.within is not None:
            found &= self._gang.within[: self._cluster.size]
        for place in chain:
            if place.required >= 0:
                domains = place.domains(place.required)
                domain_of = place.tree.levels[place.required].domain_of
                if domains:
                    found &= np.isin(domain_of, domains)
                elif not place.slots:
                    found &= domain_of >= 0
        return found

    def _one_domain(self, place: _Place, room: Counts, count: int) -> Counts:
        """Only the domain with room for most, of a scope that has no pods yet."""
        sums = place.tree.sums(room)[place.required]
        if not len(sums):
            return np.zeros_like(room)
        most = np.minimum(sums, count)
        cost = wear(self._cluster, place.tree).costs(place.required)
        domain = int(np.where(most == most.max(), cost * _CLEAN + sums, _NEVER).argmin())
        return np.where(place.tree.levels[place.required].domain_of == domain, room, 0)

    def _shares(self, tree: Tree, room: Counts, count: int, number: int, pod: Pending) -> Shares:
        dislike = self._cluster.penalty(pod.cls)
        if self._gang.taste is not None:
            dislike = self._gang.taste if dislike is None else dislike + self._gang.taste
        dev = devices(self._cluster)
        if not pod.cls.accelerators and dev.some:
            against = dev.has * np.int64(SQUATTING)
            dislike = against if dislike is None else dislike + against
        if dislike is not None:
            return nodes(Ground(tree, room, (), dislike), tree.order, count)
        return fill(Ground(tree, room), -1, 0, len(tree.order), count)

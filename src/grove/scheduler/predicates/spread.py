"""PodTopologySpread: how evenly pods are to be spread over the domains of a label. Pure.

A constraint counts the pods of its own namespace that its selector matches and that are not terminating, on nodes that
have the labels of all constraints of its sort and that the pod could go to as far as its policies heed. The domains of
these nodes are those it compares: where the pod is put, there may be no more than maxSkew more than in the emptiest.

What must hold (DoNotSchedule) is a limit, what should (ScheduleAnyway) a matter of taste. Pods that others nominated
count where they are to come, and leave the emptiest domain as empty as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np

from grove.kube.affinity import TopologySpreadConstraint
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster
from grove.scheduler.columns import Codes, Column, grown
from grove.scheduler.predicates.crowds import Area, Crowds, Tally
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Rule, Slots
from grove.scheduler.predicates.selectors import Selection, of_constraint

MUST: Final = "DoNotSchedule"
SHOULD: Final = "ScheduleAnyway"
HONOR: Final = "Honor"
TASTE: Final = 200
"""The most that spreading counts as a matter of taste: the weight that kube-scheduler gives it."""
REMEMBERED: Final = 64
"""Limits of so many classes are kept at once: they are large."""
_ROOM: Final = 16384

_Stamp: TypeAlias = tuple[int, int, int]


class _Eligible(Area):
    """Nodes that constraints of some classes look at."""

    __slots__ = ("_cls", "_cluster", "_columns", "_domains", "_rules", "epoch")

    def __init__(self, cluster: Cluster, cls: PodClass, columns: Sequence[Column], rules: Sequence[Rule]) -> None:
        super().__init__(np.zeros(cluster.alive.shape[0], np.bool_))
        self._cluster: Final = cluster
        self._cls: Final = cls
        """One of the classes; in what the rules read they are the same."""
        self._columns: Final = tuple(columns)
        self._rules: Final = tuple(rules)
        self._domains: dict[Column, Codes] = {}
        self.epoch = 0
        self.update(np.arange(cluster.size))

    def update(self, slots: Slots) -> None:
        """Nodes changed; no pods are on them."""
        if self.mask.shape[0] < self._cluster.alive.shape[0]:
            self.mask = grown(self.mask, self._cluster.alive.shape[0])
        found: Mask = self._cluster.alive[slots]
        for column in self._columns:
            found = found & (column.codes[slots] != 0)
        rest = slots[found]
        for rule in self._rules:
            allowed = rule.static(self._cls, rest) if len(rest) else None
            if allowed is not None:
                rest = rest[allowed]
        self.mask[slots] = False
        self.mask[rest] = True
        self._domains = {}
        self.epoch += 1

    def domains(self, column: Column) -> Codes:
        """The codes of the domains that some of the nodes are in."""
        found = self._domains.get(column)
        if found is None:
            codes = column.codes[: len(self.mask)][self.mask]
            nodes = np.bincount(codes, minlength=len(column.values))
            found = self._domains[column] = np.flatnonzero(nodes[1:]).astype(np.int32) + 1
        return found


class _Constraint:
    """One constraint of a class."""

    __slots__ = ("area", "column", "itself", "key", "least", "selection", "skew", "tally")

    def __init__(
        self, declared: TopologySpreadConstraint, selection: Selection, tally: Tally, area: _Eligible, *, itself: bool
    ) -> None:
        self.key: Final = declared.topology_key
        self.skew: Final = declared.max_skew
        self.least: Final = 1 if declared.min_domains is None else declared.min_domains
        self.selection: Final = selection
        self.tally: Final = tally
        self.column: Final = tally.column
        self.area: Final = area
        self.itself: Final = itself
        """Whether the pods count themselves."""

    def room(self) -> Counts:
        """By code how many more pods a domain takes: exact about one, and as many as could be if all came there."""
        values = len(self.column.values)
        counts = self.tally.counts[:values]
        there = self.tally.with_coming[:values]
        domains = self.area.domains(self.column)
        left = self.skew - there
        if len(domains) >= self.least and len(domains):
            found = counts[domains]
            fewest = int(found.min())
            left += fewest
            if np.count_nonzero(found == fewest) == 1:  # the one that fills up is compared with the others
                others = PLENTY if len(found) == 1 else int(np.partition(found, 1)[1])
                left[int(domains[int(found.argmin())])] += others - fewest
        return np.maximum(left, 0) if self.itself else np.where(left >= 0, PLENTY, 0)


class _State:
    """The constraints of a class."""

    __slots__ = ("must", "should")

    def __init__(self, must: tuple[_Constraint, ...], should: tuple[_Constraint, ...]) -> None:
        self.must: Final = must
        self.should: Final = should


class PodTopologySpread(Lenient):
    """See the top of the module. In a cluster's rules it comes after those that it is given."""

    name = "PodTopologySpread"

    def __init__(self, cluster: Cluster, crowds: Crowds, *, affinity: Sequence[Rule], taints: Sequence[Rule]) -> None:
        self._cluster: Final = cluster
        self._crowds: Final = crowds
        self._affinity: Final = tuple(affinity)
        """What nodeAffinityPolicy heeds."""
        self._taints: Final = tuple(taints)
        """What nodeTaintsPolicy heeds."""
        self._areas: dict[bytes, _Eligible] = {}
        self._states: dict[int, _State] = {}
        self._limits: dict[int, tuple[_Stamp, Counts]] = {}
        """The latest by class, and what they were made of."""
        self._generation = -1

    # What stays as long as the node

    def is_static(self, cls: PodClass) -> bool:
        return any(one.when_unsatisfiable == MUST for one in cls.spec.topology_spread_constraints)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        found: Mask | None = None
        for one in cls.spec.topology_spread_constraints:
            if one.when_unsatisfiable == MUST:
                has = self._cluster.column(one.topology_key).codes[slots] != 0
                found = has if found is None else found & has
        return found

    # Who is there

    def is_dynamic(self, cls: PodClass) -> bool:
        return bool(cls.spec.topology_spread_constraints) and bool(self._state(cls).must)

    def limit(self, cls: PodClass) -> Counts | None:
        must = self._state(cls).must
        if not must:
            return None
        stamp = (
            sum(one.tally.version for one in must),
            sum(one.area.epoch for one in must),
            self._cluster.reshaped.position,
        )
        known = self._limits.get(cls.number)
        if known is not None and known[0] == stamp:
            return known[1]
        size = self._cluster.size
        found: Counts | None = None
        for one in must:
            limit = one.room()[one.column.codes[:size]]
            found = limit if found is None else np.minimum(found, limit)
        assert found is not None
        if len(self._limits) >= REMEMBERED:
            self._limits = {}
        self._limits[cls.number] = stamp, found
        return found

    def penalty(self, cls: PodClass) -> Counts | None:
        if not cls.spec.topology_spread_constraints:
            return None
        should = self._state(cls).should
        if not should:
            return None
        size = self._cluster.size
        found = np.zeros(size, np.int64)
        lacking = np.zeros(size, np.bool_)
        for one in should:
            # The more domains there are, the more a pod in one of them says; as kube-scheduler weighs them.
            weight = round(10 * math.log(len(one.area.domains(one.column)) + 2))
            codes = one.column.codes[:size]
            found += one.tally.counts[codes] * weight
            lacking |= codes == 0
        found[lacking] = found.max(initial=0) + 1
        alive = found[self._cluster.alive[:size]]
        if not len(alive):
            return None
        best, worst = int(alive.min()), int(alive.max())
        return np.maximum(found - best, 0) * TASTE // worst if worst > best else None

    def interacts(self, classes: Sequence[PodClass]) -> bool:
        return any(
            self._crowds.matches((constraint.selection,), other)
            for one in classes
            if one.spec.topology_spread_constraints
            for constraint in self._state(one).must
            for other in classes
        )

    def node_changed(self, slot: int) -> None:
        slots = np.array([slot])
        for area in self._areas.values():
            area.update(slots)

    def explain(self, cls: PodClass, slot: int) -> str:
        declared = [one for one in cls.spec.topology_spread_constraints if one.when_unsatisfiable == MUST]
        for constraint in declared:
            if not self._cluster.column(constraint.topology_key).codes[slot]:
                return f"label {constraint.topology_key} is missing, over which pods are spread"
        for one in self._state(cls).must:
            if one.room()[one.column.codes[slot]] <= 0:
                return f"pods would be spread over {one.key} less evenly than maxSkew {one.skew} allows"
        return ""

    # What is remembered

    def _state(self, cls: PodClass) -> _State:
        generation = self._crowds.generation()
        if generation != self._generation:
            self._generation = generation
            self._areas = {}
            self._states = {}
            self._limits = {}
        elif len(self._states) > _ROOM:
            self._states = {}
        state = self._states.get(cls.number)
        if state is None:
            state = self._states[cls.number] = _State(self._judge(cls, MUST), self._judge(cls, SHOULD))
        return state

    def _judge(self, cls: PodClass, sort: str) -> tuple[_Constraint, ...]:
        declared = [one for one in cls.spec.topology_spread_constraints if one.when_unsatisfiable == sort]
        keys = sorted({one.topology_key for one in declared})
        found = []
        for one in declared:
            selection = of_constraint(one, cls.namespace, cls.labels)
            if not selection.labels:
                continue  # it counts nothing
            area = self._area(cls, keys, one)
            tally = self._crowds.tally((selection,), one.topology_key, staying=True, area=area)
            itself = self._crowds.matches((selection,), cls)
            found.append(_Constraint(one, selection, tally, area, itself=itself))
        return tuple(found)

    def _area(self, cls: PodClass, keys: Sequence[str], constraint: TopologySpreadConstraint) -> _Eligible:
        heeded: list[Rule] = []
        reads: list[object] = [keys, None, None]
        if constraint.node_affinity_policy == HONOR:
            heeded += self._affinity
            node_affinity = cls.spec.affinity and cls.spec.affinity.node_affinity
            reads[1] = [cls.spec.node_selector, node_affinity and node_affinity.required]
        if constraint.node_taints_policy == HONOR:
            heeded += self._taints
            reads[2] = cls.spec.tolerations
        heeded = [rule for rule in heeded if rule.is_static(cls)]
        signature = _encode(reads)
        area = self._areas.get(signature)
        if area is None:
            columns = [self._cluster.column(key) for key in keys]
            area = self._areas[signature] = _Eligible(self._cluster, cls, columns, heeded)
        return area


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode

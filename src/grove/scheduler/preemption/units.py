"""What can go by itself: a gang as a whole, or one of the pods that it can do without. Pure.

Columns with an entry a pod serve the bounds over all nodes; the units themselves are made when a search first comes
upon them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.rule import Slots
from grove.scheduler.preemption.running import NOTHING, Cost, Guards, Member, Policy, Running
from grove.scheduler.resources import Vector

LONGEST_WORK: Final = 3600
"""Seconds of work that a gang loses at most where it does not say what it loses: most keep checkpoints."""
LEAST_WORK: Final = 60
"""Seconds that it loses at least: it has to start anew."""
CPUS_PER_DEVICE: Final = 32
NEVER: Final = 2**62
"""The priority of what cannot go."""


class Unit:
    """Pods that go together or stay together. Compared by identity; there is one of each."""

    __slots__ = ("budgets", "cost", "family", "gangs", "implies", "index", "members", "pods")

    def __init__(
        self,
        index: int,
        gangs: tuple[Running, ...],
        pods: tuple[Member, ...],
        cost: Cost,
        *,
        implies: frozenset[tuple[int, int]] = frozenset(),
        family: tuple[int, int],
        budgets: Counter[str],
    ) -> None:
        self.index: Final = index
        """In the order in which they were made: what decides among equals."""
        self.gangs: Final = gangs
        """That stop as a whole, the one that the others depend on first; empty: only a pod goes."""
        self.pods: Final = pods
        self.cost: Final = cost
        """Of its own, violations aside: those depend on who else goes."""
        self.implies: Final = implies
        """Families whose units go with it anyway."""
        self.family: Final = family
        """The gang and the crew of which it is a pod; the crew -1: the gang as a whole."""
        self.budgets: Final = budgets

    def __repr__(self) -> str:
        return f"Unit({self.index}: {', '.join(gang.key for gang in self.gangs) or self.pods[0].pod.name})"


class Units:
    """All that can go for a gang."""

    def __init__(
        self,
        cluster: Cluster,
        running: Sequence[Running],
        eligible: Callable[[Running], bool],
        rows: Sequence[int],
        *,
        policy: Policy,
        guards: Guards,
        repeats: Callable[[str], int],
        now: float,
        spared: Callable[[str], bool],
    ) -> None:
        """`running` are all there are, those that cannot go included: gangs they depend on cannot go either.
        `spared` tells of pods, by uid, that are gone already."""
        self.running: Final = running
        self.policy: Final = policy
        self.guards: Final = guards
        self._cluster = cluster
        self._repeats = repeats
        self._now = now
        self._made: dict[tuple[int, int, str], Unit] = {}
        self._next = 0
        self._bases: dict[str, int] = {}
        self._dependents = self._depend()
        self._alone = [eligible(gang) for gang in running]
        self.level: Final = [self._level(at) for at in range(len(running))]
        """By gang the highest priority that goes when it goes as a whole."""
        self._columns(rows, spared)

    # Columns

    def _depend(self) -> list[tuple[int, ...]]:
        index = {gang.key: at for at, gang in enumerate(self.running)}
        found: dict[int, list[int]] = {}
        for at, gang in enumerate(self.running):
            if gang.base and gang.base in index:
                found.setdefault(index[gang.base], []).append(at)
        self._bases = {self.running[at].key: at for at in found}
        return [tuple(found.get(at, ())) for at in range(len(self.running))]

    def _level(self, at: int) -> int:
        every = (at, *self._dependents[at])
        if not all(self._alone[one] for one in every):
            return NEVER
        return max(self.running[one].priority for one in every)

    def _columns(self, rows: Sequence[int], spared: Callable[[str], bool]) -> None:
        slots: list[int] = []
        gangs: list[int] = []
        crews: list[int] = []
        levels: list[int] = []
        soft: list[bool] = []
        spare: list[bool] = []
        codes: list[int] = []
        vectors: dict[Vector, int] = {}
        self._members: list[Member] = []
        for at, gang in enumerate(self.running):
            level = self.level[at]
            if level == NEVER and not self._alone[at]:
                continue
            for number, crew in enumerate(gang.crews):
                surplus = crew.surplus
                if level == NEVER and not surplus:
                    continue
                members = [member for member in crew.members if not spared(member.pod.uid)]
                count = len(members)
                self._members += members
                slots += [member.pod.slot for member in members]
                codes += [vectors.setdefault(member.pod.requests, len(vectors)) for member in members]
                gangs += [at] * count
                crews += [number] * count
                levels += [min(level, gang.priority) if surplus else level] * count
                soft += [surplus > 0] * count
                spare += [index < surplus for index in range(count)]
        self.slots = np.array(slots, np.int64)
        """By pod."""
        self.gangs = np.array(gangs, np.int64)
        self.crews = np.array(crews, np.int64)
        self.levels = np.array(levels, np.int64)
        """By pod the least priority that has to go for it to go."""
        self.soft = np.array(soft, np.bool_)
        """By pod whether its gang can do without it, if not without all like it."""
        self.spare = np.array(spare, np.bool_)
        """The same of as many as it can do without at once, any of them."""
        table = np.zeros((len(vectors) or 1, len(rows)), np.int64)
        weights = np.zeros(len(vectors) or 1, np.int64)
        for vector, code in vectors.items():
            amounts = dict(vector)
            table[code] = [amounts.get(row, 0) for row in rows]
            weights[code] = self._weight(vector)
        found = np.array(codes, np.int64)
        self.amounts = table[found].T if len(found) else np.zeros((len(rows), 0), np.int64)
        """By row of interest and pod."""
        rates = np.array([self.rate(gang) for gang in self.running] or [0], np.int64)
        self.rates = rates[self.gangs] if len(found) else np.zeros(0, np.int64)
        """By pod the seconds of work that are lost with it."""
        self._by_slot = np.argsort(self.slots, kind="stable")
        self._sorted = self.slots[self._by_slot]
        self._weights: dict[Vector, int] = {vector: int(weights[code]) for vector, code in vectors.items()}

    def _weight(self, vector: Vector) -> int:
        """What a second of the pod is worth, in thousandths of a device's."""
        names = self._cluster.resources.names
        devices = max((amount for row, amount in vector if "/" in names[row]), default=0)
        return 1000 * devices or sum(amount for row, amount in vector if row == 0) // CPUS_PER_DEVICE

    def rate(self, gang: Running) -> int:
        if gang.restart_cost is not None:
            return int(gang.restart_cost)
        return max(LEAST_WORK, min(LONGEST_WORK, int(self._now - gang.started)))

    # Units

    def over(self, slots: Slots, level: int) -> list[Unit]:
        """The units with pods on these slots whose going costs nobody above a priority."""
        first = np.searchsorted(self._sorted, slots, "left")
        last = np.searchsorted(self._sorted, slots, "right")
        # All positions from the first to the last of each slot, one after the other.
        many = last - first
        ends = np.cumsum(many)
        at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - many), many)
        pods = self._by_slot[at]
        pods = pods[self.levels[pods] <= level]
        found: dict[int, Unit] = {}
        for pod in pods[self.soft[pods]].tolist():
            gang = int(self.gangs[pod])
            if self.running[gang].priority <= level and self._alone[gang]:
                unit = self.single(gang, int(self.crews[pod]), self._members[pod])
                found[unit.index] = unit
        for gang in np.unique(self.gangs[pods]).tolist():
            base = self._base_of(gang)
            for one in (gang,) if base is None else (gang, base):
                if self.level[one] <= level:
                    unit = self.whole(one)
                    found[unit.index] = unit
        return [found[index] for index in sorted(found)]

    def _base_of(self, gang: int) -> int | None:
        return self._bases.get(self.running[gang].base)

    def whole(self, gang: int) -> Unit:
        """The gang, and all that depend on it."""
        known = self._made.get((gang, -1, ""))
        if known is None:
            every = (gang, *self._dependents[gang])
            known = self._make(
                [self.running[one] for one in every],
                [member for one in every for crew in self.running[one].crews for member in crew.members],
                family=(gang, -1),
                implies=frozenset(
                    [(one, -1) for one in every[1:]]
                    + [(one, number) for one in every for number in range(len(self.running[one].crews))]
                ),
            )
            self._made[gang, -1, ""] = known
        return known

    def single(self, gang: int, crew: int, member: Member) -> Unit:
        """A pod that its gang can do without."""
        key = (gang, crew, member.pod.uid)
        known = self._made.get(key)
        if known is None:
            running = self.running[gang]
            known = self._made[key] = self._make([], [member], family=(gang, crew), of=running)
        return known

    def surplus(self, family: tuple[int, int]) -> int:
        """How many pods of a crew may go by themselves."""
        gang, crew = family
        return self.running[gang].crews[crew].surplus if crew >= 0 else 1

    def _make(
        self,
        gangs: Sequence[Running],
        members: Sequence[Member],
        *,
        family: tuple[int, int],
        implies: frozenset[tuple[int, int]] = frozenset(),
        of: Running | None = None,
    ) -> Unit:
        of_pods = self.guards.of
        budgets = Counter([name for member in members for name in of_pods.get(member.pod.uid, ())] if of_pods else ())
        cost = NOTHING
        for gang in gangs or ((of,) if of is not None else ()):
            own = [member for crew in gang.crews for member in crew.members] if gangs else members
            alone = gang.pods == 1 and not gang.base
            cost = added(
                cost,
                Cost(
                    gang.priority,
                    gangs=int(bool(gangs) and not gang.base and not alone),
                    scaled=int(bool(gangs) and bool(gang.base)),
                    work=self.rate(gang) * sum(self._weight_of(member) for member in own),
                    surplus=int(not gangs or alone),
                    repeats=self._repeats(gang.key),
                    youth=int(self._now - gang.started) if gangs else int(self._now - members[0].started),
                    grace=int(max((member.grace for member in own), default=0)),
                    stopped=int(bool(gangs)),
                ),
            )
        self._next += 1
        return Unit(self._next, tuple(gangs), tuple(members), cost, implies=implies, family=family, budgets=budgets)

    def _weight_of(self, member: Member) -> int:
        vector = member.pod.requests
        known = self._weights.get(vector)
        if known is None:
            known = self._weights[vector] = self._weight(vector)
        return known

    # What several cost

    def cost(self, chosen: Iterable[Unit]) -> Cost:
        """Of units none of which implies another."""
        total = NOTHING
        budgets: Counter[str] = Counter()
        for unit in chosen:
            total = added(total, unit.cost)
            if unit.budgets:
                budgets.update(unit.budgets)
        return total._replace(violations=self._violations(budgets)) if budgets else total

    def _violations(self, budgets: Counter[str]) -> int:
        allowed = self.guards.allowed
        return sum(max(0, count - max(0, allowed.get(name, 0))) for name, count in budgets.items())

    def key(self, cost: Cost) -> tuple[int, ...]:
        """What costs are compared by."""
        return key(cost, self.policy)


def key(cost: Cost, policy: Policy) -> tuple[int, ...]:
    """Less is better."""
    if policy.order == "minGangs":
        return (cost.stopped, *cost[:2], *cost[4:9])
    return cost[:9]


def dominates(one: Cost, other: Cost, policy: Policy) -> bool:
    """Whether anything with the one costs no more than the same with the other in its place."""
    first = 2
    if policy.order == "minGangs":
        if one.stopped != other.stopped:
            return one.stopped < other.stopped
        first = 4
    mine, others = tuple(one), tuple(other)
    return one.priority <= other.priority and (mine[first:8], one.grace) <= (others[first:8], other.grace)


def added(one: Cost, other: Cost) -> Cost:
    return Cost(
        max(one.priority, other.priority),
        one.violations + other.violations,
        one.gangs + other.gangs,
        one.scaled + other.scaled,
        one.work + other.work,
        one.surplus + other.surplus,
        one.repeats + other.repeats,
        one.youth + other.youth,
        max(one.grace, other.grace),
        one.stopped + other.stopped,
    )

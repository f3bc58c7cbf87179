"""A gang as the search works on it: kinds of pods, and what each scope asks for. Pure.

Scopes that pack nothing are dissolved: their pods belong to the next scope around them. A scope's ladder has the
levels at which it may be in one domain, best first; pods that are placed, and anchors, leave only their own domains.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.score import WHOLE, span, worth
from grove.scheduler.placement.totals import remember
from grove.scheduler.placement.wear import devices
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.topology import Tree

SQUATTING: Final = 100
"""What speaks against a node with devices for a pod that needs none: as much as a preference of full weight."""
ANYWHERE: Final = -1


class Kind:
    """Pods that fit wherever each other fit."""

    __slots__ = ("allowed", "capacity", "cls", "dislike", "number")

    def __init__(self, number: int, cls: PodClass, allowed: Mask, capacity: Counts, dislike: Counts | None) -> None:
        self.number: Final = number
        self.cls: Final = cls
        self.allowed: Final = allowed
        self.capacity: Final = capacity
        """By slot how many fit, others left out: exact where the problem is plain, else an upper bound."""
        self.dislike: Final = dislike


class Rung(NamedTuple):
    """A level at which a scope may be in one domain."""

    level: int
    """ANYWHERE: it need not be in one."""
    gain: int
    """What the score gains by it."""
    domain: int = -1
    """The only domain; -1: any of the level."""
    limit: Mask | None = None
    """Slots it is limited to, where pods of it are in several domains of the level that it requires."""


class Ask:
    """What a scope asks for."""

    __slots__ = (
        "children", "demand", "extras", "ladder", "number", "own", "parent", "pins", "pods", "preferred", "required",
        "scope", "tree",
    )  # fmt: skip

    def __init__(self, number: int, scope: Scope, parent: int, tree: Tree, required: int, preferred: int) -> None:
        self.number: Final = number
        self.scope: Final = scope
        self.parent: Final = parent
        self.tree: Final = tree
        self.required = required
        """Level, or ANYWHERE."""
        self.preferred: Final = preferred
        """Level; ANYWHERE: it prefers nothing."""
        self.children: list[int] = []
        self.pods: list[Pending] = []
        """That are placed now and that no narrower scope has."""
        self.own: dict[int, int] = {}
        """Of these by kind how many."""
        self.demand: Counts = np.zeros(0, np.int64)
        """By kind, with those of narrower scopes."""
        self.extras: Counts = np.zeros(0, np.int64)
        self.pins: Slots = np.zeros(0, np.int64)
        """Where pods of it and its anchors are."""
        self.ladder: list[Rung] = []


class Problem:
    """See the top of the module."""

    __slots__ = ("asks", "base", "cluster", "gang", "groups", "is_plain", "kind_of", "kinds")

    def __init__(self, cluster: Cluster, gang: Gang, options: Options) -> None:
        self.cluster: Final = cluster
        self.gang: Final = gang
        self.kinds: Final[list[Kind]] = []
        self.kind_of: Final[dict[PodClass, int]] = {}
        self.asks: Final[list[Ask]] = []
        """Every one after those around it."""
        self.groups: Final[list[tuple[Group, int]]] = []
        """Every group and its ask."""
        self.base = 0
        """Score of scopes in which nothing is placed now."""
        wanted = (pod.cls for group in gang.groups() for pod in group.waiting[: group.missing])
        classes = [*dict.fromkeys(wanted)]
        self.is_plain: Final = not cluster.interacts(classes)
        """Whether pods do not care where others of the gang are, beyond what these use."""
        for cls in classes:
            remember(cluster, cls)
            self.kind_of[cls] = self._kind(cls)
        self._ask(gang.root, -1, options)
        self._count()
        for ask in self.asks:
            ask.ladder = self._ladder(ask)

    @property
    def is_laminar(self) -> bool:
        """Whether all domains are of one tree, so that they contain each other or lie apart."""
        trees = {id(ask.tree) for ask in self.asks if ask.required >= 0 or ask.preferred >= 0}
        return len(trees) <= 1 and all(rung.limit is None for ask in self.asks for rung in ask.ladder)

    def _kind(self, cls: PodClass) -> int:
        cluster, gang = self.cluster, self.gang
        allowed = cluster.allowed(cls)
        capacity = cluster.capacity(cls) if self.is_plain else cluster.ceiling(cls)
        dislike = self._dislike(cls)
        if self.is_plain and cluster.is_plain(cls):
            for kind in self.kinds:
                if (
                    cluster.is_plain(kind.cls)
                    and kind.cls.requests == cls.requests
                    and np.array_equal(kind.capacity, capacity if gang.within is None else capacity * gang.within)
                    and _same(kind.dislike, dislike)
                ):
                    return kind.number
        capacity = capacity.copy()
        if gang.within is not None:
            capacity[~gang.within] = 0
        self.kinds.append(Kind(len(self.kinds), cls, allowed.copy(), capacity, dislike))
        return len(self.kinds) - 1

    def _dislike(self, cls: PodClass) -> Counts | None:
        found = self.cluster.penalty(cls)
        if self.gang.taste is not None:
            found = self.gang.taste if found is None else found + self.gang.taste
        dev = devices(self.cluster)
        if not cls.accelerators and dev.some:
            against = dev.has * np.int64(SQUATTING)
            found = against if found is None else found + against
        if found is not None and len(found) and (found == found[0]).all():
            return None
        return found

    def _ask(self, scope: Scope, parent: int, options: Options) -> None:
        packs = scope.pack.required is not None or scope.pack.preferred is not None
        number = parent
        if packs or parent < 0:
            tree, required, preferred = levels_of(self.cluster, scope, options)
            number = len(self.asks)
            ask = Ask(number, scope, parent, tree, required, preferred)
            if parent >= 0:
                self.asks[parent].children.append(number)
            ask.pins = pins(scope)
            self.asks.append(ask)
        for group in scope.groups:
            self.groups.append((group, number))
            self.asks[number].pods += group.waiting[: group.missing]
        for inner in scope.scopes:
            self._ask(inner, number, options)

    def _count(self) -> None:
        for ask in self.asks:
            ask.demand = np.zeros(len(self.kinds), np.int64)
            ask.extras = np.zeros(len(self.kinds), np.int64)
        for ask in self.asks:
            for pod in ask.pods:
                kind = self.kind_of[pod.cls]
                ask.own[kind] = ask.own.get(kind, 0) + 1
            for kind, count in ask.own.items():
                ask.demand[kind] += count
        for group, number in self.groups:
            for pod in group.waiting[group.missing :]:
                kind_of = self.kind_of.get(pod.cls)
                if kind_of is not None:
                    self.asks[number].extras[kind_of] += 1
        for ask in reversed(self.asks):
            if ask.parent >= 0:
                self.asks[ask.parent].demand += ask.demand
                self.asks[ask.parent].extras += ask.extras

    def weight(self, ask: Ask) -> int:
        return sum(len(group.placed) + group.missing for group in ask.scope.all_groups())

    def _ladder(self, ask: Ask) -> list[Rung]:
        weight = self.weight(ask) if ask.preferred >= 0 else 0
        if not ask.demand.any():
            if weight and len(ask.pins):
                self.base += weight * worth(ask.preferred, span(ask.tree, ask.pins, ask.preferred)[0])
            return [Rung(ANYWHERE, 0)]
        found: list[Rung] = []
        if ask.required >= 0 and len(ask.pins):
            there = ask.tree.levels[ask.required].domain_of[ask.pins]
            if (there < 0).all():
                ask.required = ANYWHERE  # its pods are on nodes without the label: there is no domain to keep to
        for level in range(max(ask.preferred, ask.required), ask.required - 1, -1):
            gain = weight * worth(ask.preferred, level)
            if level < 0 or not len(ask.pins):
                found.append(Rung(level, gain))
                continue
            there = np.unique(ask.tree.levels[level].domain_of[ask.pins])
            there_is = there[there >= 0]
            if len(there) == 1 and len(there_is) == 1:
                found.append(Rung(level, gain, int(there[0])))
            elif level == ask.required:
                reached = span(ask.tree, ask.pins, max(ask.preferred, 0))[0]
                limit = np.isin(ask.tree.levels[level].domain_of, there_is)
                found.append(Rung(ANYWHERE, weight * worth(ask.preferred, reached), limit=limit))
        if (
            self.is_plain
            and len(self.asks) == 1
            and not len(ask.pins)
            and any(kind.dislike is None for kind in self.kinds)
        ):
            # Nothing else competes: the narrowest domain that takes the gang is the best.
            narrower = range(len(ask.tree.levels) - 1, found[0].level, -1)
            found = [*(Rung(level, found[0].gain) for level in narrower), *found]
        return found

    def quality(self, slots_of: list[list[int]]) -> int:
        """The score's numerator for a placement: by ask the slots of its own pods."""
        total = self.base
        inside = [[*slots] for slots in slots_of]
        for ask in reversed(self.asks):
            if ask.parent >= 0:
                inside[ask.parent] += inside[ask.number]
            if ask.preferred >= 0 and ask.demand.any():
                slots = np.unique(np.array([*inside[ask.number], *ask.pins.tolist()], np.int64))
                total += self.weight(ask) * worth(ask.preferred, span(ask.tree, slots, ask.preferred)[0])
        return total

    @property
    def whole(self) -> int:
        """The numerator where every preference is met."""
        return sum(self.weight(ask) * WHOLE for ask in self.asks if ask.preferred >= 0)


def levels_of(cluster: Cluster, scope: Scope, options: Options) -> tuple[Tree, int, int]:
    """A scope's tree, and the levels that it requires and prefers: nothing broader than what it requires."""
    pack = scope.pack
    keys = scope.keys or options.keys
    asked = tuple(key for key in (pack.required, pack.preferred) if key is not None)
    if any(key not in keys for key in asked):
        keys = tuple(dict.fromkeys(asked))
    required = keys.index(pack.required) if pack.required is not None else ANYWHERE
    preferred = max(required, keys.index(pack.preferred)) if pack.preferred is not None else ANYWHERE
    return cluster.tree(keys), required, preferred


def pins(scope: Scope) -> Slots:
    """Where pods of a scope are, and its anchors; and those of the scopes in it."""
    return np.array([*dict.fromkeys(_pins(scope))], np.int64)


def _pins(scope: Scope) -> Iterator[int]:
    yield from scope.anchors
    for group in scope.groups:
        for pod in group.placed:
            yield pod.slot
    for inner in scope.scopes:
        for group in inner.all_groups():
            for pod in group.placed:
                yield pod.slot


def _same(one: Counts | None, other: Counts | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)

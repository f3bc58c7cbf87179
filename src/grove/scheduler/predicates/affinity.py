"""InterPodAffinity: whom pods want near them, and whom not. Pure.

Four things are asked of a node. It has the labels of all domains that the pod's required affinity speaks of. In these
domains are pods that match all of its terms, or there is no such pod in any domain and the pod is one itself. No pod
that it is to avoid is near. And no pod is near that is to avoid it: terms of pods on nodes are tallied as well,
by the domain they are in, and found by the classes that they match.

Terminating pods count. Pods that others nominated count, except that no affinity is satisfied by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from grove.kube.affinity import PodAffinity, PodTerm
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.columns import Column
from grove.scheduler.predicates.crowds import Crowds, Selections, Tally, kind_of
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots
from grove.scheduler.predicates.selectors import Place, Selection, filed, of_term, sought

HARD_WEIGHT: Final = 1
"""How much required affinity of a pod attracts others that match it; kube-scheduler's default."""
TASTE: Final = 200
"""The most that affinity counts as a matter of taste: the weight that kube-scheduler gives it."""
REMEMBERED: Final = 64
"""Limits of so many classes are kept at once: they are large."""
_ROOM: Final = 8192

_Stamp: TypeAlias = tuple[int, int, int]
_Term: TypeAlias = tuple[Selection, str]
"""With the key of the label."""
_NO_TERMS: Final = PodAffinity()


class _Held:
    """Terms of pods that are on nodes, of one sort."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster
        self._terms: dict[_Term, Tally] = {}
        self._at: dict[Place, list[tuple[Selection, Tally]]] = {}
        self.epoch = 0
        """Grows when a term comes or is forgotten."""

    def __len__(self) -> int:
        return len(self._terms)

    def tally(self, term: _Term) -> Tally:
        tally = self._terms.get(term)
        if tally is None:
            tally = self._terms[term] = Tally(self._cluster.column(term[1]))
            self._file(term, tally)
            self.epoch += 1
        return tally

    def matching(self, cls: PodClass, crowds: Crowds) -> Iterator[Tally]:
        """The terms that match a class."""
        for place in sought(cls.namespace, cls.labels):
            for selection, tally in self._at.get(place, ()):
                if crowds.matches((selection,), cls):
                    yield tally

    def forget(self) -> None:
        """Only terms that someone holds are kept."""
        self._terms = {term: tally for term, tally in self._terms.items() if tally.pods or tally.expected}
        self._at = {}
        for term, tally in self._terms.items():
            self._file(term, tally)
        self.epoch += 1

    def _file(self, term: _Term, tally: Tally) -> None:
        for place in filed(term[0]):
            self._at.setdefault(place, []).append((term[0], tally))


class _State:
    """What is remembered of a class that waits."""

    __slots__ = (
        "alone",
        "avoids",
        "avoids_selections",
        "ban_epoch",
        "bans",
        "first",
        "likes",
        "needs",
        "needs_selections",
        "own",
        "pull_epoch",
        "pulls",
    )

    def __init__(self) -> None:
        self.needs_selections: Selections = ()
        self.needs: tuple[Tally, ...] = ()
        """Pods that match all terms, by the domains of each."""
        self.first = False
        """Whether the pods match their own affinity."""
        self.avoids_selections: Selections = ()
        self.avoids: tuple[Tally, ...] = ()
        self.alone: tuple[Column, ...] = ()
        """In domains of these the pods avoid one another."""
        self.own = False
        """Whether it has required terms."""
        self.likes: tuple[tuple[Tally, int], ...] = ()
        self.bans: tuple[Tally, ...] = ()
        """Held by those that avoid the class."""
        self.ban_epoch = -1
        self.pulls: tuple[Tally, ...] = ()
        """Preferences of others about the class; weights instead of pods."""
        self.pull_epoch = -1


class InterPodAffinity(Lenient):
    """See the top of the module."""

    name = "InterPodAffinity"

    def __init__(self, cluster: Cluster, crowds: Crowds) -> None:
        self._cluster: Final = cluster
        self._crowds: Final = crowds
        self._bans: Final = _Held(cluster)
        self._pulls: Final = _Held(cluster)
        self._held: dict[int, tuple[tuple[Tally, int], ...]] = {}
        self._states: dict[int, _State] = {}
        self._generation = -1
        self._limits: dict[int, tuple[_Stamp, Counts]] = {}
        """The latest by class, and what they were made of."""
        self._of_one_node: Final[dict[Column, tuple[int, bool]]] = {}
        self._bound = _ROOM

    # What stays as long as the node

    def is_static(self, cls: PodClass) -> bool:
        return bool(_affinity(cls).required)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        found: Mask | None = None
        for term in _affinity(cls).required:
            has = self._cluster.column(term.topology_key).codes[slots] != 0
            found = has if found is None else found & has
        return found

    # Who is there

    def is_dynamic(self, cls: PodClass) -> bool:
        state = self._state(cls)
        if state.own:
            return True
        bans = self._bans_of(state, cls)
        return bool(bans) and any(ban.pods or ban.expected for ban in bans)

    def limit(self, cls: PodClass) -> Counts | None:
        state = self._state(cls)
        bans = [ban for ban in self._bans_of(state, cls) if ban.pods or ban.expected]
        if not state.own and not bans:
            return None
        versions = sum(tally.version for tally in (*state.needs, *state.avoids, *state.bans))
        stamp = (versions, self._cluster.reshaped.position, self._bans.epoch)
        known = self._limits.get(cls.number)
        if known is not None and known[0] == stamp:
            return known[1]
        if len(self._limits) >= REMEMBERED:
            self._limits = {}
        found = self._limit(state, (*state.avoids, *bans))
        self._limits[cls.number] = stamp, found
        return found

    def _limit(self, state: _State, against: Iterable[Tally]) -> Counts:
        size = self._cluster.size
        allowed: dict[Column, Counts] = {}  # by code
        for column in state.alone:
            allowed[column] = np.ones(len(column.values), np.int64)
            allowed[column][0] = PLENTY
        for tally in against:
            column = tally.column
            values = len(column.values)
            if column not in allowed:
                allowed[column] = np.full(values, PLENTY, np.int64)
            allowed[column][tally.with_coming[:values] > 0] = 0
        if not self._is_first(state):
            for tally in state.needs:
                column = tally.column
                values = len(column.values)
                if column not in allowed:
                    allowed[column] = np.full(values, PLENTY, np.int64)
                allowed[column][tally.counts[:values] <= 0] = 0
        found: Counts | None = None
        for column, by_code in allowed.items():
            one = by_code[column.codes[:size]]
            found = one if found is None else np.minimum(found, one)
        return np.full(size, PLENTY, np.int64) if found is None else found

    def _is_first(self, state: _State) -> bool:
        """Whether the affinity is satisfied anywhere, as the pods are the first of those that they want near them."""
        return state.first and not any(tally.pods for tally in state.needs)

    def penalty(self, cls: PodClass) -> Counts | None:
        state = self._state(cls)
        pulls = [pull for pull in self._pulls_of(state, cls) if pull.pods]
        likes = [(tally, weight) for tally, weight in state.likes if tally.pods]
        if not pulls and not likes:
            return None
        scores: dict[Column, Counts] = {}  # by code
        for tally, weight in (*likes, *((pull, 1) for pull in pulls)):
            column = tally.column
            values = len(column.values)
            score = tally.counts[:values] * weight
            known = scores.get(column)
            scores[column] = score if known is None else known + score
        size = self._cluster.size
        total = np.zeros(size, np.int64)
        for column, score in scores.items():
            total += score[column.codes[:size]]
        alive = total[self._cluster.alive[:size]]
        if not len(alive):
            return None
        best, worst = int(alive.max()), int(alive.min())
        return (best - total) * TASTE // (best - worst) if best > worst else None

    def only_shrinks(self, cls: PodClass) -> bool:
        return not self._state(cls).needs

    def apart(self, cls: PodClass) -> Sequence[Column]:
        return self._state(cls).alone

    def interacts(self, classes: Sequence[PodClass]) -> bool:
        for one in classes:
            if one.spec.affinity is None:
                continue
            state = self._state(one)
            for other in classes:
                if state.needs and self._crowds.matches(state.needs_selections, other):
                    return True
                for selection, tally in zip(state.avoids_selections, state.avoids, strict=True):
                    # One of a class on each node: that is a limit like any other.
                    is_plain_limit = one is other and self._is_of_one_node(tally.column)
                    if not is_plain_limit and self._crowds.matches((selection,), other):
                        return True
        return False

    def _is_of_one_node(self, column: Column) -> bool:
        """Whether each domain has one node."""
        position = self._cluster.reshaped.position
        known = self._of_one_node.get(column)
        if known is None or known[0] != position:
            nodes = np.bincount(column.codes[: self._cluster.size])
            known = self._of_one_node[column] = position, int(nodes[1:].max(initial=0)) <= 1
        return known[1]

    def placed(self, pod: Placed, sign: int) -> None:
        held = self._held.get(pod.cls.number)
        if held is None:
            held = self._hold(pod.cls)
        if held:
            kind = kind_of(pod)
            for tally, weight in held:
                tally.add(pod.slot, kind, sign, weight)

    def explain(self, cls: PodClass, slot: int) -> str:
        state = self._state(cls)
        for term in _affinity(cls).required:
            if not self._cluster.column(term.topology_key).codes[slot]:
                return f"label {term.topology_key} is missing, by which pods have affinity"
        if not self._is_first(state):
            for term, tally in zip(_affinity(cls).required, state.needs, strict=True):
                if tally.counts[tally.column.codes[slot]] <= 0:
                    return f"no pod of those wanted near by pod affinity is in the same {term.topology_key}"
        for term, tally in zip(_avoidance(cls).required, state.avoids, strict=True):
            if _near(tally, slot):
                return f"a pod that is avoided by pod anti-affinity is in the same {term.topology_key}"
        if any(_near(ban, slot) for ban in self._bans_of(state, cls)):
            return "a pod is near that avoids this one by its pod anti-affinity"
        return ""

    # What is remembered

    def _state(self, cls: PodClass) -> _State:
        generation = self._crowds.generation()
        if generation != self._generation or len(self._states) > 2 * _ROOM:
            self._generation = generation
            self._states = {}
            self._limits = {}
        state = self._states.get(cls.number)
        if state is None:
            state = self._states[cls.number] = self._judge(cls)
        return state

    def _judge(self, cls: PodClass) -> _State:
        state = _State()
        if cls.spec.affinity is None:
            return state
        crowds = self._crowds
        wanted, avoided = _affinity(cls), _avoidance(cls)
        if wanted.required:
            state.needs_selections = tuple(of_term(term, cls.namespace) for term in wanted.required)
            state.needs = tuple(crowds.tally(state.needs_selections, term.topology_key) for term in wanted.required)
            state.first = crowds.matches(state.needs_selections, cls)
        state.avoids_selections = tuple(of_term(term, cls.namespace) for term in avoided.required)
        state.avoids = tuple(self._tally(term, cls) for term in avoided.required)
        state.alone = tuple(
            {
                tally.column: None
                for selection, tally in zip(state.avoids_selections, state.avoids, strict=True)
                if crowds.matches((selection,), cls)
            }
        )
        state.likes = (
            *((self._tally(one.pod_affinity_term, cls), one.weight) for one in wanted.preferred),
            *((self._tally(one.pod_affinity_term, cls), -one.weight) for one in avoided.preferred),
        )
        state.own = bool(state.needs or state.avoids)
        return state

    def _tally(self, term: PodTerm, cls: PodClass) -> Tally:
        return self._crowds.tally((of_term(term, cls.namespace),), term.topology_key)

    def _bans_of(self, state: _State, cls: PodClass) -> tuple[Tally, ...]:
        if state.ban_epoch != self._bans.epoch:
            state.bans = tuple(self._bans.matching(cls, self._crowds)) if len(self._bans) else ()
            state.ban_epoch = self._bans.epoch
        return state.bans

    def _pulls_of(self, state: _State, cls: PodClass) -> tuple[Tally, ...]:
        if state.pull_epoch != self._pulls.epoch:
            state.pulls = tuple(self._pulls.matching(cls, self._crowds)) if len(self._pulls) else ()
            state.pull_epoch = self._pulls.epoch
        return state.pulls

    def _hold(self, cls: PodClass) -> tuple[tuple[Tally, int], ...]:
        """What a pod of the class brings along for others."""
        if len(self._bans) + len(self._pulls) + len(self._held) > self._bound:
            self._bans.forget()
            self._pulls.forget()
            self._held = {}
            self._bound = 2 * (len(self._bans) + len(self._pulls)) + _ROOM + len(self._cluster.classes)
        bans, pulls = self._bans, self._pulls
        wanted, avoided = _affinity(cls), _avoidance(cls)

        def term(found: PodTerm) -> _Term:
            return of_term(found, cls.namespace), found.topology_key

        held = self._held[cls.number] = (
            *((bans.tally(term(one)), 1) for one in avoided.required),
            *((pulls.tally(term(one.pod_affinity_term)), -one.weight) for one in avoided.preferred),
            *((pulls.tally(term(one.pod_affinity_term)), one.weight) for one in wanted.preferred),
            *((pulls.tally(term(one)), HARD_WEIGHT) for one in wanted.required),
        )
        return held


def _near(tally: Tally, slot: int) -> bool:
    return bool(tally.with_coming[tally.column.codes[slot]] > 0)


def _affinity(cls: PodClass) -> PodAffinity:
    return (cls.spec.affinity and cls.spec.affinity.pod_affinity) or _NO_TERMS


def _avoidance(cls: PodClass) -> PodAffinity:
    return (cls.spec.affinity and cls.spec.affinity.pod_anti_affinity) or _NO_TERMS

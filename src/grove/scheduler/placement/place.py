"""Where a gang goes, or why it goes nowhere. Called by the engine for every gang that waits, by plans of preemption and
by dry runs. Pure.

The cluster is left as it was found. The same input gives the same answer: nothing depends on time or on the order in
which nodes came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Pending, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.exact import question, shares
from grove.scheduler.placement.exhaustive import Exhaustive, is_small
from grove.scheduler.placement.extras import Extras
from grove.scheduler.placement.fill import Shares
from grove.scheduler.placement.flat import Wish, place_flat
from grove.scheduler.placement.layout import lay_out
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.packing import Packing
from grove.scheduler.placement.problem import Problem, levels_of, pins
from grove.scheduler.placement.refusal import refuse
from grove.scheduler.placement.score import score, span
from grove.scheduler.placement.search import Outcome, Search
from grove.scheduler.placement.supply import Supply
from grove.scheduler.placement.trial import Trial
from grove.scheduler.verdicts import Answer, Found, InDomain, NotFound, Put, Shortfall

_DEFAULT: Final = Options()
_Attempt: TypeAlias = tuple[Outcome, dict[str, int] | None]
"""How a search ended, and by pod its slot, if it found a placement."""


def place(cluster: Cluster, gang: Gang, budget: Budget, *, options: Options = _DEFAULT) -> Answer:
    """A place for the minimum of every group, and for as many more of its pods as fit beside them."""
    for group in gang.groups():
        if len(group.waiting) < group.missing:
            lack = Shortfall("", len(group.placed) + len(group.waiting), group.minimum, group.name)
            return NotFound(True, group.name, "", (lack,))
    slot_of: dict[str, int] = {}
    quality, bound = 0, 0
    if not gang.is_placed:
        closed = _closed_form(cluster, gang, options)
        if closed is not None:
            slot_of = {pod.uid: slot for pods, found in closed for pod, slot in _spread(pods, found)}
        else:
            answer = _Searched(cluster, gang, budget, options).run()
            if isinstance(answer, NotFound):
                return answer
            slot_of, quality, bound = answer
    return _finish(cluster, gang, slot_of, score(quality, bound), options)


def _closed_form(cluster: Cluster, gang: Gang, options: Options) -> list[tuple[list[Pending], Shares]] | None:
    """For pods of one class in one scope, of which none is placed; None: it is another case, or there is no place."""
    root = gang.root
    if root.scopes or root.anchors or gang.within is not None or gang.taste is not None:
        return None
    groups = root.groups
    cls = next(pod.cls for group in groups for pod in group.waiting[: group.missing])
    for group in groups:
        if group.placed or any(pod.cls is not cls for pod in group.waiting[: group.missing]):
            return None
    if not cluster.is_plain(cls) or cluster.penalty(cls) is not None:
        return None
    tree, required, preferred = levels_of(cluster, root, options)
    preferred = max(preferred, required)
    if any(not level.covers for level in tree.levels[max(required, 0) : preferred + 1]):
        return None
    wanted = [pod for group in groups for pod in group.waiting[: group.missing]]
    extras = sum(len(group.waiting) - group.missing for group in groups)
    found = place_flat(cluster, Wish(cls, len(wanted), extras, tree, required, preferred))
    return None if found is None else [(wanted, found)]


class _Searched:
    """A gang that needs a search."""

    def __init__(self, cluster: Cluster, gang: Gang, budget: Budget, options: Options) -> None:
        self._budget = budget
        self._options = options
        self._before = budget.spent
        self._problem = Problem(cluster, gang, options)
        self._supply = Supply(self._problem)

    def run(self) -> tuple[dict[str, int], int, int] | NotFound:
        """By pod its slot, and what the placement scores of how much."""
        problem, supply = self._problem, self._supply
        plain = problem.is_plain
        if not plain and self._nothing_fits():
            return self._refuse(0, proven=True)
        if supply.exact:
            outcome = Search(problem, supply, self._budget, self._options, None).run()
            found = self._by_kind(lay_out(problem, outcome.regions)) if outcome.regions is not None else None
        elif plain:
            outcome, found = self._patiently(self._packed, Packing.turns)
            if found is None:
                found = self._ask_exactly(outcome)
        else:
            outcome, found = self._patiently(self._tried, Trial.turns)
        if found is None:
            return self._refuse(outcome.deepest, proven=outcome.complete)
        quality = self._quality(found)
        return found, quality, max(outcome.bound, quality) if not outcome.complete else quality

    def _patiently(self, attempt: Callable[[int], _Attempt], turns: int) -> _Attempt:
        """Looks briefly into every domain, and again at more and more length while that decides nothing."""
        for turn in range(turns):
            outcome, found = attempt(turn)
            if found is not None or outcome.complete or self._budget.is_spent:
                return outcome, found
        return attempt(turns)

    def _packed(self, turn: int) -> _Attempt:
        packing = Packing(self._problem, self._budget, turn)
        outcome = Search(self._problem, self._supply, self._budget, self._options, packing, turn).run()
        if outcome.regions is None:
            return outcome, None
        return outcome, self._by_kind((load.ask, load.kind, taken) for load, taken in packing.kept)

    def _tried(self, turn: int) -> _Attempt:
        trial = Trial(self._problem, self._budget, turn)
        outcome = Search(self._problem, self._supply, self._budget, self._options, trial, turn).run()
        found = {pod.uid: slot for pod, slot in trial.kept} if outcome.regions is not None else None
        return outcome, found if turn else self._exhaust(outcome, found)

    def _ask_exactly(self, outcome: Outcome) -> dict[str, int] | None:
        """Asks the solver, where nothing was found and nothing is proven."""
        if outcome.complete or self._options.exact is None:
            return None
        asked = question(self._problem, self._supply)
        if asked is None:
            return None
        answer = self._options.exact(asked)
        outcome.complete = answer.verdict in ("best", "none")
        return self._by_kind(shares(asked, answer)) if answer.counts else None

    def _nothing_fits(self) -> bool:
        """Whether not even a first pod has a place: then no order helps."""
        within = self._problem.gang.within
        for kind in self._problem.kinds:
            room = self._problem.cluster.capacity(kind.cls) > 0
            if (room if within is None else room & within).any():
                return False
        return True

    def _exhaust(self, outcome: Outcome, found: dict[str, int] | None) -> dict[str, int] | None:
        """Settles small cases for certain."""
        if outcome.complete or not is_small(self._problem):
            return found
        quality = self._quality(found) if found is not None else -1
        if found is not None and quality >= outcome.bound:
            return found
        settled = Exhaustive(self._problem, self._budget, outcome.bound)
        settled.run()
        outcome.complete = settled.complete
        if settled.quality > quality:
            return {pod.uid: slot for pod, slot in settled.kept}
        return found

    def _quality(self, slot_of: dict[str, int]) -> int:
        return self._problem.quality([[slot_of[pod.uid] for pod in ask.pods] for ask in self._problem.asks])

    def _by_kind(self, found: Iterable[tuple[int, int, Shares]]) -> dict[str, int]:
        """Which pod goes where: those of a kind are alike, so they go in their order."""
        problem = self._problem
        result: dict[str, int] = {}
        for number, kind, taken in found:
            ask = problem.asks[number]
            pods = [pod for pod in ask.pods if problem.kind_of[pod.cls] == kind]
            position = ask.tree.position
            in_order = sorted(taken, key=lambda share: position[share[0]])
            result |= {pod.uid: slot for pod, slot in _spread(pods, in_order)}
        return result

    def _refuse(self, number: int, *, proven: bool) -> NotFound:
        looked = self._budget.spent - self._before
        return refuse(self._problem, self._supply, number, proven=proven, looked=looked)


def _spread(pods: Sequence[Pending], shares: Shares) -> Iterator[tuple[Pending, int]]:
    at = 0
    for slot, many in shares:
        for pod in pods[at : at + many]:
            yield pod, slot
        at += many


def _finish(cluster: Cluster, gang: Gang, slot_of: dict[str, int], scored: float, options: Options) -> Found:
    """Adds the extras, and says where scopes are."""
    puts = [Put(pod, slot_of[pod.uid]) for group in gang.groups() for pod in group.waiting[: group.missing]]
    left: list[Pending] = []
    if any(len(group.waiting) > group.missing for group in gang.groups()):
        mark = cluster.mark()
        for pod, slot in puts:
            cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, slot, gang=gang.key))
        extras = Extras(cluster, gang, slot_of, options)
        extras.run()
        cluster.rollback(mark)
        puts += extras.puts
        left = extras.left
    where = {pod.uid: slot for pod, slot in puts}
    return Found(tuple(puts), tuple(left), scored, tuple(_domains(cluster, gang.root, where, options)))


def _domains(cluster: Cluster, scope: Scope, where: dict[str, int], options: Options) -> Iterator[InDomain]:
    if scope.keys or scope.pack.required or scope.pack.preferred:
        new = [where[pod.uid] for group in scope.all_groups() for pod in group.waiting if pod.uid in where]
        slots = dict.fromkeys([*pins(scope).tolist(), *new])
        if slots:
            tree, _, _ = levels_of(cluster, scope, options)
            level, domain = span(tree, np.array([*slots], np.int64))
            if level >= 0:
                yield InDomain(scope.name, tree.levels[level].key, tree.levels[level].name(domain))
            else:
                yield InDomain(scope.name, "", "")
    for inner in scope.scopes:
        yield from _domains(cluster, inner, where, options)

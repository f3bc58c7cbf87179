"""The plan that costs least: domain by domain, the most promising first, until none can do better. Pure.

A domain's plan is made on a board, by resources alone, and tried with the true placement before it counts. Where few
units are in question, all their combinations are gone through, as far as they could cost less than the best so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.predicates.rule import Slots
from grove.scheduler.preemption.assembly import Assembly, Worth
from grove.scheduler.preemption.board import Board
from grove.scheduler.preemption.bounds import Bounds, Least
from grove.scheduler.preemption.needs import Need
from grove.scheduler.preemption.running import Cost, Policy
from grove.scheduler.preemption.trial import Trial
from grove.scheduler.preemption.units import Unit, Units, dominates
from grove.scheduler.verdicts import Found, NotFound

EXHAUSTED: Final = 16
"""So many units are gone through in all combinations."""
COMBINATIONS: Final = 4_000
"""Steps of going through, for one domain."""
ALL_COMBINATIONS: Final = 20_000
"""For all domains."""
SWAPPED: Final = 12
"""Plans of so many units are improved by exchanging two."""
EXCHANGED: Final = 128
"""So many others are looked at for an exchange at most."""
_SWAPS: Final = 32
CROWD: Final = 256
"""Of more nodes than these the promising ones are looked at first, where any will do."""
LEEWAY: Final = 3
"""So many times the room that is needed is looked at then."""


class Best(NamedTuple):
    """The best plan so far."""

    key: tuple[int, ...]
    units: tuple[Unit, ...]
    found: Found
    domain: int


class Search:
    """Looks for a plan among all that go at a priority."""

    def __init__(
        self,
        cluster: Cluster,
        gang: Gang,
        need: Need,
        units: Units,
        bounds: Bounds,
        trial: Trial,
        budget: Budget,
        rows: Sequence[int],
        *,
        policy: Policy,
    ) -> None:
        self._cluster = cluster
        self._need = need
        self._units = units
        self._bounds = bounds
        self._trial = trial
        self._budget = budget
        self._rows = list(rows)
        self._policy = policy
        self._counts = need.total()
        self._is_plain = all(cluster.is_plain(cls) for cls in self._counts)
        self.wanted = list(self._counts.values())
        # Then a board says it all, and the true placement only confirms it.
        self.is_flat = self._is_plain and need.is_flat
        self._is_simple = self.is_flat and len(self._counts) == 1
        self._tops = (0, 1, 8) if policy.order == "minDisruption" else (1, 2, 7)
        self.combinations = ALL_COMBINATIONS
        self.proven = True
        """Whether nothing was left out: what was not found does not exist, and nothing costs less than what was."""

    def at(self, level: int, *, strict: bool) -> Best | None:
        """The best plan in which nobody above a priority goes; `strict`: and no disruption budget is broken."""
        best: Best | None = None
        for looked, (least, domain) in enumerate(self._bounds.domains(level)):
            if best is not None and self._floor(least, level) >= best.key:
                break
            if self._budget.is_spent or (best is not None and looked >= self._policy.domains):
                self.proven = False
                break
            best = self._look(domain, level, best, strict=strict)
        if not self._is_plain:
            self.proven = False  # those who are in the way may be elsewhere
            if best is None and self._bounds.is_split:
                slots = np.flatnonzero(self._cluster.alive[: self._cluster.size])
                best = self._given_back(self._board(slots, level, strict=strict), -1, None)
        return None if best is None else self._polished(best, level, strict=strict)

    def _floor(self, least: Least, level: int) -> tuple[int, ...]:
        if self._policy.order == "minGangs":
            return (least.stopped,)
        return (level, 0, least.gangs, least.scaled, least.work)

    def _slots(self, domain: int) -> Slots:
        return np.flatnonzero(self._cluster.alive[: self._cluster.size]) if domain < 0 else self._bounds.slots(domain)

    def _board(self, slots: Slots, level: int, *, strict: bool) -> Board:
        bounds = self._bounds
        candidates = self._units.over(slots, level)
        if strict:
            allowed = self._units.guards.allowed
            candidates = [
                unit
                for unit in candidates
                if not unit.budgets or all(count <= allowed.get(name, 0) for name, count in unit.budgets.items())
            ]
        return Board(
            self._units,
            candidates,
            slots.tolist(),
            self._rows,
            bounds.free,
            bounds.asked,
            bounds.allowed,
            strict=strict,
        )

    # One domain

    def _look(self, domain: int, level: int, best: Best | None, *, strict: bool) -> Best | None:
        slots = self._slots(domain)
        if domain < 0 and self._need.is_flat and len(slots) > CROWD:
            some = self._bounds.promising(level, LEEWAY * sum(self.wanted))
            if len(some) < len(slots) // 2:
                self.proven = False
                board = self._board(some, level, strict=strict)
                self._budget.spend(2 * len(some) + 4 * len(board.candidates))
                best = self._made(board, domain, best, thorough=False)
                if best is not None:
                    return best
        board = self._board(slots, level, strict=strict)
        self._budget.spend(2 * len(slots) + 4 * len(board.candidates))
        best = self._made(board, domain, best)
        if len(board.candidates) <= EXHAUSTED:
            return _Combinations(self, board, domain, self._budget).best(best)
        self.proven = False
        return best

    def _made(self, board: Board, domain: int, best: Best | None, *, thorough: bool = True) -> Best | None:
        assembly = Assembly(self._cluster, board, [*self._counts], self._need, self._budget)
        ways: list[tuple[tuple[int, ...], tuple[Unit, ...]]] = []
        for worth in self._worths():
            board.set(())
            if assembly.make(worth):
                ways.append((self._units.key(board.cost), tuple(board.chosen.values())))
        board.set(())
        for key, units in sorted(ways, key=lambda way: way[0]):
            if best is not None and key >= best.key:
                return best
            better = self.tried(units, domain)
            if better is not None:
                return better
        # Resources alone do not say it: begin with all gone, and let stay whoever can.
        return self._given_back(board, domain, best) if thorough else best

    def tried(self, units: Sequence[Unit], domain: int) -> Best | None:
        """The plan, if the true placement agrees."""
        answer = self._trial.answer(units)
        if isinstance(answer, NotFound):
            self.proven = self.proven and answer.proven
            return None
        return Best(self._units.key(self._units.cost(units)), tuple(units), answer, domain)

    def _given_back(self, board: Board, domain: int, best: Best | None) -> Best | None:
        board.set(())
        for unit in sorted(board.candidates, key=lambda one: (-len(one.gangs), self._units.key(one.cost), one.index)):
            if not board.is_chosen(unit) and board.may(unit):
                board.choose(unit)
        everyone = tuple(board.chosen.values())
        board.set(())
        if not everyone:
            return best
        plan = self.tried(everyone, domain)
        if plan is None:
            return best
        plan = self._reprieved(plan)
        return plan if best is None or plan.key < best.key else best

    def _reprieved(self, plan: Best) -> Best:
        """Lets all stay without whom the gang fits too, those who are worth most first; many at once if that works."""
        ordered = sorted(plan.units, key=lambda unit: (self._units.key(unit.cost), unit.index), reverse=True)
        kept: list[Unit] = []
        at, size = 0, max(1, len(ordered) // 2)
        while at < len(ordered):
            if self._budget.is_spent:
                self.proven = False
                break
            block = ordered[at : at + size]
            better = self.tried([*kept, *ordered[at + size :]], plan.domain)
            if better is not None:
                plan = better
                at += len(block)
                size *= 2
            elif size == 1:
                kept += block
                at += 1
            else:
                size = max(1, min(size, len(block)) // 2)
        return plan

    def _worths(self) -> tuple[Worth, ...]:
        key, tops = self._units.key, self._tops

        def by_policy(before: Cost, after: Cost, gain: int) -> tuple[float, ...]:
            old, new = key(before), key(after)
            return tuple([new[at] if at in tops else (new[at] - old[at]) / gain for at in range(len(new))])

        def by_work(before: Cost, after: Cost, gain: int) -> tuple[float, ...]:
            return (
                float(after.violations),
                (after.work - before.work) / gain,
                (after.gangs - before.gangs) / gain,
                (after.scaled - before.scaled) / gain,
                (after.surplus - before.surplus) / gain,
            )

        return by_policy, by_work

    # The last touch

    def _polished(self, best: Best, level: int, *, strict: bool) -> Best:
        """Nobody too many, and nobody who could be exchanged for someone of less worth."""
        slots = self._slots(best.domain)
        if not self._is_simple:
            best = self._reprieved(best)
        if self.proven or len(best.units) > SWAPPED:
            return best
        board = self._board(slots, level, strict=strict)
        if len(board.candidates) > EXCHANGED:
            return best
        swaps = 0
        better: Best | None = best
        while better is not None and swaps < _SWAPS:
            better = None
            for unit, other in self._swaps(board, best):
                if self._budget.is_spent or swaps >= _SWAPS:
                    break
                swaps += 1
                better = self.tried([one for one in best.units if one is not unit] + [other], best.domain)
                if better is not None:
                    best = self._reprieved(better)
                    break
        return best

    def _swaps(self, board: Board, best: Best) -> list[tuple[Unit, Unit]]:
        """Exchanges that would cost less and leave enough of everything, the best first."""
        board.set(best.units)
        found: list[tuple[tuple[int, ...], int, int, Unit, Unit]] = []
        for unit in best.units:
            undo = board.drop(unit)
            for other in board.candidates:
                if board.is_chosen(other) or other is unit or not board.may(other):
                    continue
                self._budget.spend()
                more = board.choose(other)
                key = self._units.key(board.cost)
                if key < best.key and len(board.chosen) == len(best.units) and not board.lacks(self.wanted):
                    found.append((key, unit.index, other.index, unit, other))
                more()
            undo()
        board.set(())
        return [(unit, other) for *_, unit, other in sorted(found, key=lambda one: one[:3])]


class _Combinations:
    """Goes through the combinations of a board's units, as far as they could be better."""

    def __init__(self, search: Search, board: Board, domain: int, budget: Budget) -> None:
        self._search = search
        self._board = board
        self._domain = domain
        self._budget = budget
        self._key = board.units.key
        # Whole trees of gangs first, so that what goes with them anyway comes after them; then those worth most.
        self._order = sorted(
            board.candidates, key=lambda one: (len(one.gangs), self._key(one.cost), one.index), reverse=True
        )
        self._left = min(COMBINATIONS, search.combinations)
        self._best: Best | None = None
        self._dearer = self._twins() if search.is_flat else {}

    def _twins(self) -> dict[int, Unit]:
        """By index of a unit another that makes the same room, and is dearer: nobody takes that one and not this."""
        policy = self._board.units.policy
        last: dict[object, Unit] = {}
        found: dict[int, Unit] = {}
        for unit in self._order:
            likeness = self._board.likeness(unit) if unit.gangs and not unit.budgets else None
            if likeness is None:
                continue
            if likeness in last and dominates(unit.cost, last[likeness].cost, policy):
                found[unit.index] = last[likeness]
            last[likeness] = unit
        return found

    def best(self, best: Best | None) -> Best | None:
        """The best of all combinations, if it is better than what is known."""
        self._best = best
        board = self._board
        board.set(())
        for unit in self._order:
            board.lift(unit)
        if not board.lacks(self._search.wanted):
            self._go(0)
        for unit in self._order:
            board.lower(unit)
        self._search.combinations -= min(COMBINATIONS, self._search.combinations) - max(0, self._left)
        if self._left < 0:
            self._search.proven = False
        return self._best

    def _go(self, at: int) -> None:
        self._left -= 1
        if self._left < 0 or not self._budget.spend():
            self._left = min(self._left, -1)
            return
        board = self._board
        if at == len(self._order):
            units = tuple(board.chosen.values())
            found = self._search.tried(units, self._domain)
            if found is not None and (self._best is None or found.key < self._best.key):
                self._best = found
            return
        unit = self._order[at]
        dearer = self._dearer.get(unit.index)
        if dearer is None or dearer.index not in board.chosen:
            board.lower(unit)
            if not board.lacks(self._search.wanted):
                self._go(at + 1)
            board.lift(unit)
        if board.is_chosen(unit) or not board.may(unit):
            return
        undo = board.choose(unit)
        if self._best is None or self._key(board.cost) < self._best.key:
            self._go(at + 1)
        undo()

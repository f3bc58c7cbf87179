"""Chooses domains for scopes, broad ones before those inside them, and takes back what leads nowhere. Pure.

Complete within its budget: whatever is left out is proven useless by a bound, by an equal domain that was tried, or by
an equal state that failed. The first placement found is bettered until its score reaches what the bounds allow, the
search is exhausted, or the steps for it are spent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

import numpy as np

from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.candidates import Candidates
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.problem import ANYWHERE, Ask, Problem, Rung
from grove.scheduler.placement.region import Region
from grove.scheduler.placement.shapes import Shapes
from grove.scheduler.placement.supply import Supply
from grove.scheduler.predicates.rule import Mask

_COST: Final = 5
_PATIENCE: Final = 4
"""Domains of a level that may stay undecided before a broader one is tried; more in later turns."""
_EAGER: Final = 6
"""Failures after which states are remembered: most searches have none."""


class Packer(Protocol):
    """Puts the pods of a scope on nodes while the search goes on."""

    def put(self, ask: int, region: Region) -> bool | None:
        """None: perhaps they fit."""
        ...

    def undo(self) -> None:
        """Takes back what was put last."""
        ...

    def keep(self) -> None:
        """This is the best so far: it will be asked for."""
        ...


class Choice(NamedTuple):
    """A domain for a scope; level -1: it may be anywhere in its region."""

    rung: Rung
    domain: int


class Step(NamedTuple):
    """What is decided: where a scope goes, or on which nodes its own pods are."""

    ask: int
    packs: bool


class Outcome:
    """What the search came to."""

    __slots__ = ("bound", "complete", "deepest", "quality", "regions")

    def __init__(self, bound: int) -> None:
        self.regions: list[Region] | None = None
        """By ask; None: nothing was found."""
        self.quality = -1
        self.bound = bound
        """No placement scores more."""
        self.complete = True
        """Whether everything was tried: then there is no other or better placement."""
        self.deepest = 0
        """The ask that the search never got past."""


class _Frame:
    __slots__ = ("applied", "choices", "key", "quality", "step")

    def __init__(self, step: int, quality: int, choices: Iterator[Choice], key: object) -> None:
        self.step = step
        self.quality = quality
        self.choices = choices
        self.key = key
        self.applied: Choice | None = None


class Search:
    """See the top of the module."""

    def __init__(
        self, problem: Problem, supply: Supply, budget: Budget, options: Options, packer: Packer | None, turn: int = 0
    ) -> None:
        self._problem = problem
        self._supply = supply
        self._budget = budget
        self._options = options
        self._packer = packer
        asks = problem.asks
        self._candidates = Candidates(problem, supply)
        self._needs, self._more = self._candidates.needs, self._candidates.more
        self._steps = [*self._in_order(0)]
        self._regions: list[Region] = [Region(ask.tree, 0, len(ask.tree.order)) for ask in asks]
        self._outer: list[tuple[int, int]] = [(-1, -1)] * len(asks)
        """By ask the domain of its tree that it, or what is around it, is confined to."""
        self._gains = [max((rung.gain for rung in ask.ladder), default=0) for ask in asks]
        self._shapes = self._make_shapes()
        self._memo: dict[object, int] = {}
        self._failures = 0
        self._best = -1
        self._rest: list[int] = []
        self._until = 0
        self._reached = 0
        self._undecided = 0
        self._patience = _PATIENCE << 2 * turn

    def _in_order(self, number: int) -> Iterator[Step]:
        """Scopes that take a larger part of what there is come first; own pods after those of narrower scopes."""
        ask = self._problem.asks[number]
        yield Step(number, False)
        inner = [at for at in ask.children if self._problem.asks[at].demand.any()]
        for at in sorted(inner, key=lambda at: (-self._relative(at), at)):
            yield from self._in_order(at)
        if self._packer is not None and ask.own:
            yield Step(number, True)

    def _relative(self, number: int) -> float:
        ask = self._problem.asks[number]
        level = ask.required if ask.required >= 0 else ask.preferred
        need = self._needs[number]
        if any(rung.domain >= 0 or rung.limit is not None for rung in ask.ladder):
            return float("inf")
        if level < 0:
            return 0.0
        most = self._supply.left(ask.tree, level)[:, :-1].max(axis=1, initial=0)
        return float((need / np.maximum(most, 1)).max())

    def _make_shapes(self) -> Shapes | None:
        problem = self._problem
        if not (problem.is_laminar and problem.is_plain):
            return None
        trees = [ask.tree for ask in problem.asks if ask.required >= 0 or ask.preferred >= 0]
        return Shapes(problem, self._supply, trees[0]) if trees else None

    # The search

    def run(self) -> Outcome:
        """The best placement of all that was tried."""
        asks = self._problem.asks
        root = Outcome(0)
        if (self._supply.whole < self._needs[0]).any():
            return root
        for number, ask in enumerate(asks):
            if ask.demand.any():
                gain = self._best_gain(number)
                if gain is None:
                    root.deepest = number
                    return root
                self._gains[number] = gain
        rest = [0]
        for step in reversed(self._steps):
            rest.append(rest[-1] + (0 if step.packs else self._gains[step.ask]))
        self._rest = rest[::-1]
        outcome = Outcome(self._problem.base + max(self._upper(0), default=0))
        self._walk(outcome)
        if outcome.complete and outcome.regions is not None:
            outcome.bound = outcome.quality
        return outcome

    def _best_gain(self, number: int) -> int | None:
        """The best rung that the scope could reach if it were alone; None: none."""
        for rung in self._problem.asks[number].ladder:
            if any(True for _ in self._candidates.on_rung(number, rung, (-1, -1), None)):
                return rung.gain
        return None

    def _upper(self, number: int) -> list[int]:
        """By rung that a scope could reach what it and those inside it score at most."""
        ask = self._problem.asks[number]
        inner = [at for at in ask.children if self._problem.asks[at].demand.any()]
        values = {at: self._upper(at) for at in inner}
        rungs = [rung for rung in ask.ladder if rung.gain <= self._gains[number]]
        return [rung.gain + self._inside(rung, ask, values) for rung in rungs]

    def _inside(self, rung: Rung, parent: Ask, values: dict[int, list[int]]) -> int:
        """What scopes score at most, if the one around them is on a rung: not all of them find a domain of the level
        that they like best."""
        total = sum(max(found) for found in values.values())
        alike: dict[tuple[tuple[str, ...], int], list[int]] = {}
        for number, found in values.items():
            ask = self._problem.asks[number]
            if len(found) > 1 and len(found) == len(ask.ladder):
                alike.setdefault((ask.tree.keys, ask.ladder[0].level), []).append(number)
        for (keys, level), numbers in alike.items():
            outer = rung.level if parent.tree.keys == keys and rung.level <= level else ANYWHERE
            most = int(self._supply.together([self._problem.asks[at] for at in numbers], level, outer).max(initial=0))
            losses = sorted(max(0, max(values[at]) - max(values[at][1:])) for at in numbers)
            total -= sum(losses[: max(0, len(numbers) - most)])
        return total

    def _walk(self, outcome: Outcome) -> None:
        frames = [self._frame(0, self._problem.base)]
        while frames:
            frame = frames[-1]
            self._take_back(frame)
            choice = next(frame.choices, None)
            if choice is None:
                self._failures += 1
                if frame.key is not None:
                    self._memo[frame.key] = self._missing(frame.quality)
                frames.pop()
                continue
            if not self._budget.spend(_COST) or (outcome.regions is not None and self._budget.spent > self._until):
                outcome.complete = False
                break
            if not self._apply(frame, choice, outcome):
                continue
            step = frame.step + 1
            quality = frame.quality + choice.rung.gain
            self._note_depth(outcome, step)
            if step < len(self._steps):
                following = self._frame(step, quality)
                if self._is_promising(following):
                    frames.append(following)
                continue
            self._found(outcome, quality)
            if quality >= outcome.bound:
                break
        while frames:
            self._take_back(frames.pop())

    def _missing(self, quality: int) -> int:
        """What the rest must score more than to be of use; -1: anything is."""
        return self._best - quality if self._best >= 0 else -1

    def _is_promising(self, frame: _Frame) -> bool:
        missing = self._missing(frame.quality)
        if self._rest[frame.step] <= missing:
            return False
        known = self._memo.get(frame.key) if frame.key is not None else None
        return known is None or known > missing

    def _note_depth(self, outcome: Outcome, step: int) -> None:
        if step > self._reached:
            self._reached = step
            outcome.deepest = self._steps[min(step, len(self._steps) - 1)].ask

    def _found(self, outcome: Outcome, quality: int) -> None:
        if outcome.regions is None:
            self._until = self._budget.spent + self._options.improve
        self._best = outcome.quality = quality
        outcome.regions = [*self._regions]
        if self._packer is not None:
            self._packer.keep()

    def _frame(self, step: int, quality: int) -> _Frame:
        key = self._key(step) if self._failures >= _EAGER else None
        return _Frame(step, quality, self._choices(step, quality), key)

    def _key(self, step: int) -> object:
        """What the rest of the search depends on, and nothing else."""
        shapes = self._shapes
        if shapes is None:
            return None
        parts: list[object] = [step]
        number = self._steps[step].ask
        chain: list[int] = []
        at = self._problem.asks[number].parent if not self._steps[step].packs else number
        while at >= 0:
            chain.append(at)
            at = self._problem.asks[at].parent
        parts += [shapes.of(*self._outer[at]) for at in reversed(chain)]
        return tuple(parts)

    def _choices(self, step: int, quality: int) -> Iterator[Choice]:
        number, packs = self._steps[step]
        if packs:
            yield Choice(Rung(ANYWHERE, 0), -1)
            return
        ask = self._problem.asks[number]
        outer, mask = self._around(ask)
        for rung in ask.ladder:
            if self._best >= 0 and quality + rung.gain + self._rest[step + 1] <= self._best:
                return
            before = self._undecided
            for choice in self._unlike(rung, self._candidates.on_rung(number, rung, outer, mask)):
                yield choice
                if rung is not ask.ladder[-1] and self._undecided - before >= self._patience:
                    break  # a broader level is easier

    def _around(self, ask: Ask) -> tuple[tuple[int, int], Mask | None]:
        """The domain of its own tree around a scope, and the slots that it is limited to besides."""
        outer = (-1, -1)
        at = ask.parent
        foreign = False
        while at >= 0:
            other = self._problem.asks[at]
            if other.tree is ask.tree:
                if outer[0] < self._outer[at][0]:
                    outer = self._outer[at]
            elif self._outer[at][0] >= 0:
                foreign = True
            at = other.parent
        if ask.parent < 0:
            return outer, None
        region = self._regions[ask.parent]
        return outer, region.inside if foreign or region.mask is not None else None

    def _unlike(self, rung: Rung, domains: Iterator[int]) -> Iterator[Choice]:
        """One of all domains that are alike."""
        if self._shapes is None or rung.level < 0:
            for domain in domains:
                yield Choice(rung, domain)
            return
        first: int | None = None
        seen: set[int] = set()
        for domain in domains:
            if first is None:
                first = domain
            else:
                if not seen:
                    seen.add(self._shapes.of(rung.level, first))
                shape = self._shapes.of(rung.level, domain)
                if shape in seen:
                    continue
                seen.add(shape)
            yield Choice(rung, domain)

    def _apply(self, frame: _Frame, choice: Choice, outcome: Outcome) -> bool:
        number, packs = self._steps[frame.step]
        ask = self._problem.asks[number]
        if packs:
            assert self._packer is not None
            fits = self._packer.put(number, self._regions[number])
            if fits is None:
                outcome.complete = False
                self._undecided += 1
            if not fits:
                return False
            frame.applied = choice
            return True
        rung, domain = choice
        outer, _ = self._around(ask)
        region = self._regions[ask.parent] if ask.parent >= 0 else Region(ask.tree, 0, len(ask.tree.order))
        region = region.limited(rung.limit)
        if rung.level > outer[0]:
            self._outer[number] = (rung.level, domain)
            region = region.within(ask.tree, rung.level, domain)
            self._supply.charge(ask, rung.level, domain, outer[0], self._needs[number], self._more[number], 1)
        else:
            self._outer[number] = outer
        if self._shapes is not None:
            self._shapes.charged(*self._outer[number], self._load(ask), 1)
        self._regions[number] = region
        frame.applied = choice
        return True

    def _take_back(self, frame: _Frame) -> None:
        if frame.applied is None:
            return
        number, packs = self._steps[frame.step]
        rung, domain = frame.applied
        frame.applied = None
        if packs:
            assert self._packer is not None
            self._packer.undo()
            return
        ask = self._problem.asks[number]
        outer, _ = self._around(ask)
        if rung.level > outer[0]:
            self._supply.charge(ask, rung.level, domain, outer[0], self._needs[number], self._more[number], -1)
        if self._shapes is not None:
            self._shapes.charged(*self._outer[number], self._load(ask), -1)

    def _load(self, ask: Ask) -> tuple[object, ...]:
        return tuple(sorted(ask.own.items()))

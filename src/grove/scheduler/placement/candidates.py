"""The domains that a scope may go to, as far as the bounds tell, and in which order they are tried. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from grove.scheduler.placement.problem import Ask, Kind, Problem, Rung
from grove.scheduler.placement.supply import Supply
from grove.scheduler.placement.wear import wear
from grove.scheduler.predicates.rule import Counts, Mask
from grove.scheduler.topology import Tree


class Candidates:
    """Over what the supply has left at the moment."""

    def __init__(self, problem: Problem, supply: Supply) -> None:
        self._problem: Final = problem
        self._supply: Final = supply
        self.needs: Final = [supply.need(ask.demand) for ask in problem.asks]
        """By scope and row what its pods take."""
        self.more: Final = [supply.need(ask.demand + ask.extras) for ask in problem.asks]
        """With its extras."""
        self._against: dict[tuple[int, int], Counts | None] = {}

    def on_rung(self, number: int, rung: Rung, outer: tuple[int, int], mask: Mask | None) -> Iterator[int]:
        """The domains of a level that the bounds leave, best first; -1 for anywhere."""
        ask, need = self._problem.asks[number], self.needs[number]
        supply = self._supply
        if rung.level < 0:
            if rung.limit is not None:
                limit = rung.limit if mask is None else rung.limit & mask
                if ((supply.slots * limit).sum(axis=1) < need).any():
                    return
            yield -1
            return
        if rung.level <= outer[0]:
            yield from self._around_it(ask, rung, outer)
            return
        inside, room = supply.room(ask, rung.level, outer, mask)
        enough: Mask = np.all(room >= need[:, None], axis=0)
        for level in (ask.required, ask.preferred):  # where a label is missing, a narrower one does not help
            if 0 <= level < rung.level:
                enough &= supply.ancestors(ask.tree, rung.level, level)[inside.start : inside.stop] >= 0
        for level, asks in self._crowded(ask, rung.level):
            enough &= self._supply.together(asks, level, rung.level)[inside.start : inside.stop] >= len(asks)
        if rung.domain >= 0:
            if rung.domain in inside and enough[rung.domain - inside.start]:
                yield rung.domain
            return
        found = np.flatnonzero(enough)
        if len(found) > 1:
            found = found[self._order(ask, rung, inside, room[:, found], found, self.more[number])]
        for at in found.tolist():
            yield inside.start + at

    def _around_it(self, ask: Ask, rung: Rung, outer: tuple[int, int]) -> Iterator[int]:
        """The domain of a level that lies around the domain which the scope is in already."""
        level, domain = outer
        if rung.level < level:
            domain = int(self._supply.ancestors(ask.tree, level, rung.level)[domain])
        if domain < 0 or rung.domain not in (-1, domain):
            return
        if 0 <= ask.required < rung.level and self._supply.ancestors(ask.tree, rung.level, ask.required)[domain] < 0:
            return
        yield domain

    def _crowded(self, parent: Ask, outer: int, *, liked: bool = False) -> Iterator[tuple[int, list[Ask]]]:
        """The scopes inside one that need domains of a level narrower than `outer`, or that like one best."""
        alike: dict[int, list[Ask]] = {}
        for number in parent.children:
            ask = self._problem.asks[number]
            rung = ask.ladder[0 if liked else -1]
            if ask.tree is parent.tree and rung.level > outer and ask.demand.any():
                alike.setdefault(rung.level, []).append(ask)
        yield from alike.items()

    def _order(self, ask: Ask, rung: Rung, inside: range, room: Counts, found: Counts, more: Counts) -> Counts:
        """Room for extras first, then what opens no clean domain, then the tightest."""
        needed = self.needs[ask.number]
        main = int((needed / np.maximum(self._supply.whole, 1)).argmax())
        cost = wear(self._problem.cluster, ask.tree).costs(rung.level)[inside.start : inside.stop][found]
        keys = [room[main], cost]
        tastes = self._tastes(ask, rung.level)
        if tastes is not None:
            keys.append(tastes[inside.start : inside.stop][found])
        if (more > needed).any():
            spare = self._supply.spare[ask.tree.keys][rung.level][main, inside.start : inside.stop][found]
            keys.append(-np.minimum(spare, more[main]))
        for level, asks in self._crowded(ask, rung.level, liked=True):
            many = self._supply.together(asks, level, rung.level)[inside.start : inside.stop][found]
            keys.append(-np.minimum(many, len(asks)))
        order: Counts = np.lexsort(keys)
        return order

    def _tastes(self, ask: Ask, level: int) -> Counts | None:
        """By domain what speaks against the nodes that the pods of a scope would take there; None: nothing."""
        key = (ask.number, level)
        if key not in self._against:
            found: Counts | None = None
            for kind in self._problem.kinds:
                many = int(ask.demand[kind.number])
                if many and kind.dislike is not None:
                    one = _against(ask.tree, level, kind, many)
                    found = one if found is None else found + one
            self._against[key] = found
        return self._against[key]


def _against(tree: Tree, level: int, kind: Kind, many: int) -> Counts:
    """By domain of a level what speaks against the best nodes for so many pods of a kind."""
    assert kind.dislike is not None
    found = tree.levels[level]
    slots = tree.order[found.domain_of[tree.order] >= 0]
    domains = found.domain_of[slots]
    order = np.lexsort((kind.dislike[slots], domains))
    slots, domains = slots[order], domains[order]
    room = kind.capacity[slots]
    running = np.cumsum(room)
    sizes = found.ends - found.starts
    first = np.cumsum(sizes) - sizes
    before = running - room - np.repeat((running - room)[first], sizes) if len(first) else running
    taken = np.clip(many - before, 0, room) * kind.dislike[slots]
    result: Counts = np.add.reduceat(taken, first) if len(first) else np.zeros(0, np.int64)
    return result

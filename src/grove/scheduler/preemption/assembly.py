"""Makes room on a board step by step: the cheapest way to one more pod, again and again. Pure.

Scopes with a domain of their own come one after the other, each into the domain that costs least beside those before.
What is found is a good plan, no proof.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Final

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.board import Board, Undo
from grove.scheduler.preemption.needs import Need
from grove.scheduler.preemption.running import Cost
from grove.scheduler.preemption.units import Unit

TRIED: Final = 8
"""So many domains are tried for a scope inside another."""

Worth = Callable[[Cost, Cost, int], tuple[float, ...]]
"""What a step is worth: from what all cost before and after, and the pods it makes room for; least is best."""


class Assembly:
    """Fills one board."""

    def __init__(self, cluster: Cluster, board: Board, classes: Sequence[PodClass], need: Need, budget: Budget) -> None:
        self._cluster = cluster
        self._board = board
        self._number = {cls: at for at, cls in enumerate(classes)}
        self._need = need
        self._budget = budget
        self._journal: list[Undo] = []
        self._nodes = range(len(board.slots))
        self._divided: dict[tuple[int, int], tuple[Need, Sequence[int], list[list[int]]]] = {}
        self._key = board.units.key
        self._everything = self._with_all_gone() if need.inner else []

    def _with_all_gone(self) -> list[list[int]]:
        board = self._board
        for unit in board.candidates:
            board.lift(unit)
        found = [[*caps] for caps in board.caps]
        for unit in board.candidates:
            board.lower(unit)
        return found

    # What callers ask

    def make(self, worth: Worth) -> bool:
        """Chooses units on the board until the gang fits, and those only; tells whether it does."""
        before = [*self._board.chosen.values()]
        if not self._fill(self._need, self._nodes, worth):
            self._back(0)
            return False
        chosen = [*self._board.chosen.values()]
        self._back(0)
        assert [*self._board.chosen.values()] == before
        self._board.set(chosen)
        self.reprieve()
        return True

    def holds(self) -> bool:
        """Whether the gang fits with those gone that are chosen."""
        need = self._need
        board = self._board
        if need.is_flat and len(need.classes) == 1:
            cls, count = need.classes[0]
            return board.totals[self._number[cls]] >= count
        found = self._fill(need, self._nodes, None)
        self._back(0)
        return found

    def reprieve(self) -> None:
        """Lets all stay that need not go, those who are worth most first."""
        board = self._board
        for unit in sorted(board.chosen.values(), key=lambda one: (self._key(one.cost), one.index), reverse=True):
            undo = board.drop(unit)
            if not self.holds():
                undo()

    # How

    def _back(self, mark: int) -> None:
        while len(self._journal) > mark:
            self._journal.pop()()

    def _fill(self, need: Need, nodes: Sequence[int], worth: Worth | None) -> bool:
        for inner in need.inner:
            if not self._fill_inner(inner, nodes, worth):
                return False
        for cls, count in need.classes:
            number = self._number[cls]
            if not self._clear(number, count, nodes, worth):
                return False
            self._allocate(number, count, nodes)
        return True

    def _fill_inner(self, need: Need, nodes: Sequence[int], worth: Worth | None) -> bool:
        best: tuple[tuple[int, ...], Sequence[int]] | None = None
        for inside in self._domains(need, nodes)[: TRIED if worth is not None else None]:
            mark = len(self._journal)
            if self._fill(need, inside, worth):
                if worth is None:
                    return True
                key = self._key(self._board.cost)
                if best is None or key < best[0]:
                    best = key, inside
            self._back(mark)
        return best is not None and self._fill(need, best[1], worth)

    def _domains(self, need: Need, nodes: Sequence[int]) -> list[list[int]]:
        """The nodes of each domain that could take a scope, those that lack least first."""
        board = self._board
        key = id(need), id(nodes)
        if key not in self._divided:
            self._divided[key] = need, nodes, self._divide(need, nodes)
        wanted = [(board.caps[self._number[cls]], count) for cls, count in need.total().items()]
        divided = self._divided[key][2]
        self._budget.spend(1 + len(divided) // 4)
        lacking = [
            sum([max(0, count - sum([caps[node] for node in inside])) for caps, count in wanted]) for inside in divided
        ]
        return [divided[at] for at in sorted(range(len(divided)), key=lambda at: (lacking[at], at))]

    def _divide(self, need: Need, nodes: Sequence[int]) -> list[list[int]]:
        """The nodes by domain, of those domains that could take the scope if all went."""
        assert need.level is not None
        self._budget.spend(1 + len(nodes) // 16)
        domain_of = self._cluster.tree(need.keys).levels[need.level].domain_of
        domains = domain_of[[self._board.slots[node] for node in nodes]].tolist()
        found: dict[int, list[int]] = {}
        for node, domain in zip(nodes, domains, strict=True):
            if domain >= 0:
                found.setdefault(domain, []).append(node)
        pinned = {int(domain_of[slot]) for slot in need.pinned}
        wanted = [(self._everything[self._number[cls]], count) for cls, count in need.total().items()]
        return [
            inside
            for domain, inside in sorted(found.items())
            if (not pinned or pinned == {domain})
            and all(sum([caps[node] for node in inside]) >= count for caps, count in wanted)
        ]

    def _allocate(self, number: int, count: int, nodes: Sequence[int]) -> None:
        """Puts pods of a class where they fit tightest."""
        board = self._board
        caps = board.caps[number]
        for node in sorted([node for node in nodes if caps[node]], key=lambda node: (caps[node], node)):
            taken = min(count, caps[node])
            board.put(node, number, taken)
            self._journal.append(lambda node=node, taken=taken: board.put(node, number, -taken))  # type: ignore[misc]
            count -= taken
            if not count:
                return

    def _clear(self, number: int, count: int, nodes: Sequence[int], worth: Worth | None) -> bool:
        """Makes room for so many pods of a class on the nodes."""
        board = self._board
        caps = board.caps[number]
        total = sum([caps[node] for node in nodes])
        if total >= count:
            return True
        if worth is None:
            return False
        inside = set(nodes)
        steps: list[tuple[tuple[float, ...], int]] = []
        for node in nodes:
            step = self._step(node, number, count - total, inside, worth)
            if step is not None:
                steps.append((step[0], node))
        heapq.heapify(steps)
        while total < count:
            if not steps or self._budget.is_spent:
                return False
            _, node = heapq.heappop(steps)
            # What it was worth may have changed since, by what others took along: it must still be the best.
            step = self._step(node, number, count - total, inside, worth)
            if step is None:
                continue
            if steps and steps[0][0] < step[0]:
                heapq.heappush(steps, (step[0], node))
                continue
            for unit in step[1]:
                self._journal.append(board.choose(unit))
            total = sum([caps[one] for one in nodes])
            near = dict.fromkeys(one for unit in step[1] for one in board.touched(unit) if one in inside)
            for one in near:
                again = self._step(one, number, count - total, inside, worth)
                if again is not None:
                    heapq.heappush(steps, (again[0], one))
        return True

    def _step(
        self, node: int, number: int, lacking: int, inside: set[int], worth: Worth
    ) -> tuple[tuple[float, ...], list[Unit]] | None:
        """The cheapest units on a node whose going makes room for one more pod there, and what that is worth."""
        self._budget.spend(2)
        if lacking <= 0:
            return None
        best: tuple[tuple[float, ...], list[Unit]] | None = None
        for units in self._ways(node, number):
            gain, cost, before = self._gain(units, number, inside)
            if gain <= 0:
                continue
            value = worth(before, cost, min(gain, lacking))
            if best is None or value < best[0]:
                best = value, units
        return best

    def _gain(self, units: Sequence[Unit], number: int, inside: set[int]) -> tuple[int, Cost, Cost]:
        board = self._board
        caps = board.caps[number]
        before = board.cost
        nodes = dict.fromkeys(one for unit in units for one in board.touched(unit) if one in inside)
        room = sum([caps[one] for one in nodes])
        undo = [board.choose(unit) for unit in units if not board.is_chosen(unit)]
        gain = sum([caps[one] for one in nodes]) - room
        cost = board.cost
        for one in reversed(undo):
            one()
        return gain, cost, before

    def _ways(self, node: int, number: int) -> list[list[Unit]]:
        """Units that make room for one more pod on a node: the cheapest one alone, and the cheapest together."""
        board = self._board
        key = self._key
        open_ = [unit for unit in board.on[node] if not board.is_chosen(unit) and board.may(unit)]
        open_.sort(key=lambda unit: (key(unit.cost), unit.index))
        caps = board.caps[number]
        room = caps[node]
        ways: list[list[Unit]] = []
        for unit in open_:
            board.lift(unit)
            rises = caps[node] > room
            board.lower(unit)
            if rises:
                ways.append([unit])
                break
        if not ways or ways[0][0] is not open_[0]:
            together = self._together(open_, node, number)
            if len(together) > 1:
                ways.append(together)
        return ways

    def _together(self, open_: Sequence[Unit], node: int, number: int) -> list[Unit]:
        board = self._board
        caps = board.caps[number]
        room = caps[node]
        undo: list[Undo] = []
        for unit in open_:
            if not board.is_chosen(unit) and board.may(unit):
                undo.append(board.choose(unit))
                if caps[node] > room:
                    break
        found: list[Unit] = []
        if caps[node] > room:
            mine = {unit.index for unit in open_}
            found = [unit for unit in board.chosen.values() if unit.index in mine]
            for unit in found[-2::-1]:  # those who are worth most first; the last one is needed for sure
                undo.append(board.drop(unit))
                if caps[node] > room:
                    found.remove(unit)
                else:
                    undo.pop()()
        for one in reversed(undo):
            one()
        return found

"""A region of the cluster as plain lists, on which a search takes units away and puts pods. Pure.

What it counts is resources alone: a gang that does not fit on a board does not fit, and one that does is tried with
the true placement afterwards. Everything that is done can be undone, in the reverse order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from grove.scheduler.predicates.rule import Counts, Mask
from grove.scheduler.preemption.running import Cost
from grove.scheduler.preemption.units import Unit, Units
from grove.scheduler.resources import Vector

Undo = Callable[[], None]


class Board:
    """See the top of the module. Nodes are numbered as they were handed in."""

    def __init__(
        self,
        units: Units,
        candidates: Sequence[Unit],
        slots: Sequence[int],
        rows: Sequence[int],
        free: Counts,
        asked: Sequence[tuple[int, ...]],
        allowed: Sequence[Mask],
        *,
        strict: bool,
    ) -> None:
        """`free` has a line for each of the rows, `asked` for each class what a pod asks of each row."""
        self.slots: Final = list(slots)
        self.at: Final = {slot: at for at, slot in enumerate(self.slots)}
        self.candidates: Final = list(candidates)
        self.units: Final = units
        self._strict = strict
        self._asked: Final = [[(row, amount) for row, amount in enumerate(one) if amount] for one in asked]
        index = self.slots
        self._free: Final[list[list[int]]] = free[:, index].T.tolist()
        self._allowed: Final[list[list[bool]]] = [mask[index].tolist() for mask in allowed]
        self.caps: Final = [[self._cap(at, cls) for at in range(len(index))] for cls in range(len(asked))]
        """By class and node how many more pods fit."""
        self.totals: Final = [sum(caps) for caps in self.caps]
        self._gone: dict[str, int] = {}
        self.chosen: dict[int, Unit] = {}
        """By index; none of them implies another."""
        self._families: Counter[tuple[int, int]] = Counter()
        self._budgets: Counter[str] = Counter()
        self._pods: dict[int, list[tuple[str, int, list[int]]]] = {}
        # Most units share no pod with another: what they free is added up by node, once.
        self._sums: dict[int, list[tuple[int, list[int]]]] = {}
        self._lifted: Counter[int] = Counter()
        self.on: Final[list[list[Unit]]] = [[] for _ in index]
        """By node the units that have pods there."""
        self._remember(rows)

    def _remember(self, rows: Sequence[int]) -> None:
        """What the units free, and where."""
        known: dict[Vector, list[int]] = {}
        seen: Counter[str] = Counter()
        for unit in self.candidates:
            pods = self._pods[unit.index] = []
            for member in unit.pods:
                pod = member.pod
                at = self.at.get(pod.slot)
                if at is None:
                    continue
                used = known.get(pod.requests)
                if used is None:
                    found = dict(pod.requests)
                    used = known[pod.requests] = [found.get(row, 0) for row in rows]
                pods.append((pod.uid, at, used))
            seen.update([uid for uid, _, _ in pods])
            for at in dict.fromkeys([at for _, at, _ in pods]):
                self.on[at].append(unit)
        for unit in self.candidates:
            pods = self._pods[unit.index]
            if all(seen[uid] == 1 for uid, _, _ in pods):
                sums: dict[int, list[int]] = {}
                for _, at, used in pods:
                    sums[at] = [old + new for old, new in zip(sums[at], used, strict=True)] if at in sums else used
                self._sums[unit.index] = list(sums.items())

    def _cap(self, at: int, cls: int) -> int:
        if not self._allowed[cls][at]:
            return 0
        free = self._free[at]
        return max(0, min([free[row] // amount for row, amount in self._asked[cls]]))

    def _recount(self, at: int) -> None:
        for cls, caps in enumerate(self.caps):
            cap = self._cap(at, cls)
            self.totals[cls] += cap - caps[at]
            caps[at] = cap

    def touched(self, unit: Unit) -> list[int]:
        """The nodes on which it has pods."""
        return list(dict.fromkeys([at for _, at, _ in self._pods[unit.index]]))

    def likeness(self, unit: Unit) -> object | None:
        """Equal for units that make the same room: each on nodes of its own, which are alike. None: it has company."""
        found = []
        for at, amounts in self._sums.get(unit.index, ()):
            if len(self.on[at]) > 1:
                return None
            allowed = tuple([mask[at] for mask in self._allowed])
            found.append((tuple(self._free[at]), tuple(amounts), allowed))
        return tuple(sorted(found)) or None

    # Pods gone, whoever decided it

    def lift(self, unit: Unit) -> None:
        """Its pods are gone, as far as they were not."""
        if unit.index in self._sums:
            times = self._lifted[unit.index]
            self._lifted[unit.index] = times + 1
            if not times:
                self._add(self._sums[unit.index], 1)
            return
        changed: dict[int, None] = {}
        gone = self._gone
        for uid, at, amounts in self._pods[unit.index]:
            times = gone.get(uid, 0)
            gone[uid] = times + 1
            if not times:
                free = self._free[at]
                for row, amount in enumerate(amounts):
                    free[row] += amount
                changed[at] = None
        for at in changed:
            self._recount(at)

    def lower(self, unit: Unit) -> None:
        """Undoes one `lift`."""
        if unit.index in self._sums:
            times = self._lifted[unit.index] - 1
            self._lifted[unit.index] = times
            if not times:
                self._add(self._sums[unit.index], -1)
            return
        changed: dict[int, None] = {}
        gone = self._gone
        for uid, at, amounts in self._pods[unit.index]:
            times = gone[uid] - 1
            gone[uid] = times
            if not times:
                free = self._free[at]
                for row, amount in enumerate(amounts):
                    free[row] -= amount
                changed[at] = None
        for at in changed:
            self._recount(at)

    def _add(self, sums: Sequence[tuple[int, list[int]]], sign: int) -> None:
        for at, amounts in sums:
            free = self._free[at]
            for row, amount in enumerate(amounts):
                free[row] += sign * amount
            self._recount(at)

    # Choosing

    def is_chosen(self, unit: Unit) -> bool:
        """Whether it goes, by itself or with another."""
        return unit.index in self.chosen or any(unit.family in one.implies for one in self.chosen.values())

    def may(self, unit: Unit) -> bool:
        """Whether it can go beside those that are chosen."""
        family = unit.family
        if family[1] >= 0 and self._families[family] >= self.units.surplus(family):
            return False
        if not (self._strict and unit.budgets):
            return True
        allowed = self.units.guards.allowed
        budgets = self._budgets.copy()
        for one in self.implied(unit):
            budgets.subtract(one.budgets)
        return all(budgets[name] + count <= allowed.get(name, 0) for name, count in unit.budgets.items())

    def implied(self, unit: Unit) -> list[Unit]:
        """The chosen ones that go with a unit anyway."""
        if not unit.implies:
            return []
        return [one for one in self.chosen.values() if one.family in unit.implies]

    def choose(self, unit: Unit) -> Undo:
        """The unit goes, and takes those that it implies."""
        before = dict(self.chosen)
        implied = self.implied(unit)
        for one in implied:
            self._forget(one)
        self.chosen[unit.index] = unit
        self._families[unit.family] += 1
        self._budgets.update(unit.budgets)
        self.lift(unit)
        for one in implied:
            self.lower(one)

        def undo() -> None:
            for one in implied:
                self.lift(one)
                self._families[one.family] += 1
                self._budgets.update(one.budgets)
            self.lower(unit)
            self._families[unit.family] -= 1
            self._budgets.subtract(unit.budgets)
            self.chosen = before

        return undo

    def drop(self, unit: Unit) -> Undo:
        """A chosen unit stays after all."""
        before = dict(self.chosen)
        self._forget(unit)
        self.lower(unit)

        def undo() -> None:
            self.lift(unit)
            self._families[unit.family] += 1
            self._budgets.update(unit.budgets)
            self.chosen = before

        return undo

    def _forget(self, unit: Unit) -> None:
        del self.chosen[unit.index]
        self._families[unit.family] -= 1
        self._budgets.subtract(unit.budgets)

    def set(self, chosen: Iterable[Unit]) -> None:
        """Exactly these go."""
        for unit in [*self.chosen.values()]:
            self.drop(unit)
        for unit in chosen:
            self.choose(unit)

    @property
    def cost(self) -> Cost:
        return self.units.cost(self.chosen.values())

    def plus(self, more: Iterable[Unit]) -> Cost:
        """What it costs with more units."""
        undo = [self.choose(unit) for unit in more]
        cost = self.cost
        for one in reversed(undo):
            one()
        return cost

    # Putting

    def put(self, at: int, cls: int, count: int) -> None:
        """Pods of a class take a node's room; a negative count gives it back."""
        free = self._free[at]
        for row, amount in self._asked[cls]:
            free[row] -= amount * count
        self._recount(at)

    def lacks(self, counts: Sequence[int]) -> bool:
        """Whether pods of the classes cannot fit, however they are spread over the nodes."""
        if any(total < count for total, count in zip(self.totals, counts, strict=True)):
            return True
        if sum(1 for count in counts if count) < 2:
            return False
        rows: Counter[int] = Counter()
        for asked, count in zip(self._asked, counts, strict=True):
            for row, amount in asked:
                rows[row] += amount * count
        return any(sum(max(0, free[row]) for free in self._free) < wanted for row, wanted in rows.items())

"""What every domain has of what waiting gangs need, kept up to date slot by slot. Pure.

`wakes.py` puts needs up on the board of their topology and level and asks, after the cluster changed, which of them are
met by a domain that has more than before. All needs are checked together, as arrays; what a change costs depends on how
many slots changed, not on how many gangs wait for how many domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from grove.scheduler.cluster import PLENTY, Cluster
from grove.scheduler.columns import grown
from grove.scheduler.demands import Need, Quantity
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.topology import Tree

_ANYTHING: Final = -(1 << 62)
"""An amount that everybody has."""
_AT_ONCE: Final = 1 << 21
"""Elements of an array that is made for a moment."""
_FIRST: Final = 16

Row: TypeAlias = int


class Boards:
    """All boards over one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster
        self._numbers: dict[Quantity, int] = {}
        self._users: dict[Quantity, int] = {}
        self._vacant: list[int] = []
        self._columns: dict[int, int] = {}
        """By row of resources: its column in `_requests`."""
        self._requests: Counts = np.zeros((_FIRST, 4), np.int64)
        self._allowed: Mask = np.zeros((_FIRST, 0), np.bool_)
        self._values: Counts = np.zeros((_FIRST, 0), np.int64)
        self._boards: dict[tuple[tuple[str, ...], int], Board] = {}
        self._touched = cluster.touched.position
        self._reshaped = cluster.reshaped.position
        self._epochs: tuple[int, ...] = ()
        self._seen = -1
        self.changes = 0
        """How often something in the cluster had changed."""
        self.shapes = 0
        """Of these, how often nodes or rules had."""

    def __len__(self) -> int:
        return len(self._numbers)

    # Needs

    def put_up(self, need: Need, owner: object) -> Row:
        """From now on the need is known, and can be watched. The boards must be in sync."""
        numbers = [self._use(quantity) for quantity, _ in need.amounts]
        board = self._board(need)
        return board.put_up(numbers, [amount for _, amount in need.amounts], need.pins, owner)

    def take_down(self, need: Need, row: Row) -> None:
        self._boards[need.keys, need.level].take_down(row)
        for quantity, _ in need.amounts:
            self._users[quantity] -= 1
            if not self._users[quantity]:
                del self._users[quantity]
                self._vacant.append(self._numbers.pop(quantity))

    def watch(self, need: Need, row: Row, is_watched: bool) -> None:
        """Whether `sync` gives the owner of the need when it is met by a domain that has more than before."""
        self._boards[need.keys, need.level].watch(row, is_watched)

    def how_many(self, need: Need, row: Row) -> int:
        """How many times over the need is met now, each domain as often as it meets it."""
        return self._boards[need.keys, need.level].how_many(row)

    def _board(self, need: Need) -> Board:
        board = self._boards.get((need.keys, need.level))
        if board is None:
            board = self._boards[need.keys, need.level] = Board(need.level)
            board.start_over(self._tree(need.keys), self._cluster.size, self._values)
        return board

    def _tree(self, keys: tuple[str, ...]) -> Tree | None:
        return self._cluster.tree(keys) if keys else None

    def _use(self, quantity: Quantity) -> int:
        number = self._numbers.get(quantity)
        if number is None:
            number = self._numbers[quantity] = self._vacant.pop() if self._vacant else len(self._numbers)
            self._make_room(number)
            self._requests[number] = 0
            requests = ((quantity.row, quantity.size),) if quantity.cls is None else quantity.cls.requests
            for row, amount in requests:
                self._requests[number, self._column(row)] = amount
            self._allowed[number] = self._allow(quantity)
            self._values[number] = self._room(slice(number, number + 1), slice(None))[0]
            for board in self._boards.values():
                board.sum_up(number, self._values)
        self._users[quantity] = self._users.get(quantity, 0) + 1
        return number

    def _make_room(self, number: int) -> None:
        if number >= len(self._values):
            more = len(self._values)
            self._requests = np.concatenate([self._requests, np.zeros_like(self._requests)])
            self._allowed = np.concatenate([self._allowed, np.zeros((more, self._allowed.shape[1]), np.bool_)])
            self._values = np.concatenate([self._values, np.zeros((more, self._values.shape[1]), np.int64)])
            for board in self._boards.values():
                board.make_room(len(self._values))
        size = self._cluster.size
        if size > self._values.shape[1]:
            self._allowed = grown(self._allowed, size)
            self._values = grown(self._values, size)

    def _column(self, row: int) -> int:
        column = self._columns.get(row)
        if column is None:
            column = self._columns[row] = len(self._columns)
            if column >= self._requests.shape[1]:
                self._requests = np.concatenate([self._requests, np.zeros_like(self._requests)], axis=1)
        return column

    def _allow(self, quantity: Quantity) -> Mask:
        size = self._cluster.size
        allowed = self._cluster.alive[:size] if quantity.cls is None else self._cluster.allowed(quantity.cls)
        if quantity.within is None:
            return allowed
        # Nodes that came later than the mask were not judged: who waits looks again then.
        mask: Mask = allowed & grown(np.frombuffer(quantity.within, np.bool_), size)[:size]
        return mask

    def _room(self, numbers: slice, slots: Slots | slice) -> Counts:
        """What slots have of quantities, as far as there is room."""
        rows, size = [*self._columns], self._cluster.size
        there = self._cluster.free[:, :size][:, slots]
        if max(rows) >= len(there):  # nobody has, or uses, any of that so far
            there = np.concatenate([there, np.zeros((max(rows) + 1 - len(there), there.shape[1]), np.int64)])
        free = np.maximum(there[rows], 0)
        requests = self._requests[numbers, : len(rows)]
        asked = requests > 0
        found = free[None] // np.where(asked, requests, 1)[:, :, None]
        found[~asked] = PLENTY
        result: Counts = np.where(self._allowed[numbers][:, slots], found.min(axis=1), 0)
        return result

    # Changes

    def sync(self) -> list[object]:
        """Takes over what changed in the cluster. Gives the owners of needs that are met by a domain that has more of
        what they need than before."""
        cluster = self._cluster
        epochs = tuple([rule.epoch for rule in cluster.rules])
        is_same_shape = self._reshaped == cluster.reshaped.position and self._epochs == epochs
        if is_same_shape and self._seen == cluster.changes:  # what was touched was put back
            self._touched = cluster.touched.position
            return []
        self._seen = cluster.changes
        self.changes += 1
        slots = cluster.touched.since(self._touched)
        self._touched = cluster.touched.position
        if not is_same_shape:
            self.shapes += 1
        if not self._numbers:
            self._reshaped, self._epochs = cluster.reshaped.position, epochs
            self._boards.clear()
            return []
        self._make_room(0)
        if not is_same_shape:
            self._reallow(epochs)
        if slots is None or self._epochs != epochs or len(slots) > cluster.size:
            slots = np.arange(cluster.size)
        else:
            slots = np.unique(slots)
        self._epochs = epochs
        more = np.zeros((len(self._values), len(slots)), np.int64)
        chunk = max(1, _AT_ONCE // (len(slots) * max(1, len(self._columns)) + 1))
        for start in range(0, len(self._values), chunk):
            numbers = slice(start, start + chunk)
            now = self._room(numbers, slots)
            more[numbers] = now - self._values[numbers][:, slots]
            self._values[numbers, slots] = now
        changed = more.any(axis=0)
        slots, more = slots[changed], more[:, changed]
        found: dict[int, object] = {}
        for (keys, _), board in self._boards.items():
            tree = self._tree(keys)
            if tree is not board.tree or (tree is None and len(board.domain_of) != cluster.size):
                board.start_over(tree, cluster.size, self._values)
                owners: Iterator[object] = board.all_met()
            else:
                owners = board.add(slots, more)
            found.update((id(owner), owner) for owner in owners)
        return [*found.values()]

    def _reallow(self, epochs: tuple[int, ...]) -> None:
        """Nodes or rules changed."""
        slots = self._cluster.reshaped.since(self._reshaped)
        self._reshaped = self._cluster.reshaped.position
        where: Slots | slice = slice(None) if slots is None or self._epochs != epochs else np.unique(slots)
        for quantity, number in self._numbers.items():
            self._allowed[number, where] = self._allow(quantity)[where]

    # For the tests

    def recount(self) -> Iterator[str]:
        """What differs between the sums and a count from scratch, if the boards are in sync."""
        for quantity, number in self._numbers.items():
            expected = self._room(slice(number, number + 1), slice(None))[0]
            if quantity.cls is not None and quantity.within is None:
                expected = self._cluster.by_resources(quantity.cls)
            for slot in np.flatnonzero(expected != self._values[number]):
                yield f"{quantity} at {slot}: {self._values[number, slot]}, counted {expected[slot]}"
        for (keys, level), board in self._boards.items():
            fresh = Board(level)
            fresh.start_over(self._tree(keys), self._cluster.size, self._values)
            used = [*self._numbers.values()]
            if not np.array_equal(fresh.sums[used], board.sums[used]):
                yield f"sums of {keys} {level}"


class Board:
    """The domains of one level of a topology, and who needs what of one of them."""

    def __init__(self, level: int) -> None:
        self.level: Final = level
        self.tree: Tree | None = None
        self.domain_of: Slots = np.zeros(0, np.int64)
        self.sums: Counts = np.zeros((0, 0), np.int64)
        """By quantity and domain."""
        self._numbers: Counts = np.zeros((_FIRST, 4), np.int64)
        self._amounts: Counts = np.full((_FIRST, 4), _ANYTHING, np.int64)
        self._only: Counts = np.full(_FIRST, -1, np.int64)
        """By row the one domain that counts; -1: all do."""
        self._watched: Mask = np.zeros(_FIRST, np.bool_)
        self._pins: dict[Row, tuple[int, ...]] = {}
        self._owners: dict[Row, object] = {}
        self._vacant: list[Row] = []

    def start_over(self, tree: Tree | None, size: int, values: Counts) -> None:
        """The domains are others."""
        self.tree = tree
        if tree is None:
            self.domain_of, count = np.zeros(size, np.int64), 1
        else:
            self.domain_of, count = tree.levels[self.level].domain_of, len(tree.levels[self.level])
        self.sums = np.zeros((len(values), count), np.int64)
        for number in range(len(values)):
            self.sum_up(number, values)
        for row, pins in self._pins.items():
            self._only[row] = self._domain(pins)

    def make_room(self, quantities: int) -> None:
        more = quantities - len(self.sums)
        self.sums = np.concatenate([self.sums, np.zeros((more, self.sums.shape[1]), np.int64)])

    def sum_up(self, number: int, values: Counts) -> None:
        """A quantity is new."""
        self.sums[number] = 0
        size = min(len(self.domain_of), values.shape[1])
        domains = self.domain_of[:size]
        known = domains >= 0
        np.add.at(self.sums[number], domains[known], values[number, :size][known])

    # Needs

    def put_up(self, numbers: Sequence[int], amounts: Sequence[int], pins: tuple[int, ...], owner: object) -> Row:
        row = self._vacant.pop() if self._vacant else len(self._owners)
        self._make_rows(row + 1, len(numbers))
        self._numbers[row, : len(numbers)] = numbers
        self._amounts[row, : len(numbers)] = amounts
        self._only[row] = self._domain(pins)
        self._watched[row] = False
        self._pins[row] = pins
        self._owners[row] = owner
        return row

    def take_down(self, row: Row) -> None:
        del self._owners[row], self._pins[row]
        self._numbers[row] = 0
        self._amounts[row] = _ANYTHING
        self._watched[row] = False
        self._vacant.append(row)

    def watch(self, row: Row, is_watched: bool) -> None:
        self._watched[row] = is_watched

    def how_many(self, row: Row) -> int:
        amounts = self._amounts[row]
        real = amounts > 0
        if not real.any():
            return PLENTY
        sums = self.sums[self._numbers[row, real]]
        only = self._only[row]
        if only >= 0:
            sums = sums[:, only : only + 1]
        return int((sums // amounts[real, None]).min(axis=0).sum()) if sums.shape[1] else 0

    def _domain(self, pins: tuple[int, ...]) -> int:
        """The domain that all the slots are in; -1: they are in several, or in none."""
        found = {int(self.domain_of[slot]) if slot < len(self.domain_of) else -1 for slot in pins}
        return found.pop() if len(found) == 1 else -1

    def _make_rows(self, rows: int, width: int) -> None:
        have, wide = self._numbers.shape
        if rows > have or width > wide:
            shape = (max(have, 2 * rows if rows > have else have), max(wide, width))
            numbers, amounts = np.zeros(shape, np.int64), np.full(shape, _ANYTHING, np.int64)
            numbers[:have, :wide], amounts[:have, :wide] = self._numbers, self._amounts
            self._numbers, self._amounts = numbers, amounts
            only, watched = np.full(shape[0], -1, np.int64), np.zeros(shape[0], np.bool_)
            only[:have], watched[:have] = self._only, self._watched
            self._only, self._watched = only, watched

    # Changes

    def add(self, slots: Slots, more: Counts) -> Iterator[object]:
        """Slots have so much more or less of each quantity; gives the owners of needs that are met where there is
        more."""
        domains = self.domain_of[slots]
        known = domains >= 0
        domains, more = domains[known], more[:, known]
        if not len(domains):
            return
        order = np.argsort(domains, kind="stable")
        where, starts = np.unique(domains[order], return_index=True)
        more = more[:, order]
        self.sums[:, where] += np.add.reduceat(more, starts, axis=1)
        risen: Mask = np.logical_or.reduceat(more > 0, starts, axis=1)
        rising = risen.any(axis=0)
        if self._owners and rising.any():
            yield from self._met(where[rising], risen[:, rising])

    def all_met(self) -> Iterator[object]:
        """The owners of all watched needs that are met."""
        domains = self.sums.shape[1]
        yield from self._met(np.arange(domains), np.ones((len(self.sums), domains), np.bool_))

    def _met(self, where: Slots, risen: Mask) -> Iterator[object]:
        real = self._amounts > 0
        anywhere: Mask = np.logical_or.reduce(risen, axis=1)
        rows = np.flatnonzero((anywhere[self._numbers] & real).any(axis=1) & self._watched)
        if not len(rows) or not len(where):
            return
        numbers, amounts, only, real = self._numbers[rows], self._amounts[rows], self._only[rows], real[rows]
        chunk = max(1, _AT_ONCE // numbers.size)
        met = np.zeros(len(rows), np.bool_)
        for start in range(0, len(where), chunk):
            part = slice(start, start + chunk)
            enough = (self.sums[:, where[part]][numbers] >= amounts[:, :, None]).all(axis=1)
            has_more = (risen[:, part][numbers] & real[:, :, None]).any(axis=1)
            right = (only[:, None] < 0) | (only[:, None] == where[part][None])
            met |= (enough & has_more & right).any(axis=1)
        for row in rows[met]:
            yield self._owners[int(row)]

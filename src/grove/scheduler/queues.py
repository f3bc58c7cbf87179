"""Queues: what their gangs use, what is theirs, whose gang comes first, who may take back what from whom. Pure.

The engine owns it, tells it of every gang that begins or ends to use or to wait, and asks. Use is kept by the name of
the queue, so that it survives any change of the Queue objects; sums over the tree are made of it, and follow every
change. Without Queue objects nothing costs anything and everybody may use everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from grove.api.kinds.queue import Queue, QueueSpec
from grove.scheduler.queuetree import NOWHERE, TOP, Node, QueueTree
from grove.scheduler.resources import Resources, Vector
from grove.scheduler.shares import Floats, Siblings, divide, is_above

Place: TypeAlias = tuple[tuple[int, int, float, str], ...]
"""Where a queue's gangs come in the order, from the top down: compared, the smallest comes first. For each queue:
whether its guarantee is used up, its priority downwards, how much of its share it uses, its name."""

PLENTY: Final = 1 << 40


class Counts(NamedTuple):
    """Gangs of one queue."""

    pending: int = 0
    running: int = 0


class Queues:
    """See the top of the module."""

    def __init__(self, resources: Resources) -> None:
        self.resources: Final = resources
        self.tree = QueueTree((), resources)
        self.version = 0
        """Grows when places in the order may have moved forward: something was given back, shares were divided anew."""
        self.freed = 0
        """Grows when a limit may have come to allow more."""
        self._capacity: dict[int, int] = {}
        self._used: dict[str, dict[int, int]] = {}
        self._waiting: dict[str, dict[int, int]] = {}
        self._counts: dict[str, Counts] = {}
        self._sums: list[list[int]] = [[], []]
        self._shares: Floats | None = None
        self._lists: list[list[float]] = []

    @property
    def is_flat(self) -> bool:
        """Whether there are no Queue objects: nobody has a share or a limit."""
        return not self.tree.queues

    # What there is

    def put(self, queues: Iterable[Queue]) -> None:
        """All Queue objects there are; called when one came, went or changed."""
        found = {one.metadata.name: one for one in queues}
        if _specs(found) == _specs(self.tree.queues):
            self.tree.queues.update(found)
            return  # only what was written about them is new
        self.tree = QueueTree(found.values(), self.resources)
        self._sums = [[0] * len(self.resources) for _ in self.tree.nodes]
        for name, used in self._used.items():
            for at in self.tree.nodes[self.row_of(name)].path:
                self._add(at, used.items(), 1)
        self._stale()
        self.freed += 1

    def set_capacity(self, amounts: Vector) -> None:
        """What the queues share: all that nodes have, less what pods use that are in no queue's gang."""
        found = {row: amount for row, amount in amounts if amount > 0}
        if found != self._capacity:
            self._capacity = found
            self._stale()

    # What is used

    def use(self, queue: str, amounts: Vector, sign: int) -> None:
        """Gangs of a queue begin (1) or end (-1) to use something."""
        _note(self._used, queue, amounts, sign)
        if self.is_flat:
            return
        for at in self.tree.nodes[self.row_of(queue)].path:
            self._add(at, amounts, sign)
        if sign < 0:
            self.version += 1
            self.freed += 1
        self._asked_changed()

    def wait(self, queue: str, amounts: Vector, sign: int) -> None:
        """Gangs of a queue begin (1) or end (-1) to wait for something."""
        _note(self._waiting, queue, amounts, sign)
        self._asked_changed()

    def start(self, queue: str, amounts: Vector) -> None:
        """What a gang waited for is what it uses from now on: what is asked for, and so the shares, stays the same."""
        _note(self._waiting, queue, amounts, -1)
        _note(self._used, queue, amounts, 1)
        if not self.is_flat:
            for at in self.tree.nodes[self.row_of(queue)].path:
                self._add(at, amounts, 1)

    def count(self, queue: str, *, pending: int = 0, running: int = 0) -> None:
        """So many more or fewer gangs."""
        old = self._counts.get(queue, Counts())
        new = Counts(old.pending + pending, old.running + running)
        if new == Counts():
            self._counts.pop(queue, None)
        else:
            self._counts[queue] = new

    def _asked_changed(self) -> None:
        if not self.is_flat:
            self._stale()

    def _stale(self) -> None:
        if self._shares is not None:
            self._shares = None
            self.version += 1

    def _add(self, at: int, amounts: Iterable[tuple[int, int]], sign: int) -> None:
        sums = self._sums[at]
        for row, amount in amounts:
            if row >= len(sums):
                sums.extend([0] * (row + 1 - len(sums)))
            sums[row] += sign * amount

    # What may be used

    def row_of(self, queue: str) -> int:
        """The row of the gangs of a queue; those of an unknown one count beside all queues."""
        found = self.tree.row_of.get(queue)
        return self.tree.row_of[NOWHERE] if found is None else found

    def may_start(self, queue: str, amounts: Vector) -> str:
        """Why a gang of the queue that needs so much may not start now; empty: it may.

        The text does not say what is used: it changes from gang to gang, and the Queue's status has it.
        """
        if queue and queue not in self.tree.row_of:
            return (
                f"queue {queue} does not exist: create Queue {queue}, "
                "or name another one in the label grove.io/queue of the PodCliqueSet or of the namespace"
            )
        if self.is_flat:
            return ""
        node = self.tree.nodes[self.row_of(queue)]
        if node.broken:
            return node.broken
        for at in node.path:
            sums = self._sums[at]
            above = self.tree.nodes[at]
            for row, amount in amounts:
                limit = above.limit.get(row)
                if limit is not None and _at(sums, row) + amount > limit:
                    return self._too_much(above, row, amount, limit)
        return ""

    def _too_much(self, node: Node, row: int, amount: int, limit: int) -> str:
        name = self.resources.names[row]
        most, asked = (self.text(row, found) for found in (limit, amount))
        if amount > limit:
            return f"queue {node.name} may use at most {most} {name} and the gang alone needs {asked}: raise spec.limit"
        return (
            f"queue {node.name} may use at most {most} {name}, and with the {asked} of this gang it would use more: "
            "it waits until other gangs of the queue end, or spec.limit is raised"
        )

    def text(self, row: int, amount: int) -> str:
        """An amount as people write it."""
        if row:
            return str(amount)
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"

    def how_many(self, queue: str, amounts: Vector) -> int:
        """How many gangs that need so much the limits let start now."""
        if self.is_flat:
            return 0 if queue else PLENTY
        if queue and queue not in self.tree.row_of:
            return 0
        node = self.tree.nodes[self.row_of(queue)]
        found = 0 if node.broken else PLENTY
        for at in node.path:
            limits = self.tree.nodes[at].limit
            for row, amount in amounts if limits else ():
                if row in limits and amount > 0:
                    found = min(found, int(max(0, limits[row] - _at(self._sums[at], row))) // amount)
        return found

    # Who comes first

    def place(self, queue: str) -> Place:
        """Where the queue's gangs come in the order. Grows with `use` and `start`; `version` tells when it may fall."""
        if self.is_flat:
            return ()
        self._divided()
        return tuple(self._step(at) for at in reversed(self.tree.nodes[self.row_of(queue)].path))

    def _step(self, at: int) -> tuple[int, int, float, str]:
        node, sums, shares = self.tree.nodes[at], self._sums[at], self._lists[at]
        guaranteed = node.guaranteed
        used_up = 0 if guaranteed and all(_at(sums, row) < found for row, found in guaranteed.items() if found) else 1
        ratio = 0.0
        for row, used in enumerate(sums):
            if used > 0:
                share = shares[row] if row < len(shares) else 0.0
                ratio = max(ratio, used / share if share > 0 else float("inf"))
        return used_up, -node.priority, ratio, "" if node.is_own else node.name

    # Who may take back what

    def may_evict(self, winner: str, loser: str, amounts: Vector, *, is_lower: bool) -> bool:
        """Whether a gang of one queue that needs so much may evict one of another now.

        In one queue priority decides: `is_lower` is whether the loser's is lower. Between queues only what is borrowed
        is taken back, whatever the priority; the winner must stay within its share, so that it is not taken back in
        turn.
        """
        if self.is_flat or self.row_of(winner) == self.row_of(loser):
            return is_lower
        return self.reclaimable(winner, loser, amounts)

    def reclaimable(self, winner: str, loser: str, amounts: Vector = ()) -> bool:
        """Whether a queue may take back from another one: below the queue that both are in, it and all above it stay
        within their shares with so much more, and the other and all above it use more than theirs of something that
        is needed."""
        if self.is_flat:
            return False
        self._divided()
        mine, other = self.tree.nodes[self.row_of(winner)].path, self.tree.nodes[self.row_of(loser)].path
        below, above = [at for at in mine if at not in other], [at for at in other if at not in mine]
        if not below or not above:
            return False
        for at in below:
            sums, shares = self._sums[at], self._lists[at]
            for row, amount in amounts:
                if amount > 0 and is_above(_at(sums, row) + amount, _at(shares, row)):
                    return False
        needed = [row for row, amount in amounts if amount > 0] or range(len(self.resources))
        return any(all(is_above(_at(self._sums[at], row), _at(self._lists[at], row)) for at in above) for row in needed)

    # Shares

    def share(self, queue: str) -> dict[int, float]:
        """What is the fair share of a queue now, by row of resources; without Queue objects nothing is."""
        if self.is_flat:
            return {}
        self._divided()
        return {row: found for row, found in enumerate(self._lists[self.tree.node_of[queue]]) if found > 0}

    def used(self, queue: str) -> dict[int, int]:
        """What the gangs of a queue, and of those below it, use now."""
        return {row: found for row, found in enumerate(self._sums[self.tree.node_of[queue]]) if found > 0}

    def rows(self) -> frozenset[int]:
        """The resources that any queue has to do with: used, asked for, guaranteed or limited."""
        found = {row for held in (self._used, self._waiting) for amounts in held.values() for row in amounts}
        for node in self.tree.nodes:
            found.update(node.guaranteed, node.limit)
        return frozenset(found)

    def capacity(self, row: int) -> int:
        """How much there is of a resource to be shared."""
        return self._capacity.get(row, 0)

    def counts(self, queue: str) -> Counts:
        """The gangs in a queue and in those below it."""
        names = [queue]
        for name in names:
            at = self.tree.node_of[name]
            names += [
                below.name for child in self.tree.nodes[at].children if not (below := self.tree.nodes[child]).is_own
            ]
        found = [self._counts.get(name, Counts()) for name in names]
        return Counts(sum(one.pending for one in found), sum(one.running for one in found))

    def _divided(self) -> None:
        if self._shares is None:
            self._shares = self._divide()
            self._lists = self._shares.tolist()

    def _divide(self) -> Floats:
        nodes, size = self.tree.nodes, len(self.resources)
        asked = np.zeros((len(nodes), size))
        guaranteed, limit = np.zeros_like(asked), np.full_like(asked, np.inf)
        for held in (self._used, self._waiting):
            for name, amounts in held.items():
                for row, amount in amounts.items():
                    asked[self.row_of(name), row] += amount
        for at, node in enumerate(nodes):
            for row, amount in node.guaranteed.items():
                guaranteed[at, row] = amount
            for row, amount in node.limit.items():
                limit[at, row] = amount
        asks: list[bool] = (asked.sum(axis=1) > 0).tolist()
        weight = np.array(
            [[float(node.weight) if asks[at] or not node.is_own else 0.0] for at, node in enumerate(nodes)]
        )
        priority = np.array([node.priority for node in nodes], np.int64)
        inner = [at for at, node in enumerate(nodes) if node.children]
        for at in reversed(inner):
            children = nodes[at].children
            asked[at] = np.minimum(asked[children], limit[children]).sum(axis=0)
        share = np.zeros_like(asked)
        for row, amount in self._capacity.items():
            share[TOP, row] = amount
        for at in inner:
            rows = nodes[at].children
            siblings = Siblings(guaranteed[rows], limit[rows], asked[rows], weight[rows], priority[rows])
            share[rows] = divide(share[at], siblings)
        return share

    # For the tests

    def recount(self) -> Iterator[str]:
        """What differs between the sums and a count from scratch; nothing, unless there is a defect."""
        if self.is_flat:
            return
        fresh = [[0] * len(self.resources) for _ in self.tree.nodes]
        for name, used in self._used.items():
            for at in self.tree.nodes[self.row_of(name)].path:
                for row, amount in used.items():
                    fresh[at][row] += amount
        for at, node in enumerate(self.tree.nodes):
            for row, counted in enumerate(fresh[at]):
                held = _at(self._sums[at], row)
                if held != counted:
                    yield f"queue {node.name}: {self.resources.names[row]} {held}, counted {counted}"


def _specs(queues: Mapping[str, Queue]) -> dict[str, QueueSpec]:
    return {name: one.spec for name, one in queues.items()}


def _note(held: dict[str, dict[int, int]], queue: str, amounts: Vector, sign: int) -> None:
    mine = held.get(queue)
    if mine is None:
        mine = held[queue] = {}
    for row, amount in amounts:
        now = mine.get(row, 0) + sign * amount
        if now:
            mine[row] = now
        else:
            mine.pop(row, None)
    if not mine:
        del held[queue]


def _at(amounts: list[int] | list[float], row: int) -> int | float:
    return amounts[row] if row < len(amounts) else 0

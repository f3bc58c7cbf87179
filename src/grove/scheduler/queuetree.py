"""The tree of Queue objects, as rows. Pure.

Made anew by `queues.py` whenever a Queue changes. Below the top, which is the cluster, are the queues without a parent.
A queue whose parents cannot be followed hangs at the top too, so that what it uses counts somewhere; it is broken, and
nothing new starts in it: nobody knows its limits.

Gangs may be in any queue. Those of a queue with others below it, and those in none, are in a row of their own beside
their siblings, with a weight of one while there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from grove.api import labels
from grove.api.kinds.queue import Queue, QueueSpec
from grove.api.kinds.queue import Resources as Quantities
from grove.scheduler.resources import Resources, amount

DEFAULT: Final = "default"
"""The queue of gangs that name none, where there is a queue of this name; else they are in none."""
TOP: Final = 0
NOWHERE: Final = ""
"""The name of no queue: the gangs beside all queues are in it."""


class Node:
    """A row: a queue, or the gangs directly in one that has others below it."""

    __slots__ = ("broken", "children", "guaranteed", "is_own", "limit", "name", "parent", "path", "priority", "weight")

    def __init__(self, name: str, parent: int, *, weight: int = 1, priority: int = 0, is_own: bool = False) -> None:
        self.name: Final = name
        self.parent: Final = parent
        self.weight: Final = weight
        self.priority: Final = priority
        self.is_own: Final = is_own
        self.guaranteed: dict[int, int] = {}
        """By row of resources; what is guaranteed to those below it included."""
        self.limit: dict[int, int] = {}
        self.children: list[int] = []
        self.path: tuple[int, ...] = ()
        """Itself and those above it, without the top."""
        self.broken = ""
        """Why nothing may start here."""


class Fault:
    """What is wrong with a queue's place in the tree."""

    __slots__ = ("message", "reason")

    def __init__(self, reason: str, message: str) -> None:
        self.reason: Final = reason
        self.message: Final = message


PARENT_NOT_FOUND: Final = "ParentNotFound"
CYCLE: Final = "Cycle"


class QueueTree:
    """See the top of the module."""

    def __init__(self, queues: Iterable[Queue], resources: Resources) -> None:
        self.queues: Final[dict[str, Queue]] = {
            one.metadata.name: one for one in sorted(queues, key=lambda one: one.metadata.name)
        }
        self.faults: Final[dict[str, Fault]] = _faults(self.queues)
        self.nodes: Final[list[Node]] = [Node(NOWHERE, TOP)]
        self.node_of: Final[dict[str, int]] = {}
        """By name of the queue: its row."""
        self.row_of: Final[dict[str, int]] = {}
        """By name of the queue: the row of the gangs in it."""
        self._resources: Final = resources
        for name in _parents_first(self.queues, self.faults):
            self._add(name, self.queues[name].spec)
        for at in range(len(self.nodes)):
            node = self.nodes[at]
            if node.children or at == TOP:
                own = Node(node.name, at, is_own=True)
                own.broken = node.broken
                self._put(own)
                self.row_of[node.name] = len(self.nodes) - 1
            else:
                self.row_of[node.name] = at
        if DEFAULT in self.row_of:
            self.row_of[NOWHERE] = self.row_of[DEFAULT]
        for node in reversed(self.nodes):
            self._guarantee(node)

    def _add(self, name: str, spec: QueueSpec) -> None:
        fault = self.faults.get(name)
        above = spec.parent if spec.parent in self.node_of and fault is None else None
        parent = TOP if above is None else self.node_of[above]
        node = Node(name, parent, weight=spec.weight, priority=spec.priority)
        node.guaranteed = self._amounts(spec.guaranteed)
        node.limit = self._amounts(spec.limit)
        node.broken = self.nodes[parent].broken if fault is None else fault.message
        self.node_of[name] = self._put(node)

    def _put(self, node: Node) -> int:
        at = len(self.nodes)
        self.nodes.append(node)
        node.path = (at, *(self.nodes[node.parent].path if node.parent != TOP else ()))
        self.nodes[node.parent].children.append(at)
        return at

    def _guarantee(self, node: Node) -> None:
        """A queue guarantees at least what those below it do, within its limit."""
        below: dict[int, int] = {}
        for child in node.children:
            for row, found in self.nodes[child].guaranteed.items():
                below[row] = below.get(row, 0) + found
        for row, found in below.items():
            node.guaranteed[row] = max(node.guaranteed.get(row, 0), found)
        for row, found in node.limit.items():
            if row in node.guaranteed:
                node.guaranteed[row] = min(node.guaranteed[row], found)

    def _amounts(self, stated: Quantities | None) -> dict[int, int]:
        return {self._resources.row(name): amount(name, text) for name, text in (stated or {}).items()}


def queue_of(
    gang: Mapping[str, str] | None, pods: Sequence[Mapping[str, str] | None], namespace: Sequence[Mapping[str, str]]
) -> str:
    """The name of a gang's queue: by the label `grove.io/queue` of the PodGang, else of the first of its pods that has
    one, else by that label or annotation of the namespace (`namespace` is both); else none."""
    for found in (gang, *pods, *namespace):
        name = (found or {}).get(labels.QUEUE)
        if name:
            return name
    return NOWHERE


def _parents_first(queues: Mapping[str, Queue], faults: Mapping[str, Fault]) -> list[str]:
    """All names, so that a queue comes after its parent unless that one cannot be followed."""
    order: dict[str, None] = {}
    for name in queues:
        chain = []
        at: str | None = name
        while at is not None and at in queues and at not in order and at not in chain:
            chain.append(at)
            at = None if at in faults else queues[at].spec.parent
        order.update(dict.fromkeys(reversed(chain)))
    return [*order]


def _faults(queues: Mapping[str, Queue]) -> dict[str, Fault]:
    """The queues whose own parent is the matter: those below them are not named."""
    found: dict[str, Fault] = {}
    for name, queue in queues.items():
        parent = queue.spec.parent
        if parent is None:
            continue
        if parent not in queues:
            found[name] = Fault(
                PARENT_NOT_FOUND,
                f"queue {name} is below queue {parent}, which does not exist: "
                f"create Queue {parent}, or change or remove spec.parent",
            )
            continue
        circle = _circle(name, queues)
        if circle:
            text = " → ".join((*circle, circle[0]))
            found[name] = Fault(CYCLE, f"queue {name} is below itself: {text}; remove spec.parent of one of them")
    return found


def _circle(name: str, queues: Mapping[str, Queue]) -> list[str]:
    """The queues from this one up to itself; empty: it is not above itself."""
    seen = [name]
    at = queues[name].spec.parent
    while at is not None and at in queues:
        if at == name:
            return seen
        if at in seen:
            return []
        seen.append(at)
        at = queues[at].spec.parent
    return []

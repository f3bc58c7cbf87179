"""Nodes and the pods on them, as columns; and what is assumed but not yet seen.

Nodes have slots: indices into every column. Putting a pod on a slot and taking it away are the only changes of what is
free, and undo each other exactly: so a search may try things out between `mark` and `rollback`. The columns can always
be computed anew from nodes, pods and holds; `recount` does, for the tests.

One thread owns a cluster. Arrays that are handed out are not changed by whoever gets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from grove.kube.objects import NodeView, PodView
from grove.scheduler.awareness import Awareness
from grove.scheduler.classes import Classes, Needs, PodClass
from grove.scheduler.columns import Column, Log, grown
from grove.scheduler.predicates.rule import Array, Counts, Lenient, Mask, Rule, Slots
from grove.scheduler.resources import Resources, Vector, amounts
from grove.scheduler.topology import Tree

PLENTY: Final = 1 << 40
"""A capacity that nothing limits."""
_FIRST_SLOTS: Final = 64
_FIRST_ROWS: Final = 8


class Placed:
    """A pod on a node: seen there, or assumed to come there."""

    __slots__ = ("cls", "gang", "name", "namespace", "nominated", "priority", "requests", "slot", "terminating", "uid")

    def __init__(
        self,
        uid: str,
        namespace: str,
        name: str,
        cls: PodClass,
        slot: int,
        *,
        gang: str = "",
        requests: Vector | None = None,
        priority: int | None = None,
        terminating: bool = False,
        nominated: bool = False,
    ) -> None:
        self.uid: Final = uid
        self.namespace: Final = namespace
        self.name: Final = name
        self.cls: Final = cls
        self.slot: Final = slot
        self.gang: Final = gang
        """`namespace/name` of its PodGang; empty: it has none."""
        self.requests: Final = cls.requests if requests is None else requests
        """What it uses; differs from its class where it was resized."""
        self.priority: Final = cls.priority if priority is None else priority
        self.terminating: Final = terminating
        self.nominated: Final = nominated
        """Another scheduler means to put it there: it uses room, and nobody relies on it (predicates/nominated.py)."""


class Hold:
    """Room that is kept for someone: nobody else sees it as free."""

    __slots__ = ("kind", "owner", "requests", "slot", "until")

    def __init__(self, owner: str, slot: int, requests: Vector, *, kind: str, until: float) -> None:
        self.owner: Final = owner
        """The gang it is kept for."""
        self.slot: Final = slot
        self.requests: Final = requests
        self.kind: Final = kind
        self.until: Final = until


class _State:
    """What is remembered of a class; as old as its positions in the logs."""

    __slots__ = ("allowed", "capacity", "epochs", "reshaped", "revision", "statics", "touched")

    def __init__(self) -> None:
        self.allowed: Mask = np.zeros(0, np.bool_)
        self.capacity: Counts = np.zeros(0, np.int64)
        self.epochs: tuple[int, ...] | None = None
        self.statics: tuple[tuple[Rule, int], ...] = ()
        """The rules that can refuse it something, with the epoch that they were asked in."""
        self.reshaped = -1
        self.touched = -1
        self.revision = 0


class Cluster:
    """See the top of the module."""

    def __init__(
        self,
        *,
        needs: Callable[[PodView], Needs] | None = None,
        ignored_resources: Iterable[str] = (),
        awareness: Awareness | None = None,
    ) -> None:
        self.resources = Resources(ignored_resources)
        self.awareness: Final = awareness or Awareness()
        self.classes = Classes(self.resources, needs=needs, wishes=self.awareness.wishes)
        self.rules: tuple[Rule, ...] = ()
        self._ageing: tuple[Rule, ...] = ()
        self._limiting: tuple[Rule, ...] = ()
        self._tasting: tuple[Rule, ...] = ()
        self._coupling: tuple[Rule, ...] = ()
        self._counting: tuple[Rule, ...] = ()
        self.names: list[str] = []
        self.views: list[NodeView | None] = []
        self.slot_of: dict[str, int] = {}
        self.alive: Mask = np.zeros(_FIRST_SLOTS, np.bool_)
        self.allocatable: Counts = np.zeros((_FIRST_ROWS, _FIRST_SLOTS), np.int64)
        self.free: Counts = np.zeros((_FIRST_ROWS, _FIRST_SLOTS), np.int64)
        """What nobody uses or holds. Below zero where a node is over-committed."""
        self.pods: dict[str, Placed] = {}
        self.on: list[dict[str, Placed]] = []
        """The pods of each slot, by uid."""
        self.holds: dict[str, list[Hold]] = {}
        """By owner."""
        self.touched = Log()
        """Slots where something came, went or changed its size."""
        self.reshaped = Log()
        """Slots whose node came, changed or went."""
        self.memory: dict[object, object] = {}
        """What searches keep between two decisions, by keys of their own."""
        self.changes = 0
        """Grows with every change but those that are undone: tells who waits whether anything happened."""
        self._columns: dict[str, Column] = {}
        self._vacant: list[int] = []
        self._trees: dict[tuple[str, ...], tuple[int, Tree]] = {}
        self._label_epoch = 0
        self._journal: list[Callable[[], None]] = []
        self._marks = 0

    def obey(self, rules: Sequence[Rule]) -> None:
        """The rules of this cluster; before the first node comes."""
        if self.names:
            raise ValueError("rules come before nodes")
        self.rules = tuple(rules)
        # Most rules have nothing to say to most questions, and questions are many.
        self._ageing = _with("epoch", rules)
        self._limiting = _with("is_dynamic", rules)
        self._tasting = _with("penalty", rules)
        self._coupling = tuple(dict.fromkeys((*_with("interacts", rules), *self._limiting)))
        self._counting = _with("placed", rules)

    # Nodes

    @property
    def size(self) -> int:
        """Slots there are, vacant ones included."""
        return len(self.names)

    def node(self, view: NodeView) -> int:
        """A node came or changed. Pods on it stay on it."""
        name = view.metadata.name
        slot = self.slot_of.get(name)
        pods = [] if slot is None else [*self.on[slot].values()]
        for pod in pods:
            self.take(pod.uid)
        if slot is None:
            slot = self._new_slot(name)
        self.views[slot] = view
        found = amounts(view.status.allocatable)
        found.update(self.awareness.of_node(view.metadata.labels or {}))
        self._set_allocatable(slot, found)
        labels = view.metadata.labels or {}
        changes = [column.put(slot, labels.get(key)) for key, column in self._columns.items()]
        if any(changes):
            self._label_epoch += 1
        self._changed(slot)
        for pod in pods:
            self.put(pod)
        return slot

    def node_gone(self, name: str) -> list[Placed]:
        """A node went, and the room that was kept there; gives the pods that were on it, which are nowhere now."""
        slot = self.slot_of.pop(name)
        pods = [*self.on[slot].values()]
        for pod in pods:
            self.take(pod.uid)
        for owner in self.holders(slot):
            for hold in self.release(owner):
                if hold.slot != slot:
                    self.hold(hold)
        self.views[slot] = None
        self._set_allocatable(slot, {})
        for column in self._columns.values():
            column.put(slot, None)
        self.alive[slot] = False
        self._label_epoch += 1
        self._changed(slot)
        self._vacant.append(slot)
        return pods

    @property
    def vacant(self) -> Sequence[int]:
        """Slots without a node; the last one is taken first."""
        return self._vacant

    def _new_slot(self, name: str) -> int:
        if self._vacant:
            slot = self._vacant.pop()
            self.names[slot] = name
        else:
            slot = len(self.names)
            self.names.append(name)
            self.views.append(None)
            self.on.append({})
            if slot >= self.alive.shape[0]:
                size = 2 * slot
                self.alive = grown(self.alive, size)
                self.allocatable = grown(self.allocatable, size)
                self.free = grown(self.free, size)
                for column in self._columns.values():
                    column.grow(size)
        self.slot_of[name] = slot
        self.alive[slot] = True
        self._label_epoch += 1
        return slot

    def _set_allocatable(self, slot: int, found: Mapping[str, int]) -> None:
        new = {self.resources.row(name): amount for name, amount in found.items()}
        self._make_rows()
        old = self.allocatable[:, slot].copy()
        self.allocatable[:, slot] = 0
        for row, amount in new.items():
            self.allocatable[row, slot] = amount
        self.free[:, slot] += self.allocatable[:, slot] - old

    def _make_rows(self) -> None:
        rows = self.free.shape[0]
        if len(self.resources) > rows:
            more = np.zeros((len(self.resources) + _FIRST_ROWS - rows, self.free.shape[1]), np.int64)
            self.allocatable = np.concatenate([self.allocatable, more])
            self.free = np.concatenate([self.free, more])

    def _changed(self, slot: int) -> None:
        for rule in self.rules:
            rule.node_changed(slot)
        self.reshaped.append(slot)
        self.touched.append(slot)
        self.changes += 1

    def column(self, key: str) -> Column:
        """The values of a label key, by slot; kept up to date from the first time on that it is asked for."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = Column(self.alive.shape[0])
            column.fill([None if view is None else (view.metadata.labels or {}).get(key) for view in self.views])
        return column

    def tree(self, keys: tuple[str, ...]) -> Tree:
        """The domains of a topology, given by its label keys, broadest first."""
        columns = [self.column(key) for key in keys]
        known = self._trees.get(keys)
        if known is None or known[0] != self._label_epoch:
            slots = np.flatnonzero(self.alive[: self.size])
            known = self._trees[keys] = (self._label_epoch, Tree(keys, columns, slots, self.names, self.size))
        return known[1]

    # Pods and holds

    def put(self, pod: Placed) -> None:
        """A pod is on its slot from now on."""
        self._put(pod)
        if self._marks:
            self._journal.append(lambda: self._take(pod))
        else:
            self.changes += 1

    def take(self, uid: str) -> Placed:
        """A pod is on no node any more."""
        pod = self.pods[uid]
        self._take(pod)
        if self._marks:
            self._journal.append(lambda: self._put(pod))
        else:
            self.changes += 1
        return pod

    def hold(self, hold: Hold) -> None:
        """Room is kept for someone."""
        self._hold(hold)
        if self._marks:
            self._journal.append(lambda: self._release(hold))
        else:
            self.changes += 1

    def release(self, owner: str) -> list[Hold]:
        """What is kept for someone is free again; gives what it was."""
        released = [*self.holds.get(owner, ())]
        for hold in released:
            self._release(hold)
            if self._marks:
                self._journal.append(lambda hold=hold: self._hold(hold))  # type: ignore[misc]
            else:
                self.changes += 1
        return released

    def holders(self, slot: int) -> list[str]:
        """For whom room is kept on a node."""
        return [owner for owner, kept in self.holds.items() if any(hold.slot == slot for hold in kept)]

    def _put(self, pod: Placed) -> None:
        slot = pod.slot
        if pod.uid in self.pods:
            raise ValueError(f"{pod.namespace}/{pod.name} is on a node already")
        self._charge(slot, pod.requests, -1)
        self.pods[pod.uid] = pod
        self.on[slot][pod.uid] = pod
        for rule in self._counting:
            rule.placed(pod, 1)

    def _take(self, pod: Placed) -> None:
        slot = pod.slot
        self._charge(slot, pod.requests, 1)
        del self.pods[pod.uid]
        del self.on[slot][pod.uid]
        for rule in self._counting:
            rule.placed(pod, -1)

    def _hold(self, hold: Hold) -> None:
        self._charge(hold.slot, hold.requests, -1)
        self.holds.setdefault(hold.owner, []).append(hold)

    def _release(self, hold: Hold) -> None:
        self._charge(hold.slot, hold.requests, 1)
        kept = self.holds[hold.owner]
        kept.remove(hold)
        if not kept:
            del self.holds[hold.owner]

    def _charge(self, slot: int, requests: Vector, sign: int) -> None:
        if requests and requests[-1][0] >= self.free.shape[0]:
            self._make_rows()
        free = self.free
        for row, amount in requests:
            free[row, slot] += sign * amount
        self.touched.append(slot)

    # Trying out

    def mark(self) -> int:
        """From here on, what pods and holds do can be undone. Every mark ends in a `rollback` or a `commit`."""
        self._marks += 1
        return len(self._journal)

    def rollback(self, mark: int) -> None:
        """Undoes what was done since the mark."""
        while len(self._journal) > mark:
            self._journal.pop()()
        self._end_mark()

    def commit(self, mark: int) -> None:
        """Keeps what was done since the mark; an outer mark can still undo it."""
        self._end_mark()

    def _end_mark(self) -> None:
        self._marks -= 1
        if not self._marks and self._journal:
            self.changes += 1
            self._journal.clear()

    # What classes may do

    def allowed(self, cls: PodClass) -> Mask:
        """For every slot whether pods of the class could ever run there: nothing else than a node's change cures it."""
        return self._state(cls).allowed

    def capacity(self, cls: PodClass) -> Counts:
        """For every slot how many more pods of the class it can take now.

        Exact about one more pod; about several too where the class `is_plain`, else an upper bound.
        """
        state = self._state(cls)
        found = state.capacity
        for rule in self._limiting:
            if rule.is_dynamic(cls):
                limit = rule.limit(cls)
                if limit is not None:
                    found = np.minimum(found, limit[: self.size])
        return found

    def ceiling(self, cls: PodClass) -> Counts:
        """For every slot how many pods of the class it can take at most, whoever else comes: a bound for gangs."""
        found = self._state(cls).capacity
        for rule in self._limiting:
            if rule.is_dynamic(cls) and rule.only_shrinks(cls):
                limit = rule.limit(cls)
                if limit is not None:
                    found = np.minimum(found, limit[: self.size])
        return found

    def places(self, cls: PodClass, slots: Slots, room: Counts) -> int:
        """How many pods of a class some slots take at most, given how many each takes alone."""
        found = int(room.sum())
        for rule in self.rules:
            for column in rule.apart(cls):
                codes = column.codes[slots]
                alone = np.count_nonzero(np.bincount(codes[(room > 0) & (codes > 0)]))
                found = min(found, int(alone) + int(room[codes == 0].sum()))
        return found

    def only_shrinks(self, cls: PodClass) -> bool:
        """Whether pods that come never raise the capacity of the class."""
        return all(rule.only_shrinks(cls) for rule in self._limiting if rule.is_dynamic(cls))

    def by_resources(self, cls: PodClass) -> Counts:
        """As `capacity`, with only the static rules and what is free."""
        return self._state(cls).capacity

    def revision(self, cls: PodClass) -> int:
        """Grows when `by_resources` was computed as a whole: while it stays, only slots in `touched` differ."""
        return self._state(cls).revision

    def is_plain(self, cls: PodClass) -> bool:
        """Whether pods of the class do not care who else is there, beyond what they use."""
        return not any(rule.is_dynamic(cls) for rule in self._limiting)

    def interacts(self, classes: Sequence[PodClass]) -> bool:
        """Whether pods of some classes constrain one another, beyond what they use.

        Where not, the capacity of each is exact about several pods too, plain or not, while only such pods come.
        """
        return any(rule.interacts(classes) for rule in self._coupling)

    def penalty(self, cls: PodClass) -> Counts | None:
        """For every slot what is against it as a matter of taste; None: all are alike."""
        found: Counts | None = None
        for rule in self._tasting:
            one = rule.penalty(cls)
            if one is not None:
                found = one[: self.size] if found is None else found + one[: self.size]
        return found

    def reasons(self, cls: PodClass, slot: int) -> list[str]:
        """Why a node cannot take one more pod of the class, resources included."""
        found = [reason for rule in self.rules if (reason := rule.explain(cls, slot))]
        for row, amount in cls.requests:
            if self.free[row, slot] < amount:
                name = self.resources.names[row]
                found.append("too many pods" if name == "pods" else f"insufficient {name}")
        return found

    def _state(self, cls: PodClass) -> _State:
        state = cls.state
        if not isinstance(state, _State):
            state = cls.state = _State()
        epochs = tuple([rule.epoch for rule in self._ageing])
        size = self.size
        if state.epochs != epochs:
            statics = tuple([(rule, rule.epoch) for rule in self.rules if rule.is_static(cls)])
            if statics != state.statics:  # what a rule says of other classes is no reason to judge this one anew
                state.reshaped = -1
            state.epochs = epochs
            state.statics = statics
        if state.reshaped != self.reshaped.position:
            slots = None if state.reshaped < 0 else self.reshaped.since(state.reshaped)
            if slots is None or len(slots) * 4 > size:
                slots = np.arange(size)
            if len(state.allowed) != size:
                state.allowed = _resized(state.allowed, size)
            state.allowed[slots] = self._judge(cls, state.statics, slots)
            state.reshaped = self.reshaped.position
            if len(slots) == size:
                state.touched = -1
        if state.touched != self.touched.position:
            slots = None if state.touched < 0 else self.touched.since(state.touched)
            if slots is None or len(slots) * 2 > size or len(state.capacity) != size:
                state.capacity = self._room(cls, slice(0, size), state.allowed)
                state.revision += 1
            elif len(slots):
                capacity = state.capacity.copy() if not state.capacity.flags.writeable else state.capacity
                capacity[slots] = self._room(cls, slots, state.allowed[slots])
                state.capacity = capacity
            state.touched = self.touched.position
        return state

    def _judge(self, cls: PodClass, rules: Iterable[tuple[Rule, int]], slots: Slots) -> Mask:
        found: Mask = self.alive[slots]
        for rule, _ in rules:
            mask = rule.static(cls, slots)
            if mask is not None:
                found = found & mask
        return found

    def _room(self, cls: PodClass, slots: Slots | slice, allowed: Mask) -> Counts:
        if cls.requests[-1][0] >= self.free.shape[0]:
            self._make_rows()
        found: Array | None = None
        for row, amount in cls.requests:
            free = self.free[row, slots]
            times = free // amount if amount > 1 else free
            found = times if found is None else np.minimum(found, times)
        assert found is not None  # every class asks for a pod
        return np.where(allowed, np.maximum(found, 0), 0)

    # For the tests

    def recount(self) -> Iterator[str]:
        """What differs between the columns and a count from scratch; nothing, unless there is a defect."""
        free = self.allocatable.copy()
        for pod in self.pods.values():
            for row, amount in pod.requests:
                free[row, pod.slot] -= amount
        for hold in (hold for kept in self.holds.values() for hold in kept):
            for row, amount in hold.requests:
                free[row, hold.slot] -= amount
        for row, slot in np.argwhere(free != self.free):
            yield f"{self.names[slot]}: {self.resources.names[row]} {self.free[row, slot]}, counted {free[row, slot]}"
        for slot, pods in enumerate(self.on):
            for uid, pod in pods.items():
                if self.pods.get(uid) is not pod or pod.slot != slot:
                    yield f"{self.names[slot]}: {pod.namespace}/{pod.name} is noted in the wrong place"


def _with(attribute: str, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules that say something of their own to a question."""
    usual = getattr(Lenient, attribute)
    return tuple(rule for rule in rules if getattr(type(rule), attribute, None) is not usual)


def _resized(mask: Mask, size: int) -> Mask:
    found = np.zeros(size, np.bool_)
    found[: min(size, len(mask))] = mask[:size]
    return found

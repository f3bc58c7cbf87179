"""Gangs as the search sees them: scopes in scopes, groups of pods in them, what is placed and what waits. Data.

`model.py` makes them of PodGangs and pods; a pod without a PodGang is a gang of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Placed
from grove.scheduler.predicates.rule import Counts, Mask


class Pending(NamedTuple):
    """A pod that waits for a node: it exists, is ours, has no gates and is not being deleted."""

    uid: str
    namespace: str
    name: str
    cls: PodClass


class Group(NamedTuple):
    """The pods of one PodClique in the gang."""

    name: str
    minimum: int
    placed: tuple[Placed, ...]
    """On nodes, seen or assumed, and not terminating."""
    waiting: tuple[Pending, ...]
    """In the order in which they are placed: the first ones make up the minimum."""

    @property
    def missing(self) -> int:
        """How many must be placed before the group has its minimum."""
        return max(0, self.minimum - len(self.placed))


class Pack(NamedTuple):
    """How close together, as keys of node labels."""

    required: str | None = None
    preferred: str | None = None


class Scope(NamedTuple):
    """Groups, and scopes in it, that are packed together: a gang, a part of it, or the groups of a whole replica."""

    name: str
    pack: Pack = Pack()
    keys: tuple[str, ...] = ()
    """The levels of the topology, broadest first, that the keys of `pack` belong to; empty: it packs nothing."""
    scopes: tuple[Scope, ...] = ()
    groups: tuple[Group, ...] = ()
    anchors: tuple[int, ...] = ()
    """Slots that the scope is to be near as if pods of it were there: those of a base gang."""

    def all_groups(self) -> Iterator[Group]:
        yield from self.groups
        for scope in self.scopes:
            yield from scope.all_groups()


class Gang(NamedTuple):
    """What is placed together or not at all. Of a gang that runs: what it still lacks."""

    key: str
    """`namespace/name` of a PodGang; `namespace/pod:name` of a pod without one."""
    uid: str
    root: Scope
    priority: int = 0
    preempts: bool = True
    """Whether it may evict what is less important: preemptionPolicy is not Never."""
    created: float = 0.0
    """When it began to wait, in seconds since 1970: its age decides among equals."""
    queue: str = ""
    base: str = ""
    """Key of the gang that comes first; empty: it is no scaled gang."""
    set_replica: tuple[str, str, int] | None = None
    """Namespace and name of the PodCliqueSet, and the number of its replica."""
    reuses: str = ""
    """Key of the gang whose place it may take over."""
    within: Mask | None = None
    """The slots that spread constraints over replicas leave; None: all."""
    taste: Counts | None = None
    """By slot what speaks against it as a matter of taste; lower is better."""

    def groups(self) -> Iterator[Group]:
        return self.root.all_groups()

    @property
    def missing(self) -> int:
        """How many pods must be placed at once."""
        return sum(group.missing for group in self.groups())

    @property
    def waiting(self) -> int:
        return sum(len(group.waiting) for group in self.groups())

    @property
    def is_placed(self) -> bool:
        """Whether every group has its minimum."""
        return not self.missing

"""What the search and the engine say about a gang. Data."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from grove.scheduler.gangs import Gang, Pending


class Put(NamedTuple):
    """A pod and the slot it is to come to."""

    pod: Pending
    slot: int


class InDomain(NamedTuple):
    """Where a scope was placed."""

    scope: str
    key: str
    """Label key of the narrowest level at which the scope is in one domain; empty: it is in several of the broadest."""
    domain: str


class Found(NamedTuple):
    """A placement of all minimums, and of as many extras as fit beside them."""

    puts: tuple[Put, ...]
    left: tuple[Pending, ...] = ()
    """Extras without room."""
    score: float = 1.0
    """How good it is (docs/concepts/placement.md); 1.0 exactly where it is proven that no better one exists."""
    domains: tuple[InDomain, ...] = ()


class Shortfall(NamedTuple):
    """How near a domain came."""

    domain: str
    """Empty: the whole cluster."""
    fits: int
    """Pods of the group that fit into it, as far as that was counted."""
    needs: int
    group: str
    resource: str = ""
    """Where one resource is what lacks: which."""
    lacks: int = 0
    """How much of it."""


class NotFound(NamedTuple):
    """There is no placement, or none was found."""

    proven: bool
    """Whether none exists; else the search gave up when its budget was spent."""
    scope: str
    """The first scope that failed: the gang, a part of it or a group."""
    key: str
    """Label key of the level at which it failed; empty: anywhere in the cluster."""
    shortfalls: tuple[Shortfall, ...] = ()
    """The nearest domains, nearest first; at most five."""
    reasons: tuple[tuple[str, int], ...] = ()
    """Why nodes refuse the pods, and how many nodes: most first. For the group that lacks most."""
    looked: int = 0
    """Steps of the search."""


Answer: TypeAlias = Found | NotFound

Reason: TypeAlias = Literal[
    "Unschedulable",  # proven: there is no place
    "SearchEnded",  # none was found before the budget was spent
    "WaitingForPods",  # its minimum of pods does not exist yet
    "WaitingForBase",
    "QueueLimit",
    "RoomHeld",  # there is room, kept for another gang
    "Preempting",  # its victims are going
    "BindConflict",  # its pods could not be bound; it is tried again
    "Unsupported",  # it asks for what this scheduler does not know
]


class Victim(NamedTuple):
    """A pod that is to be evicted."""

    uid: str
    namespace: str
    name: str
    gang: str


class Bind(NamedTuple):
    """Pods of a gang go to nodes."""

    gang: Gang
    puts: tuple[tuple[Pending, str], ...]
    """With the names of nodes."""
    left: int
    score: float
    domains: tuple[InDomain, ...]
    first: bool
    """Whether the gang had no minimum before: it is placed now."""


class Evict(NamedTuple):
    """Others make room for a gang; `puts` is where it will go."""

    gang: Gang
    victims: tuple[Victim, ...]
    puts: tuple[tuple[Pending, str], ...]
    until: float
    """How long the room is kept for it."""
    why: str


class Refuse(NamedTuple):
    """A gang waits. Said when the reason changes, not at every try."""

    gang: Gang
    reason: Reason
    message: str


Decision: TypeAlias = Bind | Evict | Refuse

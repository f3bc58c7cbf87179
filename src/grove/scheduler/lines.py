"""The lines of a history: what an engine was told, was asked and has said. Data, and how it becomes JSON.

lines.encode(line)           # one line of JSON; `decode` reads it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from grove.api import codec
from grove.api.fields import JSON
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource
from grove.scheduler.outcomes import Reason as FailureReason
from grove.scheduler.surroundings import VIEWS
from grove.scheduler.verdicts import Bind, Decision, Evict, Reason
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView

VERSION: Final = 1
KINDS: Final[Mapping[str, type]] = {
    "node": NodeView,
    "pod": PodView,
    "gang": PodGang,
    "topology": ClusterTopologyBinding,
    "queue": Queue,
    "priority_class": PriorityClassView,
    "namespace": NamespaceView,
    "budget": BudgetView,
    **{resource.name: view for resource, view in VIEWS.items()},
}
"""What an engine is told of. Each has a method of the engine's name, but for what surrounds pods: that has one."""
SURROUNDING: Final[Mapping[str, Resource]] = {resource.name: resource for resource in VIEWS}

Amounts: TypeAlias = dict[str, int]
"""By name of a resource."""


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="line"):
    """What all lines have in common: JSON says in `line` what they are."""


class Start(_Line, frozen=True, tag="start"):
    """The first line."""

    version: int
    at: float
    configuration: JSON
    """The scheduler's."""
    is_snapshot: bool = False
    """Whether the engine knew something already: then lines follow that bring another one to where it was."""


class Told(_Line, frozen=True, tag="told"):
    """An object came or changed, or is gone."""

    kind: str
    object: Any
    """As it was read: what the scheduler does not look at is not there."""
    gone: bool = False


class Refused(_Line, frozen=True, tag="rejected"):
    """A node has refused a pod."""

    object: Any


class Became(_Line, frozen=True, tag="became"):
    """What became of a decision about a pod."""

    what: Literal["bound", "bind_failed", "evicted", "evict_failed"]
    uid: str
    reason: FailureReason | None = None
    message: str = ""


class Resumed(_Line, frozen=True, tag="resumed"):
    """What an earlier leader had begun was carried on, if it still could be."""

    gang: str
    puts: tuple[tuple[str, str], ...]
    """Uids of pods, and nodes."""


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A decision, as far as it is compared and shown."""

    what: Literal["bind", "evict", "refuse"]
    gang: str
    pods: tuple[tuple[str, str], ...] = ()
    """Names of pods, and the nodes where they go or will go."""
    victims: tuple[str, ...] = ()
    left: int = 0
    score: float = 0.0
    domains: tuple[tuple[str, str, str], ...] = ()
    """Scope, label key of its level, domain."""
    first: bool = False
    until: float = 0.0
    reason: Reason | None = None
    why: str = ""


class Decided(_Line, frozen=True, tag="decided"):
    """It was asked what is to be done."""

    now: float
    limit: int
    choices: tuple[Choice, ...] = ()


# What brings another engine to the same state, beyond the objects: lines of snapshots


class Rows(_Line, frozen=True, tag="rows"):
    """In which order resources were first seen."""

    names: tuple[str, ...]


class Seat(_Line, frozen=True, tag="seat"):
    """A pod that is assumed on a node, or has the priority of its gang there."""

    uid: str
    node: str
    priority: int


class Room(_Line, frozen=True, tag="room"):
    """Room that is kept for a gang."""

    gang: str
    node: str
    amounts: Amounts
    kind: str
    until: float | None = None
    """None: for ever."""


class Plan(_Line, frozen=True, tag="plan"):
    """Pods that go for a gang."""

    gang: str
    victims: tuple[str, ...]
    until: float
    why: str


class Pause(_Line, frozen=True, tag="pause"):
    """A gang for which no plan is made before a time."""

    gang: str
    until: float


class Failed(_Line, frozen=True, tag="failed"):
    """A gang whose pods could not be bound."""

    gang: str
    reason: FailureReason
    message: str = ""
    failures: int = 0
    until: float = 0.0
    is_new: bool = False


class Account(_Line, frozen=True, tag="account"):
    """What was planned for a gang before, and when it had to go itself."""

    gang: str
    plans: int = 0
    cooled: int = 0
    not_before: float = 0.0
    sunk: tuple[str, ...] = ()
    went: tuple[float, ...] = ()


class Gathering(_Line, frozen=True, tag="gathering"):
    """A gang that has waited too long, and where room is gathered for it, if it is."""

    gang: str
    priority: int = 0
    kind: tuple[str, ...] = ()
    since: float = 0.0
    domain: tuple[str, ...] = ()
    start: float | None = None
    lacking: int = 0
    targets: tuple[tuple[str, Amounts], ...] = ()
    """Nodes, and what it would use there; none: it only starves."""
    looked: float = 0.0
    """When that was last decided."""


class Heard(_Line, frozen=True, tag="heard"):
    """What was last said of a gang that waits."""

    gang: str
    reason: Reason
    sentence: str
    essence: tuple[str, ...]
    at: float


Line: TypeAlias = (
    Start
    | Told
    | Refused
    | Became
    | Resumed
    | Decided
    | Rows
    | Seat
    | Room
    | Plan
    | Pause
    | Failed
    | Account
    | Gathering
    | Heard
)
_DECODER: Final = msgspec.json.Decoder(Line)
_ENCODER: Final = msgspec.json.Encoder()


class NotAHistory(Exception):
    """What is read is no history, or one of another version."""


def encode(line: Line) -> bytes:
    return _ENCODER.encode(line)


def decode(text: bytes) -> Line:
    """Raises NotAHistory."""
    try:
        line: Line = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAHistory(str(error)) from error
    return line


def start(configuration: SchedulerConfiguration, at: float, *, is_snapshot: bool = False) -> Start:
    return Start(VERSION, at, codec.encode(configuration), is_snapshot)


def configuration(line: Line) -> SchedulerConfiguration:
    """That of the engine, which the first line tells. Raises NotAHistory."""
    if not isinstance(line, Start):
        raise NotAHistory("the first line does not say what it is the history of")
    if line.version != VERSION:
        raise NotAHistory(f"it is of version {line.version}; this release reads version {VERSION}")
    try:
        return codec.decode(line.configuration, SchedulerConfiguration)
    except msgspec.ValidationError as error:
        raise NotAHistory(f"its configuration cannot be read: {error}") from error


def node_gone(name: str) -> Told:
    """An engine hears no more of a node that goes than its name."""
    return Told("node", {"metadata": {"name": name}}, gone=True)


# Decisions


def choices(decisions: Iterable[Decision]) -> tuple[Choice, ...]:
    """Decisions in the words of a history."""
    return tuple(_choice(one) for one in decisions)


def _choice(decision: Decision) -> Choice:
    gang = decision.gang.key
    match decision:
        case Bind():
            return Choice(
                "bind",
                gang,
                pods=tuple((pod.name, node) for pod, node in decision.puts),
                left=decision.left,
                score=decision.score,
                domains=tuple((one.scope, one.key, one.domain) for one in decision.domains),
                first=decision.first,
            )
        case Evict():
            return Choice(
                "evict",
                gang,
                pods=tuple((pod.name, node) for pod, node in decision.puts),
                victims=tuple(f"{one.namespace}/{one.name}" for one in decision.victims),
                until=decision.until,
                why=decision.why,
            )
        case _:
            return Choice("refuse", gang, reason=decision.reason, why=decision.message)

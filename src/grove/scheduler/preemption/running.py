"""What runs and could be made to go, and what is decided about it. Data.

The engine makes a `Running` of every gang that has pods on nodes, and hands them all to `plan.plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias

from grove.api.labels import PREEMPTION, PREEMPTION_NEVER
from grove.kube.objects import PodView
from grove.scheduler.cluster import Hold, Placed
from grove.scheduler.verdicts import Found, Victim

SYSTEM_PRIORITY: Final = 2_000_000_000
"""Kubernetes keeps priorities from here on for what the cluster itself needs."""
_MIRROR: Final = "kubernetes.io/config.mirror"


class Member(NamedTuple):
    """A pod of a running gang."""

    pod: Placed
    started: float = 0.0
    """Seconds since 1970."""
    grace: float = 30.0
    """Seconds that it may take to stop."""


class Crew(NamedTuple):
    """The pods of one group that are on nodes and not going already."""

    name: str
    minimum: int
    members: tuple[Member, ...]

    @property
    def surplus(self) -> int:
        """How many of them the gang can do without, whichever they are."""
        return max(0, len(self.members) - self.minimum)


class Running(NamedTuple):
    """A gang with pods on nodes; a pod without a PodGang is a gang of one."""

    key: str
    priority: int
    crews: tuple[Crew, ...]
    started: float = 0.0
    """When it came to its place, in seconds since 1970."""
    base: str = ""
    """Key of the gang that it cannot do without; empty: it is no scaled gang."""
    set_replica: tuple[str, str, int] | None = None
    restart_cost: float | None = None
    """Seconds of work that are lost when it stops, as its annotation says; None: as long as it ran, at most an hour."""
    preemptible: bool = True
    """False: its annotation forbids it."""
    queue: str = ""
    foreign: bool = False
    """A pod of another scheduler, by itself."""
    ends: float = inf
    """When it is expected to end by itself: `started` and what its annotation says."""

    @property
    def pods(self) -> int:
        return sum(len(crew.members) for crew in self.crews)


class Policy(NamedTuple):
    """How room is made: `preemption` of the SchedulerConfiguration, and what has no setting yet."""

    order: Literal["minDisruption", "minGangs"] = "minDisruption"
    delay: float = 0.0
    """Seconds that a gang waits before others go for it."""
    foreign_pods: bool = False
    min_runtime: float = 0.0
    """Seconds that a gang may run before it can be made to go."""
    break_budgets: bool = False
    """Whether, as a last resort, more pods go than their disruption budgets allow."""
    domains: int = 32
    """So many domains are looked at closely even where a better plan than what they promise seems unlikely."""


class Guards(NamedTuple):
    """The PodDisruptionBudgets."""

    of: Mapping[str, tuple[str, ...]]
    """By uid of a pod the names of the budgets it counts in; pods in none are left out."""
    allowed: Mapping[str, int]
    """By name of a budget how many of its pods may go now."""


NO_GUARDS: Final = Guards({}, {})


class Cost(NamedTuple):
    """What is lost when some go. `minDisruption` compares it in the order of the fields, all but the last."""

    priority: int
    """The highest among those that go."""
    violations: int = 0
    """Pods beyond what disruption budgets allow."""
    gangs: int = 0
    """Gangs that stop; those that are one pod count as surplus, those that depend on another as scaled: the first lose
    no more than a pod, the others leave the rest of their replica running."""
    scaled: int = 0
    work: int = 0
    """Thousandths of device-seconds of work."""
    surplus: int = 0
    repeats: int = 0
    """How often those that go have gone lately."""
    youth: int = 0
    """Seconds that they have run."""
    grace: int = 0
    """Seconds until the last one is gone."""
    stopped: int = 0
    """Gangs that stop, of whatever kind; what `minGangs` compares first."""


NOTHING: Final = Cost(-(2**63))


class Plan(NamedTuple):
    """Others go, and the gang comes."""

    victims: tuple[Victim, ...]
    """By gang and name. None: the room becomes free by itself, by pods that are going already."""
    gangs: tuple[str, ...]
    """The gangs among the victims that stop as a whole; of the others only pods go that they can do without."""
    found: Found
    """Where the gang goes, checked with the victims gone."""
    holds: tuple[Hold, ...]
    """The room, to be kept for the gang from now on."""
    until: float
    """How long it is kept."""
    cost: Cost
    proven: bool
    """Whether no plan costs less."""
    looked: int
    """Steps of the search."""
    why: str


class NoPlan(NamedTuple):
    """Nobody goes."""

    reason: Literal[
        "Never",  # the gang may not preempt
        "Waiting",  # the delay has not passed, or earlier plans came to nothing: not before `again`
        "Nobody",  # nobody is less important
        "NotEnough",  # proven: it does not fit even if all of them go
        "SearchEnded",  # no plan was found before the budget was spent
    ]
    message: str
    again: float | None = None
    """When to ask again, if time alone can change the answer."""
    looked: int = 0


Outcome: TypeAlias = Plan | NoPlan


def may_go(pod: PodView) -> bool:
    """Whether a pod of another scheduler may be considered at all: nobody would bring back a pod that belongs to its
    node, and what the cluster itself needs stays."""
    meta, spec = pod.metadata, pod.spec
    annotations = meta.annotations or {}
    return (
        spec.priority < SYSTEM_PRIORITY
        and not spec.priority_class_name.startswith("system-")
        and _MIRROR not in annotations
        and annotations.get(PREEMPTION) != PREEMPTION_NEVER
        and not any(owner.kind in ("DaemonSet", "Node") for owner in meta.owner_references)
    )

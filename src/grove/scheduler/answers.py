"""How a gang fares, as an engine knows it: where it is and how good that is, or why it waits. Pure, changes nothing.

`/debug/gangs` tells it of the engine that runs, `grove why` and `grove plan` of one that has just read the cluster.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from grove.api import conditions
from grove.api.kinds.podgang import PodGang
from grove.scheduler.engine import Engine
from grove.scheduler.explain import Explanation, level_name
from grove.scheduler.gangs import Gang, Scope

State: TypeAlias = Literal["placed", "placing", "preempting", "waiting", "over"]
"""`placing`: decided, its pods have not been seen on their nodes. `over`: there is nothing of it to place."""

SCHEDULED: Final = "Scheduled"
READY: Final = "Ready"


class _Told(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is shown as JSON."""


class GroupAnswer(_Told, frozen=True):
    """The pods of one group."""

    name: str
    minimum: int
    placed: int
    waiting: int = 0
    nodes: dict[str, int] = {}
    """How many of them are on which node."""


class Gathered(_Told, frozen=True):
    """Room that grows for a gang which has waited too long."""

    domain: str
    """Empty: in the whole cluster."""
    lacking: int
    """Devices, or pods where it needs none, that are not free yet."""
    free_at: float | None = None
    """When all of it is expected to be free; None: nobody knows."""


class GangAnswer(_Told, frozen=True):
    """See the top of the module."""

    gang: str
    state: State
    groups: tuple[GroupAnswer, ...] = ()
    priority: int = 0
    domains: dict[str, str] = {}
    """By level the domain that all of its pods are in, broadest first."""
    score: float | None = None
    since: str = ""
    """When it got its place."""
    is_ready: bool = False
    explanation: Explanation | None = None
    """Why it, or some of its pods, wait."""
    gathered: Gathered | None = None
    victims: tuple[str, ...] = ()
    """Pods that go for it."""
    waiters: int = 0
    """How many gangs wait in all."""


def answer(engine: Engine, key: str) -> GangAnswer | None:
    """None: nobody knows the gang."""
    gang = engine.find(key)
    view = engine.registry.gangs.get(key)
    if gang is None:
        return None if view is None else GangAnswer(key, "over")
    status = None if view is None else view.status
    held = () if status is None else status.conditions
    going = engine.preempting.under_way(key)
    victims = () if going is None else tuple(_names(engine, going.victims))
    state = _state(engine, gang, bool(victims))
    placed = state == "placed"
    return GangAnswer(
        gang=key,
        state=state,
        groups=tuple(_groups(engine, gang)),
        priority=gang.priority,
        domains=domains(engine, gang),
        score=status.placement_score if placed and status is not None else None,
        since=_since(view) if placed else "",
        is_ready=conditions.is_true(held, READY),
        explanation=engine.why(key),
        gathered=_gathered(engine, key),
        victims=victims,
        waiters=len(engine.waiting),
    )


def _state(engine: Engine, gang: Gang, has_victims: bool) -> State:
    if not gang.is_placed:
        return "preempting" if has_victims else "waiting"
    seats = [one for group in gang.groups() for one in group.placed]
    if not seats and not gang.waiting:
        return "over"
    seen = sum(bool((pod := engine.registry.pods.get(one.uid)) and pod.node_name) for one in seats)
    return "placed" if seen == len(seats) else "placing"


def _groups(engine: Engine, gang: Gang) -> Iterable[GroupAnswer]:
    names = engine.cluster.names
    for group in gang.groups():
        nodes = Counter(names[one.slot] for one in group.placed)
        yield GroupAnswer(group.name, group.minimum, len(group.placed), len(group.waiting), dict(sorted(nodes.items())))


def domains(engine: Engine, gang: Gang) -> dict[str, str]:
    """By level the domain in which all pods of the gang are that are on nodes, broadest first."""
    slots = sorted({one.slot for group in gang.groups() for one in group.placed})
    if not slots:
        return {}
    found: dict[str, str] = {}
    for keys in _topologies(engine, gang):
        tree = engine.cluster.tree(keys)
        for level in tree.levels:
            numbers = {int(level.domain_of[slot]) for slot in slots}
            if len(numbers) == 1 and -1 not in numbers:
                found[level_name(level.key, engine.topologies.names)] = level.paths[numbers.pop()][-1]
    return found


def _topologies(engine: Engine, gang: Gang) -> list[tuple[str, ...]]:
    """Those that the gang's constraints belong to; where it has none, those of the cluster."""
    stated = list(dict.fromkeys(scope.keys for scope in _scopes(gang.root) if scope.keys))
    return stated or list(engine.topologies.all())


def _scopes(scope: Scope) -> Iterable[Scope]:
    yield scope
    for inner in scope.scopes:
        yield from _scopes(inner)


def _since(view: PodGang | None) -> str:
    if view is None or view.status is None:
        return ""
    found = conditions.find(view.status.conditions, SCHEDULED)
    if found is not None and found.status == "True":
        return found.last_transition_time
    return view.status.last_scheduled or ""


def _gathered(engine: Engine, key: str) -> Gathered | None:
    head = engine.heads.of(key)
    if head is None:
        return None
    return Gathered("/".join(head.domain), head.lacking, None if head.start == math.inf else head.start)


def _names(engine: Engine, uids: Iterable[str]) -> list[str]:
    found = (engine.registry.pods.get(uid) for uid in uids)
    return sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in found if pod is not None)

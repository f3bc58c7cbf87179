"""What would become of gangs, carried on until nothing more happens: others that have to go, go at once. Pure.

For engines that belong to nobody: `grove why` and `grove plan` read the cluster into one and let it decide.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from grove.scheduler.engine import Engine
from grove.scheduler.verdicts import Bind, Decision, Evict

_ROUNDS: Final = 100
"""More than any sequence of evictions takes: each ends after a few plans (`ledger.py`)."""
ALL: Final = 1 << 30


class Course(msgspec.Struct):
    """What would happen to one gang."""

    bind: Bind | None = None
    """The first one, which gives it its minimum; None: it waits."""
    more: list[Bind] = []
    """Of further pods."""
    evictions: list[Evict] = []

    @property
    def left(self) -> int:
        """Pods beyond its minimum that find no room."""
        last = self.more[-1] if self.more else self.bind
        return 0 if last is None else last.left


def settle(engine: Engine, now: float) -> list[Decision]:
    """All that would be decided now, in order."""
    found: list[Decision] = []
    for _ in range(_ROUNDS):
        decisions = engine.decide(now, limit=ALL)
        found += decisions
        if not decisions:
            break
    return found


def run(engine: Engine, keys: Collection[str], now: float) -> dict[str, Course]:
    """What becomes of these gangs; of their victims it is taken for granted that they end and do not come back."""
    courses = {key: Course() for key in keys}
    for _ in range(_ROUNDS):
        decisions = settle(engine, now)
        for one in decisions:
            course = courses.get(one.gang.key)
            if course is not None:
                _note(course, one)
        if not _clear(engine, decisions, keys):
            break
    return courses


def _note(course: Course, decision: Decision) -> None:
    match decision:
        case Bind() if course.bind is None:
            course.bind = decision
        case Bind():
            course.more.append(decision)
        case Evict():
            course.evictions.append(decision)


def _clear(engine: Engine, decisions: Collection[Decision], keys: Collection[str]) -> bool:
    """The victims for these gangs go; whether there were any."""
    victims = [
        engine.registry.pods.get(victim.uid)
        for one in decisions
        if isinstance(one, Evict) and one.gang.key in keys
        for victim in one.victims
    ]
    for pod in victims:
        if pod is not None:
            engine.pod_gone(pod)
    return bool(victims)

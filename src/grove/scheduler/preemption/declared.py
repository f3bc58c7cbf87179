"""What a PodGang, or a pod without one, says of itself in annotations. Pure.

A text that says nothing sensible counts as none: a gang is not kept from running by a wrong annotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TypeAlias

from grove.api import durations
from grove.api.labels import EXPECTED_DURATION, PREEMPTION, PREEMPTION_NEVER, RESTART_COST

Annotations: TypeAlias = Mapping[str, str] | None


def preemptible(annotations: Annotations) -> bool:
    """Whether it may be made to go."""
    return (annotations or {}).get(PREEMPTION) != PREEMPTION_NEVER


def restart_cost(annotations: Annotations) -> float | None:
    """Seconds of work that are lost when it stops; None: it does not say."""
    return _seconds(annotations, RESTART_COST)


def ends(annotations: Annotations, started: float) -> float:
    """When it is expected to end by itself, in seconds since 1970; infinite: it does not say."""
    duration = _seconds(annotations, EXPECTED_DURATION)
    return inf if duration is None else started + duration


def _seconds(annotations: Annotations, key: str) -> float | None:
    """A duration as Go writes them, or a number of seconds."""
    text = (annotations or {}).get(key, "")
    if text.isdecimal():
        return float(text)
    try:
        found = durations.parse(text)
    except durations.InvalidDuration:
        return None
    return found / durations.SECOND if found >= 0 else None

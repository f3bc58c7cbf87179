"""Moments as the API writes them, to the second, and as numbers to count with."""

from __future__ import annotations

import datetime

from grove.kube.clock import Clock


class Now:
    """The time of day that never jumps: the clock's wall time when this was made, and what has gone by since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._origin = clock.wall().timestamp() - clock.monotonic()

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._origin + self._clock.monotonic()


def stamp(moment: float) -> str:
    """`2026-11-19T01:02:03Z`: what is past is never written as if it were to come."""
    return datetime.datetime.fromtimestamp(int(moment), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str | None) -> float | None:
    """The moment of a time stamp; None where there is none."""
    return None if not text else datetime.datetime.fromisoformat(text).timestamp()

"""Moments as the API writes them, to the second, and as numbers to count with."""

from __future__ import annotations

import datetime
import functools

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
    return _stamp(int(moment))


@functools.lru_cache(maxsize=1024)
def _stamp(second: int) -> str:
    # All that comes alive at once says the same moment, each pod of it many times.
    return datetime.datetime.fromtimestamp(second, datetime.UTC).replace(tzinfo=None).isoformat() + "Z"


def seconds(text: str | None) -> float | None:
    """The moment of a time stamp; None where there is none."""
    return None if not text else datetime.datetime.fromisoformat(text).timestamp()

"""How long a gang is left alone whose pods could not be bound: longer each time, until it goes well. Pure.

What is refused once (by admission, by whoever makes volumes) is mostly refused again: without a pause, deciding and
failing would turn in a circle as fast as the API server answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from grove.scheduler.outcomes import BindFailure, Reason

FIRST: Final = 1.0
LONGEST: Final = 60.0
_HARMLESS: Final[frozenset[Reason]] = frozenset({"Gone", "Foreign"})
"""Another try is about other pods, or about none."""


class Retry(msgspec.Struct):
    """What went wrong last, and until when the gang is left alone."""

    why: BindFailure
    failures: int = 0
    until: float = 0.0
    is_new: bool = True
    """It has not been looked at since: the pause counts from when it is."""


class Retries:
    """By gang. Called by the engine."""

    def __init__(self) -> None:
        self._held: dict[str, Retry] = {}

    def __len__(self) -> int:
        return len(self._held)

    def failed(self, key: str, why: BindFailure) -> None:
        """A pod of the gang was not bound. Several of one decision count once."""
        if not key or why.reason in _HARMLESS:
            return
        held = self._held.setdefault(key, Retry(why))
        held.why, held.is_new = why, True

    @property
    def held(self) -> Mapping[str, Retry]:
        """By gang what went wrong."""
        return self._held

    def remember(self, key: str, retry: Retry) -> None:
        """What another engine knew of a gang."""
        self._held[key] = retry

    def done(self, key: str) -> None:
        """A pod of the gang was bound, or it wants nothing any more."""
        self._held.pop(key, None)

    def waits(self, key: str, now: float) -> Retry | None:
        """Why the gang is left alone now; None: it may be tried."""
        held = self._held.get(key)
        if held is None:
            return None
        if held.is_new:
            held.is_new = False
            # What has changed under our hands is worth another look at once.
            pause = min(LONGEST, FIRST * 2.0 ** min(held.failures, 16))
            held.until = now if held.why.reason == "Changed" and not held.failures else now + pause
            held.failures += 1
        return held if now < held.until else None

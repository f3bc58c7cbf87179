"""Keeps large objects from taking all the time: after each look they rest for many times as long as it took.

Thousands of pods that come up wake their scaling group, and their set, again and again. Small ones do not notice, large
ones are looked at less often and so never cost more than a small share of the process.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

REST: Final = 10.0
"""So many times as long as a look took."""
LONGEST: Final = 0.25
"""Seconds, at most: a look that took long may just have waited for the processor."""


class Ease(Generic[Key]):
    """See the top of the module. Times are a clock's monotonic seconds; what is kept here may be lost at any time."""

    def __init__(self) -> None:
        self._until: dict[Key, float] = {}

    def wait(self, key: Key, now: float) -> float:
        """Seconds until the next look; 0 if now."""
        return max(0.0, self._until.get(key, now) - now)

    def looked(self, key: Key, began: float, ended: float) -> None:
        """Several looks before the next rest add up."""
        until = max(ended, self._until.get(key, ended)) + REST * (ended - began)
        self._until[key] = min(until, ended + LONGEST)

    def forget(self, key: Key) -> None:
        """There is nothing to look at any more."""
        self._until.pop(key, None)

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._until)

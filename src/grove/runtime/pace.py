"""Holds a status back while it still changes: each one that is written costs the API server as much as a pod.

A controller asks with the status that it would write. The answer is the seconds to wait: until the wanted status has
been the same for a while, at most some seconds after it first differed from what is stored. What is kept here may be
lost at any time: then the waiting begins anew.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

import msgspec

Key = TypeVar("Key", bound=Hashable)

QUIET: Final = 1.0
LONGEST: Final = 5.0


class Patience(msgspec.Struct, frozen=True):
    """How long a status may be held back, in seconds: until it has not changed for so long, and at most."""

    quiet: float = QUIET
    longest: float = LONGEST
    crowd: float = 0.0
    """So much longer, at most, where many others are held back: then the API server has enough to do."""

    def among(self, others: int) -> Patience:
        more = min(self.crowd, others * A_CROWD)
        return Patience(self.quiet + more, self.longest + more)


A_CROWD: Final = 0.05
"""Seconds for each status that is held back."""

STEADY: Final = Patience()
COMING_UP: Final = Patience(quiet=3.0, longest=10.0, crowd=20.0)
"""For what never was complete: it changes with every pod that is made, placed and started."""


class _Held(msgspec.Struct):
    wanted: object
    first: float
    last: float


class Pace(Generic[Key]):
    """See the top of the module. Times are a clock's monotonic seconds."""

    def __init__(self) -> None:
        self._held: dict[Key, _Held] = {}

    def wait(self, key: Key, wanted: object, now: float, patience: Patience = STEADY) -> float:
        """Seconds until what is wanted may be written; 0 if now. It is to be asked again then, or when it changed."""
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held(wanted, now, now)
        elif held.wanted != wanted:
            held.wanted, held.last = wanted, now
        bounds = patience.among(len(self._held) - 1)
        return max(0.0, min(held.last + bounds.quiet, held.first + bounds.longest) - now)

    def forget(self, key: Key) -> None:
        """What is wanted is stored, or there is nothing any more to store it in."""
        self._held.pop(key, None)

    def __len__(self) -> int:
        """How many statuses are held back."""
        return len(self._held)

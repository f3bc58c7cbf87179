"""How a reconcile ends: what it returns, and what it raises.

    returned   None             done: look again when something happens
               RequeueAfter     look again in so many seconds
               RequeueAt        look again at a time of day
    raised     Exception        try again, after a back-off that grows with each failure in a row
               ├── Retry        try again after as long as whoever refused has said
               └── Terminal     do not try again: only a change of the object can help

Whatever is returned or raised, something that happens to the object meanwhile brings it back at once.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True)
class RequeueAfter:
    seconds: float


@dataclass(frozen=True)
class RequeueAt:
    """In UTC. If the clock is wrong the reconcile comes early or late, so it looks at the time again."""

    time: datetime.datetime


Outcome = RequeueAfter | RequeueAt | None


class Retry(Exception):
    """Somebody asked to be left alone for a while."""

    def __init__(self, message: str, *, after: float) -> None:
        super().__init__(message)
        self.after = after


class Terminal(Exception):
    """Trying again cannot help."""

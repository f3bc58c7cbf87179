"""Waiting for something that another process does: ask again and again until it is so, or until time is up.

For tests against a real cluster, whose clock is not ours. The bound is part of the call, and a wait that fails says
what was seen last.
"""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

# Short against the 10 ms to 1 s that controllers take, long enough not to take the CPU away from them.
INTERVAL = 0.02


class TimedOutError(AssertionError):
    """What was waited for did not come in time."""


def eventually(
    look: Callable[[], Seen],
    until: Callable[[Seen], object] = bool,
    *,
    timeout: float = 10.0,
    message: str = "",
) -> Seen:
    """Calls `look` until `until` accepts what it returns, and returns that. Whatever `look` raises ends the wait.

    Looks at least once, and once more after the time is up: a slow machine fails only if the thing is not there.
    """
    deadline = time.monotonic() + timeout
    while True:
        is_last = time.monotonic() >= deadline
        seen = look()
        if until(seen):
            return seen
        if is_last:
            raise TimedOutError(f"{message or 'not so'} within {timeout:g} s; last seen: {seen!r}")
        time.sleep(INTERVAL)

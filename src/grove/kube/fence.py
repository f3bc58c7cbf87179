"""The right to write: who may send a write now, and until when the request may last.

Every write of a leader goes through its term, right before it is sent, after everything that waits (a free connection,
a rate limit):

    with fence.writing(timeout) as allowed:
        answer = await send(request, timeout=allowed)      # and `?timeout=` for the server, which may queue it
    raise_for(answer)                                      # outside: an answer is an answer, also a bad one

A program without an election hands down `Unfenced`.
"""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from grove.kube.clock import Clock


class NotLeaderError(Exception):
    """The term is over: this process must not write. Nothing was sent."""


class Fence(Protocol):
    """What a client asks before it sends a write."""

    def writing(self, timeout: float) -> AbstractContextManager[float]:
        """Gives the seconds that the request may take, at most `timeout`. Raises `NotLeaderError`.

        A block that is left by an exception has sent a write whose fate is unknown.
        """
        ...


class Unfenced:
    """For programs that need no election: every write may be sent."""

    def writing(self, timeout: float) -> AbstractContextManager[float]:
        return contextlib.nullcontext(timeout)


class Term:
    """One leader's time in office. Open until its moment has come or it is ended; never opens again.

    The moment is compared with the clock in every call, so that a process that was stopped and wakes up late finds its
    term over before anything has told it so.
    """

    def __init__(self, number: int, identity: str, expires: float, clock: Clock) -> None:
        self.number = number
        self.identity = identity
        self._expires = expires
        self._clock = clock
        self._over = ""
        self._writing = 0
        self._unknown_until = float("-inf")

    def writing(self, timeout: float) -> AbstractContextManager[float]:
        return self._write(timeout)

    @contextlib.contextmanager
    def _write(self, timeout: float) -> Iterator[float]:
        self.check()
        allowed = min(timeout, self.seconds_left)
        deadline = self._clock.monotonic() + allowed
        self._writing += 1
        try:
            yield allowed
        except BaseException:
            self._unknown_until = max(self._unknown_until, deadline)
            raise
        finally:
            self._writing -= 1

    def check(self) -> None:
        """Raises `NotLeaderError` if the term is over."""
        if not self.is_open:
            raise NotLeaderError(f"{self.identity} may not write: its term {self.number} is over: {self._over}")

    @property
    def is_open(self) -> bool:
        if not self._over and self._clock.monotonic() >= self._expires:
            self._over = "its lease was not renewed in time"
        return not self._over

    @property
    def over(self) -> str:
        """Why the term is over; empty while it is open."""
        return "" if self.is_open else self._over

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._expires - self._clock.monotonic()) if self.is_open else 0.0

    @property
    def has_unknown_writes(self) -> bool:
        """Whether a write of this term may still reach the server: it is under way, or was given up before its end."""
        return self._writing > 0 or self._clock.monotonic() < self._unknown_until

    # For the election

    def extend(self, expires: float) -> None:
        if self.is_open:
            self._expires = max(self._expires, expires)

    def end(self, why: str) -> None:
        if self.is_open:
            self._over = why

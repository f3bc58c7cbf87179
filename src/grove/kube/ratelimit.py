"""A token bucket for requests: `burst` at once, then `qps` a second, in the order in which they came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec


class RateLimit(msgspec.Struct, frozen=True):
    """Requests a second on average, and at once after a pause."""

    qps: float
    burst: int = 1

    def __post_init__(self) -> None:
        if self.qps <= 0 or self.burst < 1:
            raise ValueError(f"a rate limit needs qps > 0 and burst >= 1, not qps={self.qps} and burst={self.burst}")


class TokenBucket:
    """Who takes a token waits until it is there. The tokens of waiters that are cancelled are not given back."""

    def __init__(
        self, limit: RateLimit, *, now: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._interval = 1.0 / limit.qps
        self._allowance = (limit.burst - 1) * self._interval
        self._now = now
        self._sleep = sleep
        self._next = now() - self._allowance  # when the next token would be due at the average rate

    async def take(self) -> None:
        now = self._now()
        due = max(self._next, now - self._allowance)
        self._next = due + self._interval
        if due > now:
            await self._sleep(due - now)

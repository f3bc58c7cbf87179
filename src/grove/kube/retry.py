"""Whether a failed request is made again, and after how long: a pure function of what went wrong.

A read may always be repeated. A write is repeated only where the server certainly did nothing: it refused (429), or
the request never left. Everything else is the caller's to decide, who reads what is and decides anew. Kubernetes' own
clients also repeat writes after any 5xx with Retry-After; between us and the server there may be proxies that answer
so after they have forwarded the request, and then a pod is created twice.
"""

from __future__ import annotations

import msgspec

from grove.kube.errors import (
    ApiError,
    BadGateway,
    InternalError,
    KubeError,
    ServerTimeout,
    TooManyRequests,
    Unavailable,
    Unreachable,
    Untrusted,
)

TRANSIENT = (InternalError, BadGateway, Unavailable, ServerTimeout)


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how patiently. Seconds; the delay doubles from `first` up to `longest`."""

    attempts: int = 5
    first: float = 0.1
    longest: float = 5.0
    longest_asked: float = 30.0
    """A server that asks for more patience than this gets none: the caller hears of it, and of `retry_after`."""


NEVER = RetryPolicy(attempts=1)


def delay(error: KubeError, *, read: bool, attempt: int, policy: RetryPolicy, jitter: float) -> float | None:
    """Seconds until the request is made again, or None to give up. `attempt` counts from 1; `jitter` is in [0, 1)."""
    if attempt >= policy.attempts or not may_repeat(error, read=read):
        return None
    # Half fixed, half by chance: clients that failed together do not come back together, and none comes at once.
    backoff = min(policy.first * 2.0 ** (attempt - 1), policy.longest) * (0.5 + 0.5 * jitter)
    asked = error.retry_after if isinstance(error, ApiError) else None
    if asked is None:
        return backoff
    # Never earlier than asked.
    return None if asked > policy.longest_asked else asked + policy.first * jitter


def may_repeat(error: KubeError, *, read: bool) -> bool:
    """Whether making the request again can help, and cannot do anything twice."""
    if isinstance(error, TooManyRequests):
        return not error.by_disruption_budget
    if isinstance(error, Untrusted):
        return False
    if isinstance(error, Unreachable):
        return read or not error.may_have_acted
    return read and isinstance(error, TRANSIENT)

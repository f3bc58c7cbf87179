"""What the parts of every program are told, read from its configuration. Pure."""

from __future__ import annotations

from typing import Final

from grove.api import durations
from grove.api.kinds.processconfig import ClientConnection, LeaderElection
from grove.kube.lease import Timing
from grove.kube.ratelimit import RateLimit
from grove.runtime.exits import CannotRun, Exit

_NANO: Final = 1_000_000_000


def seconds(text: str) -> float:
    """A duration of a configuration that has been checked."""
    return durations.parse(text) / _NANO


def rate_limit(connection: ClientConnection) -> RateLimit | None:
    """How many requests a second; None, which a negative qps asks for, where there is no limit but the server's own."""
    if connection.qps < 0:
        return None
    return RateLimit(connection.qps or type(connection)().qps, max(1, connection.burst))


def timing(election: LeaderElection) -> Timing:
    """Raises CannotRun where the times do not fit each other."""
    try:
        return Timing(
            duration=seconds(election.lease_duration),
            renew_deadline=seconds(election.renew_deadline),
            retry_period=seconds(election.retry_period),
        )
    except ValueError as error:
        raise CannotRun(
            Exit.CONFIGURATION,
            str(error),
            "set leaderElection.leaseDuration, renewDeadline and retryPeriod, or leave them out: 15s, 10s, 2s",
        ) from error

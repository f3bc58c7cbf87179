"""What the operator's parts are told, read from its configuration. Pure."""

from __future__ import annotations

from typing import Final

from grove.api import durations
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.processconfig import ClientConnection, LeaderElection
from grove.kube.lease import Timing
from grove.kube.ratelimit import RateLimit
from grove.operator.exits import CannotOperate, Exit

_NANO: Final = 1_000_000_000


def rate_limit(connection: ClientConnection) -> RateLimit | None:
    """How many requests a second; None, which a negative qps asks for, where there is no limit but the server's own."""
    if connection.qps < 0:
        return None
    return RateLimit(connection.qps or ClientConnection().qps, max(1, connection.burst))


def timing(election: LeaderElection) -> Timing:
    """Raises CannotOperate where the times do not fit each other."""
    duration, renewal, retry = (
        durations.parse(text) / _NANO
        for text in (election.lease_duration, election.renew_deadline, election.retry_period)
    )
    try:
        return Timing(duration=duration, renew_deadline=renewal, retry_period=retry)
    except ValueError as error:
        raise CannotOperate(
            Exit.CONFIGURATION,
            str(error),
            "set leaderElection.leaseDuration, renewDeadline and retryPeriod, or leave them out: 15s, 10s, 2s",
        ) from error


def check_network(configuration: OperatorConfiguration) -> None:
    """Raises CannotOperate where multi-node NVLink is asked for: ComputeDomains are not made yet."""
    if configuration.network.auto_mnnvl_enabled:
        raise CannotOperate(
            Exit.NETWORK,
            "network.autoMNNVLEnabled: true: this release makes no ComputeDomains",
            "set it to false or leave it out",
        )

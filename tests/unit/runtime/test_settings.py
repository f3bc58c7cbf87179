"""What the operator's parts are told by its configuration."""

import pytest

from grove.api.kinds.operatorconfig import Network, OperatorConfiguration
from grove.api.kinds.processconfig import ClientConnection, LeaderElection
from grove.kube.lease import LeadershipLostError
from grove.kube.ratelimit import RateLimit
from grove.operator.settings import check_network
from grove.runtime import exits, settings
from grove.runtime.endpoints import CannotListen
from grove.runtime.exits import CannotRun, Exit


@pytest.mark.parametrize(
    ("connection", "limit"),
    [
        (ClientConnection(), RateLimit(100.0, 120)),
        (ClientConnection(qps=5.0, burst=0), RateLimit(5.0, 1)),
        (ClientConnection(qps=0.0), RateLimit(100.0, 120)),
        (ClientConnection(qps=-1.0), None),
    ],
)
def test_a_negative_rate_means_no_limit_and_none_the_default(
    connection: ClientConnection, limit: RateLimit | None
) -> None:
    assert settings.rate_limit(connection) == limit


def test_the_times_of_the_election_are_those_of_the_configuration() -> None:
    timing = settings.timing(LeaderElection(lease_duration="1m", renew_deadline="40s", retry_period="500ms"))
    assert (timing.duration, timing.renew_deadline, timing.retry_period) == (60.0, 40.0, 0.5)


def test_times_that_do_not_fit_each_other_are_a_wrong_configuration() -> None:
    with pytest.raises(CannotRun, match="each must be longer than the one before") as caught:
        settings.timing(LeaderElection(retry_period="9s"))
    assert caught.value.code == Exit.CONFIGURATION
    assert "leaderElection.leaseDuration" in caught.value.remedy


def test_nvlink_across_nodes_is_refused() -> None:
    check_network(OperatorConfiguration())
    with pytest.raises(CannotRun) as caught:
        check_network(OperatorConfiguration(network=Network(auto_mnnvl_enabled=True)))
    assert caught.value.code == 7


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CannotListen("health: cannot listen on *:1: taken"), 4),
        (LeadershipLostError("lost"), 6),
        (ValueError("surprise"), 6),
        (CannotRun(Exit.BACKEND, "no", "do"), 5),
    ],
)
def test_the_error_that_ended_the_process_is_found_in_any_group(error: Exception, code: int) -> None:
    found = exits.of_group(ExceptionGroup("outer", [ExceptionGroup("inner", [error])]))
    assert found.code == code
    assert str(error) in str(found)
    assert found.remedy

"""Whether and when a request is made again: the whole table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.kube.errors import (
    AlreadyExists,
    ApiError,
    BadGateway,
    BadRequest,
    Cause,
    Conflict,
    CredentialsError,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    KubeError,
    NotFound,
    ServerTimeout,
    StatusDetails,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
    Untrusted,
)
from grove.kube.retry import NEVER, RetryPolicy, delay

POLICY = RetryPolicy(attempts=5, first=0.1, longest=5.0, longest_asked=30.0)


def api(kind: type[ApiError], retry_after: float | None = None) -> ApiError:
    return kind("no", code=0, retry_after=retry_after)


BUDGET = TooManyRequests(
    "no", code=429, details=StatusDetails(causes=(Cause(reason="DisruptionBudget"),)), retry_after=1.0
)

# The error; whether a read is made again; whether a write is.
TABLE: list[tuple[KubeError, bool, bool]] = [
    (Unreachable("refused", may_have_acted=False), True, True),
    (Unreachable("reset", may_have_acted=True), True, False),
    (Untrusted("stranger"), False, False),
    (api(TooManyRequests), True, True),
    (api(TooManyRequests, 3.0), True, True),
    (api(TooManyRequests, 31.0), False, False),
    (BUDGET, False, False),
    (api(InternalError), True, False),
    (api(InternalError, 1.0), True, False),
    (api(BadGateway), True, False),
    (api(Unavailable), True, False),
    (api(Unavailable, 1.0), True, False),
    (api(ServerTimeout), True, False),
    (api(BadRequest), False, False),
    (api(Unauthorized), False, False),
    (api(Forbidden), False, False),
    (api(NotFound), False, False),
    (api(AlreadyExists), False, False),
    (api(Conflict), False, False),
    (api(Gone), False, False),
    (api(Invalid), False, False),
    (UnexpectedAnswer("html"), False, False),
    (CredentialsError("no plugin"), False, False),
]


@pytest.mark.parametrize(("error", "read", "write"), TABLE, ids=lambda value: type(value).__name__)
def test_what_is_made_again(error: KubeError, read: bool, write: bool) -> None:
    def again(is_read: bool) -> bool:
        return delay(error, read=is_read, attempt=1, policy=POLICY, jitter=0.5) is not None

    assert (again(True), again(False)) == (read, write)


@pytest.mark.parametrize(("error", "read", "write"), TABLE)
def test_never_means_never(error: KubeError, read: bool, write: bool) -> None:
    assert delay(error, read=True, attempt=1, policy=NEVER, jitter=0.0) is None


@settings(deadline=None)
@given(st.integers(1, 10), st.floats(0, 1, exclude_max=True))
def test_the_delay_grows_within_its_bounds_and_ends(attempt: int, jitter: float) -> None:
    found = delay(api(Unavailable), read=True, attempt=attempt, policy=POLICY, jitter=jitter)
    if attempt >= POLICY.attempts:
        assert found is None
    else:
        full = min(0.1 * 2 ** (attempt - 1), 5.0)
        assert found is not None
        assert full / 2 <= found <= full


@settings(deadline=None)
@given(st.integers(1, 4), st.floats(0, 30), st.floats(0, 1, exclude_max=True))
def test_never_earlier_than_the_server_asked(attempt: int, asked: float, jitter: float) -> None:
    found = delay(api(TooManyRequests, asked), read=False, attempt=attempt, policy=POLICY, jitter=jitter)
    assert found is not None
    assert asked <= found <= asked + POLICY.first

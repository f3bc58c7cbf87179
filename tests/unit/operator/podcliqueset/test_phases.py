"""The phase of a set."""

import pytest

from grove.operator.podcliqueset import phases


@pytest.mark.parametrize(
    ("changed", "phase"),
    [
        ({}, "Available"),
        ({"available": 1}, "Scheduling"),
        ({"available": 1, "exists": False}, "Creating"),
        ({"available": 1, "is_breached": True}, "Degraded"),
        ({"has_errors": True}, "Degraded"),
        ({"has_errors": True, "available": 0}, "Failed"),
        ({"has_errors": True, "available": 0, "replicas": 0}, "Degraded"),
        ({"is_updating": True}, "Updating"),
        ({"is_updating": True, "is_breached": True}, "Updating"),
        ({"replicas": 0, "available": 0}, "Available"),
    ],
)
def test_the_worst_that_holds_is_said(changed: dict[str, int], phase: str) -> None:
    plain = {
        "replicas": 2,
        "available": 2,
        "exists": True,
        "is_updating": False,
        "is_breached": False,
        "has_errors": False,
    }
    assert phases.of(**{**plain, **changed}) == phase  # type: ignore[arg-type]

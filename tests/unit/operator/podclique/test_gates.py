"""When our gate lets pods go."""

from collections.abc import Mapping

import pytest

from grove.operator.podclique import gates
from tests.unit.operator.builders import gang


def test_pods_go_when_their_gang_is_whole_and_names_them() -> None:
    whole = gang(demo_0_worker=(1, ("a", "b")), demo_0_router=(1, ("c",)))
    assert gates.released(whole, "demo-0-worker") == {"a", "b"}
    assert gates.released(whole, "demo-0-nobody") == set()


def test_no_pod_goes_before_its_gang_was_whole() -> None:
    assert gates.released(None, "demo-0-worker") == set()
    assert gates.released(gang(initialized=False, demo_0_worker=(1, ("a",))), "demo-0-worker") == set()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"demo-0-worker": 2, "demo-0-router": 1}, True),
        ({"demo-0-worker": 3, "demo-0-router": 1}, True),
        ({"demo-0-worker": 1, "demo-0-router": 1}, False),
        ({"demo-0-worker": 2}, False),
    ],
)
def test_a_base_gang_is_scheduled_when_each_of_its_cliques_is(counts: Mapping[str, int], expected: bool) -> None:
    base = gang(demo_0_worker=(2, ()), demo_0_router=(1, ()))
    assert gates.is_scheduled(base, lambda name: counts.get(name, 0)) is expected


def test_a_base_gang_that_is_not_there_is_not_scheduled() -> None:
    assert not gates.is_scheduled(None, lambda _: 9)
    assert not gates.is_scheduled(gang(), lambda _: 9)

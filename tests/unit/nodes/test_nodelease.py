import msgspec
from hypothesis import given
from hypothesis import strategies as st

from grove.nodes import nodelease
from grove.nodes.objects import NodeRecord

NOW = 1_900_000_000.0


@given(st.text("abc-0123456789", min_size=1), st.floats(0, 1e10), st.floats(1, 300))
def test_a_node_renews_within_the_interval_and_at_its_own_place_in_it(name: str, now: float, interval: float) -> None:
    first = nodelease.next_moment(name, now, interval)
    assert now < first <= now + interval * 1.001
    second = nodelease.next_moment(name, first + interval / 1000, interval)
    assert abs(second - first - interval) < interval / 100


def test_thousands_of_nodes_renew_less_often_and_never_too_seldom() -> None:
    assert nodelease.interval(1) == nodelease.interval(2500) == 10
    assert nodelease.interval(4000) == 16
    assert nodelease.interval(100_000) == 20 == nodelease.SECONDS / 2


def test_a_lease_belongs_to_its_node() -> None:
    metadata = {"name": "n", "uid": "u", "creationTimestamp": "2030-01-01T00:00:00Z"}
    node = msgspec.convert({"metadata": metadata}, NodeRecord)
    lease = nodelease.new_lease(node, NOW)
    assert lease["metadata"] == {
        "name": "n",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
    }
    assert lease["spec"] == {
        "holderIdentity": "n",
        "leaseDurationSeconds": 40,
        "renewTime": "2030-03-17T17:46:40.000000Z",
    }
    assert nodelease.is_young(node, 1893456000.0 + 39)
    assert not nodelease.is_young(node, 1893456000.0 + 41)

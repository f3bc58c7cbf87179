import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.nodes import topology
from grove.nodes.topology import Level
from grove.nodes.unusable import Unusable

ROW = topology.levels("zones=2,blocks=2,racks=5", {})


def test_levels_are_nested_and_named_with_those_above_them() -> None:
    assert topology.sizes(ROW) == (2, 4, 20)
    assert topology.labels(ROW, 39, 40) == {
        "topology.kubernetes.io/zone": "zone-2",
        "topology.kubernetes.io/block": "zone-2-block-2",
        "topology.kubernetes.io/rack": "zone-2-block-2-rack-5",
    }


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("racks", "rack"),
        ("rack", "rack"),
        ("switches", "switch"),
        ("facilities", "facility"),
        ("boxes", "box"),
        ("classes", "class"),
        ("class", "class"),
        ("regions", "region"),
    ],
)
def test_a_level_may_be_written_in_the_plural(plural: str, one: str) -> None:
    assert topology.singular(plural) == one


def test_a_level_may_have_a_label_of_its_own() -> None:
    keys = topology.keys(["racks=example.com/rack"])
    assert [level.key for level in topology.levels("zones=1,racks=2", keys)] == [
        "topology.kubernetes.io/zone",
        "example.com/rack",
    ]


def test_no_levels_are_no_labels() -> None:
    assert topology.levels("", {}) == ()
    assert topology.labels((), 3, 5) == {}


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4).flatmap(
        lambda each: st.tuples(st.just(each), st.integers(0, 300))
    )
)
def test_nodes_are_dealt_out_evenly_and_in_order(shape: tuple[list[int], int]) -> None:
    each, more = shape
    row = tuple(Level(f"l{index}", count, f"k{index}") for index, count in enumerate(each))
    nodes = topology.sizes(row)[-1] + more
    topology.check(row, nodes)
    paths = [tuple(topology.labels(row, number, nodes).values()) for number in range(nodes)]
    for index, count in enumerate(topology.sizes(row)):
        found = collections.Counter(path[index] for path in paths)
        assert len(found) == count
        assert max(found.values()) - min(found.values()) <= topology.sizes(row)[-1] // count
        # In order: who has left a domain does not come back to it.
        assert [path[index] for path in paths] == [name for name, size in found.items() for _ in range(size)]
    innermost = collections.Counter(path[-1] for path in paths)
    assert max(innermost.values()) - min(innermost.values()) <= 1
    # A domain is in one domain of each level above it.
    for outer in range(len(row) - 1):
        parents = collections.defaultdict(set)
        for path in paths:
            parents[path[outer + 1]].add(path[outer])
        assert all(len(above) == 1 for above in parents.values())


@pytest.mark.parametrize(
    ("text", "keys", "fault"),
    [
        ("zones", {}, '"zones" is no level'),
        ("zones=0", {}, '"zones=0" is no level'),
        ("zones=-1", {}, '"zones=-1" is no level'),
        ("Zones=1", {}, '"Zones=1" is no level'),
        ("zone=1,zones=2", {}, "the level zone is there twice"),
        ("hosts=3", {}, "hosts are the nodes themselves"),
        ("zones=1", {"rack": "a/b"}, "--topology has no such level"),
        ("zones=1,racks=2", {"zone": "a/b", "rack": "a/b"}, "the label is that of the level zone"),
        ("zones=1", {"zone": "kubernetes.io/hostname"}, "the label is that of the level host"),
    ],
)
def test_what_is_no_topology_is_told(text: str, keys: dict[str, str], fault: str) -> None:
    with pytest.raises(Unusable) as caught:
        topology.levels(text, keys)
    assert fault in caught.value.what
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["rack", "rack=", "rack=/x", "rack=a b"])
def test_what_is_no_label_of_a_level_is_told(text: str) -> None:
    with pytest.raises(Unusable, match="--topology-key"):
        topology.keys([text])


def test_domains_that_would_be_empty_are_told() -> None:
    with pytest.raises(Unusable) as caught:
        topology.check(ROW, 19)
    assert caught.value.what == (
        "--topology zone=2,block=2,rack=5: 20 domains of the level rack for 19 nodes: some would be empty"
    )
    assert "--count 20 or more" in caught.value.remedy


def test_names_that_do_not_fit_a_label_are_told() -> None:
    row = topology.levels(",".join(f"{'a' * 12}{letter}=2" for letter in "bcdefg"), {})
    with pytest.raises(Unusable, match="too long for a label"):
        topology.check(row, 64)

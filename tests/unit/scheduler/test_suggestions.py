"""Small changes that would help."""

from __future__ import annotations

from collections.abc import Callable

from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang
from grove.scheduler.suggestions import suggestions
from grove.scheduler.verdicts import Answer, Found, NotFound, Shortfall
from tests.unit.scheduler.fleets import BLOCK, GPU, RACK, fleet, gang, group, occupy, spec


def placing(fits: Callable[[Gang], bool]) -> Callable[[Gang], Answer]:
    return lambda one: Found(()) if fits(one) else NotFound(True, "x", "")


def refused(cluster: Cluster, count: int, key: str = RACK) -> tuple[Gang, NotFound]:
    wanted = gang(group(cluster, "prefill", count, spec(gpus=8)), required=key, name="my-0")
    return wanted, NotFound(True, "my-0", key, (Shortfall("b0/r000", 2, count, "prefill", GPU, 8 * (count - 2)),))


def nowhere(_: Gang) -> bool:
    return False


def texts(cluster: Cluster, count: int, fits: Callable[[Gang], bool], *evictable: str) -> list[tuple[str, str]]:
    wanted, verdict = refused(cluster, count)
    return [(one.kind, one.text) for one in suggestions(cluster, wanted, verdict, placing(fits), evictable=evictable)]


def test_the_narrowest_broader_level_with_a_place_is_suggested() -> None:
    cluster = fleet(2, 2)
    found = texts(cluster, 3, lambda one: one.root.pack.required in (None, BLOCK))
    assert found[0] == ("relax", "require block and prefer rack instead of requiring it")
    found = texts(cluster, 3, lambda one: one.root.pack.required is None)
    assert found[0] == ("relax", "prefer rack instead of requiring it")


def test_the_greatest_minimum_with_a_place_is_suggested() -> None:
    found = texts(fleet(2, 2), 100, lambda one: one.root.groups[0].minimum <= 37 and one.root.pack.required == RACK)
    assert ("fewer", "lower the minimum of prefill from 100 to 37") in found


def test_so_many_nodes_are_suggested_as_the_nearest_domain_lacks() -> None:
    cluster = fleet(2, 2)
    occupy(cluster, 0, spec(gpus=8))
    assert texts(cluster, 3, nowhere) == [("nodes", "add 1 more node like n000-000 in rack b0/r000")]
    assert texts(cluster, 5, nowhere) == [("nodes", "add 3 more nodes like n000-000 in rack b0/r000")]


def test_no_nodes_are_suggested_where_even_empty_ones_are_too_small() -> None:
    assert texts(fleet(1, 2, gpus=4), 3, nowhere) == []


def test_gangs_that_could_go_are_named() -> None:
    found = texts(fleet(1, 2), 3, nowhere, "a", "b", "c", "d", "e")
    assert found[-1] == ("evict", "the room of these would do: a, b, c and 2 more")

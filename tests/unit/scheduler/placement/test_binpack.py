"""Unlike pods on few nodes, exactly."""

from __future__ import annotations

from grove.scheduler.placement.binpack import Item, pack
from grove.scheduler.placement.budget import Budget


def items(*wanted: tuple[int, tuple[int, ...]], nodes: int) -> list[Item]:
    return [Item(many, request, frozenset(range(nodes))) for many, request in wanted]


def test_a_perfect_packing_is_found_where_the_largest_first_goes_wrong() -> None:
    wanted = items((2, (6,)), (2, (4,)), (4, (5,)), nodes=4)
    packed = pack([(10,)] * 4, wanted, Budget(10_000), 10_000)
    assert packed.counts is not None
    assert [sum(counts) for counts in packed.counts] == [2, 2, 4]
    for node in range(4):
        assert sum(counts[node] * item.request[0] for counts, item in zip(packed.counts, wanted, strict=True)) == 10


def test_that_there_is_none_is_proven() -> None:
    wanted = items((3, (6, 1)), (3, (5, 1)), nodes=3)
    packed = pack([(11, 2), (11, 2), (10, 2)], wanted, Budget(10_000), 10_000)
    assert packed.counts is None
    assert packed.proven


def test_no_nodes_take_nothing() -> None:
    assert pack([], items((1, (1,)), nodes=0), Budget(10), 10).proven


def test_pods_go_only_where_they_may() -> None:
    packed = pack([(4,), (4,)], [Item(1, (4,), frozenset({0})), Item(1, (4,), frozenset({0, 1}))], Budget(100), 100)
    assert packed.counts == [[1, 0], [0, 1]]


def test_when_the_budget_ends_nothing_is_proven() -> None:
    wanted = items(*((5, (7 + kind, 13 - kind)) for kind in range(6)), nodes=12)
    packed = pack([(30, 32)] * 12, wanted, Budget(3), 10_000)
    assert packed.counts is None
    assert not packed.proven

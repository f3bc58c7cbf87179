"""Queues over generated trees and histories: shares, order, who takes back what."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from grove.api.kinds.queue import Queue
from grove.scheduler.waiting import Waiter, Waiting
from tests.unit.scheduler.queuetrees import Shared, queue

NAMES = ("a", "b", "c", "d", "e")


@st.composite
def trees(draw: st.DrawFn) -> list[Queue]:
    found = []
    for at, name in enumerate(NAMES[: draw(st.integers(1, 5))]):
        parent = draw(st.sampled_from([None, *NAMES[:at]]))
        guaranteed = draw(st.none() | st.integers(0, 6))
        limit = draw(st.none() | st.integers(guaranteed or 0, 20))
        weight, priority = draw(st.integers(1, 3)), draw(st.integers(0, 1))
        found.append(queue(name, parent, guaranteed=guaranteed, limit=limit, weight=weight, priority=priority))
    return found


uses = st.lists(st.tuples(st.sampled_from(["", *NAMES]), st.integers(0, 9), st.integers(0, 9)), max_size=6)


@st.composite
def clusters(draw: st.DrawFn) -> Shared:
    shared = Shared(draw(st.integers(0, 30)), *draw(trees()))
    for name, used, waiting in draw(uses):
        shared.use(name, used)
        shared.wait(name, waiting)
    return shared


@given(clusters())
def test_shares_make_up_what_there_is_or_all_that_limits_allow(shared: Shared) -> None:
    nodes, lists = shared.queues.tree.nodes, shared.queues._divide().tolist()
    for at, node in enumerate(nodes):
        given_out = sum(lists[child][shared.gpu] for child in node.children)
        assert given_out <= lists[at][shared.gpu] + 1e-6
        limits = [nodes[child].limit.get(shared.gpu) for child in node.children]
        if node.children and any(
            limit is None and not nodes[c].is_own for c, limit in zip(node.children, limits, strict=True)
        ):
            assert given_out >= lists[at][shared.gpu] - 1e-6
        for child, limit in zip(node.children, limits, strict=True):
            assert limit is None or lists[child][shared.gpu] <= limit + 1e-6


@given(clusters())
def test_who_asks_for_its_guarantee_gets_it(shared: Shared) -> None:
    """Unless more is guaranteed than there is, or above it than its limit."""
    tree = shared.queues.tree
    for node in tree.nodes[1:]:
        if node.is_own or node.broken:
            continue
        chain = [tree.nodes[at] for at in node.path]
        backed = all(
            sum(tree.nodes[c].guaranteed.get(shared.gpu, 0) for c in tree.nodes[one.parent].children)
            <= (
                dict(shared.queues._capacity).get(shared.gpu, 0)
                if one.parent == 0
                else tree.nodes[one.parent].guaranteed.get(shared.gpu, 0)
            )
            for one in chain
        )
        if backed:
            asked = _asked(shared, node.name)
            sure = min(asked, node.guaranteed.get(shared.gpu, 0))
            assert shared.queues.share(node.name).get(shared.gpu, 0.0) >= sure - 1e-6


def _asked(shared: Shared, name: str) -> int:
    """What it and those below ask for, each within its limit."""
    tree = shared.queues.tree
    node = tree.nodes[tree.node_of[name]]
    own = sum(
        held.get(one, {}).get(shared.gpu, 0)
        for held in (shared.queues._used, shared.queues._waiting)
        for one in ({name, ""} if name == "default" else {name})
    )
    below = sum(_asked(shared, tree.nodes[c].name) for c in node.children if not tree.nodes[c].is_own)
    return min(own + below, node.limit.get(shared.gpu, 1 << 60))


@given(clusters())
def test_nobody_takes_back_from_whom_could_take_back_in_turn(shared: Shared) -> None:
    names = ["", *(name for name in NAMES if name in shared.queues.tree.queues)]
    for winner, loser in itertools.permutations(names, 2):
        for gpus in (1, 3):
            if not shared.queues.reclaimable(winner, loser, shared.gpus(gpus)):
                continue
            # The winner starts, the loser waits: what is asked for is the same.
            shared.wait(winner, gpus)
            if shared.queues.reclaimable(winner, loser, shared.gpus(gpus)):
                shared.queues.start(winner, shared.gpus(gpus))
                shared.use(loser, -gpus)
                shared.wait(loser, gpus)
                assert not shared.queues.reclaimable(loser, winner, shared.gpus(gpus))
                shared.use(loser, gpus)
                shared.wait(loser, -gpus)
                shared.use(winner, -gpus)
                shared.wait(winner, gpus)
            shared.wait(winner, -gpus)


@given(clusters(), st.lists(st.tuples(st.sampled_from(["", *NAMES]), st.integers(1, 9)), max_size=8), trees())
def test_what_is_counted_step_by_step_is_what_there_is(
    shared: Shared, moves: list[tuple[str, int]], later: list[Queue]
) -> None:
    for name, gpus in moves:
        shared.use(name, gpus)
    assert [*shared.queues.recount()] == []
    shared.queues.put(later)
    for name, gpus in moves:
        shared.use(name, -gpus)
    assert [*shared.queues.recount()] == []


@given(clusters(), st.sampled_from(NAMES), st.integers(1, 12))
def test_how_many_may_start_is_how_often_one_may(shared: Shared, name: str, gpus: int) -> None:
    amounts = shared.gpus(gpus)
    expected = 0
    while expected < 40 and not shared.queues.may_start(name, amounts):
        shared.queues.use(name, amounts, 1)
        expected += 1
    shared.queues.use(name, amounts, -expected)
    assert min(40, shared.queues.how_many(name, amounts)) == expected


@st.composite
def waiters(draw: st.DrawFn) -> list[Waiter]:
    count = draw(st.integers(1, 14))
    return [
        Waiter(
            f"g{at}",
            draw(st.integers(0, 1)),
            draw(st.sampled_from(["", *NAMES])),
            draw(st.integers(0, 3)),
            float(draw(st.integers(0, 3))),
            draw(st.booleans()),
        )
        for at in range(count)
    ]


@given(clusters(), waiters(), st.randoms(use_true_random=False))
def test_each_turn_goes_to_the_first_in_the_order_as_it_is_then(
    shared: Shared, found: list[Waiter], random: object
) -> None:
    """The heaps against a sort at every turn, while use grows and falls."""
    waiting = Waiting(shared.queues)
    choose: Callable[[int], int] = random.randrange  # type: ignore[attr-defined]
    left = {}
    for one in found:
        waiting.put(one)
        left[one.key] = one
    while left:
        expected = min(left.values(), key=lambda o: (-o.priority, not o.starving, shared.queues.place(o.queue), o.rank))
        taken = waiting.pop()
        assert taken == expected
        del left[taken.key]
        what = choose(4)
        if what < 2:
            shared.queues.start(taken.queue, shared.gpus(choose(5)))
        elif what == 2:
            shared.use((choose(2) and "a") or "b", 2 - choose(5) or 1)
        else:
            again = taken._replace(key=taken.key + "+", created=float(choose(4)))
            if len(again.key) < 5:
                waiting.put(again)
                left[again.key] = again
    assert waiting.pop() is None


@given(st.integers(2, 4), st.integers(1, 3), st.integers(4, 12))
def test_equal_shares_take_turns(queues: int, gpus: int, rounds: int) -> None:
    """Nobody is ever more than one gang ahead of a queue of the same weight that wants as much."""
    names = NAMES[:queues]
    shared = Shared(1000, *(queue(name) for name in names))
    waiting = Waiting(shared.queues)
    for name, at in itertools.product(names, range(rounds)):
        waiting.put(Waiter(f"{name}{at}", queue=name))
        shared.wait(name, gpus)
    got = dict.fromkeys(names, 0)
    while (one := waiting.pop()) is not None:
        got[one.queue] += 1
        shared.queues.start(one.queue, shared.gpus(gpus))
        assert max(got.values()) - min(got.values()) <= 1

"""Who may use how much, and who may take it back."""

from __future__ import annotations

import pytest

from grove.scheduler.gangs import Scope
from grove.scheduler.limits import within_limits
from grove.scheduler.queues import Queues
from grove.scheduler.queuetree import queue_of
from tests.unit.scheduler.fleets import fleet, gang, group, spec
from tests.unit.scheduler.queuetrees import GPU, Shared, queue


def test_what_all_ask_for_is_divided_by_weight() -> None:
    shared = Shared(9, queue("a"), queue("b", weight=2))
    shared.wait("a", 100)
    shared.wait("b", 100)
    assert shared.shares("a", "b") == [3, 6]


def test_a_share_is_a_fraction_where_it_must_be() -> None:
    shared = Shared(8, queue("a"), queue("b"), queue("c"))
    for name in "abc":
        shared.wait(name, 8)
    assert shared.shares("a", "b", "c") == [2.666667] * 3


def test_what_one_does_not_ask_for_others_get_that_do() -> None:
    shared = Shared(12, queue("a"), queue("b"), queue("c"))
    shared.wait("a", 1)
    shared.use("b", 20)
    shared.wait("c", 5)
    assert shared.shares("a", "b", "c") == [1, 6, 5]


def test_what_nobody_asks_for_is_divided_too() -> None:
    shared = Shared(12, queue("a", guaranteed=8), queue("b"))
    shared.wait("b", 2)
    assert shared.shares("a", "b") == [9, 3]


def test_a_guarantee_comes_before_weights_and_priorities() -> None:
    shared = Shared(10, queue("a", guaranteed=6), queue("b", weight=100, priority=9))
    shared.wait("a", 6)
    shared.wait("b", 10)
    assert shared.shares("a", "b") == [6, 4]


def test_a_guarantee_nobody_asks_for_is_lent() -> None:
    shared = Shared(10, queue("a", guaranteed=6), queue("b"))
    shared.wait("b", 10)
    assert shared.shares("a", "b") == [0, 10]


def test_a_higher_priority_is_served_before_its_siblings() -> None:
    shared = Shared(10, queue("a"), queue("b", priority=1))
    shared.wait("a", 10)
    shared.wait("b", 8)
    assert shared.shares("a", "b") == [2, 8]


def test_guarantees_beyond_what_there_is_shrink_alike() -> None:
    shared = Shared(6, queue("a", guaranteed=8), queue("b", guaranteed=4))
    shared.wait("a", 8)
    shared.wait("b", 4)
    assert shared.shares("a", "b") == [4, 2]


def test_a_share_is_divided_among_those_below() -> None:
    shared = Shared(
        12, queue("a"), queue("b"), queue("a1", "a", weight=2), queue("a2", "a"), queue("a3", "a", guaranteed=3)
    )
    for name in ("a1", "a2", "a3", "b"):
        shared.wait(name, 100)
    assert shared.shares("a", "b") == [7.5, 4.5]
    assert shared.shares("a1", "a2", "a3") == [2.25, 1.125, 4.125]


def test_a_guarantee_below_is_one_above() -> None:
    shared = Shared(10, queue("a"), queue("a1", "a", guaranteed=8), queue("b"))
    shared.wait("a1", 10)
    shared.wait("b", 10)
    assert shared.shares("a", "a1", "b") == [9, 9, 1]


def test_gangs_in_a_queue_with_others_below_are_beside_those() -> None:
    shared = Shared(12, queue("a"), queue("a1", "a"))
    shared.wait("a1", 100)
    assert shared.shares("a", "a1") == [12, 12]
    shared.wait("a", 100)
    assert shared.shares("a", "a1") == [12, 6]


def test_gangs_in_no_queue_are_in_the_default_one_if_there_is_one() -> None:
    beside = Shared(12, queue("a"))
    named = Shared(12, queue("a"), queue("default", limit=2))
    for one in (beside, named):
        one.wait("a", 100)
        one.wait("", 100)
    assert beside.share("a") == 6
    assert named.shares("a", "default") == [10, 2]
    assert named.queues.may_start("", named.gpus(3)) == (
        f"queue default may use at most 2 {GPU} and the gang alone needs 3: raise spec.limit"
    )


def test_limits_hold_all_the_way_up() -> None:
    shared = Shared(100, queue("company", limit=10), queue("team", "company", limit=8), queue("other", "company"))
    assert shared.queues.may_start("team", shared.gpus(8)) == ""
    shared.use("other", 6)
    assert shared.queues.may_start("team", shared.gpus(4)) == ""
    assert shared.queues.how_many("team", shared.gpus(2)) == 2
    assert shared.queues.may_start("team", shared.gpus(5)) == (
        f"queue company may use at most 10 {GPU}, and with the 5 of this gang it would use more: "
        "it waits until other gangs of the queue end, or spec.limit is raised"
    )
    assert "queue team may use at most 8" in shared.queues.may_start("team", shared.gpus(9))


def test_a_queue_that_does_not_exist_is_named_with_what_to_do() -> None:
    for shared in (Shared(8), Shared(8, queue("a"))):
        why = shared.queues.may_start("b", shared.gpus(1))
        assert why.startswith("queue b does not exist: create Queue b, or name another one in the label grove.io/queue")
        assert shared.queues.how_many("b", shared.gpus(1)) == 0


def test_without_queues_everybody_may_use_everything() -> None:
    shared = Shared(8)
    assert shared.queues.may_start("", shared.gpus(1000)) == ""
    assert shared.queues.may_evict("", "", shared.gpus(1), is_lower=True)
    assert not shared.queues.may_evict("", "", shared.gpus(1), is_lower=False)
    assert shared.queues.place("") == ()


def test_a_queue_without_its_parent_starts_nothing_and_keeps_what_runs() -> None:
    shared = Shared(8, queue("a", "gone", guaranteed=4), queue("a1", "a"), queue("b"))
    shared.use("a1", 4)
    assert shared.queues.used("a") == {shared.gpu: 4}
    for name in ("a", "a1"):
        assert shared.queues.may_start(name, ()) == (
            "queue a is below queue gone, which does not exist: create Queue gone, or change or remove spec.parent"
        )
    assert shared.queues.may_start("b", shared.gpus(8)) == ""


def test_queues_in_a_circle_start_nothing() -> None:
    shared = Shared(8, queue("a", "b"), queue("b", "a"), queue("c", "a"))
    assert shared.queues.may_start("c", ()) == ("queue a is below itself: a → b → a; remove spec.parent of one of them")
    assert "queue b is below itself" in shared.queues.may_start("b", ())
    shared.use("c", 3)
    assert [*shared.queues.recount()] == []


def test_what_is_borrowed_is_taken_back_whatever_its_priority() -> None:
    shared = Shared(10, queue("a", guaranteed=4), queue("b"))
    shared.use("b", 10)
    assert not shared.queues.reclaimable("a", "b", shared.gpus(20))
    shared.wait("a", 4)
    assert shared.queues.may_evict("a", "b", shared.gpus(4), is_lower=False)
    assert not shared.queues.may_evict("a", "b", shared.gpus(6), is_lower=True)
    shared.use("b", -4)
    assert not shared.queues.may_evict("a", "b", shared.gpus(4), is_lower=True)


def test_what_was_taken_back_is_not_taken_back_in_turn() -> None:
    shared = Shared(8, queue("a"), queue("b"), queue("c"))
    for name, used in (("a", 3), ("b", 3), ("c", 2)):
        shared.use(name, used)
        shared.wait(name, 5)
    # 2.67 each: the third GPU of a and b is borrowed, and c may not borrow it from them.
    assert not shared.queues.reclaimable("c", "a", shared.gpus(1))
    shared.use("a", 1)
    shared.use("c", -1)
    assert shared.queues.reclaimable("c", "a", shared.gpus(1))
    assert not shared.queues.reclaimable("a", "c", shared.gpus(1))


def test_a_queue_within_its_share_keeps_what_it_has_while_its_sibling_borrows() -> None:
    shared = Shared(12, queue("a"), queue("a1", "a"), queue("a2", "a"), queue("b"))
    shared.use("a1", 8)
    shared.use("a2", 2)
    shared.wait("b", 6)
    shared.wait("a2", 10)
    assert shared.queues.reclaimable("b", "a1", shared.gpus(2))
    assert not shared.queues.reclaimable("b", "a2", shared.gpus(2))
    assert shared.queues.reclaimable("a2", "a1", shared.gpus(1))


def test_only_what_is_needed_is_taken_back() -> None:
    shared = Shared(10, queue("a"), queue("b"), cpu="10")
    shared.use("b", 4)
    shared.queues.use("b", shared.vector({"cpu": "9"}), 1)
    shared.queues.wait("a", shared.vector({"cpu": "5", GPU: "5"}), 1)
    assert shared.queues.reclaimable("a", "b", shared.vector({"cpu": "5"}))
    assert not shared.queues.reclaimable("a", "b", shared.gpus(5))


def test_use_is_kept_while_queues_come_and_go() -> None:
    shared = Shared(10)
    shared.use("a", 4)
    shared.queues.put([queue("top"), queue("a", "top")])
    assert shared.queues.used("top") == {shared.gpu: 4}
    shared.queues.put([queue("b")])
    assert shared.queues.recount() is not None
    assert [*shared.queues.recount()] == []
    shared.queues.put([queue("a")])
    shared.use("a", -4)
    assert shared.queues.used("a") == {}


def test_gangs_are_counted_with_those_below() -> None:
    shared = Shared(10, queue("a"), queue("b", "a"))
    shared.queues.count("a", pending=2)
    shared.queues.count("b", pending=1, running=3)
    assert shared.queues.counts("a") == (3, 3)
    shared.queues.count("b", pending=-1, running=1)
    assert shared.queues.counts("b") == (0, 4)


def test_pods_beyond_the_minimum_stay_within_limits() -> None:
    cluster = fleet(1, 1)
    queues = Queues(cluster.resources)
    part, other = group(cluster, "a", 4, spec(gpus=2), minimum=1), group(cluster, "b", 2, spec(gpus=1), minimum=1)
    wanted = gang(part, scopes=[Scope("s", groups=(other,))])._replace(queue="q")
    assert within_limits(queues, wanted) == (wanted, ())
    queues.put([queue("q", limit=11)])
    assert within_limits(queues, wanted) == (wanted, ())
    queues.put([queue("q", limit=6)])
    less, cut = within_limits(queues, wanted)
    assert [one.name for one in cut] == ["a-2", "a-3"]
    assert [len(one.waiting) for one in less.groups()] == [2, 2]


@pytest.mark.parametrize(
    ("own", "pods", "namespace", "expected"),
    [
        ("a", ["b"], ["c"], "a"),
        (None, [None, "b"], ["c"], "b"),
        (None, [], ["c", "d"], "c"),
        (None, [], [None, "d"], "d"),
        (None, [None], [None], ""),
    ],
)
def test_a_gang_says_its_queue_or_its_pods_or_its_namespace_do(
    own: str | None, pods: list[str | None], namespace: list[str | None], expected: str
) -> None:
    labels = [None if one is None else {"grove.io/queue": one} for one in (own, *pods)]
    around = [{} if one is None else {"grove.io/queue": one} for one in namespace]
    assert queue_of(labels[0], labels[1:], around) == expected

"""The judge of an observer's notes sees what was wrong, for however short a moment, and nothing else."""

from dataclasses import replace

import pytest

from tests.cluster.operator.judging import History, Pod, Seen, no_index_twice, within_budget
from tests.cluster.operator.wishes import Clique, Group, Wish


def pod(name: str, clique: str, index: int = 0, *, serves: bool = True) -> Pod:
    return Pod(name, name, clique, "owner", str(index), "main:v1", is_active=True, has_served=serves)


def here(one: Pod) -> Seen:
    return Seen(one, is_gone=False)


def going(one: Pod) -> Seen:
    return Seen(replace(one, is_active=False), is_gone=False)


def gone(one: Pod) -> Seen:
    return Seen(replace(one, is_active=False), is_gone=True)


def test_an_index_that_two_have_for_a_moment_is_seen() -> None:
    first, second = pod("a", "c"), pod("b", "c")
    assert History([here(first), here(second), going(second), gone(second)]).broken(no_index_twice) == [
        "c has the index 0 in a, b"
    ]


def test_one_that_goes_has_no_index_any_more() -> None:
    first, second = pod("a", "c"), pod("b", "c")
    assert History([here(first), going(first), here(second), gone(first)]).broken(no_index_twice) == []


def test_a_budget_of_one_is_one() -> None:
    wish = Wish("s", [Clique("w", 3, 1)])
    pods = [pod(name, "s-0-w", index) for index, name in enumerate("abc")]
    new = pod("d", "s-0-w", 0, serves=False)
    start = [here(one) for one in pods]
    rule = within_budget({"s": wish})
    good = [going(pods[0]), here(new), here(replace(new, has_served=True)), going(pods[1])]
    assert History([*start, *good], since=3).broken(rule) == []
    bad = [going(pods[0]), here(new), going(pods[1]), here(replace(new, has_served=True))]
    assert History([*start, *bad], since=3).broken(rule) == ["s-0-w misses 2 of 3 pods"]


def test_a_pod_that_was_ready_once_is_not_taken_for_missing() -> None:
    wish = Wish("s", [Clique("w", 2, 1)])
    first, second = pod("a", "s-0-w", 0), pod("b", "s-0-w", 1)
    silent = replace(second, has_served=False)  # its node was, for a moment
    assert History([here(first), here(second), here(silent), going(first)], 2).broken(within_budget({"s": wish})) == []


@pytest.mark.parametrize(("budget", "broken"), [(1, ["s-0-g misses the copies [0, 1]"]), (2, [])])
def test_a_group_may_miss_as_many_copies_as_its_budget(budget: int, broken: list[str]) -> None:
    wish = Wish("s", [Clique("w", 1, 1)], [Group("g", ["w"], 2, 1, budget)])
    pods = [pod(name, f"s-0-g-{copy}-w") for copy, name in enumerate("ab")]
    notes = [*map(here, pods), going(pods[0]), gone(pods[0]), going(pods[1])]
    assert History(notes, since=2).broken(within_budget({"s": wish})) == broken


def test_two_replicas_are_not_below_their_minimum_at_once() -> None:
    wish = Wish("s", [Clique("w", 1, 1)], replicas=2)
    pods = [pod(name, f"s-{replica}-w") for replica, name in enumerate("ab")]
    notes = [*map(here, pods), going(pods[0]), going(pods[1])]
    assert History(notes, since=2).broken(within_budget({"s": wish})) == [
        "s is below its minimum in the replicas [0, 1]"
    ]


def test_who_came_and_who_went_is_told_from_a_point_on() -> None:
    first, second = pod("a", "c"), pod("b", "c", 1)
    history = History([here(first), here(second), going(first), gone(first)], since=1)
    assert [one.name for one in history.made()] == ["b"]
    assert [one.name for one in history.asked_to_go()] == ["a"]
    assert History([here(first), gone(first)], since=1).asked_to_go() == [replace(first, is_active=False)]

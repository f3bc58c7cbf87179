"""The witness of the tests with operator and scheduler together."""

from __future__ import annotations

from typing import Any

from tests.cluster.together.witness import Pod, Witness


def pod(name: str, node: str = "", *, gang: str = "g", clique: str = "a", gpus: int = 1, **more: Any) -> Pod:
    known = {"milli": 0, "counts": True, "occupies": True} | more
    return Pod(uid=name, name=name, gang=gang, clique=clique, node=node, gpus=gpus, **known)


def witness() -> Witness:
    made = Witness({"n": (4, 1000)})
    made.gang("g", {"a": 2})
    return made


def test_a_gang_that_becomes_whole_was_torn_for_the_time_of_its_burst() -> None:
    made = witness()
    made.pod(pod("one", "n"), 1.0, is_gone=False)
    assert made.torn_now() == ["g"]
    made.pod(pod("two", "n"), 1.5, is_gone=False)
    assert made.torn_now() == []
    assert made.longest_tear() == 0.5


def test_a_gang_whose_binds_are_taken_back_was_torn_too() -> None:
    made = witness()
    made.pod(pod("one", "n"), 1.0, is_gone=False)
    made.pod(pod("one", "n"), 9.0, is_gone=True)
    assert made.longest_tear() == 8.0


def test_a_gang_that_lost_a_pod_is_torn_but_not_for_want_of_a_decision() -> None:
    made = witness()
    made.pod(pod("one", "n"), 1.0, is_gone=False)
    made.pod(pod("two", "n"), 1.0, is_gone=False)
    made.pod(pod("two", "n", counts=False), 2.0, is_gone=False)
    assert made.torn_now() == ["g"]
    made.pod(pod("three", "n"), 9.0, is_gone=False)
    assert made.longest_tear() == 0.0


def test_a_node_is_overcommitted_until_pods_are_gone_and_not_only_asked_to_go() -> None:
    made = witness()
    made.pod(pod("one", "n", gpus=3), 1.0, is_gone=False)
    made.pod(pod("one", "n", gpus=3, counts=False), 2.0, is_gone=False)
    made.pod(pod("two", "n", gpus=2), 3.0, is_gone=False)
    assert made.overcommitted == ["n has (4, 1000), and two makes it (5, 0)"]


def test_a_pod_that_is_over_takes_nothing() -> None:
    made = witness()
    made.pod(pod("one", "n", gpus=3), 1.0, is_gone=False)
    made.pod(pod("one", "n", gpus=3, counts=False, occupies=False), 2.0, is_gone=False)
    made.pod(pod("two", "n", gpus=4), 3.0, is_gone=False)
    assert made.overcommitted == []

"""When replicas are started anew."""

from __future__ import annotations

from typing import Any

from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.operator.podcliqueset import termination
from tests.unit.operator.podcliqueset.builders import Stage, at, clique, condition, group, pcs

BROKEN = condition("MinAvailableBreached", "True", 100)
SCHEDULED = condition("PodCliqueScheduled", "True", 1)


def demo(**rest: Any) -> PodCliqueSet:
    rest = {"terminationDelay": "10m", **rest}
    return pcs(clique("a"), clique("b"), groups=[group("g", ["b"], replicas=2)], replicas=2, **rest)


def broken_clique(**rest: Any) -> Stage:
    stage = Stage(demo(**rest)).whole()
    stage.tell("demo-1-a", ready=0, conditions=[SCHEDULED, BROKEN])
    return stage


def broken_group() -> Stage:
    stage = Stage(demo()).whole()
    stage.groups["demo-1-g"]["status"] = {"conditions": [BROKEN]}
    return stage


def test_whatever_is_whole_stays() -> None:
    assert termination.decide(Stage(demo()).whole().snapshot(), at(10_000)) == termination.Decision()


def test_a_broken_replica_is_left_alone_for_exactly_the_delay() -> None:
    snapshot = broken_clique().snapshot()
    before = termination.decide(snapshot, at(699))
    assert before == termination.Decision(breached=frozenset({1}), next_expiry=at(700))
    (found,) = termination.decide(snapshot, at(700)).recyclings
    assert found.replica == 1


def test_all_podcliques_of_the_replica_go_members_first_and_its_groups_are_told() -> None:
    (found,) = termination.decide(broken_clique().snapshot(), at(700)).recyclings
    assert [one.metadata.name for one in found.delete] == ["demo-1-g-0-b", "demo-1-g-1-b", "demo-1-a"]
    assert [one.metadata.name for one in found.tell] == ["demo-1-g"]
    assert found.why == "PodClique demo-1-a lost its minimum"


def test_a_broken_scaling_group_counts_as_well() -> None:
    (found,) = termination.decide(broken_group().snapshot(), at(700)).recyclings
    assert found.why == "PodCliqueScalingGroup demo-1-g lost its minimum"
    assert len(found.delete) == 3


def test_a_group_that_was_told_does_not_count_again() -> None:
    stage = broken_group()
    stage.groups["demo-1-g"]["status"]["conditions"].append(condition(termination.IN_PROGRESS, "True", 700))
    found = termination.decide(stage.snapshot(), at(10_000))
    assert (found.recyclings, found.next_expiry) == ((), None)


def test_a_recycling_that_was_interrupted_after_the_group_was_told_is_finished() -> None:
    stage = broken_group()
    stage.groups["demo-1-g"]["status"]["conditions"].append(condition(termination.IN_PROGRESS, "True", 700))
    stage.tell("demo-1-g-1-b", ready=0, conditions=[SCHEDULED, BROKEN])
    (found,) = termination.decide(stage.snapshot(), at(701)).recyclings
    assert found.tell == ()
    assert len(found.delete) == 3
    # What came afterwards and has not started yet is not meant.
    stage.tell("demo-1-g-1-b", ready=0, conditions=[condition("MinAvailableBreached", "True", 700)])
    assert not termination.decide(stage.snapshot(), at(703)).recyclings


def test_what_never_started_is_not_started_anew() -> None:
    stage = Stage(demo()).whole()
    never = condition("PodCliqueScheduled", "False", 2)
    stage.tell("demo-1-a", ready=0, conditions=[never, condition("MinAvailableBreached", "True", 2)])
    stage.groups["demo-0-g"]["status"] = {"conditions": [condition("MinAvailableBreached", "True", 2)]}
    assert termination.decide(stage.snapshot(), at(100_000)) == termination.Decision()


def test_what_is_being_updated_is_not_terminated() -> None:
    stage = Stage(demo()).whole()
    stage.tell("demo-1-a", ready=0, conditions=[SCHEDULED, condition("MinAvailableBreached", "Unknown", 100)])
    assert termination.decide(stage.snapshot(), at(100_000)) == termination.Decision()


def test_nothing_is_done_while_a_podclique_is_being_made_anew() -> None:
    stage = Stage(pcs(clique("a"), clique("b"), terminationDelay="10m")).whole()
    stage.tell("demo-0-a", ready=0, conditions=[SCHEDULED, BROKEN])
    del stage.cliques["demo-0-b"]
    assert termination.decide(stage.snapshot(), at(10_000)) == termination.Decision(breached=frozenset({0}))


def test_the_earliest_of_all_expiries_is_the_next() -> None:
    stage = broken_clique()
    stage.tell("demo-0-a", ready=0, conditions=[SCHEDULED, condition("MinAvailableBreached", "True", 40)])
    assert termination.decide(stage.snapshot(), at(200)).next_expiry == at(640)


def test_a_delay_that_says_nothing_sensible_is_four_hours() -> None:
    for text in ("-5m", "0s", "soon"):
        found = termination.decide(broken_clique(terminationDelay=text).snapshot(), at(200))
        assert found.next_expiry == at(100 + 4 * 3600)


def test_replicas_that_are_scaled_away_are_nobodys_business_here() -> None:
    stage = broken_clique()
    stage.pcs = demo()
    stage.pcs = pcs(clique("a"), clique("b"), groups=[group("g", ["b"], replicas=2)], replicas=1)
    assert termination.decide(stage.snapshot(), at(100_000)) == termination.Decision()

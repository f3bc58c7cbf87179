"""What is done about the pods of a PodClique."""

from collections.abc import Sequence
from typing import Any

from grove.api import labels
from grove.kube.objects import PodView
from grove.operator.podclique.plan import Plan, Wanted, plan
from grove.operator.podclique.replacement import REPLACEMENTS
from tests.unit.operator.builders import NEW, NOW, OLD, at, pod

NAME = "demo-0-worker"


def planned(replicas: int, *pods: PodView, released: Sequence[str] = (), now: Any = NOW, **wanted: Any) -> Plan:
    complete = {"clique": NAME, "uid": f"uid-{NAME}", "gang": "demo-0", "template_hash": NEW, **wanted}
    return plan(Wanted(replicas=replicas, **complete), pods, released=released, now=now)


def names(pods: Sequence[PodView]) -> list[str]:
    return [one.metadata.name for one in pods]


def indices(found: Plan) -> list[int]:
    return [one.index for one in found.create]


def test_a_new_podclique_gets_its_pods() -> None:
    found = planned(3)
    assert indices(found) == [0, 1, 2]
    assert len({one.name for one in found.create}) == 3
    assert all(one.name.startswith(f"{NAME}-") and len(one.name) == len(NAME) + 6 for one in found.create)


def test_the_same_pods_are_planned_again_when_nobody_knows_whether_they_were_made() -> None:
    assert planned(3).create == planned(3).create


def test_nothing_is_done_when_all_is_there() -> None:
    assert planned(2, pod(0, ready=True), pod(1)).is_empty


def test_holes_are_filled_first() -> None:
    assert indices(planned(4, pod(0), pod(2))) == [1, 3]


def test_a_pod_on_its_way_out_counts_for_nothing_and_keeps_only_its_name() -> None:
    first = planned(1).create[0]
    found = planned(1, pod(0, name=first.name, deleted=True))
    assert indices(found) == [0]
    assert found.create[0].name != first.name


def test_the_newer_of_two_pods_with_one_index_goes_and_another_index_is_filled() -> None:
    found = planned(2, pod(0, name="young", created=at(5)), pod(0, name="old"))
    assert names(found.duplicates) == ["young"]
    assert indices(found) == [1]


def test_a_pod_whose_index_nobody_knows_stays() -> None:
    assert planned(1, pod(None)).is_empty


def test_more_than_wanted_are_deleted() -> None:
    found = planned(1, pod(0, ready=True), pod(1), pod(2, ready=True))
    assert names(found.surplus) == [f"{NAME}-1", f"{NAME}-2"]
    assert not found.create


def test_none_are_wanted() -> None:
    assert len(planned(0, pod(0), pod(1, ready=True)).surplus) == 2


# Pods that are over


def test_a_failed_pod_is_replaced_at_once_the_first_time() -> None:
    found = planned(2, pod(0, ready=True), pod(1, phase="Failed"))
    assert [(one.index, one.replacements) for one in found.create] == [(1, 1)]
    assert names(found.lost) == [f"{NAME}-1"]


def test_a_pod_that_succeeded_is_replaced_only_if_it_is_always_to_run() -> None:
    assert indices(planned(1, pod(0, phase="Succeeded"))) == [0]
    assert planned(1, pod(0, phase="Succeeded", policy="Never")).is_empty
    assert indices(planned(1, pod(0, phase="Failed", policy="Never"))) == [0]


def test_pods_that_die_young_again_and_again_are_replaced_ever_more_slowly() -> None:
    waits = []
    for count in range(8):
        dead = pod(0, phase="Failed", created=at(-5), since=NOW, annotations={REPLACEMENTS: str(count)})
        found = planned(1, dead)
        waits.append(0.0 if found.again is None else (found.again - NOW).total_seconds())
        assert bool(found.create) == (found.again is None) == bool(found.lost)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]


def test_when_its_time_has_come_it_is_replaced_and_its_successor_knows() -> None:
    dead = pod(0, phase="Failed", created=at(-25), since=at(-20), annotations={REPLACEMENTS: "2"})
    assert [(one.index, one.replacements) for one in planned(1, dead).create] == [(0, 3)]


def test_a_pod_that_lived_long_begins_anew() -> None:
    dead = pod(0, phase="Failed", created=at(-900), since=NOW, annotations={REPLACEMENTS: "5"})
    assert [(one.index, one.replacements) for one in planned(1, dead).create] == [(0, 0)]


def test_a_pod_of_an_older_template_is_replaced_at_once_and_says_nothing_of_the_new_one() -> None:
    dead = pod(0, phase="Failed", created=at(-5), hash=OLD, annotations={REPLACEMENTS: "5"})
    assert [(one.index, one.replacements) for one in planned(1, dead).create] == [(0, 0)]


def test_the_place_of_a_pod_that_waits_for_its_successor_is_kept() -> None:
    dead = pod(1, phase="Failed", created=at(-5), annotations={REPLACEMENTS: "3"})
    found = planned(3, pod(0), dead)
    assert indices(found) == [2]
    assert found.again is not None
    assert not found.lost


def test_who_is_over_and_not_needed_is_deleted() -> None:
    dead = pod(1, phase="Failed", annotations={REPLACEMENTS: "3"})
    assert names(planned(1, pod(0), dead).lost) == [f"{NAME}-1"]
    assert names(planned(2, pod(0), pod(1, name="successor"), dead).lost) == [f"{NAME}-1"]


def test_of_several_that_were_lost_at_one_index_the_last_one_counts() -> None:
    first = pod(0, name="first", phase="Failed", created=at(-60), annotations={REPLACEMENTS: "1"})
    last = pod(0, name="last", phase="Failed", created=at(-3), annotations={REPLACEMENTS: "2"})
    found = planned(1, first, last)
    assert names(found.lost) == ["first"]
    assert found.again == at(17)


def test_a_replacement_keeps_the_index_of_the_one_it_replaces() -> None:
    assert indices(planned(2, pod(0), pod(7, phase="Failed"))) == [7]


# Gates and gangs


def test_the_gate_is_removed_where_it_is_ours_and_the_pod_is_released() -> None:
    gated = pod(0, gates=("other", labels.SCHEDULING_GATE))
    assert planned(1, gated).is_empty
    assert names(planned(1, gated, released=[gated.metadata.name]).ungate) == [gated.metadata.name]
    assert planned(1, pod(0, gates=("other",)), released=[gated.metadata.name]).is_empty


def test_who_goes_is_not_let_go_before() -> None:
    gated = pod(0, hash=OLD, gates=(labels.SCHEDULING_GATE,))
    found = planned(1, gated, released=[gated.metadata.name])
    assert names(found.outdated) == [gated.metadata.name]
    assert not found.ungate


def test_a_pod_that_names_another_gang_is_told_its_own() -> None:
    assert names(planned(1, pod(0, gang="elsewhere")).relabel) == [f"{NAME}-0"]

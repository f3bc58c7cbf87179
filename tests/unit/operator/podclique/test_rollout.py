"""How pods follow a changed template."""

from collections.abc import Sequence
from typing import Any

import pytest

from grove.api.conditions import timestamp
from grove.api.kinds.podclique import PodCliqueUpdateProgress, PodSelection
from grove.api.kinds.scaling import RollingUpdate
from grove.kube.objects import PodView
from grove.operator.podclique import rollout
from tests.unit.operator.builders import NEW, NOW, OLD, at, crashed, pod


def replaced(*pods: PodView, replicas: int | None = None, budget: int = 1, spared: str | None = None) -> list[int]:
    found = rollout.to_replace(
        pods, target=NEW, replicas=len(pods) if replicas is None else replicas, max_unavailable=budget, spared=spared
    )
    return [int(one.metadata.name.rsplit("-", 1)[1]) for one in found]


def test_the_oldest_ready_pod_goes_first_and_alone() -> None:
    assert replaced(pod(0, hash=OLD, ready=True), pod(1, hash=OLD, ready=True, created=at(-5))) == [1]


def test_none_goes_while_another_is_missing_or_not_ready() -> None:
    assert replaced(pod(0, hash=OLD, ready=True), pod(1)) == []
    assert replaced(pod(0, hash=OLD, ready=True), replicas=2) == []


def test_what_is_not_ready_goes_at_once_and_leaves_no_room_for_others() -> None:
    assert replaced(pod(0, hash=OLD), pod(1, hash=OLD), pod(2, hash=OLD, ready=True)) == [0, 1]


def test_the_budget_lets_several_go() -> None:
    old = [pod(number, hash=OLD, ready=True) for number in range(5)]
    assert replaced(*old, budget=3) == [0, 1, 2]
    assert replaced(*old, pod(5), budget=3) == [0, 1]


def test_a_pod_that_crashed_once_and_is_ready_again_is_ready() -> None:
    old = [pod(number, hash=OLD, ready=True, container=crashed()) for number in range(3)]
    assert replaced(*old) == [0]


def test_new_pods_stay() -> None:
    assert replaced(pod(0, ready=True), pod(1)) == []


def test_old_pods_that_are_spared_stay() -> None:
    old = pod(0, hash=OLD, ready=True, created=NOW)
    assert replaced(old, spared=timestamp(at(1))) == []
    assert replaced(old, spared=timestamp(at(-1))) == [0]


@pytest.mark.parametrize(("config", "budget"), [(None, 1), (0, 1), (3, 3)])
def test_the_budget_is_at_least_one(config: int | None, budget: int) -> None:
    assert rollout.budget(None if config is None else RollingUpdate(max_unavailable=config)) == budget


def test_an_update_that_was_ended_spares_the_pods_of_its_time() -> None:
    ended = progress(ended=NOW)
    assert rollout.spared_until(ended, NEW, "RollingRecreate") == timestamp(NOW)
    assert rollout.spared_until(ended, "other", "RollingRecreate") is None
    assert rollout.spared_until(progress(), NEW, "") is None
    assert rollout.spared_until(None, NEW, "OnDelete") == rollout.EVER


# What is told of it


def progress(*, ended: Any = None, target: str = NEW, selected: PodSelection | None = None) -> PodCliqueUpdateProgress:
    return PodCliqueUpdateProgress(
        update_started_at=timestamp(NOW),
        update_ended_at=timestamp(ended) if ended else None,
        pod_clique_set_generation_hash="generation",
        pod_template_hash=target,
        ready_pods_selected_to_update=selected,
    )


def told(
    held: PodCliqueUpdateProgress | None,
    *,
    old: int = 0,
    strategy: str = "RollingRecreate",
    ready: bool = False,
    selected: Sequence[str] = (),
) -> PodCliqueUpdateProgress | None:
    return rollout.progress(
        held,
        target=NEW,
        generation_hash="generation",
        old=old,
        strategy=strategy,
        is_ready=ready,
        selected=selected,
        now=at(60),
    )


def test_a_fresh_podclique_has_no_update() -> None:
    assert told(None, ready=True) is None


def test_an_update_begins_with_the_first_old_pod() -> None:
    found = told(None, old=2, selected=["a"])
    assert found is not None
    assert (found.update_started_at, found.update_ended_at) == (timestamp(at(60)), None)
    assert found.ready_pods_selected_to_update == PodSelection(current="a")


def test_it_ends_when_no_old_pod_is_left_and_enough_are_ready() -> None:
    running = progress(selected=PodSelection(current="b", completed=("a",)))
    assert told(running, old=1, ready=True) == running
    assert told(running, ready=False) == running
    ended = told(running, ready=True)
    assert ended is not None
    assert ended.update_ended_at == timestamp(at(60))
    assert ended.ready_pods_selected_to_update is None
    assert told(ended, ready=True) == ended


def test_the_pods_it_selects_are_named_and_only_the_last_ones_kept() -> None:
    found = told(progress(selected=PodSelection(current="a")), old=3, selected=["b", "c"])
    assert found is not None
    assert found.ready_pods_selected_to_update == PodSelection(current="c", completed=("a", "b"))
    for number in range(100):
        found = told(found, old=3, selected=[f"pod-{number}"])
    assert found is not None
    selection = found.ready_pods_selected_to_update
    assert selection is not None
    assert (selection.current, len(selection.completed)) == ("pod-99", rollout.REMEMBERED)


def test_another_template_begins_it_anew() -> None:
    found = told(progress(target="other", ended=NOW), old=1)
    assert found is not None
    assert (found.pod_template_hash, found.update_started_at) == (NEW, timestamp(at(60)))


def test_a_template_that_was_changed_back_ends_it() -> None:
    found = told(progress(target="other"), ready=True)
    assert found is not None
    assert (found.pod_template_hash, found.update_ended_at) == (NEW, timestamp(at(60)))


def test_who_deletes_pods_himself_is_told_at_once_that_the_update_has_ended() -> None:
    begun = told(None, old=3, strategy="OnDelete")
    assert begun is not None
    assert begun.update_started_at == begun.update_ended_at == timestamp(at(60))
    stopped = told(progress(), old=3, strategy="OnDelete")
    assert stopped is not None
    assert stopped.update_ended_at == timestamp(at(60))


def test_the_deadline_moves_with_every_new_pod_that_becomes_ready() -> None:
    config = RollingUpdate(progress_deadline="10m")
    pods = [pod(0, ready=True, since=at(90)), pod(1, hash=OLD, ready=True, since=at(500)), pod(2, since=at(300))]
    assert rollout.deadline(progress(), pods, config) == at(690)
    assert rollout.deadline(progress(), [], config) == at(600)


@pytest.mark.parametrize("config", [None, RollingUpdate(), RollingUpdate(progress_deadline="soon")])
def test_without_a_deadline_there_is_none(config: RollingUpdate | None) -> None:
    assert rollout.deadline(progress(), [], config) is None


def test_an_update_that_does_not_run_has_no_deadline() -> None:
    config = RollingUpdate(progress_deadline="10m")
    assert rollout.deadline(None, [], config) is None
    assert rollout.deadline(progress(ended=NOW), [], config) is None

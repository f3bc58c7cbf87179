"""How far a PodClique is."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from grove.api.kinds.podcliqueset import PodCliqueSetTemplate
from grove.api.kinds.scaling import RollingUpdate
from grove.operator import delays, progress
from grove.operator.tree import CliquePlace, Tree
from grove.operator.views import PodCliqueView
from tests.unit.operator.scalinggroup.builders import (
    CliqueStore,
    after,
    clique,
    condition,
    pod,
    pod_clique_set,
    pods,
    scaling_group,
)

TREE = Tree(pod_clique_set(clique("router", replicas=3, minAvailable=2)), {})
HASH = TREE.template_hashes["router"]


def router(change: Any = None) -> PodCliqueView:
    store = CliqueStore.of(TREE, [CliquePlace(0, "router")])
    store.patch("x-0-router", change or {})
    return store.view("x-0-router")


def told(*conditions: Any) -> PodCliqueView:
    """A PodClique with these conditions in its status."""
    return router({"status": {"conditions": list(conditions)}})


def test_a_podclique_is_available_and_updated_with_its_minimum_of_pods_ready() -> None:
    view = router()
    two = (*pods(view, 2), pod(view, 2, ready=False))
    assert progress.clique_available(view, two)
    assert progress.clique_updated(view, two, HASH)


def test_a_podclique_without_pods_is_neither_available_nor_updated() -> None:
    assert not progress.clique_available(router(), ())
    assert not progress.clique_updated(router(), (), HASH)
    assert not progress.clique_scheduled(router(), ())


def test_a_podclique_with_an_old_pod_is_available_and_not_updated() -> None:
    view = router()
    mixed = (*pods(view, 2), pod(view, 2, hash="old"))
    assert progress.clique_available(view, mixed)
    assert not progress.clique_updated(view, mixed, HASH)


def test_a_podclique_of_another_template_is_not_updated() -> None:
    assert not progress.clique_updated(router(), pods(router()), "new")


def test_a_podclique_that_is_scaled_to_zero_needs_nothing() -> None:
    view = router({"spec": {"replicas": 0}})
    assert progress.clique_available(view, ())
    assert progress.clique_updated(view, (), HASH)


def test_a_podclique_that_is_being_deleted_serves_nobody() -> None:
    view = router({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}})
    assert not progress.clique_available(view, pods(view))
    assert not progress.clique_scheduled(view, pods(view))


def test_pods_that_have_done_what_they_were_for_serve() -> None:
    view = router()
    body = msgspec.to_builtins(pod(view, ready=False))
    body["spec"]["restartPolicy"] = "Never"
    body["status"]["phase"] = "Succeeded"
    done = msgspec.convert(body, type(pod(view)))
    assert progress.serving([done, done]) == 2


def test_scheduled_pods_need_not_be_ready() -> None:
    view = router()
    assert progress.clique_scheduled(view, pods(view, 2, ready=False))
    assert not progress.clique_scheduled(view, pods(view, 2, node=""))


def test_a_breach_counts_since_its_condition_became_true() -> None:
    assert progress.breached_since(told(condition("MinAvailableBreached", "True", 90))) == after(90)
    assert progress.breached_since(told(condition("MinAvailableBreached", "Unknown", 90))) is None
    assert progress.breached_since(router()) is None


@pytest.mark.parametrize(
    ("status", "since", "ever"),
    [("True", 0, True), ("False", 5, False), ("False", 6, True), ("Unknown", 60, False)],
)
def test_only_what_became_unscheduled_later_was_ever_scheduled(status: str, since: float, ever: bool) -> None:
    assert progress.ever_scheduled(told(condition("PodCliqueScheduled", status, since))) is ever
    assert not progress.ever_scheduled(router())


@pytest.mark.parametrize(
    ("status", "since", "ever"), [("False", 0, True), ("True", 0, False), ("True", 60, True), ("Unknown", 60, True)]
)
def test_a_group_was_healthy_unless_it_was_broken_from_the_first(status: str, since: float, ever: bool) -> None:
    told = scaling_group(status={"conditions": [condition("MinAvailableBreached", status, since)]})
    assert progress.ever_healthy(told) is ever
    assert not progress.ever_healthy(scaling_group())


@pytest.mark.parametrize(("text", "hours"), [("1h30m", 1.5), (None, 4), ("", 4), ("0s", 4), ("-1h", 4), ("soon", 4)])
def test_a_termination_delay_that_makes_no_sense_is_the_default(text: str | None, hours: float) -> None:
    template = PodCliqueSetTemplate(cliques=(), termination_delay=text)
    assert delays.termination_delay(template) == datetime.timedelta(hours=hours)


def test_without_a_progress_deadline_an_update_may_take_for_ever() -> None:
    assert delays.progress_deadline(None) is None
    assert delays.progress_deadline(RollingUpdate()) is None
    assert delays.progress_deadline(RollingUpdate(progress_deadline="250ms")) == datetime.timedelta(seconds=0.25)

"""How pods fare, and how they are counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grove.api import labels
from grove.kube.objects import PodView
from grove.operator import pods

GOING: dict[str, Any] = {"deletionTimestamp": "2026-11-19T12:00:00Z"}
READY: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True"}]}


def pod(
    phase: str = "Running", *, node: str = "n", metadata: dict[str, Any] | None = None, spec: Any = None, **status: Any
) -> PodView:
    body = {
        "metadata": {"name": "p", **(metadata or {})},
        "spec": {"nodeName": node, **(spec or {})},
        "status": {"phase": phase, **status},
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=PodView)


def container(*, started: bool = True, ready: bool = False, last_exit: int | None = None) -> dict[str, Any]:
    last = {} if last_exit is None else {"terminated": {"exitCode": last_exit}}
    return {"name": "main", "started": started, "ready": ready, "lastState": last}


@pytest.mark.parametrize(
    ("found", "active", "lost", "done"),
    [
        (pod(), True, False, False),
        (pod("Pending", node=""), True, False, False),
        (pod("Unknown"), True, False, False),
        (pod(metadata=GOING), False, False, False),
        (pod("Failed"), False, True, False),
        (pod("Failed", metadata=GOING), False, False, False),
        (pod("Succeeded"), False, True, False),
        (pod("Succeeded", spec={"restartPolicy": "OnFailure"}), True, False, True),
        (pod("Succeeded", spec={"restartPolicy": "Never"}), True, False, True),
        (pod("Failed", spec={"restartPolicy": "Never"}), False, True, False),
    ],
)
def test_a_pod_counts_unless_it_goes_or_is_over(found: PodView, active: bool, lost: bool, done: bool) -> None:
    assert (pods.is_active(found), pods.is_lost(found), pods.is_done(found)) == (active, lost, done)


def test_any_gate_holds_a_pod_and_ours_is_told_apart() -> None:
    theirs = pod("Pending", node="", spec={"schedulingGates": [{"name": "example.com/quota"}]})
    ours = pod("Pending", node="", spec={"schedulingGates": [{"name": labels.SCHEDULING_GATE}]})
    assert (pods.is_gated(theirs), pods.has_our_gate(theirs)) == (True, False)
    assert (pods.is_gated(ours), pods.has_our_gate(ours)) == (True, True)


def test_a_pod_that_is_ready_again_has_not_crashed() -> None:
    assert pods.has_crashed(pod(containerStatuses=[container(last_exit=1)]))
    assert not pods.has_crashed(pod(containerStatuses=[container(last_exit=1)], **READY))
    assert not pods.has_crashed(pod(containerStatuses=[container(last_exit=0)]))
    assert pods.has_crashed(pod(initContainerStatuses=[container(last_exit=2)]))


def test_a_pod_whose_container_starts_up_is_healthy_and_one_that_started_is_not_before_it_is_ready() -> None:
    starting, started = pod(containerStatuses=[container(started=False)]), pod(containerStatuses=[container()])
    assert pods.count([starting]).healthy == 1
    assert pods.count([started]).healthy == 0
    assert pods.count([pod(containerStatuses=[container(ready=True)], **READY)]).healthy == 1


def test_only_active_pods_are_counted() -> None:
    gated = pod("Pending", node="", spec={"schedulingGates": [{"name": "x"}]})
    done = pod("Succeeded", spec={"restartPolicy": "Never"}, containerStatuses=[container()])
    found = pods.count([pod(**READY), pod(metadata=GOING, **READY), pod("Failed"), gated, done])
    assert found == pods.Counts(active=3, scheduled=2, gated=1, ready=1, serving=2, broken=0)


@pytest.mark.parametrize(("text", "index"), [("0", 0), ("12", 12), ("", None), ("x", None), ("-1", None), ("²", None)])
def test_an_index_is_a_number_or_nothing(text: str, index: int | None) -> None:
    assert pods.index_of(pod(metadata={"labels": {labels.POD_CLIQUE_POD_INDEX: text}})) == index
    assert pods.index_of(pod()) is None


def test_pods_of_a_template_are_counted_by_its_hash() -> None:
    new, old = ({"labels": {labels.POD_TEMPLATE_HASH: hash}} for hash in ("new", "old"))
    found = [pod(metadata=new), pod(metadata=old), pod(metadata={**new, **GOING}), pod("Failed", metadata=new)]
    assert pods.made_from(found, "new") == 1
    assert pods.template_hash(pod()) == ""

"""What the status of a PodClique says."""

from typing import Any

import pytest
from msgspec.structs import replace

from grove.api import conditions
from grove.api.conditions import timestamp
from grove.api.kinds.meta import LastError
from grove.api.kinds.podclique import PodCliqueStatus, PodCliqueUpdateProgress
from grove.kube.objects import PodView
from grove.operator.podclique import status
from grove.operator.podclique.status import Seen
from grove.operator.views import PodCliqueView
from grove.runtime.pace import COMING_UP, STEADY
from tests.unit.operator.builders import NEW, NOW, OLD, at, clique, crashed, pod, unschedulable

RUNNING = PodCliqueUpdateProgress(
    update_started_at=timestamp(NOW), pod_clique_set_generation_hash="generation", pod_template_hash=NEW
)


def told(held: PodCliqueView, *pods: PodView, **seen: Any) -> PodCliqueStatus:
    complete = {"template_hash": NEW, "generation_hash": "generation", "is_current": True, **seen}
    return status.status(held, pods, Seen(**complete), NOW)


def condition(found: PodCliqueStatus, type: str) -> tuple[str, str]:
    one = conditions.find(found.conditions, type)
    assert one is not None
    return one.status, one.reason


def test_numbers_are_those_of_active_pods() -> None:
    found = told(
        clique(replicas=5),
        pod(0, ready=True),
        pod(1, node="n", hash=OLD),
        pod(2, gates=("x",)),
        pod(3, ready=True, deleted=True),
        pod(4, phase="Failed", node="n"),
    )
    assert found.replicas == 3
    assert (found.ready_replicas, found.scheduled_replicas, found.schedule_gated_replicas) == (1, 2, 1)
    assert found.updated_replicas == 2


def test_conditions_are_there_from_the_beginning_and_as_old_as_the_podclique() -> None:
    found = told(clique(replicas=2), pod(0))
    assert condition(found, status.SCHEDULED) == ("False", "InsufficientScheduledPods")
    assert condition(found, status.BREACHED) == ("True", "ScheduledReplicasBelowMinAvailable")
    assert condition(found, status.UPDATING) == ("False", "NoActiveUpdate")
    born = clique().metadata.creation_timestamp
    assert [one.last_transition_time for one in found.conditions] == [born, born, timestamp(NOW)]


def test_starting_pods_breach_nothing_and_crashed_ones_do() -> None:
    starting = {"name": "main", "started": False}
    assert condition(told(clique(), pod(0, node="n", container=starting)), status.BREACHED)[0] == "False"
    assert condition(told(clique(), pod(0, node="n", container=crashed())), status.BREACHED) == (
        "True",
        "InsufficientReadyPods",
    )
    assert condition(told(clique(), pod(0, ready=True, container=crashed())), status.BREACHED)[0] == "False"


def test_a_podclique_scaled_to_nothing_breaches_nothing() -> None:
    found = told(clique(replicas=0, least=2))
    assert condition(found, status.SCHEDULED)[0] == "True"
    assert condition(found, status.BREACHED)[0] == "False"


def test_while_an_update_runs_nobody_knows_whether_the_minimum_is_broken() -> None:
    found = told(clique(replicas=2), pod(0), progress=RUNNING)
    assert condition(found, status.BREACHED) == ("Unknown", "UpdateInProgress")
    assert condition(found, status.UPDATING) == ("True", "Progressing")


def test_an_update_that_takes_too_long_is_stuck() -> None:
    assert condition(told(clique(), progress=RUNNING, deadline=NOW), status.UPDATING) == (
        "Unknown",
        "ProgressDeadlineExceeded",
    )
    assert condition(told(clique(), progress=RUNNING, deadline=at(1)), status.UPDATING)[0] == "True"


@pytest.mark.parametrize(
    ("phase", "before", "pods"),
    [
        ("Pending", "", []),
        ("Pending", "", [pod(0), pod(1, gates=("x",)), pod(2, gates=("x",))][1:]),
        ("Scheduling", "Pending", [pod(0), pod(1, node="n")]),
        ("Starting", "Scheduling", [pod(0, node="n"), pod(1, ready=True)]),
        ("Running", "Starting", [pod(0, ready=True), pod(1, ready=True)]),
        ("Degraded", "Running", [pod(0, ready=True), pod(1)]),
        ("Degraded", "Updating", []),
        (
            "Succeeded",
            "Running",
            [pod(0, phase="Succeeded", policy="Never"), pod(1, phase="Succeeded", policy="Never")],
        ),
    ],
)
def test_the_phase_says_it_in_one_word(phase: str, before: str, pods: list[PodView]) -> None:
    assert told(clique(replicas=2, status=PodCliqueStatus(phase=before)), *pods).phase == phase


def test_the_other_phases() -> None:
    assert told(clique(replicas=0, status=PodCliqueStatus(phase="Running"))).phase == "Pending"
    assert told(clique(), pod(0, ready=True), progress=RUNNING).phase == "Updating"
    assert told(clique(metadata={"deletionTimestamp": timestamp(NOW)})).phase == "Terminating"


def test_the_hashes_follow_when_all_pods_do() -> None:
    held = PodCliqueStatus(current_pod_template_hash=OLD, current_pod_clique_set_generation_hash="before")
    fresh = told(clique(), pod(0))
    assert fresh.current_pod_template_hash == NEW
    assert fresh.current_pod_clique_set_generation_hash == "generation"
    for found in (
        told(clique(status=held), pod(0, hash=OLD)),
        told(clique(status=held), pod(0), progress=RUNNING),
        told(clique(status=held), pod(0), is_current=False),
    ):
        assert found.current_pod_template_hash == OLD
        assert found.current_pod_clique_set_generation_hash == "before"


def test_the_generation_is_observed_when_all_was_done() -> None:
    assert told(clique()).observed_generation == 1
    assert told(clique(), is_synced=False).observed_generation is None


def test_only_standalone_podcliques_can_be_scaled_by_an_autoscaler() -> None:
    assert status.selector(clique(), "demo") == (
        "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=demo,grove.io/podclique=demo-0-worker"
    )
    member = clique(metadata={"labels": {"grove.io/podcliquescalinggroup": "demo-0-group"}})
    assert status.selector(member, "demo") is None


# When it is written

ERROR = LastError(code="ERR_CREATE_POD", description="no", observed_at=timestamp(NOW))


def test_while_a_podclique_comes_up_only_errors_are_urgent() -> None:
    held = told(clique(), pod(0))
    assert not status.is_urgent(None, held)
    assert status.is_urgent(None, replace(held, last_errors=(ERROR,)))
    assert not status.is_urgent(held, told(clique(status=held), pod(0, ready=True)))
    assert status.is_urgent(held, replace(held, last_errors=(ERROR,)))


def test_later_on_conditions_generations_and_updates_are_urgent_and_numbers_are_not() -> None:
    held = told(clique(replicas=2, least=1), pod(0, ready=True), pod(1, ready=True))
    came_up = clique(replicas=2, least=1, status=held)
    assert not status.is_urgent(held, told(came_up, pod(0, ready=True)))
    assert status.is_urgent(held, told(came_up))
    assert status.is_urgent(held, replace(held, observed_generation=2))
    assert status.is_urgent(held, told(came_up, pod(0, ready=True), pod(1, ready=True), progress=RUNNING))


def test_statuses_that_differ_in_times_alone_say_the_same() -> None:
    now, later = (
        status.status(clique(), [], Seen(template_hash=NEW, generation_hash="g", is_current=True), moment)
        for moment in (NOW, at(5))
    )
    assert now != later
    assert status.without_times(now) == status.without_times(later)


def test_a_clique_is_up_at_last_when_all_its_pods_are_ready_for_the_first_time() -> None:
    coming = clique(replicas=2, least=1)
    assert not status.is_up_at_last(coming, PodCliqueStatus(ready_replicas=1))
    assert status.is_up_at_last(coming, PodCliqueStatus(ready_replicas=2))
    was_up = replace(coming, status=PodCliqueStatus(phase="Degraded"))
    assert not status.is_up_at_last(was_up, PodCliqueStatus(ready_replicas=2))


def test_a_clique_that_comes_up_is_told_of_late_unless_it_is_in_trouble() -> None:
    coming = clique(replicas=2)
    on_the_way = (pod(0, node="n"), pod(1))
    waiting = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    for found in (on_the_way, (pod(0, node="n", container=waiting), pod(1))):
        assert status.patience(coming, told(coming, *found), found) == COMING_UP
    stuck = {"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    for trouble in (
        pod(1, node="n", container=crashed()),
        pod(1, node="n", container=stuck),
        unschedulable(pod(1)),
    ):
        assert status.patience(coming, told(coming, pod(0), trouble), (pod(0), trouble)) == STEADY
    gone = pod(1, node="n", container=crashed(), deleted=True)
    assert status.patience(coming, told(coming, pod(0), gone), (pod(0), gone)) == COMING_UP


def test_what_is_up_at_last_or_in_error_is_told_at_once_and_what_was_up_soon() -> None:
    coming = clique(replicas=1)
    ready = (pod(0, ready=True),)
    assert status.patience(coming, told(coming, *ready), ready) is None
    assert status.patience(coming, told(coming, pod(0), errors=(ERROR,)), (pod(0),)) is None
    was_up = clique(replicas=2, least=1, status=told(clique(replicas=2, least=1), *ready))
    assert status.patience(was_up, told(was_up, pod(0, ready=True), pod(1)), (pod(0, ready=True), pod(1))) == STEADY

"""What `grove why` says, of clusters that were read; `tests/cluster/scheduling/test_answers.py` reads real ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grove.api import labels
from grove.api.kinds.schedulerconfig import SchedulerConfiguration, Starvation
from grove.cli import why
from grove.cli.failure import Failure
from grove.kube.objects import SchedulingGate
from grove.scheduler.engine import Engine
from grove.scheduler.reading import Leader
from tests.unit.cli.clusters import LEADS, NOW, SETTINGS, condition, engine, gang
from tests.unit.cli.conftest import Run
from tests.unit.scheduler.fleets import pod, spec


def asked(found: Engine, kind: str, name: str, leader: Leader = LEADS) -> why.Report:
    return why.judge(found, SETTINGS, kind, name, "default", leader, NOW.timestamp())


def told(found: Engine, kind: str, name: str, leader: Leader = LEADS) -> str:
    return "\n".join(why.text(asked(found, kind, name, leader)))


def test_a_gang_that_runs_is_told_with_its_domain_and_score() -> None:
    found = engine()
    status = {"phase": "Running", "placementScore": 0.93, "conditions": [condition("True", "PodGangScheduled")]}
    gang(found, "runs", {"a-0": "n0", "a-1": "n1"}, status=status)
    assert told(found, "podgang", "runs").splitlines() == [
        "PodGang default/runs has its place for 1m: in rack r0, score 0.93, not ready yet",
        "",
        "  GROUP     PLACED   MINIMUM   NODES",
        "  workers   2/2      2         n0, n1",
    ]


def test_a_gang_that_waits_is_told_what_is_missing_and_what_would_help() -> None:
    found = engine()
    gang(found, "runs", {"a-0": "n0"})
    gang(found, "waits", {f"w-{number}": "" for number in range(3)})
    text = told(found, "podgang", "waits")
    assert text.splitlines()[0] == "PodGang default/waits waits for 2m (priority 0)"
    assert "Unschedulable: rack r1 comes nearest: it fits 2 of 3 pods of workers" in text
    assert "proven: no rack can take them now" in text
    assert "  r1        workers   2      3       8 nvidia.com/gpu" in text
    assert "insufficient nvidia.com/gpu" in text
    assert "  - prefer rack instead of requiring it (tried: it has a place then)" in text
    assert "  - lower the minimum of workers from 3 to 2 (tried: it has a place then)" in text
    assert "The scheduler has said nothing of it yet." in text


def test_the_order_of_those_that_wait_is_told() -> None:
    found = engine()
    for name in ("first", "second"):
        gang(found, name, {f"{name}-{number}": "" for number in range(3)})
    assert "It is number 2 of 2 that wait." in told(found, "podgang", "second")


def test_what_the_scheduler_said_is_shown_where_it_is_something_else() -> None:
    found = engine()
    status = {"conditions": [condition("False", "SearchEnded", "nothing was found")], "phase": "Pending"}
    gang(found, "waits", {f"w-{number}": "" for number in range(3)}, status=status)
    assert "The scheduler said, SearchEnded: nothing was found. It may be about to" in told(found, "podgang", "waits")
    gang(found, "fits", {"f-0": ""}, status=status)
    text = told(found, "podgang", "fits")
    assert text.startswith("PodGang default/fits could be placed now, in host n0")
    assert "The scheduler has not placed it yet: it said SearchEnded: nothing was found" in text


def test_it_is_told_when_nobody_runs_the_scheduler() -> None:
    found = engine()
    gang(found, "fits", {"f-0": ""})
    missing = Leader("missing", "grove-scheduler-leader-election")
    text = told(found, "podgang", "fits", missing)
    assert "Note: nobody seems to run the scheduler: there is no lease grove-scheduler-leader-election." in text
    expired = LEADS._replace(standing="expired")
    assert "scheduler-1 has not renewed the lease" in told(found, "podgang", "fits", expired)


def test_gangs_that_wait_for_evicted_pods_name_them() -> None:
    found = engine()
    for number in range(4):
        gang(found, f"low-{number}", {f"l-{number}": f"n{number}"}, wanted=spec(gpus=8))
    gang(found, "urgent", {"u-0": ""}, wanted=spec(gpus=8, priority=100))
    text = told(found, "podgang", "urgent")
    assert "Preempting: it waits until 1 pod that made room for it have ended" in text
    assert "These pods go for it: default/l-" in text


def test_the_room_that_is_gathered_and_whose_it_is_are_told() -> None:
    settings = SchedulerConfiguration(starvation=Starvation(after="1m", max_reserved_percent=100))
    found = engine(settings)
    for number in range(3):
        gang(found, f"low-{number}", {f"l-{number}": f"n{number}"}, wanted=spec(gpus=8))
    gang(found, "large", {f"g-{number}": "" for number in range(2)})
    gang(found, "small", {"s-0": ""}, wanted=spec(gpus=4))
    large, small = (
        "\n".join(why.text(why.judge(found, settings, "podgang", name, "default", LEADS, NOW.timestamp())))
        for name in ("large", "small")
    )
    assert "Room is gathered for it in r1: 8 of what it needs must still become free, nobody knows when." in large
    assert "Room that would do is held for default/large." in small


def test_a_pod_is_told_of_with_its_gang() -> None:
    found = engine()
    gang(found, "waits", {f"w-{number}": "" for number in range(3)})
    assert [answer.gang for answer, _ in asked(found, "pod", "w-1").gangs] == ["default/waits"]


def test_a_pod_without_a_gang_is_a_gang_of_its_own() -> None:
    found = engine()
    found.pod(pod("lone", spec(gpus=9)))
    assert told(found, "pod", "lone").startswith("Pod default/lone, a gang of its own, waits (priority 0)")


def test_pods_of_other_schedulers_are_left_to_them() -> None:
    found = engine()
    found.pod(pod("foreign", msgspec.structs.replace(spec(), scheduler_name="default-scheduler")))
    report = asked(found, "pod", "foreign")
    assert report.gangs == []
    assert report.notes[0].startswith("pod default/foreign is left to another scheduler: default-scheduler;")


def test_pods_that_are_held_back_name_their_gates() -> None:
    found = engine()
    gates = (SchedulingGate(name=labels.SCHEDULING_GATE),)
    found.pod(pod("held", msgspec.structs.replace(spec(), scheduling_gates=gates)))
    (note,) = asked(found, "pod", "held").notes
    assert note == (
        "pod default/held is held back by scheduling gates: grove.io/podgang-pending-creation; "
        "the operator takes it off when the gang is whole"
    )


def test_a_pod_whose_gang_does_not_exist_says_so() -> None:
    found = engine()
    found.pod(pod("early", spec(), labels={labels.POD_GANG: "coming"}))
    assert "names PodGang default/coming, which does not exist" in asked(found, "pod", "early").notes[0]


def test_all_gangs_of_a_set_are_told() -> None:
    found = engine()
    for name in ("set-0", "set-1"):
        gang(found, name, {f"{name}-0": ""}, found={labels.POD_CLIQUE_SET: "set"})
    gang(found, "other", {"o-0": ""})
    assert [answer.gang for answer, _ in asked(found, "pcs", "set").gangs] == ["default/set-0", "default/set-1"]
    assert "has no PodGang yet" in asked(found, "pcs", "none").notes[0]


def test_gangs_of_other_schedulers_are_left_to_them() -> None:
    found = engine()
    gang(found, "theirs", {"t-0": ""}, found={labels.SCHEDULER_NAME: "kai"})
    assert asked(found, "podgang", "theirs").notes == ["PodGang default/theirs is left to another scheduler: kai"]


def test_data_has_what_the_text_has() -> None:
    found = engine()
    status = {"conditions": [condition("False", "SearchEnded", "nothing was found")], "phase": "Pending"}
    gang(found, "waits", {f"w-{number}": "" for number in range(3)}, status=status)
    data = why.as_data(asked(found, "podgang", "waits"))
    (one,) = data["gangs"]
    assert one["state"] == "waiting"
    assert one["explanation"]["reason"] == "Unschedulable"
    assert one["explanation"]["nearest"][0]["needs"] == 3
    assert one["written"]["reason"] == "SearchEnded"
    assert data["scheduler"]["standing"] == "leads"


def test_names_say_what_they_name() -> None:
    assert why.split("pg/train-0") == ("podgang", "train-0")
    assert why.split("pods/x") == ("pod", "x")
    assert why.split("train-0") == ("", "train-0")
    with pytest.raises(Failure, match="names no pod, PodGang or PodCliqueSet"):
        why.split("deployment/x")


def test_without_a_cluster_it_ends_with_2(run: Run, tmp_path: Path) -> None:
    result = run("why", "train-0", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "help: check that the cluster runs" in result.stderr

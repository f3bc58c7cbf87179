"""`grove scheduler` as a process: it becomes ready, answers, stands by, and ends as it should."""

import os
import signal
from pathlib import Path

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.audit import NAMESPACE
from tests.cluster.scheduling.conftest import StartScheduler
from tests.cluster.scheduling.gangs import Gangs
from tests.cluster.scheduling.scheduler import CONFIGURATION, PATIENCE, Scheduler

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/own"
ALONE = {"leaderElection": CONFIGURATION["leaderElection"] | {"resourceName": "own"}}
"""Beside the scheduler of the session, and with other pods."""
OTHERS = ALONE | {"schedulerNames": ["another-scheduler"]}


def test_it_becomes_ready_leads_and_ends_in_order_on_sigterm(start_scheduler: StartScheduler) -> None:
    scheduler = start_scheduler(configuration=OTHERS).started()
    assert scheduler.get("health", "/healthz") == (200, "ok\n")
    assert "+ caches: ok" in scheduler.get("health", "/readyz")[1]
    scheduler.says("leadership taken")
    assert scheduler.terminate() == 0
    assert scheduler.says("scheduler ended")["level"] == "info"


def test_its_metrics_carry_its_name(scheduler: Scheduler) -> None:
    eventually(lambda: scheduler.value("grove_scheduler_leader"), timeout=PATIENCE)
    found = scheduler.metrics()
    assert all(name.startswith("grove_scheduler_") for name in found)
    assert {
        "grove_scheduler_gangs",
        "grove_scheduler_decision_seconds_bucket",
        "grove_scheduler_pods_bound_total",
        "grove_scheduler_bind_seconds_bucket",
        "grove_scheduler_client_requests_total",
    } <= found.keys()
    assert scheduler.value("grove_scheduler_cache_synced", resource="pods") == 1


def test_the_names_that_it_answers_to_are_configured(start_scheduler: StartScheduler, gangs: Gangs) -> None:
    start_scheduler(configuration=OTHERS).started()
    gangs.pod("theirs", schedulerName="another-scheduler")
    gangs.placed("theirs")


def test_two_take_turns_and_the_second_goes_on_where_the_first_was(
    cluster: ControlPlane, start_scheduler: StartScheduler, gangs: Gangs
) -> None:
    first = start_scheduler(configuration=OTHERS).started()
    eventually(lambda: first.value("grove_scheduler_leader"), timeout=PATIENCE)
    second = start_scheduler(configuration=OTHERS).started()
    assert second.value("grove_scheduler_leader") == 0
    gangs.pod("one", schedulerName="another-scheduler")
    gangs.placed("one")
    first.kill()
    gangs.pod("two", schedulerName="another-scheduler")
    gangs.placed("two")
    assert second.value("grove_scheduler_leader") == 1
    assert second.terminate() == 0
    assert cluster.request("GET", LEASE)[1]["spec"].get("holderIdentity", "") == ""  # given back


def test_one_that_slept_through_its_lease_writes_nothing_and_ends_with_6(
    start_scheduler: StartScheduler, gangs: Gangs
) -> None:
    first = start_scheduler(configuration=OTHERS).started()
    eventually(lambda: first.value("grove_scheduler_leader"), timeout=PATIENCE)
    second = start_scheduler(configuration=OTHERS).started()
    os.kill(first.pid, signal.SIGSTOP)
    eventually(lambda: second.value("grove_scheduler_leader"), timeout=PATIENCE)
    gangs.pod("one", schedulerName="another-scheduler")
    gangs.placed("one")
    os.kill(first.pid, signal.SIGCONT)
    assert first.ended() == 6
    assert "stands by until the lease is free" in first.text()


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"logLevel": "loud"}, 2, "logLevel"),
        ({"leaderElection": {"retryPeriod": "9s"}}, 2, "leaderElection.leaseDuration"),
        ({"schedulerNames": []}, 2, "schedulerNames"),
    ],
)
def test_a_configuration_that_cannot_be_had_is_told(
    start_scheduler: StartScheduler, changes: dict[str, object], code: int, message: str
) -> None:
    scheduler = start_scheduler(configuration=changes).start()
    assert scheduler.ended() == code
    assert message in scheduler.text()


def test_a_cluster_that_it_may_not_use_ends_it_with_4(cluster: ControlPlane, grove_crds: None, tmp_path: Path) -> None:
    scheduler = Scheduler(cluster.kubeconfig_as("nobody"), tmp_path).start()
    assert scheduler.ended() == 4
    assert "help: run grove manifests scheduler-rbac" in scheduler.text()

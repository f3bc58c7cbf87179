"""What goes wrong between the scheduler and the cluster: no gang is left half on nodes."""

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.faults import FaultProxy, ResetAfter, Respond, Seen
from grove.testing.kubeconfig import token_user, write_kubeconfig
from grove.testing.waiting import eventually
from tests.cluster.audit import NAMESPACE
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.scheduling.gangs import PATIENCE, SCHEDULER, Gangs
from tests.cluster.scheduling.scheduler import ACCOUNT, Scheduler

SIZE = 3
GANGS = 4
"""Gangs of so many whole nodes: they fill the fleet."""


@pytest.fixture
def careless(
    cluster: ControlPlane, scheduler: Scheduler, kubeconfig: Path, proxy: FaultProxy, tmp_path: Path
) -> Iterator[Scheduler]:
    """The scheduler of the session stands back for one whose requests meet faults."""
    scheduler.kill()
    user = token_user(cluster.token_for(NAMESPACE, ACCOUNT))
    by_proxy = write_kubeconfig(tmp_path / "by-proxy", url=proxy.url, ca=proxy.ca, user=user, namespace=NAMESPACE)
    running = Scheduler(by_proxy, tmp_path)
    yield running.started()
    running.kill()
    scheduler.started()


def bound(gangs: Gangs, prefix: str) -> int:
    return sum(name.startswith(prefix) for name in gangs.where())


def test_lost_answers_and_errors_leave_nothing_half_done(gangs: Gangs, careless: Scheduler, proxy: FaultProxy) -> None:
    turn = itertools.count(1)

    def unlucky(request: Seen) -> bool:
        return request.method in ("POST", "PATCH") and gangs.namespace in request.path and next(turn) % 3 == 0

    proxy.inject(ResetAfter(), when=unlucky, times=20)
    proxy.inject(Respond(503), when=unlucky, times=20)
    names = [name for number in range(GANGS) for name in gangs.gang(f"g{number}", {"worker": SIZE})]
    where = gangs.placed(*names)
    assert len(set(where.values())) == len(names)
    for number in range(GANGS):
        gangs.running(f"g{number}")


@pytest.mark.parametrize("seed", range(3))
def test_a_scheduler_killed_at_any_moment_leaves_whole_gangs(gangs: Gangs, scheduler: Scheduler, seed: int) -> None:
    rng = random.Random(seed)
    names: list[str] = []
    for number in range(GANGS):
        names += gangs.gang(f"g{number}", {"worker": SIZE})
        time.sleep(rng.uniform(0, 0.1))  # noqa: TID251 - when it dies is left to chance
        scheduler.kill()
        scheduler.start()
    where = gangs.placed(*names)
    assert len(set(where.values())) == len(names)
    for number in range(GANGS):
        assert len({gangs.rack_of(where[f"g{number}-worker-{index}"]) for index in range(SIZE)}) == 1
        gangs.running(f"g{number}")


def test_a_gang_whose_room_is_stolen_while_nobody_looks_is_taken_back_or_finished(
    gangs: Gangs, careless: Scheduler, proxy: FaultProxy, cluster: ControlPlane
) -> None:
    """The scheduler dies between two bindings, and meanwhile somebody else takes the nodes."""
    is_down = [True]
    proxy.inject(Respond(503), when=lambda one: is_down[0] and one.path.endswith("-2/binding"), times=None)
    names = gangs.gang("g", {"worker": SIZE})
    eventually(lambda: bound(gangs, "g-"), lambda found: found == SIZE - 1, timeout=PATIENCE)
    careless.kill()
    taken = set(gangs.where().values())
    free = [one["metadata"]["name"] for one in cluster.request("GET", "/api/v1/nodes")[1]["items"]]
    for node in free:
        if node not in taken:
            gangs.pod(f"thief-{node}", gpus=8, node=node, schedulerName="thief")
    is_down[0] = False
    careless.started()
    # Nothing is left for the third: the other two are taken back.
    eventually(lambda: bound(gangs, "g-"), lambda found: found == 0, timeout=PATIENCE)
    gangs.refused("g")
    for node in free:
        gangs.delete(f"thief-{node}")
    for name in names:
        if name not in gangs.pods():
            gangs.pod(name, gang="g", gpus=8)
    gangs.placed(*names)
    gangs.running("g")


def test_a_pod_that_a_node_refuses_is_noticed(gangs: Gangs, scheduler: Scheduler, fleet: Fleet) -> None:
    """Two schedulers give the same room away at once: the kubelet takes the first pod, and refuses the other."""
    before = scheduler.value("grove_scheduler_foreign_conflicts_total")
    names = [f"lone-{number}" for number in range(6)]
    for number, name in enumerate(names):
        gangs.pod(f"foreign-{number}", gpus=8, schedulerName="default-scheduler")
        gangs.pod(name, gpus=8)

    def settled() -> bool:
        pods = gangs.pods()
        return all(pod["status"]["phase"] in ("Running", "Failed") for pod in pods.values())

    eventually(settled, timeout=PATIENCE)
    refused = [
        name
        for name, pod in gangs.pods().items()
        if pod["status"]["phase"] == "Failed" and pod["spec"]["schedulerName"] == SCHEDULER
    ]
    eventually(
        lambda: scheduler.value("grove_scheduler_foreign_conflicts_total"),
        lambda found: found >= before + len(refused),
        timeout=PATIENCE,
    )


def test_a_place_that_is_lost_is_replaced_near_the_rest_of_the_gang(gangs: Gangs, scheduler: Scheduler) -> None:
    names = gangs.gang("g", {"worker": 2})
    where = gangs.placed(*names)
    gangs.running("g")
    gangs.delete(names[0])
    eventually(lambda: names[0] not in gangs.pods(), timeout=PATIENCE)
    gangs.pod(f"other-{names[0]}", gpus=8, node=where[names[0]], schedulerName="other")
    gangs.pod(names[0], gang="g", gpus=8)
    again = gangs.placed(*names)
    assert again[names[1]] == where[names[1]]
    assert gangs.rack_of(again[names[0]]) == gangs.rack_of(again[names[1]])
    gangs.running("g")

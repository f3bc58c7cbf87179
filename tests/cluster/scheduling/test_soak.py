"""A while of everything at once: the scheduler is killed, others take room before and after bindings, answers get lost.

At no time is a gang that never was whole half on nodes for longer than it may be, and in the end all are whole.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.faults import FaultProxy, ResetAfter, Respond, Seen
from grove.testing.kubeconfig import token_user, write_kubeconfig
from tests.cluster.audit import NAMESPACE
from tests.cluster.scheduling.gangs import GPU, JSON, Gangs
from tests.cluster.scheduling.scheduler import ACCOUNT, CONFIGURATION, Scheduler

SECONDS = 45
GRACE = 15.0
"""Beyond `gangBindTimeout`: for pods to stop, a leader to be elected, and a busy machine."""
EVERY = 9
"""Of so many writes, one meets a fault."""
SIZES = {"a": 2, "b": 3, "c": 3, "d": 2}


@pytest.fixture
def unlucky(
    cluster: ControlPlane, scheduler: Scheduler, kubeconfig: Path, proxy: FaultProxy, tmp_path: Path
) -> Iterator[Scheduler]:
    """Instead of the scheduler of the session."""
    scheduler.kill()
    user = token_user(cluster.token_for(NAMESPACE, ACCOUNT))
    by_proxy = write_kubeconfig(tmp_path / "by-proxy", url=proxy.url, ca=proxy.ca, user=user, namespace=NAMESPACE)
    running = Scheduler(by_proxy, tmp_path)
    yield running.started()
    running.kill()
    scheduler.started()


class Soak:
    """What happens, and what must hold."""

    def __init__(self, gangs: Gangs, scheduler: Scheduler) -> None:
        self.gangs = gangs
        self.scheduler = scheduler
        self.rng = random.Random(7)
        self.members = {name: gangs.gang(name, {"w": size}) for name, size in SIZES.items()}
        self.half: dict[str, float] = {}
        """Since when a gang is half on nodes."""
        self.problems: list[str] = []
        self.thieves: list[str] = []
        self.counts: Counter[str] = Counter()
        self.nodes = [one["metadata"]["name"] for one in gangs.cluster.request("GET", "/api/v1/nodes")[1]["items"]]

    def disturb(self) -> None:
        what = self.rng.choice(("kill", "steal", "steal", "compete", "give back", "renew", "rest", "rest"))
        self.counts[what] += 1
        number = self.counts.total()
        match what:
            case "kill":
                self.scheduler.kill()
                self.scheduler.start()
            case "steal" if len(self.thieves) < 4:
                self.thieves.append(f"thief-{number}")
                node = self.rng.choice(self.nodes)
                self.gangs.pod(self.thieves[-1], gpus=8, node=node, schedulerName="thief")
            case "compete" if len(self.thieves) < 4:
                self.thieves.append(f"rival-{number}")
                self.gangs.pod(self.thieves[-1], gpus=8, schedulerName="default-scheduler")
            case "give back" if self.thieves:
                self.gangs.delete(self.thieves.pop(0))
            case "renew":
                gang = self.rng.choice(sorted(self.members))
                for name in self.members[gang]:
                    self.gangs.delete(name)

    def own(self, pods: dict[str, JSON]) -> None:
        """Pods that are gone or have failed come again, as the operator makes them."""
        for gang, names in self.members.items():
            for name in names:
                if name in pods and pods[name]["status"].get("phase") == "Failed":
                    self.gangs.delete(name)
                elif name not in pods:
                    self.gangs.pod(name, gang=gang, gpus=8)

    def judge(self, pods: dict[str, JSON]) -> None:
        now = time.monotonic()  # noqa: TID251 - how long a gang was half bound on this machine
        patience = float(CONFIGURATION["binding"]["gangBindTimeout"].removesuffix("s")) + GRACE
        for gang, names in self.members.items():
            bound = [name for name in names if name in pods and is_on_node(pods[name])]
            if len(bound) in (0, len(names)) or "lastScheduled" in self.gangs.status(gang):
                self.half.pop(gang, None)
                continue
            since = self.half.setdefault(gang, now)
            if now - since > patience:
                self.problems.append(f"{gang} half bound for {now - since:.0f} s: {bound}")

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251 - events of the outside world


def is_on_node(pod: JSON) -> bool:
    return (
        bool(pod["spec"].get("nodeName"))
        and "deletionTimestamp" not in pod["metadata"]
        and pod["status"].get("phase") != "Failed"
    )


def test_whatever_happens_gangs_are_whole_in_the_end(gangs: Gangs, unlucky: Scheduler, proxy: FaultProxy) -> None:
    turn = itertools.count(1)

    def hit(request: Seen) -> bool:
        return request.method in ("POST", "PATCH", "DELETE") and next(turn) % EVERY == 0

    proxy.inject(ResetAfter(), when=hit, times=60)
    proxy.inject(Respond(500), when=hit, times=60)
    soak = Soak(gangs, unlucky)
    end = time.monotonic() + SECONDS  # noqa: TID251
    while time.monotonic() < end:  # noqa: TID251
        soak.disturb()
        for _ in range(3):
            pods = gangs.pods()
            soak.judge(pods)
            soak.own(pods)
            soak.rest(0.3)
    assert soak.problems == []
    for name in soak.thieves:
        gangs.delete(name)
    if unlucky.exit_code is not None:
        unlucky.start()
    names = [name for members in soak.members.values() for name in members]
    for _ in range(100):
        pods = gangs.pods()
        soak.judge(pods)
        soak.own(pods)
        if all(name in pods and is_on_node(pods[name]) for name in names):
            break
        soak.rest(0.5)
    where = gangs.where()
    used = Counter(where[name] for name in names if name in where)
    assert soak.problems == []
    assert sorted(name for name in names if name in where) == sorted(names)
    assert max(used.values()) == 1, f"{GPU} given twice: {used}"

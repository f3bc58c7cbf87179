"""Three candidates on a real API server, stopped, woken, killed and cut off: never two writers."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grove.runtime.clock import SystemClock
from grove.testing.components import APISERVER
from grove.testing.controlplane import ControlPlane
from grove.testing.process import tied_to_parent
from grove.testing.waiting import eventually
from tests.cluster.kube import candidate

SCRIPT = Path(candidate.__file__)
TIMING = candidate.TIMING


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """One of this module's own: its API server is killed, which others would not like."""
    with ControlPlane.start(controller_manager=False) as running:
        yield running


class Candidates:
    """Processes, and what they have written."""

    def __init__(self, cluster: ControlPlane, namespace: str, directory: Path) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.directory = directory
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.numbers = itertools.count(1)

    def start(self, *, offset: float = 0.0) -> str:
        name = f"c{next(self.numbers)}"
        arguments = [str(self.cluster.kubeconfig), self.namespace, name, str(offset)]
        with (self.directory / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, str(SCRIPT), *arguments], stdout=log, stderr=log, preexec_fn=tied_to_parent()
            )
        return name

    def send(self, name: str, number: signal.Signals) -> None:
        os.kill(self.processes[name].pid, number)
        if number in (signal.SIGKILL, signal.SIGINT):
            self.processes[name].wait(30)
            del self.processes[name]

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait(30)

    def entries(self) -> list[tuple[int, str]]:
        """Term and writer of every entry, in the order in which the server stored them."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps?labelSelector=entry"
        status, answer = self.cluster.request("GET", path)
        assert status == 200, answer
        items = sorted(answer["items"], key=lambda item: int(item["metadata"]["resourceVersion"]))
        return [(int(item["data"]["term"]), item["data"]["writer"]) for item in items]

    def lease(self) -> dict[str, Any]:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{candidate.LEASE}"
        spec: dict[str, Any] = self.cluster.request("GET", path)[1]["spec"]
        return spec

    def writing(self, *, after: int, but: str = "") -> str:
        """Waits for more entries than so many, the last by somebody else than `but`; who wrote it."""
        entries = eventually(
            self.entries,
            lambda entries: len(entries) > after + 3 and entries[-1][1] != but,
            timeout=90.0,  # terms are short, and a busy machine loses some
            message=f"nobody but {but} writes: {self.logs()}",
        )
        return entries[-1][1]

    def logs(self) -> str:
        return "\n".join(path.read_text()[-500:] for path in sorted(self.directory.glob("c*.log")))

    def check(self) -> list[tuple[int, str]]:
        """Terms follow each other without going back, and each has one writer."""
        entries = self.entries()
        terms = [term for term, _ in entries]
        assert terms == sorted(terms), "an older term wrote after a newer one had begun"
        assert len(set(entries)) == len(set(terms)), f"a term with two writers: {sorted(set(entries))}"
        return entries


@pytest.fixture
def candidates(cluster: ControlPlane, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Candidates]:
    name = request.node.name.removeprefix("test_").replace("_", "-")[:50].strip("-")
    running = Candidates(cluster, cluster.create_namespace(name), tmp_path)
    try:
        yield running
    finally:
        running.close()


def test_a_stopped_leader_that_wakes_up_late_writes_nothing(candidates: Candidates) -> None:
    names = [candidates.start() for _ in range(3)]
    leader = candidates.writing(after=0)
    for _ in range(4):
        candidates.send(leader, signal.SIGSTOP)
        after = len(candidates.entries())
        follower = candidates.writing(after=after, but=leader)
        candidates.send(leader, signal.SIGCONT)
        after = len(candidates.entries())
        leader = candidates.writing(after=after + 20)
        assert leader == follower
    entries = candidates.check()
    assert {term for term, _ in entries} == {0, 1, 2, 3, 4}
    assert {writer for _, writer in entries} <= set(names)


def test_a_leader_stopped_for_about_as_long_as_its_lease_leaves_one_writer(candidates: Candidates) -> None:
    for _ in range(3):
        candidates.start()
    candidates.writing(after=0)
    clock = SystemClock()
    for pause in (0.8, 1.0, 1.1, 1.5, 1.6, 1.7):
        _, leader = candidates.entries()[-1]
        candidates.send(leader, signal.SIGSTOP)
        wake = clock.monotonic() + pause * TIMING.renew_deadline
        eventually(lambda: clock.monotonic() >= wake, timeout=30.0)  # noqa: B023
        candidates.send(leader, signal.SIGCONT)
        candidates.writing(after=len(candidates.entries()) + 20)
    candidates.check()


def test_killed_leaders_are_followed(candidates: Candidates) -> None:
    for _ in range(3):
        candidates.start()
    for _ in range(3):
        leader = candidates.writing(after=len(candidates.entries()))
        candidates.send(leader, signal.SIGKILL)
        candidates.start()
        candidates.writing(after=len(candidates.entries()), but=leader)
    assert {term for term, _ in candidates.check()} == {0, 1, 2, 3}


def test_a_leader_that_ends_hands_over_at_once(candidates: Candidates) -> None:
    for _ in range(2):
        candidates.start()
    leader = candidates.writing(after=0)
    candidates.send(leader, signal.SIGINT)
    assert candidates.lease().get("holderIdentity") != leader
    candidates.writing(after=len(candidates.entries()), but=leader)
    candidates.check()


def test_wrong_times_of_day_do_no_harm(candidates: Candidates) -> None:
    for offset in (-86400.0, 0.0, 86400.0):
        candidates.start(offset=offset)
    for _ in range(2):
        leader = candidates.writing(after=len(candidates.entries()))
        candidates.writing(after=len(candidates.entries()) + 100)
        assert len({term for term, _ in candidates.check()[-100:]}) == 1
        candidates.send(leader, signal.SIGKILL)
    candidates.writing(after=len(candidates.entries()), but=leader)
    assert {term for term, _ in candidates.check()} == {0, 1, 2}


def test_an_outage_of_the_api_server_leaves_one_writer(candidates: Candidates) -> None:
    for _ in range(3):
        candidates.start()
    for _ in range(2):
        candidates.writing(after=len(candidates.entries()))
        candidates.cluster.kill(APISERVER)
        candidates.cluster.restart(APISERVER)
        candidates.writing(after=len(candidates.entries()))
    candidates.check()

"""The waiter as a process of its own, with no more rights than its pod's service account has, on a real API server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grove.api import labels
from grove.testing.components import APISERVER
from grove.testing.controlplane import ControlPlane
from grove.testing.process import tied_to_parent
from grove.testing.waiting import eventually
from tests.cluster.objects import POD_SPEC

STRATEGIC = "application/strategic-merge-patch+json"
ACCOUNT = "waiter"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces"
GANG = "x-0"


class Waiter:
    """`grove initc`, and what it writes."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "grove.cli.main", "initc", *arguments],
                stdout=file,
                stderr=file,
                preexec_fn=tied_to_parent(),
            )

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The log lines with this event."""
        whole = [line for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in map(json.loads, whole) if line["event"] == event]

    def says(self, event: str, **fields: object) -> dict[str, Any]:
        """Waits for a line with these fields, while it still runs."""

        def look() -> list[dict[str, Any]]:
            found = [line for line in self.lines(event) if fields.items() <= line.items()]
            assert found or self.is_running, f"it has ended: {self._log.read_text()}"
            return found

        return eventually(look, timeout=30.0, message=f"it does not say {event!r} {fields}")[0]

    def ends(self) -> int:
        """Waits for its end; the exit code."""
        return self._child.wait(30)

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def close(self) -> None:
        self._child.kill()
        self._child.wait(30)


class Place:
    """A namespace with an account for waiters, and the pods of a gang whose readiness the test decides."""

    def __init__(self, cluster: ControlPlane, namespace: str, folder: Path) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.folder = folder
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.waiters: list[Waiter] = []
        (folder / "namespace").write_text(namespace)
        (folder / "podgangname").write_text(GANG)
        self.kubeconfig = cluster.kubeconfig_for(namespace, ACCOUNT)

    def allow(self) -> None:
        """Gives the account the rights of a waiter, and no others."""
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": self.namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT}
        metadata = {"metadata": {"name": ACCOUNT}}
        self.cluster.create(f"{RBAC}/{self.namespace}/roles", {**metadata, "rules": rules})
        self.cluster.create(
            f"{RBAC}/{self.namespace}/rolebindings", {**metadata, "subjects": [subject], "roleRef": role}
        )

    def start(self, *arguments: str) -> Waiter:
        options = ["--pod-info", str(self.folder), "--kubeconfig", str(self.kubeconfig)]
        made = Waiter([*options, *arguments], self.folder / f"{len(self.waiters)}.log")
        self.waiters.append(made)
        return made

    def pod(self, name: str, clique: str, gang: str = GANG) -> None:
        """Creates a pod that is not ready."""
        chosen = {labels.POD_GANG: gang, labels.POD_CLIQUE: clique}
        self.cluster.create(self.pods, {"metadata": {"name": name, "labels": chosen}, "spec": POD_SPEC})

    def ready(self, name: str, status: str = "True") -> None:
        """Says of a pod what a kubelet would."""
        change = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
        code, answer = self.cluster.request("PATCH", f"{self.pods}/{name}/status", change, content_type=STRATEGIC)
        assert code == 200, answer


@pytest.fixture
def place(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Place]:
    made = Place(cluster, namespace, tmp_path)
    yield made
    for one in made.waiters:
        one.close()


def test_it_ends_once_all_parents_are_ready_and_not_before(place: Place) -> None:
    place.allow()
    for name, clique in (("a-1", "x-0-a"), ("a-2", "x-0-a"), ("b-1", "x-0-b"), ("x-0-b-c-1", "x-0-b-c")):
        place.pod(name, clique)
    place.pod("other", "x-0-b", gang="x-1")
    waiter = place.start("--podcliques=x-0-a:2", "--podcliques", "x-0-b:1")
    place.ready("a-1")
    waiter.says("ready pods changed", podclique="x-0-a", have=1, want=2)
    place.ready("x-0-b-c-1")  # begins like a parent
    place.ready("other")  # of a parent's name, in another gang
    place.ready("a-2")
    waiter.says("ready pods changed", podclique="x-0-a", have=2, want=2)
    place.ready("a-1", "False")
    waiter.says("ready pods changed", podclique="x-0-a", have=1, want=2)
    place.ready("b-1")
    waiter.says("ready pods changed", podclique="x-0-b", have=1, want=1)
    assert waiter.is_running, "both were ready, but never at the same moment"
    place.ready("a-1")
    assert waiter.ends() == 0
    assert waiter.lines("all parents are ready")


def test_what_is_ready_already_is_not_waited_for(place: Place) -> None:
    place.allow()
    place.pod("a-1", "x-0-a")
    place.ready("a-1")
    assert place.start("-p", "x-0-a:1").ends() == 0


def test_a_gang_of_more_parents_than_a_selector_names(place: Place) -> None:
    place.allow()
    parents = [f"x-0-sg-{number}-a" for number in range(70)]
    for name in parents:
        place.pod(name, name)
    waiter = place.start(*(f"--podcliques={name}:1" for name in parents))
    for name in parents[1:]:
        place.ready(name)
    waiter.says("ready pods changed", podclique=parents[-1], have=1)
    assert waiter.is_running
    place.ready(parents[0])
    assert waiter.ends() == 0


def test_it_waits_for_rights_and_says_which(place: Place) -> None:
    place.pod("a-1", "x-0-a")
    place.ready("a-1")
    waiter = place.start("-p", "x-0-a:1")
    said = waiter.says("cannot watch pods, trying again", level="error")
    assert f'User "system:serviceaccount:{place.namespace}:{ACCOUNT}" cannot' in said["error"]
    assert said["remedy"] == (
        f"bind a Role to the pod's service account: get, list and watch on pods in namespace {place.namespace}"
    )
    place.allow()
    assert waiter.ends() == 0


def test_it_survives_the_api_server(place: Place) -> None:
    place.allow()
    place.pod("a-1", "x-0-a")
    place.pod("a-2", "x-0-a")
    place.ready("a-1")
    waiter = place.start("-p", "x-0-a:2")
    waiter.says("ready pods changed", podclique="x-0-a", have=1)
    try:
        place.cluster.kill(APISERVER)
        waiter.says("cannot watch pods, trying again", level="info")
    finally:
        place.cluster.restart(APISERVER)
    assert waiter.is_running
    place.ready("a-2")
    assert waiter.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_a_failure(place: Place, number: signal.Signals) -> None:
    place.allow()
    waiter = place.start("-p", "x-0-a:1")
    waiter.says("waiting for pods")
    waiter.signal(number)
    assert waiter.ends() == 1
    assert [line["signal"] for line in waiter.lines("signal received")] == [number.name]


@pytest.mark.parametrize(
    ("prepare", "arguments", "error"),
    [
        (lambda _: None, ["-p", "x-0-a"], 'ERR_INVALID_INPUT: --podcliques "x-0-a": it is not one name and one number'),
        (lambda _: None, ["--podcliques=x-0-a:0"], "is not a whole number of at least 1"),
        (lambda at: (at.folder / "podgangname").unlink(), ["-p", "x-0-a:1"], "podgangname: cannot be read"),
        (lambda at: (at.folder / "namespace").write_text(" "), ["-p", "x-0-a:1"], "namespace: is empty"),
        (lambda at: at.kubeconfig.unlink(), ["-p", "x-0-a:1"], "no kubeconfig: "),
    ],
)
def test_what_it_cannot_work_with_is_named(
    place: Place, prepare: Callable[[Place], object], arguments: list[str], error: str
) -> None:
    prepare(place)
    waiter = place.start(*arguments)
    assert waiter.ends() == 1
    [line] = waiter.lines("cannot wait")
    assert error in line["error"]


def test_without_parents_it_succeeds_and_needs_nothing(tmp_path: Path) -> None:
    waiter = Waiter(["--podcliques="], tmp_path / "log")
    assert waiter.ends() == 0

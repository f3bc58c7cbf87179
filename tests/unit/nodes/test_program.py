"""The waiter in a simulated pod, in virtual time: what it reads, as whom it asks, and what its end does."""

import base64
from typing import Any

import pytest

from grove.kube.connection import Connection
from grove.kube.credentials import Credentials
from grove.kube.resources import PODS, SECRETS
from grove.nodes import program
from tests.unit.nodes.apiserver import ApiServer, Simulation, is_ready, simulate

JSON = dict[str, Any]
GANG = {"grove.io/podgang": "x-0"}
FIELDS = [
    {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}},
    {"path": "podgangname", "fieldRef": {"fieldPath": "metadata.labels['grove.io/podgang']"}},
]
POD_INFO: JSON = {"name": "pod-info", "downwardAPI": {"items": FIELDS}}
TOKEN: JSON = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
SECRET: JSON = {"name": "token", "secret": {"secretName": "late"}}
MOUNTS = [
    {"name": "pod-info", "mountPath": "/var/grove/pod-info"},
    {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
]


class Connections:
    """The clients that waiters made: as whom they ask."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server: ApiServer | None = None
        self.asked: list[Credentials] = []
        monkeypatch.setattr(program, "Client", self.make)

    def make(self, connection: Connection, **_: Any) -> ApiServer:
        assert self.server is not None
        self.asked.append(connection.credentials)
        return self.server


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    return Connections(monkeypatch)


def put(server: ApiServer, name: str, *, args: tuple[str, ...], token: JSON = TOKEN, **rest: Any) -> None:
    waiter = {"name": "grove-initc", "args": list(args), "volumeMounts": MOUNTS}
    server.put_pod(name, initContainers=[waiter], volumes=[POD_INFO, token], serviceAccountName="waiter", **rest)
    server.edit(PODS, name, {"metadata": {"labels": GANG | {"grove.io/podclique": "x-0-worker"}}}, "default")


def put_parent(server: ApiServer, name: str) -> None:
    server.put_pod(name, annotations={"simulate.grove.io/ready-delay": "100s"})
    server.edit(PODS, name, {"metadata": {"labels": GANG | {"grove.io/podclique": "x-0-router"}}}, "default")


def test_a_pod_waits_for_its_parents_as_its_own_service_account(connections: Connections) -> None:
    async def scene(simulation: Simulation) -> None:
        server = connections.server = simulation.server
        put_parent(server, "router")
        put(server, "worker", args=("--podcliques=x-0-router:1",))
        await simulation.wait(90)
        waiting = server.pod("worker")["status"]
        assert waiting["phase"] == "Pending"
        assert "running" in waiting["initContainerStatuses"][0]["state"]
        await simulation.until(lambda: is_ready(server.pod("worker")), within=15)
        assert is_ready(server.pod("router"))
        [credentials] = connections.asked
        assert (await credentials.identity()).token == "token-1"
        assert server.tokens[0]["spec"]["boundObjectRef"]["uid"] == server.pod("worker")["metadata"]["uid"]
        assert server.closed == 1

    simulate(scene)


def test_files_that_come_late_are_waited_for_and_told(connections: Connections) -> None:
    async def scene(simulation: Simulation) -> None:
        server = connections.server = simulation.server
        put_parent(server, "router")
        put(server, "worker", args=("--podcliques=x-0-router:1",), token=SECRET)
        await simulation.wait(30)
        events = [one for key, one in server.objects.items() if key[0] == "events"]
        assert {one["reason"] for one in events} == {"FailedMount"}
        assert connections.asked == []
        data = {"token": base64.b64encode(b"from-a-secret\n").decode()}
        await server.create(SECRETS, {"metadata": {"name": "late"}, "data": data}, namespace="default")
        await simulation.until(lambda: is_ready(server.pod("worker")), within=110)
        [credentials] = connections.asked
        assert (await credentials.identity()).token == "from-a-secret"

    simulate(scene)


@pytest.mark.parametrize(
    ("args", "token", "fault"),
    [
        (("--podcliques=nonsense",), TOKEN, "ERR_INVALID_INPUT"),
        (("--podcliques=x-0-router:1",), {"name": "token", "emptyDir": {}}, "mount a token"),
    ],
)
def test_a_waiter_that_cannot_wait_fails_and_says_why(
    connections: Connections, args: tuple[str, ...], token: JSON, fault: str
) -> None:
    async def scene(simulation: Simulation) -> None:
        server = connections.server = simulation.server
        put(server, "worker", args=args, token=token, restartPolicy="Never")
        await simulation.until(lambda: server.pod("worker").get("status", {}).get("phase") == "Failed", within=5)
        ended = server.pod("worker")["status"]["initContainerStatuses"][0]["state"]["terminated"]
        assert ended["exitCode"] == 1
        assert fault in ended["message"]

    simulate(scene)


def test_the_waiter_of_a_pod_that_is_told_to_end_ends(connections: Connections) -> None:
    async def scene(simulation: Simulation) -> None:
        server = connections.server = simulation.server
        put(server, "worker", args=("--podcliques=x-0-router:1",))
        await simulation.until(lambda: connections.asked)
        server.stop_pod("worker", 5)
        await simulation.until(lambda: not server.has_pod("worker"), within=10)
        await simulation.wait(1)
        assert server.closed == 1
        assert "grove_nodes_waiters 0.0" in simulation.process.metrics.text().decode()

    simulate(scene)


def test_a_process_that_is_started_again_goes_on_waiting(connections: Connections) -> None:
    async def scene(simulation: Simulation) -> None:
        server = connections.server = simulation.server
        put_parent(server, "router")
        put(server, "worker", args=("--podcliques=x-0-router:1",))
        await simulation.until(lambda: connections.asked)
        await simulation.kill()
        simulation.start()
        await simulation.until(lambda: is_ready(server.pod("worker")))
        assert len(connections.asked) == 2
        assert server.pod("worker")["status"]["initContainerStatuses"][0]["restartCount"] == 0

    simulate(scene)

"""`grove nodes` as a child process, and what tests ask about nodes and pods."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grove.testing.controlplane import ControlPlane
from grove.testing.process import Process
from grove.testing.waiting import eventually
from tests.cluster.objects import MERGE

JSON = dict[str, Any]

PATIENCE = 60.0
"""For a machine that is busy with other things."""
INTERVAL = "1"
"""Seconds between two renewals of a node's lease, well below what the tests' control plane waits for."""


class Fleet:
    """A process that keeps simulated nodes, on the test's cluster."""

    def __init__(self, cluster: ControlPlane, directory: Path, name: str, *options: str) -> None:
        self.name = name
        self.cluster = cluster
        self.log = directory / f"{name}-{len(list(directory.iterdir()))}.log"
        arguments = ["--kubeconfig", str(cluster.kubeconfig), "--fleet", name, "--name", name]
        command = [sys.executable, "-m", "grove.cli.main", "nodes", *arguments, "--lease-interval", INTERVAL, *options]
        self._process = Process(f"fleet {name}", command, directory=directory, log=self.log)

    def start(self) -> "Fleet":
        self._process.start()
        return self

    def started(self) -> "Fleet":
        """Starts it and waits until it has said that its nodes are ready."""
        self.start()
        self.says("ready")
        return self

    def says(self, text: str) -> str:
        """The line of the log with this text, when it is there."""

        def line() -> str:
            code = self._process.exit_code
            written = self.log.read_text()
            assert code is None or text in written, f"ended with {code}: {written}"
            return next((one for one in written.splitlines() if text in one and not one.startswith("{")), "")

        return eventually(line, timeout=PATIENCE, message=f"{self.name} does not say {text!r}")

    def ended(self) -> int:
        """The exit code, when it is there."""
        eventually(lambda: self._process.exit_code is not None, timeout=PATIENCE, message="it goes on")
        code = self._process.exit_code
        assert code is not None
        return code

    def interrupt(self) -> int:
        """What Ctrl-C does; the exit code."""
        os.kill(self._process.pid, signal.SIGINT)
        return self.ended()

    def kill(self) -> None:
        self._process.kill()

    def nodes(self) -> list[JSON]:
        return nodes(self.cluster, f"simulate.grove.io/fleet={self.name}")

    def annotate(self, node: str, **annotations: str | None) -> None:
        change = {"metadata": {"annotations": {f"simulate.grove.io/{key}": text for key, text in annotations.items()}}}
        status, answer = self.cluster.request("PATCH", f"/api/v1/nodes/{node}", change, content_type=MERGE)
        assert status == 200, answer


def nodes(cluster: ControlPlane, labels: str) -> list[JSON]:
    found: list[JSON] = cluster.request("GET", f"/api/v1/nodes?labelSelector={labels}")[1]["items"]
    return found


def node(cluster: ControlPlane, name: str) -> JSON:
    status, answer = cluster.request("GET", f"/api/v1/nodes/{name}")
    assert status == 200, answer
    found: JSON = answer
    return found


def condition(obj: JSON, type: str) -> str:
    """`True`, `False` or `Unknown`; empty where the condition is not there."""
    return next((one["status"] for one in obj["status"].get("conditions", ()) if one["type"] == type), "")


class Pods:
    """The pods of a test's namespace."""

    def __init__(self, cluster: ControlPlane, namespace: str, fleet: str) -> None:
        self.cluster = cluster
        self.fleet = fleet
        self.path = f"/api/v1/namespaces/{namespace}/pods"

    def create(
        self,
        name: str,
        *,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        **spec: Any,
    ) -> JSON:
        """A pod for the fleet's nodes: bound by the scheduler unless `nodeName` is given."""
        placed = {} if "nodeName" in spec else {"nodeSelector": {"simulate.grove.io/fleet": self.fleet}}
        body = {
            "metadata": {"name": name, "labels": labels or {"name": name}, "annotations": annotations or {}},
            "spec": {"containers": [container("main")], "terminationGracePeriodSeconds": 5} | placed | spec,
        }
        made: JSON = self.cluster.create(self.path, body)
        return made

    def get(self, name: str) -> JSON | None:
        status, answer = self.cluster.request("GET", f"{self.path}/{name}")
        assert status in (200, 404), answer
        return answer if status == 200 else None

    def when(self, name: str, until: Callable[[JSON], object], message: str = "") -> JSON:
        """The pod, when it is as a test wants it."""
        found = eventually(
            lambda: self.get(name),
            lambda pod: pod is not None and until(pod),
            timeout=PATIENCE,
            message=message or f"pod {name} is not as it should be",
        )
        assert found is not None
        return found

    def ready(self, name: str) -> JSON:
        return self.when(name, lambda pod: condition(pod, "Ready") == "True", f"pod {name} is not ready")

    def gone(self, name: str) -> None:
        eventually(lambda: self.get(name) is None, timeout=PATIENCE, message=f"pod {name} is still there")

    def delete(self, name: str, **options: Any) -> None:
        status, answer = self.cluster.request("DELETE", f"{self.path}/{name}", options)
        assert status == 200, answer


def container(name: str, **rest: Any) -> JSON:
    return {"name": name, "image": f"{name}:v1", **rest}


def status_of(pod: JSON, name: str) -> JSON:
    """The status of a container, whichever kind it is of."""
    rows = pod["status"].get("initContainerStatuses", []) + pod["status"].get("containerStatuses", [])
    found: JSON = next(one for one in rows if one["name"] == name)
    return found


def waiting_for(pod: JSON, name: str) -> str:
    """The reason for which a container waits; empty if it does not."""
    if not pod["status"].get("containerStatuses"):
        return ""
    reason: str = status_of(pod, name)["state"].get("waiting", {}).get("reason", "")
    return reason

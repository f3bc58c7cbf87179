"""An observer that sees every change of the pods of a namespace, and what held at each moment in between."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from grove.testing.controlplane import ControlPlane
from tests.cluster.operator.workloads import is_active, is_ready

JSON = dict[str, Any]
Pods = dict[str, JSON]


class Watcher:
    """To be used with `with`: `look` is called with all pods after each change; what it returns is remembered.

    The pods are by uid. A watch tells changes one by one in the order in which they were stored, so no moment between
    two writes of the API goes unseen.
    """

    def __init__(self, cluster: ControlPlane, namespace: str, look: Callable[[Pods], str]) -> None:
        self.problems: list[str] = []
        self.names: set[str] = set()
        """Of all pods that were ever there."""
        self._cluster = cluster
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._look = look
        self._pods: Pods = {}
        self._stop = threading.Event()
        listed = cluster.request("GET", self._path)[1]
        self._version: str = listed["metadata"]["resourceVersion"]
        self._take(listed["items"])
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=30.0)
        if kind is None:
            assert not self.problems, self.problems[:10]

    def _run(self) -> None:
        while not self._stop.is_set():
            for event in self._cluster.watch(self._path, seconds=2, resourceVersion=self._version):
                pod = event["object"]
                self._version = pod["metadata"]["resourceVersion"]
                if event["type"] == "DELETED":
                    self._pods.pop(pod["metadata"]["uid"], None)
                    self._see()
                elif event["type"] in ("ADDED", "MODIFIED"):
                    self._take([pod])

    def _take(self, pods: list[JSON]) -> None:
        for pod in pods:
            self.names.add(pod["metadata"]["name"])
            self._pods[pod["metadata"]["uid"]] = pod
        self._see()

    def _see(self) -> None:
        if problem := self._look(self._pods):
            self.problems.append(problem)


def at_least(ready: int, chosen: Callable[[JSON], bool] = lambda _: True) -> Callable[[Pods], str]:
    """Whether enough of the chosen pods are ready, from the moment on when there were enough."""
    reached = False

    def look(pods: Pods) -> str:
        nonlocal reached
        count = sum(1 for pod in pods.values() if chosen(pod) and is_active(pod) and is_ready(pod))
        reached = reached or count >= ready
        return f"{count} pods were ready, not {ready}" if reached and count < ready else ""

    return look

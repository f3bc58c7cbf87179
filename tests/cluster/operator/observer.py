"""An observer that writes down every state in which the pods of a namespace ever were, in the server's order.

It follows with Grove's client, in a thread of its own. One watch tells the changes in the order in which they were
stored, so what it writes down can be judged afterwards, instant by instant (`judging.py`).
"""

from __future__ import annotations

from typing import Any, Self

from grove.kube.client import Client
from grove.kube.kubeconfig import connect
from grove.kube.resources import PODS
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.beside import Beside, follow
from tests.cluster.operator.judging import History, Pod, Seen

JSON = dict[str, Any]


class Observer(Beside):
    """To be used with `with`."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        super().__init__("observer")
        self._cluster = cluster
        self._namespace = namespace
        self._history: list[Seen] = []
        self._versions: dict[str, str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        self.caught_up()
        return self

    def caught_up(self) -> int:
        """Waits until all is written down that has happened, and gives the number of states written so far."""

        def missing() -> dict[str, tuple[str | None, str | None]]:
            self.check()
            path = f"/api/v1/namespaces/{self._namespace}/pods"
            listed = self._cluster.request("GET", path)[1]["items"]
            live = {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in listed}
            known = dict(self._versions)
            return {
                uid: (live.get(uid), known.get(uid))
                for uid in live.keys() | known.keys()
                if live.get(uid) != known.get(uid)
            }

        eventually(missing, lambda found: not found, timeout=30.0, message="the observer lags behind")
        return len(self._history)

    def history(self, since: int = 0) -> History:
        """What was written down, the pods that were there at `since` first."""
        return History(self._history, since)

    async def go_on(self) -> None:
        async with Client(connect(str(self._cluster.kubeconfig)), field_manager="observer") as client:
            await follow(client, PODS, self._namespace, self._write)

    def _write(self, pod: JSON, is_gone: bool) -> None:
        metadata = pod["metadata"]
        self._history.append(Seen(Pod.of(pod), is_gone))
        if is_gone:
            self._versions.pop(metadata["uid"], None)
        else:
            self._versions[metadata["uid"]] = metadata["resourceVersion"]

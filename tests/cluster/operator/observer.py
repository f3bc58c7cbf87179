"""An observer that writes down every state in which the pods of a namespace ever were, in the server's order.

It follows with Grove's client, in a thread of its own. One watch tells the changes in the order in which they were
stored, so what it writes down can be judged afterwards, instant by instant (`judging.py`). A watch that breaks goes on
from the last change that was seen; where that is not possible, it is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from grove.kube.client import Client
from grove.kube.decoding import Bookmark
from grove.kube.errors import Unreachable
from grove.kube.kubeconfig import connect
from grove.kube.resources import PODS
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.operator.judging import History, Pod, Seen

JSON = dict[str, Any]


class Observer:
    """To be used with `with`."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._history: list[Seen] = []
        self._versions: dict[str, str] = {}
        self._executor = ThreadPoolExecutor(1, "observer")
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._following: Future[None] = Future()

    def __enter__(self) -> Self:
        self._following = self._executor.submit(self._run)
        self.caught_up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended by itself, with an error that is raised below
            self._loop.call_soon_threadsafe(self._stop.set)
        self._executor.shutdown()
        if kind is None:
            self._following.result()

    def caught_up(self) -> int:
        """Waits until all is written down that has happened, and gives the number of states written so far."""

        def missing() -> dict[str, tuple[str | None, str | None]]:
            if self._following.done():
                self._following.result()
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

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_told())

    async def _until_told(self) -> None:
        follow = asyncio.create_task(self._follow())
        stop = asyncio.create_task(self._stop.wait())
        done, _ = await asyncio.wait((follow, stop), return_when=asyncio.FIRST_COMPLETED)
        for task in (follow, stop):
            task.cancel()
        await asyncio.gather(follow, stop, return_exceptions=True)
        if follow in done:
            follow.result()

    async def _follow(self) -> None:
        async with Client(connect(str(self._cluster.kubeconfig)), field_manager="observer") as client:
            page = await client.list_all(PODS, namespace=self._namespace)
            version = page.resource_version
            for pod in page.items:
                self._write(pod, is_gone=False)
            while True:
                with contextlib.suppress(Unreachable):  # it goes on where it was; too late for that is another error
                    async with client.watch(PODS, namespace=self._namespace, resource_version=version) as events:
                        async for event in events:
                            if isinstance(event, Bookmark):
                                version = event.resource_version
                                continue
                            version = event.object["metadata"]["resourceVersion"]
                            self._write(event.object, is_gone=event.type == "DELETED")

    def _write(self, pod: JSON, *, is_gone: bool) -> None:
        metadata = pod["metadata"]
        self._history.append(Seen(Pod.of(pod), is_gone))
        if is_gone:
            self._versions.pop(metadata["uid"], None)
        else:
            self._versions[metadata["uid"]] = metadata["resourceVersion"]

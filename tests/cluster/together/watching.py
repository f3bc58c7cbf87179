"""Shows a witness every state of the pods and PodGangs of a namespace, from a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from grove.kube.client import Client
from grove.kube.decoding import Bookmark
from grove.kube.errors import Unreachable
from grove.kube.kubeconfig import connect
from grove.kube.resources import PODS, Resource
from grove.runtime.clock import SystemClock
from grove.scheduler.kinds import POD_GANGS
from grove.testing.controlplane import ControlPlane
from tests.cluster.together.witness import JSON, Pod, Witness


class Watching:
    """To be used with `with`; what the witness has seen is asked afterwards, or while the test waits."""

    def __init__(self, cluster: ControlPlane, namespace: str, witness: Witness) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self.witness = witness
        self._clock = SystemClock()
        self._executor = ThreadPoolExecutor(1, "watching")
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._following: Future[None] = Future()

    def __enter__(self) -> Self:
        self._following = self._executor.submit(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended by itself, with an error that is raised below
            self._loop.call_soon_threadsafe(self._stop.set)
        self._executor.shutdown()
        if kind is None:
            self._following.result()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_told())

    async def _until_told(self) -> None:
        async with Client(connect(str(self._cluster.kubeconfig)), field_manager="witness") as client:
            tasks = [
                asyncio.create_task(self._follow(client, POD_GANGS, self._gang)),
                asyncio.create_task(self._follow(client, PODS, self._pod)),
                asyncio.create_task(self._stop.wait()),
            ]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()

    async def _follow(self, client: Client, resource: Resource, show: object) -> None:
        assert callable(show)
        page = await client.list_all(resource, namespace=self._namespace)
        version = page.resource_version
        for one in page.items:
            show(one, is_gone=False)
        while True:
            with contextlib.suppress(Unreachable):  # it goes on where it was
                async with client.watch(resource, namespace=self._namespace, resource_version=version) as events:
                    async for event in events:
                        if isinstance(event, Bookmark):
                            version = event.resource_version
                            continue
                        version = event.object["metadata"]["resourceVersion"]
                        show(event.object, is_gone=event.type == "DELETED")

    def _gang(self, gang: JSON, *, is_gone: bool) -> None:
        name = gang["metadata"]["name"]
        if is_gone:
            self.witness.gang_gone(name)
        else:
            groups = gang["spec"]["podgroups"]
            self.witness.gang(name, {one["name"]: one["minReplicas"] for one in groups if one["minReplicas"]})

    def _pod(self, pod: JSON, *, is_gone: bool) -> None:
        self.witness.pod(Pod.of(pod), self._clock.monotonic(), is_gone=is_gone)

"""An API server made of memory for what keeps Secrets and webhook configurations, and things that run on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from grove.kube.client import Client
from grove.kube.resources import Resource
from grove.runtime.manager import Runnable
from grove.testing.virtualtime import VirtualClock
from tests.unit.nodes.apiserver import JSON, ApiServer, merged, plain

NAMESPACE = "grove-system"


class Cluster(ApiServer):
    """Fills in the namespace as a server does, and knows server-side apply as far as one manager goes."""

    @property
    def client(self) -> Client:
        return cast(Client, self)

    async def create(self, resource: Resource, body: Any, *, namespace: str = "", **options: Any) -> Any:
        made = merged(plain(body), {"metadata": {"namespace": namespace}})
        return await super().create(resource, made, namespace=namespace, **options)

    async def apply(self, resource: Resource, name: str, body: Any, **_: Any) -> Any:
        await self._arrive()
        self._note("apply", resource, name, "")
        held = self.get_now(resource, name) or {"metadata": {"name": name}}
        return self._read(self._put(resource.plural, "", name, merged(held, plain(body))), JSON)


@contextlib.asynccontextmanager
async def running(*runnables: Runnable) -> AsyncIterator[None]:
    """Runs them as long as the block."""
    tasks = [asyncio.ensure_future(one.run()) for one in runnables]
    try:
        yield
    finally:
        ended = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in ended:
            task.result()


async def until(clock: VirtualClock, look: Callable[[], object], *, within: float = 60.0) -> float:
    """Returns when it is so, and how long that took."""
    began = clock.monotonic()
    while not look():
        assert clock.monotonic() < began + within, f"not so within {within:g} s"
        await clock.sleep(0.05)
    return clock.monotonic() - began

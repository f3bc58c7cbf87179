"""Something that goes on beside a test, in a thread and an event loop of its own, while a `with` block runs."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from grove.kube.client import Client
from grove.kube.decoding import Bookmark
from grove.kube.errors import Unreachable
from grove.kube.resources import Resource

JSON = dict[str, Any]
Show = Callable[[JSON, bool], None]
"""Is given each state of an object as it was stored, and whether it is gone."""


class Beside(ABC):
    """To be used with `with`. An error of it is raised when the block ends, or when it is looked for."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ending: Future[None] = Future()

    @abstractmethod
    async def go_on(self) -> None:
        """What it does; cancelled when the block ends."""

    def __enter__(self) -> Self:
        self._ending = self._executor.submit(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended by itself, with an error that is raised below
            self._loop.call_soon_threadsafe(self._stop.set)
        self._executor.shutdown()
        if kind is None:
            self._ending.result()

    def check(self) -> None:
        """Raises what it ended with, if it has."""
        if self._ending.done():
            self._ending.result()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_told())

    async def _until_told(self) -> None:
        going = asyncio.create_task(self.go_on())
        stop = asyncio.create_task(self._stop.wait())
        done, _ = await asyncio.wait((going, stop), return_when=asyncio.FIRST_COMPLETED)
        for task in (going, stop):
            task.cancel()
        await asyncio.gather(going, stop, return_exceptions=True)
        if going in done:
            going.result()


async def follow(client: Client, resource: Resource, namespace: str, show: Show) -> None:
    """Shows every state of a resource in the server's order, from what is there on. A watch that breaks goes on from
    the last change that was seen; where that is not possible, it is an error."""
    page = await client.list_all(resource, namespace=namespace)
    version = page.resource_version
    for one in page.items:
        show(one, False)
    while True:
        with contextlib.suppress(Unreachable):
            async with client.watch(resource, namespace=namespace, resource_version=version) as events:
                async for event in events:
                    if isinstance(event, Bookmark):
                        version = event.resource_version
                        continue
                    version = event.object["metadata"]["resourceVersion"]
                    show(event.object, event.type == "DELETED")

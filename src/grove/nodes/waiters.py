"""The containers that really do their work, as tasks: the waiters of Grove's pods.

A source of the kubelets' keys: the kubelet says which runs of a pod there are to be, and is told to look at the pod
again when one has ended. How it ended is kept until the kubelet does not want the run any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias

from grove.nodes.objects import ContainerSpec, PodRecord

log = logging.getLogger(__name__)

BROKEN = 2
"""The exit code of a waiter that ended by an error of ours."""

Key: TypeAlias = tuple[str, str]


class Result(NamedTuple):
    """How a run ended."""

    code: int
    message: str


class Run(NamedTuple):
    """One run of one init container of one pod."""

    uid: str
    container: int
    number: int


Work: TypeAlias = Callable[[PodRecord, ContainerSpec], Awaitable[Result]]


class Waiters:
    """Runs what is wanted, while it is run itself."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._tasks: dict[Run, asyncio.Task[None]] = {}
        self._results: dict[Run, Result] = {}
        self._group: asyncio.TaskGroup | None = None
        self._began = asyncio.Event()
        self._look_again: Callable[[Key], None] = lambda _: None

    def __len__(self) -> int:
        """How many run now."""
        return len(self._tasks)

    async def run(self, add: Callable[[Key], None]) -> None:
        self._look_again = add
        async with asyncio.TaskGroup() as self._group:
            self._began.set()
            await asyncio.Event().wait()

    async def synced(self) -> object:
        return await self._began.wait()

    def want(self, pod: PodRecord, runs: Mapping[Run, ContainerSpec]) -> None:
        """From now on these runs of the pod are to be, and no others."""
        self.leave(pod.metadata.uid or "", runs)
        for run, container in runs.items():
            if run not in self._tasks and run not in self._results:
                assert self._group is not None, "the waiters do not run"
                self._tasks[run] = self._group.create_task(self._one(run, pod, container))

    def leave(self, uid: str, but: Mapping[Run, ContainerSpec] | None = None) -> None:
        """No runs of the pod are to be any more, but these."""
        for run in [one for one in (*self._tasks, *self._results) if one.uid == uid and one not in (but or {})]:
            self._results.pop(run, None)
            if (task := self._tasks.pop(run, None)) is not None:
                task.cancel()

    def result(self, run: Run) -> Result | None:
        """How a run ended, if it has."""
        return self._results.get(run)

    async def _one(self, run: Run, pod: PodRecord, container: ContainerSpec) -> None:
        try:
            result = await self._work(pod, container)
        except Exception as error:  # the end of one waiter is not the end of all; its container shows it
            log.exception("waiter broke", extra={"pod": pod.metadata.name, "namespace": pod.metadata.namespace})
            result = Result(BROKEN, f"{type(error).__name__}: {error}")
        if self._tasks.pop(run, None) is not None:
            self._results[run] = result
            self._look_again((pod.metadata.namespace or "", pod.metadata.name))

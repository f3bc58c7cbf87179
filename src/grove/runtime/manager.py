"""Runs a process: what always runs (servers, caches), and what only the leader runs (controllers), until it is told to
end.

    await Manager(always=[health, cache], led=[pods, gangs], election=election).run_until_signalled()

Ending goes backwards: the controllers finish what they are at, the lease is given back, then servers and caches end.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from typing import Protocol

from grove.kube.fence import Fence, Unfenced
from grove.kube.lease import Election

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Runnable(Protocol):
    """Runs until it is cancelled. If it returns or raises, the process ends."""

    @property
    def name(self) -> str: ...

    async def run(self) -> None: ...


class EndedEarly(Exception):
    """Something that was to run until it is cancelled has returned."""


class Manager:
    """See the top of the module. `led` makes what the leader runs, all new for its term, with the right to write."""

    def __init__(
        self,
        *,
        always: Sequence[Runnable],
        led: Callable[[Fence], Sequence[Runnable]],
        election: Election | None = None,
    ) -> None:
        self._always = always
        self._led = led
        self._election = election

    async def run(self) -> None:
        """Runs until it is cancelled. What fails, or the loss of the lease, is raised in an exception group.

        The process should end then, and be started again.
        """
        async with asyncio.TaskGroup() as group:
            servers = [group.create_task(run_forever(one), name=one.name) for one in self._always]
            await self._run_led()
            for server in servers:
                server.cancel()

    async def run_until_signalled(self) -> None:
        """As `run`, and ends in order on SIGTERM and SIGINT. A second signal waits for nothing."""
        loop = asyncio.get_running_loop()
        running = asyncio.ensure_future(self.run())
        not_ours = asyncio.all_tasks()
        signalled: list[signal.Signals] = []

        def on_signal(received: signal.Signals) -> None:
            log.info("signal received", extra={"signal": received.name})
            # A task group does not hand down a second cancellation, so that goes to every task.
            for task in asyncio.all_tasks() - not_ours if signalled else {running}:
                task.cancel()
            signalled.append(received)

        for number in SIGNALS:
            loop.add_signal_handler(number, on_signal, number)
        try:
            await asyncio.wait({running})
            if not (running.cancelled() and signalled):
                running.result()
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait({running})
            raise
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    async def _run_led(self) -> None:
        if self._election is None:
            await self._run_all(Unfenced())
        else:
            await self._election.run(self._run_all)

    async def _run_all(self, fence: Fence) -> None:
        async with asyncio.TaskGroup() as group:
            for one in self._led(fence):
                group.create_task(run_forever(one), name=one.name)


async def run_forever(one: Runnable) -> None:
    await one.run()
    raise EndedEarly(f"{one.name} has ended, although nobody told it to")

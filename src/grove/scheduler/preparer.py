"""Carries out what must be written for volumes and devices before the pods of a decision are bound, and waits for it.

What is to be written, how far it is and how it is undone says `prebind.py`. Most pods need nothing. Nothing of a gang
is bound before all of it is prepared; what fails is undone, and the gang is decided anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from grove.kube.cachedclient import CachedClient
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, KubeError, NotFound
from grove.scheduler import prebind
from grove.scheduler.hands import Head
from grove.scheduler.prebind import Refused, Step
from grove.scheduler.step import User
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Bind
from grove.scheduler.world import World

log = logging.getLogger(__name__)

LONGEST: Final = 600.0
"""Seconds that a volume may take to be made, as with kube-scheduler."""


UNDO_ATTEMPTS: Final = 6
UNDO_PAUSE: Final = 0.1
"""Seconds until it is tried again to take something back; twice as long each time."""


class NotPrepared(Exception):
    """Says why. What was written is undone."""


class Preparer:
    """See the top of the module."""

    def __init__(
        self, *, world: World, head: Head, surroundings: Surroundings, client: CachedClient, clock: Clock
    ) -> None:
        self._world = world
        self._head = head
        self._surroundings = surroundings
        self._client = client
        self._clock = clock

    def is_needed(self, decision: Bind) -> bool:
        """Whether any of the pods has volumes or claims to devices."""
        return any(pod.cls.needs is not None for pod, _ in decision.puts)

    async def prepare(self, decision: Bind) -> Sequence[Step]:
        """What was written. Raises NotPrepared."""
        if not self.is_needed(decision):
            return ()
        users = list(self._users(decision))
        try:
            steps = prebind.plan(users, self._surroundings, now=self._clock.wall().timestamp())
        except Refused as error:
            raise NotPrepared(str(error)) from error
        try:
            versions = await self._write_all(steps)
            async with asyncio.timeout(LONGEST):
                await self._wait(steps, versions)
        except (KubeError, Refused, TimeoutError) as error:
            await self.undo(steps)
            raise NotPrepared(str(error) or f"not prepared within {LONGEST:g} s") from error
        return steps

    async def undo(self, steps: Sequence[Step]) -> None:
        """Takes back what was written, as far as it is still ours."""
        await asyncio.gather(*map(self._undo, steps))

    async def _undo(self, step: Step) -> None:
        """What is taken back follows from what is seen; where somebody was faster, from what is seen a little later."""
        for attempt in range(UNDO_ATTEMPTS):
            back = prebind.undo(step, self._surroundings)
            if back is None:
                return  # somebody else has it, or it is done
            try:
                await self._write(back)
                return
            except NotFound:
                return
            except Conflict:
                await self._clock.sleep(UNDO_PAUSE * 2**attempt)
            except KubeError as error:
                log.info("not undone", extra={"object": f"{step.resource.kind} {step.name}", "error": str(error)})
                return
        log.info("not undone", extra={"object": f"{step.resource.kind} {step.name}", "error": "it keeps changing"})

    def _users(self, decision: Bind) -> list[User]:
        found = []
        for put, node in decision.puts:
            pod, view = self._world.pods.by_uid(put.uid), self._world.nodes.get(node)
            if pod is not None and view is not None:
                found.append((pod, view))
        return found

    async def _write_all(self, steps: Sequence[Step]) -> list[str]:
        """Ends when every write has ended, so that what was written can be undone."""
        answers = await asyncio.gather(*map(self._write, steps), return_exceptions=True)
        for one in answers:
            if isinstance(one, BaseException):
                raise one
        return [one for one in answers if isinstance(one, str)]

    async def _write(self, step: Step) -> str:
        """The version that the last write answered with; empty where nothing was to be written."""
        version, written = step.resource_version, ""
        for write in step.writes:
            answer: dict[str, Any] = await self._client.patch(
                step.resource,
                step.name,
                prebind.body(step, write, version),
                namespace=step.namespace,
                subresource=write.subresource,
                type=dict[str, Any],
            )
            version = written = answer["metadata"]["resourceVersion"]
        return written

    async def _wait(self, steps: Sequence[Step], versions: Sequence[str]) -> None:
        """Raises Refused where it will come to nothing."""
        waiting = dict(zip(range(len(steps)), versions, strict=True))
        while True:
            for number, version in [*waiting.items()]:
                found = prebind.progress(steps[number], self._surroundings, version)
                if found == "done":
                    del waiting[number]
                elif found != "waiting":
                    raise Refused(found)
            if not waiting:
                return
            await self._head.news()

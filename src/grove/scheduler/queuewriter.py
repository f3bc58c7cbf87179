"""Writes the statuses of Queues: only what is different, some time after something has happened.

A runnable of the leader. What it writes is decided in `queuestatus.py`; use changes with every pod, so that it is held
back and written together.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from grove.api import statuses
from grove.api.kinds.queue import Queue, QueueStatus
from grove.kube.cachedclient import CachedClient
from grove.kube.clock import Clock
from grove.kube.errors import KubeError, NotFound
from grove.scheduler.hands import Head
from grove.scheduler.kinds import QUEUES
from grove.scheduler.queues import Queues
from grove.scheduler.queuestatus import differences
from grove.scheduler.world import World

log = logging.getLogger(__name__)

HELD_BACK: Final = 2.0
"""Seconds that changes are gathered."""


class QueueWriter:
    """See the top of the module."""

    def __init__(self, *, world: World, head: Head, queues: Queues, client: CachedClient, clock: Clock) -> None:
        self.name = "queue statuses"
        self.written = 0
        self.failed = 0
        self._world = world
        self._head = head
        self._queues = queues
        self._client = client
        self._clock = clock

    async def run(self) -> None:
        while True:
            news = asyncio.ensure_future(self._head.news())
            try:
                await self._write_all()
                await news
            finally:
                news.cancel()
            await self._clock.sleep(HELD_BACK)

    async def _write_all(self) -> None:
        if self._queues.is_flat:
            return
        for queue, status in differences(self._queues, self._world.queues, self._clock.wall()):
            await self._write(queue, status)

    async def _write(self, queue: Queue, status: QueueStatus) -> None:
        patch = statuses.patch(queue.status, status)
        if patch is None:
            return
        meta = queue.metadata
        body = {**patch, "metadata": {"uid": meta.uid}}
        try:
            await self._client.patch(QUEUES, meta.name, body, subresource="status", type=Queue)
            self.written += 1
        except NotFound:
            return
        except KubeError as error:  # what it says is old with the next change, which is when it is tried again
            self.failed += 1
            log.info("status of queue not written", extra={"queue": meta.name, "error": str(error)})

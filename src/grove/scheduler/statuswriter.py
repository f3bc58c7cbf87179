"""Writes the statuses of PodGangs: only what is different, and held back while it still changes.

One key a gang. See gangstatus.py for what is written, and docs/decisions/0014 for why it is held back.
"""

from __future__ import annotations

from typing import Final

from grove.api import conditions, statuses
from grove.api.kinds.podgang import PodGang, PodGangStatus
from grove.kube.cachedclient import CachedClient
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import Recorder
from grove.kube.regarding import regarding
from grove.runtime.outcomes import Outcome, RequeueAfter, Retry
from grove.runtime.pace import Pace
from grove.scheduler import gangstatus
from grove.scheduler.gangstatus import SCHEDULED
from grove.scheduler.gangwrites import write_status
from grove.scheduler.kinds import POD_GANGS
from grove.scheduler.sayings import Sayings
from grove.scheduler.world import World

AGAIN: Final = 0.2
"""Seconds until a write that met another's is decided anew."""


class StatusWriter:
    """A reconcile. See the top of the module."""

    def __init__(
        self, *, world: World, sayings: Sayings, client: CachedClient, recorder: Recorder, clock: Clock
    ) -> None:
        self.conflicts = 0
        self._world = world
        self._sayings = sayings
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._pace: Pace[str] = Pace()

    async def __call__(self, key: str) -> Outcome:
        gang = self._world.gang(key)
        if gang is None or gang.metadata.deletion_timestamp is not None or not self._world.is_ours_to_tell(gang):
            self._pace.forget(key)
            return None
        groups, now = [*self._world.members(gang)], self._clock.wall()
        said, score = self._sayings.said(key), self._sayings.score(key)
        recovered = gangstatus.has_recovered(gang.status, groups, now)
        wanted = gangstatus.wanted(gang.status, gangstatus.count(groups), said, score, now, recovered=recovered)
        patch = None if wanted is None else statuses.patch(gang.status, wanted)
        if patch is None or wanted is None:
            self._pace.forget(key)
            return None
        patience = gangstatus.patience(gang.status, wanted)
        if patience is not None:
            wait = self._pace.wait(key, gangstatus.gist(wanted), self._clock.monotonic(), patience)
            if wait > 0:
                return RequeueAfter(wait)
        await self._write(key, gang, patch)
        self._pace.forget(key)
        self._tell(gang, wanted)
        return None

    async def _write(self, key: str, gang: PodGang, patch: dict[str, object]) -> None:
        try:
            await write_status(self._client, gang, patch)
        except NotFound:
            return
        except Conflict as error:
            self.conflicts += 1
            raise Retry(f"PodGang {key} has changed meanwhile: {error}", after=AGAIN) from error

    def _tell(self, gang: PodGang, wanted: PodGangStatus) -> None:
        """One event for each verdict that is new."""
        before = None if gang.status is None else conditions.find(gang.status.conditions, SCHEDULED)
        after = conditions.find(wanted.conditions, SCHEDULED)
        if after is None or after.status == "True":
            return
        if before is None or (before.status, before.reason) != (after.status, after.reason):
            self._recorder.record(regarding(POD_GANGS, gang.metadata), "Warning", after.reason, after.message)

"""Takes back gangs that are half on nodes for too long: a reconcile, one key a gang. See rollback.py for the rule."""

from __future__ import annotations

import datetime
import logging

from grove.kube.cachedclient import CachedClient
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import Recorder
from grove.kube.objects import PodView
from grove.kube.regarding import regarding
from grove.kube.resources import PODS
from grove.runtime.batches import write_in_batches
from grove.runtime.outcomes import Outcome, RequeueAt
from grove.scheduler import record, rollback
from grove.scheduler.kinds import DECISION, POD_GANGS
from grove.scheduler.rollback import TakeBack, Until
from grove.scheduler.sayings import Sayings
from grove.scheduler.world import World

log = logging.getLogger(__name__)

CONFLICT = "BindConflict"


class Takeback:
    """See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        sayings: Sayings,
        client: CachedClient,
        recorder: Recorder,
        patience: float,
        clock: Clock,
    ) -> None:
        self.gangs = 0
        self.pods = 0
        self._world = world
        self._sayings = sayings
        self._client = client
        self._recorder = recorder
        self._patience = datetime.timedelta(seconds=patience)
        self._clock = clock

    async def __call__(self, key: str) -> Outcome:
        gang = self._world.gang(key)
        if gang is None or gang.metadata.deletion_timestamp is not None or not self._world.is_our_gang(gang):
            return None
        said = self._sayings.said(key)
        verdict = rollback.judge(
            gang,
            [*self._world.members(gang)],
            record.read((gang.metadata.annotations or {}).get(DECISION)),
            hopeless=said is not None and said.reason == "Unschedulable",
            patience=self._patience,
            now=self._clock.wall(),
        )
        if isinstance(verdict, Until):
            return RequeueAt(verdict.moment)
        if isinstance(verdict, TakeBack):
            log.info("gang taken back", extra={"gang": key, "pods": len(verdict.pods), "reason": verdict.why})
            self._sayings.taken_back(key, CONFLICT, verdict.why)
            self._recorder.record(regarding(POD_GANGS, gang.metadata), "Warning", CONFLICT, verdict.why)
            await self._delete(verdict.pods)
            self.gangs += 1
        return None

    async def _delete(self, pods: tuple[PodView, ...]) -> None:
        async def delete(pod: PodView) -> None:
            meta = pod.metadata
            try:
                await self._client.delete(PODS, meta.name, namespace=meta.namespace or "", uid=meta.uid or "")
            except (NotFound, Conflict):
                return
            self.pods += 1

        outcome = await write_in_batches(pods, delete, first=8)
        outcome.raise_first()

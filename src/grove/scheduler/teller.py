"""Tells pods why they wait: where people look first, and where autoscalers of nodes look at all.

One key a gang, or a pod without one. Only verdicts that more nodes could change are told to pods, with the reason that
autoscalers wait for; each pod gets its condition and one event when the verdict is new to it, not at every try.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from grove.api.conditions import timestamp
from grove.api.fields import JSON
from grove.kube.cachedclient import CachedClient
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import Recorder
from grove.kube.objects import Condition, PodView
from grove.kube.regarding import regarding
from grove.kube.resources import PODS
from grove.runtime.batches import write_in_batches
from grove.runtime.outcomes import Outcome, RequeueAfter
from grove.runtime.pace import Pace, Patience
from grove.scheduler.gangstatus import Said
from grove.scheduler.sayings import Sayings
from grove.scheduler.world import World

UNSCHEDULABLE: Final = "Unschedulable"
ERROR: Final = "SchedulerError"
"""What more nodes would not help."""
REASONS: Final = {
    "Unschedulable": UNSCHEDULABLE,
    "SearchEnded": UNSCHEDULABLE,
    "RoomHeld": UNSCHEDULABLE,
    "BindConflict": ERROR,
    "Unsupported": ERROR,
}
"""What pods are told, by the reason that their gang is told."""
MAX_MESSAGE: Final = 1024

NEW: Final = Patience(quiet=0.3, longest=1.0)
REWORDED: Final = Patience(quiet=10.0, longest=60.0)


class Teller:
    """A reconcile. See the top of the module."""

    def __init__(
        self, *, world: World, sayings: Sayings, client: CachedClient, recorder: Recorder, clock: Clock
    ) -> None:
        self._world = world
        self._sayings = sayings
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._pace: Pace[str] = Pace()

    async def __call__(self, key: str) -> Outcome:
        saying = self._sayings.get(key)
        reason = None if saying is None else _reason(saying.said)
        if saying is None or reason is None:
            self._pace.forget(key)
            return None
        said = saying.said
        waiting = [pod for pod in map(self._world.pods.by_uid, (one.uid for one in saying.pods)) if _waits(pod)]
        untold = [pod for pod in waiting if pod is not None and not _is_told(pod, reason, said)]
        if not waiting and self._world.gang(key) is None:
            self._sayings.forget([key])
        if not untold:
            self._pace.forget(key)
            return None
        is_new = any(before is None or before.reason != reason for before in map(_told, untold))
        wait = self._pace.wait(key, said, self._clock.monotonic(), NEW if is_new else REWORDED)
        if wait > 0:
            return RequeueAfter(wait)
        await self._write(untold, reason, said)
        self._pace.forget(key)
        return None

    async def _write(self, pods: Iterable[PodView], reason: str, said: Said) -> None:
        message = _message(said)
        now = timestamp(self._clock.wall())

        async def tell(pod: PodView) -> None:
            before = _told(pod)
            since = now if before is None or before.last_transition_time is None else before.last_transition_time
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": reason,
                "message": message,
                "lastTransitionTime": since,
            }
            try:
                await self._patch(pod, {"conditions": [condition]})
            except (NotFound, Conflict):
                return  # it is gone
            if before is None or before.reason != reason:
                self._recorder.record(regarding(PODS, pod.metadata), "Warning", reason, message)

        outcome = await write_in_batches([*pods], tell, first=4)
        outcome.raise_first()

    async def _patch(self, pod: PodView, status: JSON) -> None:
        meta = pod.metadata
        await self._client.patch(
            PODS,
            meta.name,
            {"metadata": {"uid": meta.uid}, "status": status},
            namespace=meta.namespace or "",
            subresource="status",
            form="strategic",
            type=PodView,
        )


def _reason(said: Said) -> str | None:
    """What pods are told; None: nothing."""
    return REASONS.get(said.reason)


def _message(said: Said) -> str:
    return said.message if len(said.message) <= MAX_MESSAGE else said.message[: MAX_MESSAGE - 1] + "…"


def _waits(pod: PodView | None) -> bool:
    return pod is not None and not pod.node_name and pod.metadata.deletion_timestamp is None


def _told(pod: PodView) -> Condition | None:
    """What the pod was told before; None: nothing yet."""
    return next((one for one in pod.status.conditions if one.type == "PodScheduled" and one.status == "False"), None)


def _is_told(pod: PodView, reason: str, said: Said) -> bool:
    before = _told(pod)
    return before is not None and (before.reason, before.message) == (reason, _message(said))

"""Pods that a node has refused: the API server binds without counting, and a kubelet is the last to say no.

A pod that has failed leaves the cache of pods without a last word, so it is asked for: only one that was on a node and
had not begun to run, which is rare.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from grove.kube.client import Client
from grove.kube.errors import KubeError
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.kube.store import Change

log = logging.getLogger(__name__)

REASONS: Final = frozenset(
    {
        "NodeAffinity",
        "NodePorts",
        "NodeSelectorMismatching",
        "NodeShutdown",
        "PodLevelResourcesNotAdmittedReason",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "Taint",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
OUT_OF: Final = "OutOf"
"""What a kubelet says when something is used up: OutOfcpu, OutOfpods, OutOfnvidia.com/gpu."""


def is_rejected(pod: PodView) -> bool:
    """Whether a kubelet did not take the pod in."""
    return pod.status.phase == "Failed" and (pod.status.reason in REASONS or pod.status.reason.startswith(OUT_OF))


def may_be_rejected(change: Change[PodView]) -> bool:
    """Whether a pod of a node has vanished before it ran, and nobody had asked for that."""
    old = change.old
    return (
        change.new is None
        and old is not None
        and bool(old.node_name)
        and old.metadata.deletion_timestamp is None
        and old.status.phase in ("", "Pending")
    )


class Rejections:
    """A runnable. `tell` is told of each pod that was refused, as it is now."""

    def __init__(self, client: Client, *, is_ours: Callable[[PodView], bool], tell: Callable[[PodView], None]) -> None:
        self.name = "rejections"
        self.counts: Counter[str] = Counter()
        """By the kubelet's reason."""
        self._client = client
        self._is_ours = is_ours
        self._tell = tell
        self._suspects: asyncio.Queue[PodView] = asyncio.Queue()

    def look_at(self, change: Change[PodView]) -> None:
        """A handler of the cache of pods."""
        if may_be_rejected(change) and change.old is not None and self._is_ours(change.old):
            self._suspects.put_nowait(change.old)

    async def run(self) -> None:
        while True:
            suspect = await self._suspects.get()
            meta = suspect.metadata
            try:
                found = await self._client.get(PODS, meta.name, namespace=meta.namespace or "", type=PodView)
            except KubeError:
                continue  # it is gone, or we shall never know
            if found.metadata.uid == meta.uid and is_rejected(found):
                self.counts[found.status.reason] += 1
                fields = {"pod": f"{meta.namespace}/{meta.name}", "node": found.node_name}
                log.info("pod refused by its node", extra={**fields, "reason": found.status.reason})
                self._tell(found)

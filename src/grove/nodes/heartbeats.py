"""Keeps nodes alive as their kubelets do: renews leases, and writes statuses that have changed or are old.

A controller's reconcile, with the names of nodes as keys. A node that fails is silent for as long as its annotation
says so; whatever node has the fleet's label is kept, whoever made it. A node that was deleted stays deleted, as a real
one would whose kubelet is not started again.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from grove.kube.cache import Cache
from grove.kube.cachedclient import CachedClient
from grove.kube.client import Client
from grove.kube.errors import AlreadyExists, NotFound, ServerError, TooManyRequests, Unreachable
from grove.kube.events import Recorder, Regarding
from grove.kube.resources import LEASES, NODES
from grove.kube.store import Change
from grove.nodes import failure, nodelease, nodestatus
from grove.nodes.behaviour import Problem
from grove.nodes.kubelet import MISREAD
from grove.nodes.objects import NodeRecord
from grove.nodes.shape import NodePlan, Ranges
from grove.runtime.outcomes import Outcome, RequeueAfter

log = logging.getLogger(__name__)

STATUS_SECONDS: Final = 300.0
"""As often as kubelets tell how their nodes are, though nothing has changed."""
TROUBLE_SECONDS: Final = 5.0
"""Until a node tries again that the API server did not hear."""


@dataclasses.dataclass
class Beat:
    """When a node is to be heard of next."""

    uid: str
    status_due: float
    lease_due: float = 0.0
    told: Problem | None = None


class HeartbeatStatistics(msgspec.Struct, frozen=True):
    """How many nodes are kept, and what was written for them."""

    nodes: int
    leases: int
    statuses: int
    failures: int
    """Writes that the API server did not hear."""


class Heartbeats:
    """See the top of the module."""

    def __init__(
        self,
        *,
        nodes: Cache[NodeRecord],
        client: CachedClient,
        leases: Client,
        recorder: Recorder,
        plans: Mapping[str, NodePlan],
        ranges: Ranges,
        now: Callable[[], float],
        interval: float | None = None,
    ) -> None:
        """`leases` is apart from `client`, so that a storm of pods keeps no lease waiting. `interval` in seconds."""
        self._nodes = nodes
        self._client = client
        self._leases = leases
        self._recorder = recorder
        self._plans = plans
        self._ranges = ranges
        self._now = now
        self._interval = interval
        self._beats: dict[str, Beat] = {}
        self._next_number: int | None = None
        self._is_heard = True
        self._lease_count = self._status_count = self._failures = 0

    def statistics(self) -> HeartbeatStatistics:
        return HeartbeatStatistics(len(self._beats), self._lease_count, self._status_count, self._failures)

    def keys_of_node(self, change: Change[NodeRecord]) -> Iterator[str]:
        node = change.new or change.old
        assert node is not None
        yield node.metadata.name

    async def reconcile(self, name: str) -> Outcome:
        node = self._nodes.get(name)
        beat = self._beats.get(name)
        if node is None or (beat is not None and beat.uid != node.metadata.uid):
            self._beats.pop(name, None)
            beat = None
        if node is None:
            return None
        now = self._now()
        if beat is None:
            due = nodelease.next_moment(name, now, STATUS_SECONDS)
            beat = self._beats[name] = Beat(node.metadata.uid or "", due)
        self._tell(node, beat)
        failing = failure.failure(node)
        if failing in failure.SILENT:
            beat.lease_due = beat.status_due = 0.0  # what comes back is heard of at once
            return None
        try:
            await self._write_status(node, beat, now)
            await self._renew(node, beat, now)
        except NotFound:
            return None  # the node has gone; the watch will say so
        except (Unreachable, ServerError, TooManyRequests) as error:
            self._failures += 1
            if self._is_heard:
                log.info("api server does not hear the nodes", extra={"node": name, "error": str(error)})
            self._is_heard = False
            return RequeueAfter(TROUBLE_SECONDS)
        self._is_heard = True
        return RequeueAfter(max(0.0, min(beat.lease_due, beat.status_due) - self._now()))

    async def _write_status(self, node: NodeRecord, beat: Beat, now: float) -> None:
        plan = self._plans.get(node.metadata.name)
        change = nodestatus.difference(
            node,
            plan,
            failure.failure(node),
            address="" if plan is not None or node.host_ip else self._ranges.of_node(self._number()),
            now=now,
            is_due=now >= beat.status_due,
        )
        if change is None:
            return
        await self._client.patch(
            NODES, node.metadata.name, change, subresource="status", form="strategic", type=NodeRecord
        )
        self._status_count += 1
        beat.status_due = nodelease.next_moment(node.metadata.name, now, STATUS_SECONDS)

    async def _renew(self, node: NodeRecord, beat: Beat, now: float) -> None:
        if now < beat.lease_due:
            return
        name, place = node.metadata.name, nodelease.NAMESPACE
        # Asking a server for the lease of a node that was just made would only bring the answer that there is none.
        is_new = beat.lease_due == 0.0 and nodelease.is_young(node, now)
        try:
            if is_new:
                await self._create_lease(node, now)
            else:
                await self._leases.patch(LEASES, name, nodelease.renewal(name, now), namespace=place, type=msgspec.Raw)
        except NotFound:
            await self._create_lease(node, now)
        except AlreadyExists:
            await self._leases.patch(LEASES, name, nodelease.renewal(name, now), namespace=place, type=msgspec.Raw)
        self._lease_count += 1
        interval = self._interval or nodelease.interval(len(self._nodes))
        beat.lease_due = nodelease.next_moment(name, now, interval)

    async def _create_lease(self, node: NodeRecord, now: float) -> None:
        lease = nodelease.new_lease(node, now)
        await self._leases.create(LEASES, lease, namespace=nodelease.NAMESPACE, type=msgspec.Raw)

    def _number(self) -> int:
        """For a node that has no address: one after all that are in use."""
        if self._next_number is None:
            used = (self._ranges.number(node.host_ip) for node in self._nodes if node.host_ip)
            planned = (plan.number for plan in self._plans.values())
            self._next_number = 1 + max((one for one in (*used, *planned) if one is not None), default=-1)
        self._next_number += 1
        return self._next_number - 1

    def _tell(self, node: NodeRecord, beat: Beat) -> None:
        _, problem = failure.read(node.metadata.annotations or {})
        if problem is not None and problem != beat.told:
            regarding = Regarding("v1", "Node", "", node.metadata.name, node.metadata.uid or "")
            self._recorder.record(regarding, "Warning", MISREAD, str(problem))
        beat.told = problem

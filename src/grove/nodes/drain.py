"""Drains nodes whose annotation says so: cordons them and evicts their pods, as far as disruption budgets allow.

A controller's reconcile, with the names of nodes as keys. When the annotation goes, what the drain cordoned takes pods
again; who cordoned a node otherwise uncordons it.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from typing import Any, Final

from grove.kube.cache import Cache
from grove.kube.cachedclient import CachedClient
from grove.kube.client import Client
from grove.kube.errors import Conflict, NotFound, TooManyRequests
from grove.kube.events import Recorder, Regarding
from grove.kube.resources import NODES, PODS
from grove.kube.store import Change
from grove.nodes import marks
from grove.nodes.kubelet import BY_NODE
from grove.nodes.objects import NodeRecord, PodRecord
from grove.runtime.backoff import Backoff
from grove.runtime.outcomes import Outcome, RequeueAfter

log = logging.getLogger(__name__)

MIRROR: Final = "kubernetes.io/config.mirror"
AGAIN: Final = Backoff(first=2.0, longest=30.0)
"""Between two tries to evict what a disruption budget protects."""


class Drainer:
    """See the top of the module."""

    def __init__(
        self,
        *,
        nodes: Cache[NodeRecord],
        pods: Cache[PodRecord],
        client: CachedClient,
        evictions: Client,
        recorder: Recorder,
        rng: random.Random,
    ) -> None:
        """`pods` has the index BY_NODE."""
        self._nodes = nodes
        self._pods = pods
        self._client = client
        self._evictions = evictions
        self._recorder = recorder
        self._rng = rng
        self._refusals: dict[str, int] = {}

    def keys_of_node(self, change: Change[NodeRecord]) -> Iterator[str]:
        for node in (change.old, change.new):
            if node is not None and (is_draining(node) or is_cordoned(node)):
                yield node.metadata.name

    def keys_of_pod(self, change: Change[PodRecord]) -> Iterator[str]:
        """A pod that comes onto a node that is being drained."""
        pod = change.new
        if change.old is None and pod is not None:
            node = self._nodes.get(pod.spec.node_name)
            if node is not None and is_draining(node):
                yield pod.spec.node_name

    async def reconcile(self, name: str) -> Outcome:
        node = self._nodes.get(name)
        if node is None or not is_draining(node):
            self._refusals.pop(name, None)
            if node is not None and is_cordoned(node):
                await self._cordon(node, False)
            return None
        if not (node.spec.unschedulable and is_cordoned(node)):
            await self._cordon(node, True)
        refused = [pod for pod in self._pods.find(BY_NODE, name) if is_evictable(pod) and not await self._evict(pod)]
        if not refused:
            self._refusals.pop(name, None)
            return None
        failures = self._refusals[name] = self._refusals.get(name, 0) + 1
        return RequeueAfter(AGAIN.delay(failures, self._rng))

    async def _cordon(self, node: NodeRecord, wanted: bool) -> None:
        # A node that somebody has cordoned before is not ours to uncordon.
        is_ours = is_cordoned(node) or not node.spec.unschedulable
        change: dict[str, Any] = {}
        if wanted:
            change["spec"] = {"unschedulable": True}
            change["metadata"] = {"annotations": {marks.CORDONED: "true" if is_ours else "false"}}
        else:
            if (node.metadata.annotations or {}).get(marks.CORDONED) == "true":
                change["spec"] = {"unschedulable": None}
            change["metadata"] = {"annotations": {marks.CORDONED: None}}
        try:
            await self._client.patch(NODES, node.metadata.name, change, type=NodeRecord)
        except NotFound:
            return
        log.info("node cordoned", extra={"node": node.metadata.name, "unschedulable": wanted})

    async def _evict(self, pod: PodRecord) -> bool:
        """Whether the pod goes, or has gone."""
        metadata = pod.metadata
        place = {"name": metadata.name, "namespace": metadata.namespace}
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": place,
            "deleteOptions": {"preconditions": {"uid": metadata.uid}},
        }
        try:
            await self._evictions.create(
                PODS, body, namespace=metadata.namespace or "", name=metadata.name, subresource="eviction"
            )
        except (NotFound, Conflict):
            return True
        except TooManyRequests as error:
            regarding = Regarding("v1", "Pod", metadata.namespace or "", metadata.name, metadata.uid or "")
            self._recorder.record(regarding, "Warning", "EvictionBlocked", error.message)
            return False
        return True


def is_draining(node: NodeRecord) -> bool:
    return (node.metadata.annotations or {}).get(marks.DRAIN) == "true"


def is_cordoned(node: NodeRecord) -> bool:
    """Whether a drain of ours has cordoned the node."""
    return marks.CORDONED in (node.metadata.annotations or {})


def is_evictable(pod: PodRecord) -> bool:
    """As kubectl drain has it: daemons come back at once, and mirrors of static pods cannot go."""
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None or MIRROR in (metadata.annotations or {}):
        return False
    return not any(one.kind == "DaemonSet" and one.controller for one in metadata.owner_references)

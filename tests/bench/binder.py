"""A stand-in for a scheduler that knows gangs: it binds the pods of a gang, all of them or none, and says so once.

It looks at no resources: pods go to the nodes in turns. What it writes is what any scheduler of gangs must write.
"""

from __future__ import annotations

import asyncio
import datetime
import itertools
from collections.abc import Sequence

from grove.api import codec, conditions
from grove.api.kinds.podgang import PodGang
from grove.kube.cache import Cache
from grove.kube.client import Client
from grove.kube.errors import Conflict
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.kube.store import Change
from grove.operator.resources import POD_GANGS
from tests.bench.clients.serving import in_flight


class Binder:
    """Binds while `run` runs."""

    def __init__(self, client: Client, gangs: Cache[PodGang], pods: Cache[PodView], nodes: Sequence[str]) -> None:
        self._client = client
        self._gangs = gangs
        self._pods = pods
        self._nodes = itertools.cycle(nodes)
        self._changed = asyncio.Event()
        self._bound: set[str] = set()
        self._told: set[str] = set()

    async def run(self) -> None:
        def wake(_: Change[PodGang] | Change[PodView]) -> None:
            self._changed.set()

        leave = [self._gangs.follow(wake), self._pods.follow(wake)]
        try:
            while True:
                self._changed.clear()
                for gang in list(self._gangs):
                    await self._place(gang)
                await self._changed.wait()
        finally:
            for one in leave:
                one()

    async def _place(self, gang: PodGang) -> None:
        if gang.metadata.deletion_timestamp is not None or not _is_whole(gang):
            return
        wanted = [
            self._pods.get(reference.name, reference.namespace)
            for group in gang.spec.podgroups
            for reference in group.pod_references
        ]
        unbound = [pod for pod in wanted if pod is not None and not pod.node_name and not self._is_bound(pod)]
        if unbound and None not in wanted:
            await in_flight(unbound, self._bind)
            await self._tell(gang)

    def _is_bound(self, pod: PodView) -> bool:
        return pod.metadata.uid in self._bound

    async def _bind(self, pod: PodView) -> None:
        name, namespace = pod.metadata.name, pod.metadata.namespace or ""
        self._bound.add(pod.metadata.uid or "")
        target = {"apiVersion": "v1", "kind": "Node", "name": next(self._nodes)}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self._client.create(PODS, body, namespace=namespace, name=name, subresource="binding")

    async def _tell(self, gang: PodGang) -> None:
        """What a scheduler says of a gang that it has placed: that it was whole, too."""
        uid = gang.metadata.uid or ""
        if uid in self._told:
            return
        self._told.add(uid)
        now = datetime.datetime.now(datetime.UTC)
        found = () if gang.status is None else gang.status.conditions
        for type, reason in (("Initialized", "PodGangPodsCreated"), ("Scheduled", "Placed")):
            found = conditions.put(found, type, "True", reason, "", now=now)
        change = {
            "metadata": {"resourceVersion": gang.metadata.resource_version},
            "status": {"phase": "Starting", "conditions": [codec.encode(one) for one in found]},
        }
        try:
            await self._client.patch(
                POD_GANGS, gang.metadata.name, change, namespace=gang.metadata.namespace or "", subresource="status"
            )
        except Conflict:
            self._told.discard(uid)


def _is_whole(gang: PodGang) -> bool:
    """Whether the operator says so, or says nothing: then it has written the gang with all its pods."""
    said = None if gang.status is None else conditions.find(gang.status.conditions, "Initialized")
    return said is None or said.status == "True"

"""Brings the nodes of a fleet into being: creates what is missing, takes over what is there, removes what is surplus.

await Register(…).run()      a runnable: does that once, says when all are ready, and then only waits
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from grove.kube.cache import Cache
from grove.kube.cachedclient import CachedClient
from grove.kube.errors import AlreadyExists, Conflict, NotFound
from grove.kube.resources import NODES
from grove.nodes import marks, nodestatus
from grove.nodes.objects import NodeRecord
from grove.nodes.shape import NodePlan
from grove.runtime.batches import write_in_batches

log = logging.getLogger(__name__)

TRIES: Final = 5
"""To change a node that others change too."""
AT_ONCE: Final = 8
"""Nodes with which the first batch begins: if the server refuses, it says so eight times."""


class ForeignNode(Exception):
    """A node of that name is there, and is not the fleet's."""

    def __init__(self, name: str, fleet: str) -> None:
        super().__init__(f"node {name} is there already, and not of the fleet {fleet}")
        self.what = str(self)
        self.remedy = (
            f"choose other names with --name, or give the node to the fleet: "
            f"kubectl label node {name} {marks.FLEET}={fleet} --overwrite"
        )


class Register:
    """See the top of the module."""

    def __init__(
        self,
        *,
        nodes: Cache[NodeRecord],
        client: CachedClient,
        fleet: str,
        plans: Mapping[str, NodePlan],
        prune: bool,
        now: Callable[[], float],
        on_ready: Callable[[], None],
    ) -> None:
        """`nodes` are those of the fleet. `prune` removes what the fleet created and is not planned any more."""
        self.name = "register"
        self._nodes = nodes
        self._client = client
        self._fleet = fleet
        self._plans = plans
        self._prune = prune
        self._now = now
        self._on_ready = on_ready

    async def run(self) -> None:
        await self._nodes.synced()
        if self._prune:
            await remove(self._client, [one for one in created(self._nodes) if one not in self._plans])
        missing = [plan for plan in self._plans.values() if self._nodes.get(plan.name) is None]
        outcome = await write_in_batches(missing, self._create, first=AT_ONCE)
        outcome.raise_first()
        if missing:
            log.info("nodes created", extra={"fleet": self._fleet, "nodes": len(missing)})
        there = [(node, plan) for plan in self._plans.values() if (node := self._nodes.get(plan.name)) is not None]
        changed = [(node, plan) for node, plan in there if nodestatus.declared(node, plan) is not None]
        (await write_in_batches(changed, self._declare, first=AT_ONCE)).raise_first()
        if changed:
            log.info("nodes changed", extra={"fleet": self._fleet, "nodes": len(changed)})
        await self._all_ready()
        self._on_ready()
        await asyncio.Event().wait()

    async def _create(self, plan: NodePlan) -> None:
        try:
            await self._client.create(NODES, nodestatus.new_node(plan, self._now()), type=NodeRecord)
        except AlreadyExists as error:
            if self._nodes.get(plan.name) is None:
                raise ForeignNode(plan.name, self._fleet) from error

    async def _declare(self, item: tuple[NodeRecord, NodePlan]) -> None:
        _, plan = item
        for attempt in range(TRIES):
            node = self._nodes.get(plan.name)
            change = None if node is None else nodestatus.declared(node, plan)
            if node is None or change is None:
                return
            try:
                await self._client.patch(NODES, plan.name, change, type=NodeRecord)
                return
            except NotFound:
                return
            except Conflict:
                if attempt == TRIES - 1:
                    raise
                # A write that changes nothing returns the newest version, and the cache takes it over.
                await self._client.patch(NODES, plan.name, {}, type=NodeRecord)

    async def _all_ready(self) -> None:
        """Returns when every planned node that is still there is ready."""
        unready = set(self._plans)
        changed = asyncio.Event()
        leave = self._nodes.follow(lambda _: changed.set())
        try:
            while unready:
                changed.clear()
                for name in list(unready):
                    node = self._nodes.get(name)
                    if node is None or nodestatus.is_ready(node):
                        unready.discard(name)
                if unready:
                    await changed.wait()
        finally:
            leave()


def created(nodes: Cache[NodeRecord]) -> list[str]:
    """The nodes that the fleet made itself, and may remove."""
    return [node.metadata.name for node in nodes if (node.metadata.annotations or {}).get(marks.CREATED) == "true"]


async def remove(client: CachedClient, names: list[str]) -> None:
    """Deletes nodes; their pods are the pod garbage collector's."""

    async def one(name: str) -> None:
        try:
            await client.delete(NODES, name)
        except NotFound:
            return

    (await write_in_batches(names, one, first=AT_ONCE)).raise_first()
    if names:
        log.info("nodes removed", extra={"nodes": len(names)})

"""Keeps the webhook configurations of the cluster as `registration.py` says; for certificates that we issue ourselves.

They are written only once the server listens: a configuration without a server behind it refuses everything. Every
replica does it, so that none waits for a leader; what is right is not written again. New authorities of ours go out at
once. What others have changed is put right after a while: another replica may know a newer Secret already, and two that
want different things, side by side during an upgrade, must not answer each other at full speed.

Their owner is the operator's ClusterRole, where it has one: whoever uninstalls it takes them away, too.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from grove.api import labels
from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.kube.cache import Cache, Pace
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, Forbidden, KubeError, NotFound
from grove.kube.resources import CLUSTER_ROLES
from grove.kube.source import ClientSource
from grove.operator.admission import registration
from grove.operator.admission.registration import MUTATING, VALIDATING, Service, Step, Url, Wanted
from grove.operator.admission.served import Served
from grove.operator.admission.waking import first_of
from grove.operator.permissions import CLUSTER_ROLE

log = logging.getLogger(__name__)

FIELD_MANAGER: Final = "grove-operator"
CALM: Final = 30.0
"""Seconds between what others do and our answer."""


class _Role(msgspec.Struct, frozen=True):
    """As much of a ClusterRole as an owner is named by."""

    metadata: ObjectMeta


class Registrar:
    """A runnable. `where` is asked once the server listens: only then is a port known that the kernel has chosen."""

    def __init__(
        self,
        client: Client,
        *,
        served: Served,
        listening: Callable[[], Awaitable[object]],
        where: Callable[[], Service | Url],
        with_authorizer: bool,
        clock: Clock,
        rng: random.Random,
        namespace_selector: JSON | None = None,
        calm: float = CALM,
    ) -> None:
        """`listening` returns when the server does. The selector narrows what is judged, for tests."""
        self.name = "webhook-registrar"
        self._client = client
        self._served = served
        self._listening = listening
        self._where = where
        self._with_authorizer = with_authorizer
        self._namespace_selector = namespace_selector
        self._clock = clock
        self._rng = rng
        self._pace = Pace()
        self._registered = False
        self._problem = ""
        self._calm = calm
        self._ours = asyncio.Event()
        self._theirs = asyncio.Event()
        selector = labels.selector({labels.MANAGED_BY: labels.MANAGED_BY_VALUE})
        self._caches: dict[str, Cache[dict[str, Any]]] = {
            resource.plural: Cache(
                ClientSource(client, resource, type=dict[str, Any], labels=selector),
                clock=clock,
                rng=rng,
                name=resource.name,
            )
            for resource in (MUTATING, VALIDATING)
        }

    def check(self) -> str:
        """For readiness: a replica that is not registered may serve a certificate that nobody trusts yet."""
        if self._registered:
            return ""
        return f"the webhooks are not registered yet{self._problem and f': {self._problem}'}"

    async def run(self) -> None:
        await self._listening()
        leaves = [cache.follow(lambda _: self._theirs.set()) for cache in self._caches.values()]
        leaves.append(self._served.follow(self._ours.set))
        try:
            async with asyncio.TaskGroup() as group:
                for cache in self._caches.values():
                    group.create_task(cache.run())
                for cache in self._caches.values():
                    await cache.synced()
                await self._keep()
        finally:
            for leave in leaves:
                leave()

    async def _keep(self) -> None:
        failures = 0
        while True:
            self._ours.clear()
            self._theirs.clear()
            try:
                wanted = self._wanted(await self._owners())
                for step in registration.steps(wanted, self._held(), starting=not self._registered):
                    await self._carry_out(step)
            except KubeError as error:
                failures += 1
                self._problem = str(error)
                log.error("webhooks not registered", extra={"error": str(error)})
                await self._clock.sleep(self._pace.delay(failures, self._rng))
                continue
            failures, self._registered, self._problem = 0, True, ""
            await first_of(self._ours.wait(), self._settled())

    async def _settled(self) -> None:
        await self._theirs.wait()
        await self._clock.sleep(self._calm)

    async def _owners(self) -> list[JSON]:
        """Asked each time: an owner that was made anew is another one, and what the old one owned is collected."""
        try:
            role = await self._client.get(CLUSTER_ROLES, CLUSTER_ROLE, type=_Role)
        except (NotFound, Forbidden):
            return []  # it has its rights from elsewhere
        kind = {"apiVersion": CLUSTER_ROLES.api_version, "kind": CLUSTER_ROLES.kind}
        return [{**kind, "name": role.metadata.name, "uid": role.metadata.uid}]

    def _wanted(self, owners: list[JSON]) -> list[Wanted]:
        return registration.configurations(
            self._where(),
            self._served.authorities,
            with_authorizer=self._with_authorizer,
            namespace_selector=self._namespace_selector,
            owners=owners,
        )

    def _held(self) -> dict[tuple[str, str], JSON]:
        return {(plural, one["metadata"]["name"]): one for plural, cache in self._caches.items() for one in cache}

    async def _carry_out(self, step: Step) -> None:
        cache = self._caches[step.resource.plural]
        if step.body is not None:
            written = await self._client.apply(
                step.resource, step.name, step.body, force=True, field_manager=FIELD_MANAGER
            )
            cache.wrote(written)
            log.info("webhook registered", extra={"configuration": step.name})
            return
        held = cache.get(step.name)
        try:
            await self._client.delete(step.resource, step.name, uid=step.uid)
        except (NotFound, Conflict):
            pass  # gone, or another by now: the watch will tell
        else:
            log.info("webhook removed", extra={"configuration": step.name})
        if held is not None:
            cache.deleted(held)

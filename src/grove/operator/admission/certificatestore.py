"""Certificates that the operator issues itself, kept in a Secret that all replicas share.

Whoever sees first that one is needed writes it, on the version that it has read; the others find it in their watch. A
replica serves nothing but what is in the Secret. After a renewal it first makes the new authority known, and goes over
to the new certificate when API servers have had time to learn of it; the old one is valid long enough.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Any, Final

from grove.kube.cache import Cache, Pace
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from grove.kube.resources import SECRETS
from grove.kube.source import ClientSource
from grove.operator.admission import certificates, certificatesecret
from grove.operator.admission.certificates import Bundle
from grove.operator.admission.served import Served
from grove.operator.admission.waking import first_of

log = logging.getLogger(__name__)

SETTLE: Final = 60.0
"""Seconds until every API server is taken to know a changed webhook configuration."""
SHORTEST: Final = 0.01
"""Seconds: who sleeps until a moment may wake a rounding error before it."""
LONGEST: Final = 3600.0
"""Between two looks at the time of day, which may be set."""


class SecretCertificates:
    """A runnable: see the top of the module."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        secret_name: str,
        names: Sequence[str],
        clock: Clock,
        rng: random.Random,
        settle: float = SETTLE,
    ) -> None:
        """`names` are what clients call the server: `certificates.names_of_service`, and addresses."""
        self.name = "webhook-certificates"
        self.served = Served()
        self._client = client
        self._namespace = namespace
        self._secret_name = secret_name
        self._names = tuple(names)
        self._clock = clock
        self._rng = rng
        self._settle = settle
        self._pace = Pace()
        self._failures = 0
        self._next: tuple[Bundle, float] | None = None  # what will be served, and from when
        self._changed = asyncio.Event()
        source: ClientSource[dict[str, Any]] = ClientSource(
            client, SECRETS, type=dict[str, Any], namespace=namespace, fields=f"metadata.name={secret_name}"
        )
        self._cache: Cache[dict[str, Any]] = Cache(source, clock=clock, rng=rng, name=self.name)

    async def run(self) -> None:
        leave = self._cache.follow(lambda _: self._changed.set())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._cache.run())
                await self._cache.synced()
                while True:
                    self._changed.clear()
                    await self._wait(await self._look())
        finally:
            leave()

    async def _look(self) -> float | None:
        """Brings the Secret and what is served up to date; seconds until that must be done again, if ever."""
        held = self._cache.get(self._secret_name, self._namespace)
        if held is not None and (problem := certificatesecret.foreign(held)):
            self._report(problem)
            return None
        bundle = Bundle() if held is None else certificatesecret.bundle_of(held)
        now = self._clock.wall()
        if reason := certificates.needs_rotation(bundle, self._names, now):
            return await self._renew(held, bundle, reason)
        self._serve(bundle)
        due = (certificates.renewal(bundle.certificate) - now).total_seconds()
        if self._next is not None:
            due = min(due, self._next[1] - self._clock.monotonic())
        return min(max(due, SHORTEST), LONGEST)

    def _serve(self, bundle: Bundle) -> None:
        served, now = self.served, self._clock.monotonic()
        if served.pair == bundle:
            self._next = None
        elif served.pair is None or not certificates.is_valid(served.pair.certificate, self._clock.wall()):
            self._next = None
            served.take(bundle, bundle.authorities)
        elif self._next is None or self._next[0] != bundle:
            self._next = (bundle, now + self._settle)
            served.take(authorities=bundle.authorities)
        elif now >= self._next[1]:
            self._next = None
            served.take(bundle, bundle.authorities)

    async def _renew(self, held: dict[str, Any] | None, bundle: Bundle, reason: str) -> float | None:
        new = certificatesecret.renewed(bundle, self._names, self._clock.wall())
        name, namespace = self._secret_name, self._namespace
        try:
            if held is None:
                written = await self._client.create(SECRETS, certificatesecret.secret(name, new), namespace=namespace)
            else:
                change = certificatesecret.change(held, new)
                written = await self._client.patch(SECRETS, name, change, namespace=namespace)
        except (AlreadyExists, Conflict, NotFound):
            # Somebody else was first, and our watch is about to tell.
            return self._pace.longest
        except KubeError as error:
            self._failures += 1
            self._report(f"secret {namespace}/{name} cannot be written: {error}")
            return self._pace.delay(self._failures, self._rng)
        self._failures = 0
        log.info("webhook certificate issued", extra={"secret_name": name, "reason": reason})
        self._cache.wrote(written)
        return 0.0

    def _report(self, problem: str) -> None:
        if problem != self.served.problem:
            log.error("webhook certificate not available", extra={"problem": problem})
        self.served.problem = problem

    async def _wait(self, seconds: float | None) -> None:
        """Until the Secret changes or time is up."""
        if seconds is None:
            await self._changed.wait()
        else:
            await first_of(self._changed.wait(), self._clock.sleep(seconds))

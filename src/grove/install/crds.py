"""Puts Grove's CustomResourceDefinitions into a cluster, or brings those that are there up to date.

By server-side apply: a second time changes nothing, and labels of others stay. The list of versions is taken over as a
whole, so nothing of an older schema is left, whoever installed it. Called by `grove crds apply`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from grove.api import crds
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.decoding import Bookmark
from grove.kube.errors import Forbidden, NotFound, TooManyRequests
from grove.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, of_kind

FIELD_MANAGER: Final = "grove-crd-installer"
TIMEOUT: Final = 60.0
PAUSE: Final = 0.2
"""Seconds between two looks whether a kind is served, of which nobody tells."""

_FIRST: Final = (
    catalog.POD_CLIQUE,
    catalog.POD_CLIQUE_SET,
    catalog.SCALING_GROUP,
    catalog.TOPOLOGY_BINDING,
    catalog.POD_GANG,
)
ORDER: Final = (*_FIRST, *(kind for kind in catalog.SERVED if kind not in _FIRST))

Outcome = Literal["created", "configured", "unchanged"]


class Applied(msgspec.Struct, frozen=True):
    """What became of a definition."""

    kind: Kind
    outcome: Outcome
    version: str
    """Its resourceVersion."""

    @property
    def name(self) -> str:
        return self.kind.crd_name


class NotEstablished(Exception):
    """A kind is not served although its definition was stored."""

    def __init__(self, name: str, why: str, remedy: str) -> None:
        super().__init__(f"{name} is not served: {why}")
        self.remedy = remedy


async def apply(client: Client, kinds: Sequence[Kind] = ORDER) -> AsyncIterator[Applied]:
    """Applies the definitions one after the other. Raises KubeError."""
    for kind in kinds:
        before = await _version(client, kind.crd_name)
        stored = await client.apply(
            CUSTOM_RESOURCE_DEFINITIONS, kind.crd_name, crds.crd(kind), force=True, field_manager=FIELD_MANAGER
        )
        version = stored["metadata"]["resourceVersion"]
        outcome: Outcome = "created" if not before else "unchanged" if version == before else "configured"
        yield Applied(kind, outcome, version)


async def wait(client: Client, applied: Sequence[Applied], *, clock: Clock, timeout: float = TIMEOUT) -> None:
    """Returns when all are served. Raises NotEstablished after so many seconds for one, and KubeError."""
    for one in applied:
        try:
            async with asyncio.timeout(timeout):
                await _established(client, one.name)
                await _served(client, one.kind, clock)
        except TimeoutError as error:
            raise NotEstablished(
                one.name, f"not within {timeout:g} s", "see its conditions and the API server's log, and run it again"
            ) from error


async def _established(client: Client, name: str) -> None:
    async with contextlib.aclosing(_versions(client, name)) as versions:
        async for definition in versions:
            if problem := refusal(definition):
                raise NotEstablished(name, problem, "remove the definition that has this name already")
            if is_established(definition):
                return


async def _served(client: Client, kind: Kind, clock: Clock) -> None:
    """The first answers after a definition is established are 404 and 429; the client itself repeats the latter."""
    while True:
        try:
            await client.list(of_kind(kind), limit=1)
        except (NotFound, TooManyRequests):
            await clock.sleep(PAUSE)
        except Forbidden:
            return  # who installs definitions need not be allowed to read the objects
        else:
            return


def is_established(definition: Mapping[str, Any]) -> bool:
    return _conditions(definition).get("Established", {}).get("status") == "True"


def refusal(definition: Mapping[str, Any]) -> str:
    """Why the API server will never serve the kind; empty if it may."""
    names = _conditions(definition).get("NamesAccepted", {})
    return str(names.get("message", "")) if names.get("status") == "False" else ""


async def _version(client: Client, name: str) -> str:
    try:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except NotFound:
        return ""
    return str(found["metadata"]["resourceVersion"])


async def _versions(client: Client, name: str) -> AsyncGenerator[JSON, None]:
    """The definition as it is, and after each change; goes on where a watch ends."""
    while True:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
        yield found
        watch = client.watch(
            CUSTOM_RESOURCE_DEFINITIONS,
            fields=f"metadata.name={name}",
            resource_version=found["metadata"]["resourceVersion"],
        )
        async with watch as events:
            async for event in events:
                if not isinstance(event, Bookmark):
                    yield event.object


def _conditions(definition: Mapping[str, Any]) -> dict[str, JSON]:
    return {one["type"]: one for one in (definition.get("status") or {}).get("conditions") or ()}

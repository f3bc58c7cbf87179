"""The caches of a process, and a client whose writes they see at once.

    caches = Caches(client, clock=clock, rng=rng)
    pods = caches.add(PODS, type=PodView, labels="app.kubernetes.io/managed-by=grove-operator", indexes={…})
    writes = CachedClient(client, caches)
    created = await writes.create(PODS, body, namespace="default", type=PodView)
    assert pods.get(created.metadata.name, "default") is not None

Whoever both reads caches and writes must write this way, or tell the cache: that is all there is to reading one's own
writes. A write that ends in doubt (Unreachable after it was sent) tells nothing; the watch will.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.cache import Cache, Clock, Statistics
from grove.kube.client import Client
from grove.kube.decoding import Body
from grove.kube.errors import NotFound
from grove.kube.indexes import KeysOf
from grove.kube.options import PatchForm, Propagation
from grove.kube.resources import Resource
from grove.kube.sharing import Sharing
from grove.kube.source import ClientSource
from grove.kube.store import is_final, metadata_of

T = TypeVar("T")

WHOLE: Final = frozenset({"", "status", "resize", "ephemeralcontainers"})
"""The subresources whose writes return the object itself."""


class _Outline(msgspec.Struct, frozen=True):
    """As much of an object as tells whether it is gone."""

    metadata: ObjectMeta


class Caches:
    """One cache a resource, made where the process is put together and shared by everyone who reads it."""

    def __init__(self, client: Client, *, clock: Clock, rng: random.Random, sharing: Sharing | None = None) -> None:
        self.name = "caches"
        self._client = client
        self._clock = clock
        self._rng = rng
        self._sharing = Sharing() if sharing is None else sharing
        self._caches: dict[str, tuple[Cache[Any], Any]] = {}

    def add(
        self,
        resource: Resource,
        *,
        type: type[T],
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        read: Mapping[str, Callable[[T], str]] | None = None,
        indexes: Mapping[str, KeysOf[T]] | None = None,
        streaming: bool = True,
    ) -> Cache[T]:
        """A cache of the objects that the selectors choose. `read` is for field selectors, see `selectors.fields`."""
        if resource.name in self._caches:
            raise ValueError(f"{resource.name}: there is a cache already; make it once and hand it to all who read it")
        source: ClientSource[T] = ClientSource(
            self._client,
            resource,
            type=self._sharing.reads(type),
            namespace=namespace,
            labels=labels,
            fields=fields,
        )
        cache: Cache[T] = Cache(
            source,
            clock=self._clock,
            rng=self._rng,
            name=resource.name,
            indexes=indexes,
            matches=source.matches(read),
            sharing=self._sharing,
            streaming=streaming,
        )
        self._caches[resource.name] = (cache, type)
        return cache

    def of(self, resource: Resource) -> tuple[Cache[Any], Any] | None:
        """The cache of a resource and the type of its objects."""
        return self._caches.get(resource.name)

    async def run(self) -> None:
        """Runs all caches until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for cache, _ in self._caches.values():
                group.create_task(cache.run())

    async def synced(self) -> None:
        """Returns when every cache has its first list."""
        for cache, _ in self._caches.values():
            await cache.synced()

    def statistics(self) -> dict[str, Statistics]:
        return {name: cache.statistics() for name, (cache, _) in self._caches.items()}


class CachedClient:
    """Writes; what the server returns is in the cache of the resource before the caller has it.

    Options other than those named here are those of `Client`. A dry run changes nothing. Nothing is told of a
    collection that is deleted, nor of bindings, evictions and scales, whose answers are no objects.
    """

    def __init__(self, client: Client, caches: Caches) -> None:
        self._client = client
        self._caches = caches

    async def create(self, resource: Resource, body: Body, *, namespace: str = "", type: type[T], **options: Any) -> T:
        async def send(kind: Any) -> Any:
            return await self._client.create(resource, body, namespace=namespace, type=kind, **options)

        return await self._write(resource, send, type, options)

    async def update(
        self, resource: Resource, name: str, body: Body, *, namespace: str = "", type: type[T], **options: Any
    ) -> T:
        async def send(kind: Any) -> Any:
            return await self._client.update(resource, name, body, namespace=namespace, type=kind, **options)

        return await self._write_known(resource, name, namespace, send, type, options)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Body,
        *,
        namespace: str = "",
        form: PatchForm = "merge",
        type: type[T],
        **options: Any,
    ) -> T:
        async def send(kind: Any) -> Any:
            return await self._client.patch(
                resource, name, change, namespace=namespace, form=form, type=kind, **options
            )

        return await self._write_known(resource, name, namespace, send, type, options)

    async def apply(
        self, resource: Resource, name: str, body: Body, *, namespace: str = "", type: type[T], **options: Any
    ) -> T:
        async def send(kind: Any) -> Any:
            return await self._client.apply(resource, name, body, namespace=namespace, type=kind, **options)

        return await self._write(resource, send, type, options)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        propagation: Propagation = "",
        uid: str = "",
        dry_run: bool = False,
        **options: Any,
    ) -> bool:
        """Whether it is gone: with finalizers or a grace period it is only asked to go. NotFound is raised.

        A server that returns nothing says not what it has deleted: the cache knows only if it held the object.
        """
        found = self._caches.of(resource)
        kind: Any = _Outline if found is None else found[1]
        held = self._held(resource, name, namespace)
        try:
            last = await self._client.delete(
                resource,
                name,
                namespace=namespace,
                propagation=propagation,
                uid=uid,
                dry_run=dry_run,
                type=kind,
                **options,
            )
        except NotFound:
            self._forget(resource, held)
            raise
        metadata = None if last is None else metadata_of(last)
        is_gone = (
            metadata is None or is_final(metadata) or (metadata.deletion_timestamp is None and not metadata.finalizers)
        )
        if found is not None and not dry_run:
            if last is None:
                self._forget(resource, held)
            else:
                (found[0].deleted if is_gone else found[0].wrote)(last)
        return is_gone

    async def _write_known(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        send: Callable[[Any], Awaitable[Any]],
        type: type[T],
        options: Mapping[str, Any],
    ) -> T:
        held = self._held(resource, name, namespace)
        try:
            return await self._write(resource, send, type, options)
        except NotFound:
            # What we held before we asked is dead, whatever came since. A subresource may be missing alone.
            if not options.get("subresource"):
                self._forget(resource, held)
            raise

    async def _write(
        self, resource: Resource, send: Callable[[Any], Awaitable[Any]], type: type[T], options: Mapping[str, Any]
    ) -> T:
        found = self._caches.of(resource)
        if found is None or options.get("dry_run") or options.get("subresource", "") not in WHOLE:
            written: T = await send(type)
            return written
        cache, cached_type = found
        if cached_type is type:
            written = await send(type)
            cache.wrote(written)
            return written
        raw = await send(msgspec.Raw)
        cache.wrote(msgspec.json.decode(raw, type=cached_type))
        return msgspec.json.decode(raw, type=type)

    def _held(self, resource: Resource, name: str, namespace: str) -> Any:
        found = self._caches.of(resource)
        return None if found is None else found[0].get(name, namespace)

    def _forget(self, resource: Resource, held: Any) -> None:
        found = self._caches.of(resource)
        if found is not None and held is not None:
            found[0].deleted(held)

"""The verbs of an API server, typed.

    async with Client(connect()) as client:
        pod = await client.get(PODS, "router-0", namespace="default", type=Pod)

Every verb takes `type`, a msgspec struct of what is to be read, and without it gives a plain dict. What is sent is a
dict, a struct, or JSON as bytes. Errors are those of `errors.py`. Reads are repeated after failures; a write only if
the server certainly did nothing (`retry.py`). Whoever is cancelled while writing does not know whether it was written.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from grove.kube import options, paging
from grove.kube.connection import Connection
from grove.kube.decoding import JSON, Body, Decoders, Page, T, encode, is_status
from grove.kube.discovery import Discovery, discover
from grove.kube.options import (
    APPLY_TYPE,
    PATCH_TYPES,
    FieldValidation,
    PatchForm,
    Propagation,
    Query,
    Selector,
    VersionMatch,
)
from grove.kube.ratelimit import RateLimit, TokenBucket
from grove.kube.resources import Resource
from grove.kube.retry import RetryPolicy
from grove.kube.statistics import ClientStatistics
from grove.kube.transport import JSON as JSON_TYPE
from grove.kube.transport import Answer, Method, Request, Timeouts, Transport
from grove.kube.watch import Watch

log = logging.getLogger(__name__)


def log_warning(text: str) -> None:
    log.warning("api server warns", extra={"warning": text})


class Client:
    """One connection to one API server, for one event loop. To be used with `async with`."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "grove",
        field_manager: str = "",
        max_in_flight: int = 32,
        rate_limit: RateLimit | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
        max_connection_age: float = 300.0,
        retries: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
        on_warning: Callable[[str], None] = log_warning,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        """`field_manager` is who owns what is written, unless a call names another. Times are in seconds.

        `max_in_flight` bounds the requests on their way, and so the connections; watches come on top of it.
        """
        self.connection = connection
        self._field_manager = field_manager
        self._rng = rng or random.Random()  # noqa: S311 - jitter, no secret
        self._decoders = Decoders()
        self._watches: set[Watch[Any]] = set()
        self._transport = Transport(
            connection,
            user_agent=user_agent,
            max_in_flight=max_in_flight,
            bucket=None if rate_limit is None else TokenBucket(rate_limit, now=now, sleep=sleep),
            timeouts=timeouts,
            max_connection_age=max_connection_age,
            policy=retries,
            on_warning=on_warning,
            sleep=sleep,
            now=now,
            rng=self._rng,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all watches and connections. May be called twice; nothing can be asked afterwards."""
        for watch in tuple(self._watches):
            watch.close()
        await self._transport.close()

    def statistics(self) -> ClientStatistics:
        return self._transport.counters.snapshot()

    # Reading

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        resource_version: str = "",
        type: type[T] = JSON,
    ) -> T:
        """An object, or a subresource of it. `resource_version="0"` takes any version that the server has at hand."""
        query = options.present(resourceVersion=resource_version)
        return await self._object("get", "GET", resource.path(namespace, name, subresource), query, None, type)

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        labels: Selector = "",
        fields: Selector = "",
        limit: int = 0,
        next: str = "",
        resource_version: str = "",
        resource_version_match: VersionMatch = "",
        type: type[T] = JSON,
    ) -> Page[T]:
        """One page of a collection, in all namespaces unless one is named; all of it without a limit.

        `next` of a page asks for the one after it. Raises Gone when that has taken too long.
        """
        query = options.select(labels, fields)
        query += options.present(limit=limit or None)
        query += options.present(resourceVersion=resource_version, resourceVersionMatch=resource_version_match)
        query += [("continue", next)] if next else []
        path = resource.path(namespace)
        answer = await self._send("list", "GET", path, query)
        return self._decoders.page(answer.body, type, f"GET {path}")

    def pages(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        labels: Selector = "",
        fields: Selector = "",
        limit: int = 500,
        resource_version: str = "",
        resource_version_match: VersionMatch = "",
        type: type[T] = JSON,
    ) -> AsyncIterator[Page[T]]:
        """The pages of a collection, one request each, all of one version. Raises Gone when that has become too old."""

        async def page(next: str) -> Page[T]:
            return await self.list(
                resource,
                namespace=namespace,
                labels=labels,
                fields=fields,
                limit=limit,
                next=next,
                # The token holds the version of the following pages; the server refuses to be told twice.
                resource_version="" if next else resource_version,
                resource_version_match="" if next else resource_version_match,
                type=type,
            )

        return paging.pages(page)

    async def list_all(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        labels: Selector = "",
        fields: Selector = "",
        limit: int = 500,
        resource_version: str = "",
        resource_version_match: VersionMatch = "",
        type: type[T] = JSON,
    ) -> Page[T]:
        """A whole collection at one version, read page by page.

        When that version becomes too old on the way, it begins anew, once; objects of two versions are never mixed.
        """
        return await paging.whole(
            lambda: self.pages(
                resource,
                namespace=namespace,
                labels=labels,
                fields=fields,
                limit=limit,
                resource_version=resource_version,
                resource_version_match=resource_version_match,
                type=type,
            )
        )

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        labels: Selector = "",
        fields: Selector = "",
        resource_version: str = "",
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout: float | None = None,
        stall: float | None = 150.0,
        type: type[T] = JSON,
    ) -> Watch[T]:
        """The changes of a collection after `resource_version`: an async iterator of Event and Bookmark, see Watch.

        With `initial_events` the server first sends every object as ADDED, and then a Bookmark that says so. `timeout`
        is when the server ends the watch, by default after 5 to 10 minutes. `stall` bounds the silence: the server
        sends a bookmark about each minute; without bookmarks it may be silent for long, and there is no bound.
        """
        seconds = self._rng.uniform(300.0, 600.0) if timeout is None else timeout
        query = options.select(labels, fields)
        query += options.present(
            watch=True,
            allowWatchBookmarks=bookmarks or initial_events,
            resourceVersion=resource_version,
            timeoutSeconds=max(1, round(seconds)),
            sendInitialEvents=initial_events,
            resourceVersionMatch="NotOlderThan" if initial_events else "",
        )
        request = Request(verb="watch", method="GET", path=resource.path(namespace), query=query)
        return Watch(
            self._transport,
            request,
            type=type,
            decoders=self._decoders,
            stall=stall if bookmarks or initial_events else None,
            on_begin=self._watches.add,
            on_end=self._watches.discard,
        )

    # Writing

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Creates an object; or, with its name, a subresource of one (`binding`, `eviction`, `token`)."""
        path = resource.path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager)
        content = encode(body if subresource else with_kind(resource, body))
        return await self._object("create", "POST", path, query, content, type)

    async def update(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Replaces an object or a subresource (`status`, `scale`); with a resourceVersion in it, only that version."""
        path = resource.path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager)
        content = encode(body if subresource else with_kind(resource, body))
        return await self._object("update", "PUT", path, query, content, type)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        form: PatchForm = "merge",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Changes an object or a subresource: a merge patch, the operations of a JSON patch, or a strategic one."""
        path = resource.path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager)
        return await self._object("patch", "PATCH", path, query, encode(change), type, PATCH_TYPES[form])

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Server-side apply: the object as far as `field_manager` cares, created if it is not there.

        A field that another manager owns is a Conflict whose causes name it; with `force` we take it over.
        """
        if not (field_manager or self._field_manager):
            raise ValueError("apply: name the field_manager, here or for the whole client: it owns what is applied")
        path = resource.path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager) + options.present(force=force)
        content = encode(with_kind(resource, body))
        return await self._object("patch", "PATCH", path, query, content, type, APPLY_TYPE)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        type: type[T] = JSON,
    ) -> T | None:
        """Deletes an object if it still has this uid and version, else Conflict.

        Gives the object as the server last knew it, or None where the server says only that it is done. An object with
        finalizers or a grace period is still there afterwards.
        """
        path = resource.path(namespace, name)
        content = encode(options.delete_options(propagation, grace_period, uid, resource_version))
        answer = await self._send("delete", "DELETE", path, options.write(dry_run=dry_run), content)
        return None if is_status(answer.body) else self._decoders.object(answer.body, type, f"DELETE {path}")

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        labels: Selector = "",
        fields: Selector = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        dry_run: bool = False,
        type: type[T] = JSON,
    ) -> Page[T]:
        """Deletes all objects that the selectors choose, and gives them. Not one transaction: a failure leaves some."""
        if resource.namespaced and not namespace:
            raise ValueError(f"deleting {resource.name}: name the namespace; not even the API server deletes in all")
        path = resource.path(namespace)
        content = encode(options.delete_options(propagation, grace_period, "", ""))
        query = options.select(labels, fields) + options.write(dry_run=dry_run)
        answer = await self._send("deletecollection", "DELETE", path, query, content)
        return Page([], "") if is_status(answer.body) else self._decoders.page(answer.body, type, f"DELETE {path}")

    # Everything else

    async def discover(self) -> Discovery:
        """What the server serves: every resource with its verbs."""
        return await discover(self.request)

    async def request(
        self,
        method: Method,
        path: str,
        body: Body | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON_TYPE,
        accept: str = JSON_TYPE,
    ) -> Answer:
        """Any request, its answer as bytes; bounded, authenticated and repeated as the others."""
        content = None if body is None else encode(body)
        return await self._send("raw", method, path, [*(query or {}).items()], content, content_type, accept)

    async def _object(
        self,
        verb: str,
        method: Method,
        path: str,
        query: Query,
        content: bytes | None,
        type: type[T],
        content_type: str = JSON_TYPE,
    ) -> T:
        answer = await self._send(verb, method, path, query, content, content_type)
        return self._decoders.object(answer.body, type, f"{method} {path}")

    async def _send(
        self,
        verb: str,
        method: Method,
        path: str,
        query: Query,
        content: bytes | None = None,
        content_type: str = JSON_TYPE,
        accept: str = JSON_TYPE,
    ) -> Answer:
        request = Request(
            verb=verb, method=method, path=path, query=query, body=content, content_type=content_type, accept=accept
        )
        return await self._transport.send(request)

    def _write_query(self, dry_run: bool, field_validation: str, field_manager: str) -> Query:
        return options.write(
            dry_run=dry_run,
            field_validation=field_validation,
            field_manager=field_manager or self._field_manager,
        )


def with_kind(resource: Resource, body: Body) -> Body:
    """A dict with the apiVersion and kind that the server wants to see in it, unless they are there."""
    if not isinstance(body, Mapping) or ("apiVersion" in body and "kind" in body):
        return body
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}

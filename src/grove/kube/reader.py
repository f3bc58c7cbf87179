"""The verbs of an API server that change nothing; who only reads may ask for no more than this. See client.py."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from grove.kube import options, paging
from grove.kube.connection import Connection
from grove.kube.decoding import JSON, Decoders, Page, T
from grove.kube.discovery import Discovery, discover
from grove.kube.fence import Fence, Unfenced
from grove.kube.options import Query, Selector, VersionMatch
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


class Reader:
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
        self._fence: Fence = Unfenced()
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
        return await self._object("get", "GET", resource.object_path(namespace, name, subresource), query, None, type)

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

    async def discover(self) -> Discovery:
        """What the server serves: every resource with its verbs."""

        async def ask(method: Method, path: str, *, accept: str = JSON_TYPE) -> Answer:
            return await self._send("discover", method, path, [], accept=accept)

        return await discover(ask)

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
        return await self._transport.send(request, self._fence)

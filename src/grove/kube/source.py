"""Where a cache's objects come from: the part of a client that lists and watches one resource, as a small interface.

Tests put scripts in its place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Generic, Protocol, TypeVar

from grove.api.kinds.meta import ObjectMeta
from grove.kube import selectors
from grove.kube.client import Client
from grove.kube.decoding import Bookmark, Event, Page
from grove.kube.resources import Resource

T = TypeVar("T")


class Source(Protocol[T]):
    """Lists and watches. Errors are those of `errors.py`; both are closed when whoever reads them leaves."""

    def pages(self) -> AsyncGenerator[Page[T], None]:
        """All objects, page by page, at one version."""

    def watch(self, revision: str, *, initial_events: bool) -> AsyncGenerator[Event[T] | Bookmark, None]:
        """What happened after the revision; or, asked for initial events, everything and then what happens."""


class ClientSource(Generic[T]):
    """The objects of a resource that an API server has, in one namespace or all, chosen by selectors."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        type: type[T],
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        page_size: int = 500,
    ) -> None:
        self._client = client
        self._resource = resource
        self._type = type
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._page_size = page_size

    async def pages(self) -> AsyncGenerator[Page[T], None]:
        # Without a resourceVersion: the newest there is. Any version would be cheaper, and could be an old one.
        async for page in self._client.pages(
            self._resource,
            namespace=self._namespace,
            labels=self._labels,
            fields=self._fields,
            limit=self._page_size,
            type=self._type,
        ):
            yield page

    async def watch(self, revision: str, *, initial_events: bool) -> AsyncGenerator[Event[T] | Bookmark, None]:
        async with self._client.watch(
            self._resource,
            namespace=self._namespace,
            labels=self._labels,
            fields=self._fields,
            resource_version=revision,
            initial_events=initial_events,
            type=self._type,
        ) as events:
            async for event in events:
                yield event

    def matches(self, read: Mapping[str, Callable[[T], str]] | None = None) -> Callable[[ObjectMeta, T], bool] | None:
        """Whether an object is one of those: for what our own writes return, which no server has chosen.

        `read` gives the values of the fields in the field selector, other than those of the metadata.
        """
        if not (self._namespace or self._labels or self._fields):
            return None
        by_labels = selectors.labels(self._labels)
        by_fields = selectors.fields(self._fields, read or {})
        namespace = self._namespace

        def judge(metadata: ObjectMeta, obj: T) -> bool:
            return (
                (not namespace or metadata.namespace == namespace)
                and by_labels(metadata.labels or {})
                and by_fields(metadata, obj)
            )

        return judge

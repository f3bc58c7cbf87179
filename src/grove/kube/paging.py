"""Lists in pages, put together again without mixing versions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from grove.kube.decoding import Page
from grove.kube.errors import Gone

T = TypeVar("T")


async def pages(fetch: Callable[[str], Awaitable[Page[T]]]) -> AsyncIterator[Page[T]]:
    """Page after page; `fetch` takes what the last page said comes next, and nothing at first."""
    page = await fetch("")
    yield page
    while page.next:
        page = await fetch(page.next)
        yield page


async def whole(begin: Callable[[], AsyncIterator[Page[T]]]) -> Page[T]:
    """All pages as one. When the version has become too old on the way, all is read anew, once."""
    try:
        return await _together(begin())
    except Gone:
        return await _together(begin())


async def _together(several: AsyncIterator[Page[T]]) -> Page[T]:
    items: list[T] = []
    version = ""
    async for page in several:
        items += page.items
        version = page.resource_version
    return Page(items, version)

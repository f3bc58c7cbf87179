"""Lists in pages: never two versions in one."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.kube.decoding import Page
from grove.kube.errors import Gone
from grove.kube.paging import pages, whole


class Server:
    """A list whose version changes, and that forgets versions when told to."""

    def __init__(self, count: int, limit: int, expire: list[int]) -> None:
        self._count = count
        self._limit = limit
        self._expire = set(expire)
        self.version = 1
        self.requests = 0

    async def page(self, next: str) -> Page[str]:
        self.requests += 1
        if self.requests in self._expire:
            self.version += 1
            if next:
                raise Gone("too old", code=410)
        start = int(next or 0)
        stop = min(start + self._limit, self._count)
        items = [f"{self.version}:{number}" for number in range(start, stop)]
        return Page(items, str(self.version), str(stop) if stop < self._count else "")

    def pages(self) -> AsyncIterator[Page[str]]:
        return pages(self.page)


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(1, 10), st.lists(st.integers(1, 40), max_size=3))
def test_a_list_is_whole_and_of_one_version_or_gone(count: int, limit: int, expire: list[int]) -> None:
    server = Server(count, limit, expire)
    try:
        found = asyncio.run(whole(server.pages))
    except Gone:
        assert len(expire) >= 2  # once it begins anew
        return
    assert found.items == [f"{found.resource_version}:{number}" for number in range(count)]
    assert not found.next


def test_twice_too_slow_is_gone() -> None:
    server = Server(10, 3, [2, 4])
    with pytest.raises(Gone):
        asyncio.run(whole(server.pages))
    assert server.requests == 4

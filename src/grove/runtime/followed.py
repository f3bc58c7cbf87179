"""A cache as a source of a controller's keys."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from grove.kube.cache import Cache
from grove.kube.store import Change

T = TypeVar("T")
Key = TypeVar("Key")


class Followed(Generic[T, Key]):
    """Adds the keys that a change of an object concerns, of itself, its owner, all that refer to it; see Source.

    `keys` is quick and does not wait. A change for which it fails is logged by the cache and passed over.
    """

    def __init__(self, cache: Cache[T], keys: Callable[[Change[T]], Iterable[Key]]) -> None:
        self._cache = cache
        self._keys = keys

    def __repr__(self) -> str:
        return f"Followed({self._cache.name!r})"

    async def run(self, add: Callable[[Key], None]) -> None:
        def tell(change: Change[T]) -> None:
            for key in self._keys(change):
                add(key)

        leave = self._cache.follow(tell)
        try:
            await asyncio.Event().wait()
        finally:
            leave()

    async def synced(self) -> None:
        await self._cache.synced()

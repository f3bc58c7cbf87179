"""Where a controller's keys come from: watches of its own objects and of those that belong to them."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)

Event = TypeVar("Event")
Key = TypeVar("Key")
KeyOut = TypeVar("KeyOut", covariant=True)


class Source(Protocol[KeyOut]):
    """Tells a controller which keys need work. It tells too many rather than too few: adding is cheap."""

    async def run(self, add: Callable[[KeyOut], None]) -> None:
        """Adds keys until it is cancelled. If it raises or returns, the controller ends, and with it the process."""
        ...

    async def synced(self) -> object:
        """Returns when what exists has been seen: no reconcile runs before, for it would act on half a world."""
        ...


class Watched(Generic[Event, Key]):
    """A source that turns events of objects into keys.

    `keys` maps an event to the keys that it concerns: of the object itself, of its owner, of all that refer to it. It
    is a pure function; an event for which it fails is logged and passed over, so that one odd object stops nobody.
    """

    def __init__(
        self,
        name: str,
        events: Callable[[], AsyncIterator[Event]],
        keys: Callable[[Event], Iterable[Key]],
        *,
        synced: Callable[[], Awaitable[object]],
    ) -> None:
        self.name = name
        self.events = 0
        self.failures = 0
        self._events = events
        self._keys = keys
        self._synced = synced

    async def run(self, add: Callable[[Key], None]) -> None:
        async for event in self._events():
            self.events += 1
            try:
                for key in self._keys(event):
                    add(key)
            except Exception:  # a mapping that fails for one event must not end the source for all others
                self.failures += 1
                log.exception("event passed over", extra={"source": self.name})

    async def synced(self) -> object:
        return await self._synced()

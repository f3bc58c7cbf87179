"""The connections of a client: kept alive between requests, but not for ever; and those of its watches.

Behind a load balancer, connections that live for ever stay with the API servers that were there first. aiohttp knows
no age, so all connections of an age are one session: a new one takes over, the old one ends with its last request.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator

import aiohttp

from grove.kube.connector import Connector


class Pool:
    """Sessions by age. `max_age` in seconds; each session lives between 80 % and 100 % of it."""

    def __init__(self, *, max_age: float, user_agent: str, now: Callable[[], float], rng: random.Random) -> None:
        self._max_age = max_age
        self._user_agent = user_agent
        self._now = now
        self._rng = rng
        self._current: aiohttp.ClientSession | None = None
        self._until = 0.0
        self._users: dict[aiohttp.ClientSession, int] = {}
        self._closing: list[aiohttp.ClientSession] = []
        self._streams: aiohttp.ClientSession | None = None
        self._closed = False
        self._ending = asyncio.Lock()

    @contextlib.contextmanager
    def session(self) -> Iterator[aiohttp.ClientSession]:
        """The session for one request. Raises RuntimeError when the pool is closed, as `streams` does."""
        session = self._fresh()
        self._users[session] += 1
        try:
            yield session
        finally:
            if session in self._users:  # else it was closed meanwhile
                self._users[session] -= 1
                self._retire(session)

    def streams(self) -> aiohttp.ClientSession:
        """The session for answers without an end: each has a connection of its own."""
        self.check()
        if self._streams is None:
            self._streams = new_session(self._user_agent, keep_alive=False)
        return self._streams

    def check(self) -> None:
        """Raises RuntimeError when the pool is closed."""
        if self._closed:
            raise RuntimeError("the client is closed")

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def tidy(self) -> None:
        """Closes what has been replaced and is not used any more."""
        while self._closing:
            await self._closing.pop().close()

    async def close(self) -> None:
        """Ends all connections, whatever they are at. May be called twice, also at once."""
        self._closed = True
        async with self._ending:
            self._closing += [*self._users, *([] if self._streams is None else [self._streams])]
            self._users.clear()
            self._current = self._streams = None
            await self.tidy()

    def _fresh(self) -> aiohttp.ClientSession:
        self.check()
        now = self._now()
        if self._current is None or now >= self._until:
            old, self._current = self._current, new_session(self._user_agent, keep_alive=True)
            self._users[self._current] = 0
            self._until = now + self._max_age * self._rng.uniform(0.8, 1.0)
            if old is not None:
                self._retire(old)
        return self._current

    def _retire(self, session: aiohttp.ClientSession) -> None:
        if session is not self._current and self._users.get(session) == 0:
            del self._users[session]
            self._closing.append(session)


def new_session(user_agent: str, *, keep_alive: bool) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(
        connector=Connector(keep_alive=keep_alive),
        headers={"User-Agent": user_agent, "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=True,
        read_bufsize=2**18,
    )
    # aiohttp sends PUT and DELETE again by itself when a kept connection breaks, and there is no public way to say no
    # (its own test client does the same). What is repeated is decided in retry.py; the proxy tests count it.
    session._retry_connection = False
    return session

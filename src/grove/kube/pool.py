"""The connections of a client: kept alive between requests, but not for ever.

Behind a load balancer, connections that live for ever stay with the API servers that were there first. aiohttp knows
no age, so all connections of an age are one session: a new one takes over, the old one ends with its last request.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Callable, Iterator

import aiohttp

# An API server closes idle connections after 90 s; to be the first to close means never to write to a closed one.
IDLE = 30.0
# Unacknowledged data, milliseconds; keep-alive probes, seconds. A dead peer is noticed within half a minute.
USER_TIMEOUT = 30_000
PROBE_AFTER, PROBE_EVERY, PROBES = 15, 5, 3


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

    @contextlib.contextmanager
    def session(self) -> Iterator[aiohttp.ClientSession]:
        """The session for one request."""
        session = self._fresh()
        self._users[session] += 1
        try:
            yield session
        finally:
            self._users[session] -= 1
            self._retire(session)

    async def tidy(self) -> None:
        """Closes what has been replaced and is not used any more."""
        while self._closing:
            await self._closing.pop().close()

    async def close(self) -> None:
        self._closing = list({*self._closing, *self._users})
        self._users.clear()
        self._current = None
        await self.tidy()

    def _fresh(self) -> aiohttp.ClientSession:
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
    """How many connections there are is bounded by the client, not here."""
    connector = (
        aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE, socket_factory=_socket)
        if keep_alive
        else aiohttp.TCPConnector(limit=0, force_close=True, socket_factory=_socket)
    )
    session = aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": user_agent, "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=True,
        read_bufsize=2**18,
    )
    # aiohttp sends PUT and DELETE again by itself when a kept connection breaks, and there is no public way to say no
    # (its own test client does the same). What is repeated is decided in retry.py; the proxy tests count it.
    session._retry_connection = False
    return session


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", PROBE_AFTER),
        ("TCP_KEEPINTVL", PROBE_EVERY),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", USER_TIMEOUT),
    ):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made

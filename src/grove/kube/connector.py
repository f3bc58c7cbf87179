"""Connections, each known from the attempt to make it until its socket is closed.

aiohttp's own connector loses sight of some when it is closed: those that are still being made; those over TLS that it
has let go, which wait half a minute for the other side to say goodbye; and whoever reads an answer on one that it has
closed reads for ever. Here `close` ends all of them, and has not returned before they are closed.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from typing import Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler

# An API server closes idle connections after 90 s; to be the first to close means never to write to a closed one.
IDLE = 30.0
# Unacknowledged data, milliseconds; keep-alive probes, seconds. A dead peer is noticed within half a minute.
USER_TIMEOUT = 30_000
PROBE_AFTER, PROBE_EVERY, PROBES = 15, 5, 3
# Seconds. An attempt that is told to end does so within a few turns of the loop; this is for what nobody thought of.
PATIENCE = 5.0
# Of the loop: one closes the socket of what was aborted, and over TLS another tells whoever waits for an answer.
TURNS = 8


class ConnectorClosed(aiohttp.ClientConnectionError):
    """The client was closed before there was a connection: nothing was sent."""


class Connector(aiohttp.TCPConnector):
    """As many connections as are asked for. How many that may be is bounded by the client, not here."""

    def __init__(self, *, keep_alive: bool) -> None:
        if keep_alive:
            super().__init__(limit=0, keepalive_timeout=IDLE, socket_factory=_socket)
        else:
            super().__init__(limit=0, force_close=True, socket_factory=_socket)
        self._attempts: dict[asyncio.Timeout, asyncio.Future[None]] = {}
        self._opened: dict[object, asyncio.Transport] = {}  # by socket: TLS is put over a transport that is there
        self._ending = False
        # There is no public way to see a connection from its first to its last moment.
        self._factory = functools.partial(_handler, self._loop, self._opened)

    @property
    def connections(self) -> int:
        """How many are open, those that are being closed included."""
        return len(self._opened)

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        if self._ending:
            raise ConnectorClosed("the client is closed")
        over: asyncio.Future[None] = self._loop.create_future()
        try:
            async with asyncio.timeout(None) as attempt:
                self._attempts[attempt] = over
                try:
                    return await super().connect(req, traces, timeout)
                finally:
                    del self._attempts[attempt]
                    over.set_result(None)
        except TimeoutError:
            if not attempt.expired():
                raise
            raise ConnectorClosed("the client was closed") from None

    async def close(self, *, abort_ssl: bool = True) -> None:
        """Ends everything at once; whoever waits for an answer is told. May be called twice."""
        self._ending = True
        attempts = [*self._attempts.values()]
        for attempt in self._attempts:
            if not attempt.expired():  # it was told already
                attempt.reschedule(self._loop.time())
        self._abort()
        if attempts:
            await asyncio.wait(attempts, timeout=PATIENCE)
            self._abort()  # those that came about nevertheless
        for _ in range(TURNS):
            await asyncio.sleep(0)
            if not self._opened:
                break
        await super().close(abort_ssl=abort_ssl)

    def _abort(self) -> None:
        for transport in self._opened.values():
            transport.abort()


class _Handler(ResponseHandler):
    """The protocol of a connection, which enters it into a book as long as it is open."""

    def __init__(self, loop: asyncio.AbstractEventLoop, opened: dict[object, asyncio.Transport]) -> None:
        super().__init__(loop)
        self._opened = opened
        self._socket: object = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = transport.get_extra_info("socket")
        self._opened[self._socket] = cast(asyncio.Transport, transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._opened.pop(self._socket, None)
        super().connection_lost(exc)


def _handler(loop: asyncio.AbstractEventLoop, opened: dict[object, asyncio.Transport]) -> ResponseHandler:
    return _Handler(loop, opened)


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

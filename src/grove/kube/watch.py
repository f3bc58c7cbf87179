"""A watch: the changes of a collection as they happen, on a connection of its own.

It ends by itself when the server's time is up, with Gone when its version is too old, and with Unreachable when the
connection breaks or goes silent. It does not resume: who watches knows the last version it has seen, and goes on there.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self

import aiohttp
import msgspec

from grove.kube.decoding import Bookmark, Decoders, Event, T, bookmark, other_event
from grove.kube.errors import KubeError, Status, UnexpectedAnswer, Unreachable, from_status
from grove.kube.lines import LineSplitter
from grove.kube.transport import Request, Transport


class Watch(Generic[T]):
    """An asynchronous iterator of Event and Bookmark. The connection is made with the first event asked for.

    To be used as `async with client.watch(…) as events: async for event in events:`. Whatever ends the iteration, be it
    its end, an error or cancellation, closes the connection; to leave it early needs the `async with`.
    """

    def __init__(
        self,
        transport: Transport,
        request: Request,
        *,
        type: type[T],
        decoders: Decoders,
        stall: float | None,
        on_begin: Callable[[Watch[T]], None],
        on_end: Callable[[Watch[T]], None],
    ) -> None:
        self._transport = transport
        self._request = request
        self._context = f"watching {request.path}"
        self._decoder = decoders.events(type)
        self._stall = stall
        self._on_begin = on_begin
        self._on_end = on_end
        self._splitter = LineSplitter()
        self._lines: collections.deque[bytes] = collections.deque()
        self._response: aiohttp.ClientResponse | None = None
        self._socket: asyncio.Transport | None = None
        self._opened = False
        self._ended = False

    async def open(self) -> Self:
        """Makes the connection, unless it is there: for who wants to know that the watch has begun."""
        if not self._opened and not self._ended:
            self._opened = True
            self._on_begin(self)
            self._transport.counters.watches += 1
            try:
                response = await self._transport.stream(self._request)
            except BaseException as error:
                if self._ended and isinstance(error, (KubeError, RuntimeError)):
                    return self  # closed by another task, with its client
                self.close()
                raise
            self._response = response
            if response.connection is not None:
                self._socket = response.connection.transport
            if self._ended:
                self._disconnect()
        return self

    def close(self) -> None:
        """Ends the watch and its connection. May be called twice."""
        if self._ended:
            return
        self._ended = True
        self._lines.clear()
        if self._opened:
            self._transport.counters.watches -= 1
        self._on_end(self)
        self._disconnect()

    def _disconnect(self) -> None:
        if self._response is not None:
            self._response.close()
        if self._socket is not None:
            self._socket.abort()  # nobody else uses it, and the server need not agree

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event[T] | Bookmark:
        try:
            while not self._lines:
                if self._ended or not await self._read():
                    raise StopAsyncIteration
            return self._decode(self._lines.popleft())
        except BaseException:
            self.close()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def _read(self) -> bool:
        """Takes what has come; False if the server has ended the watch."""
        await self.open()
        if self._ended:  # by `close`, from another task
            return False
        assert self._response is not None
        try:
            async with asyncio.timeout(self._stall):
                chunk = await self._response.content.readany()
        except TimeoutError as error:
            raise self._broken(f"silent for {self._stall:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            if self._ended:
                return False
            raise self._broken(str(error) or type(error).__name__) from error
        if not chunk:
            if self._splitter.unfinished:
                raise self._broken("it ended in the middle of an event")
            return False
        self._transport.counters.bytes_received += len(chunk)
        self._lines.extend(self._splitter.feed(chunk))
        return True

    def _decode(self, line: bytes) -> Event[T] | Bookmark:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            kind, body = other_event(line, self._context)
            if kind == "BOOKMARK":
                return bookmark(body, self._context)
            if kind == "ERROR":
                raise from_status(self._status(body), context=self._context) from None
            raise UnexpectedAnswer(f"{self._context}: a {kind or 'nameless'} event: {error}") from error

    def _status(self, body: bytes) -> Status:
        try:
            return msgspec.json.decode(body, type=Status)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(f"{self._context}: an error that is no Status: {error}") from error

    def _broken(self, why: str) -> Unreachable:
        return Unreachable(f"{self._context}: {why}", may_have_acted=False)

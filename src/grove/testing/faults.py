"""A proxy before an API server that fails on demand, and counts: for tests of what clients do when things go wrong.

    async with FaultProxy(cluster.url, cluster.ca) as proxy:
        proxy.inject(ResetAfter(), when=lambda request: request.method == "POST")
        ...
        assert proxy.forwarded("POST") == 1

It ends TLS with an authority of its own (`proxy.ca`), so clients that show certificates cannot use it; tokens pass. It
runs in the event loop of the test, never waits for a time unless told to be `Slow`, and what is not told to fail passes
unchanged.
"""

import asyncio
import contextlib
import datetime
import socket
import ssl
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from grove.testing.certificates import Authority

# What concerns one connection is not passed on to the other.
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "te", "upgrade"})
NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Seen:
    """A request that reached the proxy."""

    method: str
    path: str
    query: Mapping[str, str]
    connection: int
    """Which connection it came on, counted from 0."""


@dataclass(frozen=True)
class ResetBefore:
    """The connection is reset; the API server never hears of the request."""


@dataclass(frozen=True)
class ResetAfter:
    """The API server acts and answers; the connection is reset before any of the answer is passed on."""


@dataclass(frozen=True)
class ResetMidResponse:
    """The connection is reset after this many bytes of the body."""

    after: int = 20


@dataclass(frozen=True)
class Respond:
    """The proxy answers itself; `forward` lets the API server act before that, as a gateway that has lost patience."""

    code: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    forward: bool = False


@dataclass(frozen=True)
class Stall:
    """After this many bytes of the body nothing follows, and the connection stays open: a slow body, a dead watch."""

    after: int = 0


@dataclass(frozen=True)
class Slow:
    """After this many bytes of the body the rest is kept back for so many seconds."""

    seconds: float
    after: int = 20


@dataclass(frozen=True)
class Stale:
    """A read is answered with the first answer that this path ever got, as an API server that lags behind."""


Fault = ResetBefore | ResetAfter | ResetMidResponse | Respond | Stall | Slow | Stale


@dataclass
class Injection:
    """A fault, for which requests, and how often yet; None is for ever."""

    fault: Fault
    when: Callable[[Seen], bool]
    times: int | None


class FaultProxy:
    """Between a client and the API server at `url`, as long as the `async with` block."""

    def __init__(self, url: str, ca: bytes) -> None:
        self._upstream = url
        self._verify = ssl.create_default_context(cadata=ca.decode())
        authority = Authority.create("fault-proxy", datetime.datetime.now(datetime.UTC))
        self._tls = _serving(authority)
        self.ca = authority.certificate
        self.seen: list[Seen] = []
        self._forwarded: list[Seen] = []
        self._injections: list[Injection] = []
        self._first: dict[str, tuple[int, bytes]] = {}
        self._connections: dict[asyncio.BaseTransport, int] = {}
        self._port = 0
        self._site: web.TCPSite | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self._verify, limit=0)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        self._session._retry_connection = False  # it passes on what it is given, once
        # A handler ends with its connection: nothing that a test has left keeps the end waiting.
        self._runner = web.AppRunner(_application(self._handle), handler_cancellation=True, shutdown_timeout=0.0)
        await self._runner.setup()
        await self.listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.reset_all()
        await self._runner.cleanup()
        await self._session.close()
        await asyncio.sleep(0)  # what was aborted ends with the next turn of the loop

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    async def listen(self) -> None:
        """Takes connections, again on the same port after `refuse`."""
        if self._site is None:
            self._site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self._tls, reuse_address=True)
            await self._site.start()
            self._port = self._runner.addresses[0][1]

    async def refuse(self) -> None:
        """Refuses connections from now on; those that are there are reset."""
        if self._site is not None:
            await self._site.stop()
            self._site = None
        self.reset_all()

    def reset_all(self) -> None:
        """Resets every connection."""
        for transport in tuple(self._connections):
            _reset(transport)

    def inject(self, fault: Fault, *, when: Callable[[Seen], bool] = lambda _: True, times: int | None = 1) -> None:
        """Has the next requests that `when` accepts fail so. Of several injections that fit, the oldest counts."""
        self._injections.append(Injection(fault, when, times))

    def received(self, *methods: str) -> int:
        """How many requests of these methods reached the proxy."""
        return sum(one.method in methods for one in self.seen)

    def forwarded(self, *methods: str) -> int:
        """How many of them reached the API server."""
        return sum(one.method in methods for one in self._forwarded)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        number = self._connections.setdefault(transport, len(self._connections))
        seen = Seen(request.method, request.path, dict(request.query), number)
        self.seen.append(seen)
        body = await request.read()
        match self._choose(seen):
            case ResetBefore():
                _reset(transport)
                return web.Response()
            case Respond(forward=False) as answer:
                return web.Response(status=answer.code, body=answer.body, headers=answer.headers)
            case Stale() if request.path_qs in self._first:
                code, first = self._first[request.path_qs]
                return web.Response(status=code, body=first, content_type="application/json")
            case fault:
                return await self._forward(seen, request, body, fault)

    async def _forward(self, seen: Seen, request: web.Request, body: bytes, fault: Fault | None) -> web.StreamResponse:
        self._forwarded.append(seen)
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP]
        url = f"{self._upstream}{request.rel_url}"
        async with (
            self._session.request(request.method, url, data=body or None, headers=headers) as answer,
            _aborting(answer),
        ):
            match fault:
                case ResetAfter():
                    await answer.read()
                    _reset(request.transport)
                    return web.Response()
                case Respond() as instead:
                    await answer.read()
                    return web.Response(status=instead.code, body=instead.body, headers=instead.headers)
            passed = web.StreamResponse(status=answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    passed.headers.add(name, value)
            await passed.prepare(request)
            if isinstance(fault, Slow):
                await _pass_some(answer, passed, fault.after)
                await asyncio.sleep(fault.seconds)
                await _pass_rest(answer, passed)
                return passed
            if not isinstance(fault, ResetMidResponse | Stall):
                await self._pass_on(request, answer, passed)
                return passed
            await _pass_some(answer, passed, fault.after)
            if isinstance(fault, Stall):
                await asyncio.Event().wait()  # until the client has gone, which cancels this
            _reset(request.transport)
            return passed

    async def _pass_on(self, request: web.Request, answer: aiohttp.ClientResponse, to: web.StreamResponse) -> None:
        if request.method == "GET" and "watch" not in request.query:
            content = await answer.read()
            self._first.setdefault(request.path_qs, (answer.status, content))
            await to.write(content)
            await to.write_eof()
        else:
            await _pass_rest(answer, to)

    def _choose(self, seen: Seen) -> Fault | None:
        for injection in self._injections:
            if injection.when(seen) and injection.times != 0:
                if injection.times is not None:
                    injection.times -= 1
                return injection.fault
        return None


@contextlib.asynccontextmanager
async def _aborting(answer: aiohttp.ClientResponse) -> AsyncIterator[None]:
    """Ends the connection of an answer of which not everything was read, without waiting for the other side."""
    try:
        yield
    finally:
        if answer.connection is not None and answer.connection.transport is not None:
            answer.connection.transport.abort()


async def _pass_some(answer: aiohttp.ClientResponse, to: web.StreamResponse, wanted: int) -> None:
    """The beginning of a body as it comes, never the end of it."""
    passed = 0
    while passed < wanted and (chunk := await answer.content.read(wanted - passed)):
        passed += len(chunk)
        await to.write(chunk)


async def _pass_rest(answer: aiohttp.ClientResponse, to: web.StreamResponse) -> None:
    """What has not been passed on of a body, as it comes."""
    async for chunk in answer.content.iter_any():
        await to.write(chunk)
    await to.write_eof()


def _reset(transport: asyncio.BaseTransport | None) -> None:
    """Ends a connection with RST, as a machine that died or a middlebox that forgot does."""
    if not isinstance(transport, asyncio.WriteTransport):
        return
    # One that has ended by itself has no socket any more, or (TLS, Python 3.11) cannot even be asked for it.
    with contextlib.suppress(OSError, AttributeError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    transport.abort()


def _application(handler: Callable[[web.Request], object]) -> web.Application:
    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", handler)  # type: ignore[arg-type]
    return application


def _serving(authority: Authority) -> ssl.SSLContext:
    certificate = authority.serving(["127.0.0.1", "localhost"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with _files(certificate.certificate, certificate.key) as (certificate_file, key_file):
        context.load_cert_chain(certificate_file, key_file)
    return context


@contextlib.contextmanager
def _files(*contents: bytes) -> Iterator[list[Path]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(index)) for index in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield paths

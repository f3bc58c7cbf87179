"""Sends requests and gives back bodies: bounds, credentials, repetition. Knows HTTP and nothing of objects."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import math
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

import aiohttp
import msgspec

from grove.kube import retry
from grove.kube.connection import Connection
from grove.kube.connector import ConnectorClosed
from grove.kube.credentials import Identity
from grove.kube.errors import CredentialsError, KubeError, Unauthorized, Unreachable, Untrusted, from_answer
from grove.kube.fence import Fence, Unfenced
from grove.kube.pool import Pool
from grove.kube.ratelimit import TokenBucket
from grove.kube.retry import RetryPolicy
from grove.kube.statistics import Counters
from grove.kube.tls import Contexts

T = TypeVar("T")

JSON = "application/json"

# While a connection is made, and while a proxy is asked for one, nothing of the request has left.
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    ConnectorClosed,
)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
UNFENCED = Unfenced()
READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as often as it is sent. `verb` is what RBAC and the statistics call it."""

    verb: str
    method: Method
    path: str
    query: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class Answer(msgspec.Struct, frozen=True):
    """An answer that is no error."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `request` bounds one attempt, from the connection to the last byte of the answer."""

    connect: float = 10.0
    request: float = 60.0


class Transport:
    """What every request of a client goes through. Open between `open` and `close`."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str,
        max_in_flight: int,
        bucket: TokenBucket | None,
        timeouts: Timeouts,
        max_connection_age: float,
        policy: RetryPolicy,
        on_warning: Callable[[str], None],
        sleep: Callable[[float], Awaitable[object]],
        now: Callable[[], float],
        rng: random.Random,
    ) -> None:
        self.counters = Counters()
        self._connection = connection
        self._server = connection.server.rstrip("/")
        self._proxy, self._proxy_headers = split_password(connection.proxy)
        self._contexts = Contexts(connection)
        self._slots = asyncio.Semaphore(max_in_flight)
        self._bucket = bucket
        self._policy = policy
        self._on_warning = on_warning
        self._sleep = sleep
        self._now = now
        self._rng = rng
        self._pool = Pool(max_age=max_connection_age, user_agent=user_agent, now=now, rng=rng)
        self._request_timeout = aiohttp.ClientTimeout(total=timeouts.request, sock_connect=timeouts.connect)
        # A stream has no end that we know; who reads it bounds the wait for each piece.
        self._stream_timeout = aiohttp.ClientTimeout(total=None, sock_connect=timeouts.connect)
        self._answer_timeout = timeouts.request

    async def send(self, request: Request, fence: Fence = UNFENCED) -> Answer:
        """The answer to a request, made again where that is safe; raises KubeError.

        A write asks the fence each time, when nothing but the connection remains to be waited for, and may raise
        NotLeaderError.
        """
        return await self._repeat(request, lambda again, identity: self._exchange(again, identity, fence))

    async def stream(self, request: Request) -> aiohttp.ClientResponse:
        """An answer whose body the caller reads and closes, on a connection of its own."""
        return await self._repeat(request, self._open_stream)

    async def close(self) -> None:
        """Ends every connection, and every attempt to make one, before it returns; requests under way fail."""
        await self._pool.close()

    async def _repeat(self, request: Request, attempt: Callable[[Request, Identity], Awaitable[T]]) -> T:
        count, renewed = 1, False
        while True:
            self._pool.check()
            identity = await self._connection.credentials.identity()
            if self._bucket is not None:
                await self._waiting(self._bucket.take())
            try:
                answer = await attempt(request, identity)
            except KubeError as error:
                self._count(request, error)
                if isinstance(error, Unauthorized) and not renewed and self._connection.credentials.refused(identity):
                    renewed = True  # refused before anything was done: safe for every verb, once
                    continue
                read = request.method in READS
                pause = retry.delay(error, read=read, attempt=count, policy=self._policy, jitter=self._rng.random())
                if pause is None or self._pool.is_closed:
                    raise
            else:
                return answer
            count += 1
            self.counters.retries += 1
            await self._sleep(pause)

    async def _exchange(self, request: Request, identity: Identity, fence: Fence) -> Answer:
        await self._waiting(self._slots.acquire())
        self.counters.in_flight += 1
        began = self._now()
        try:
            with self._pool.session() as session, self._writing(request, fence) as (allowed, timeout):
                response = await self._request(session, allowed, identity, timeout)
                body = await read_all(response)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._unreachable(request, error) from error
        finally:
            self.counters.took(request.verb, self._now() - began)
            self.counters.in_flight -= 1
            self._slots.release()
        await self._pool.tidy()
        self.counters.bytes_received += len(body)
        self._pass_on_warnings(response)
        if not 200 <= response.status < 300:
            raise from_answer(response.status, body, response.headers, context=self._context(request))
        self.counters.answered(request.verb, str(response.status))
        return Answer(response.status, response.headers, body)

    @contextlib.contextmanager
    def _writing(self, request: Request, fence: Fence) -> Iterator[tuple[Request, aiohttp.ClientTimeout]]:
        """The request and its timeout; for a write under a fence, with a deadline that the server knows too.

        It would otherwise carry out what it had to queue, for as long as a minute after we have given up.
        """
        if request.method in READS or isinstance(fence, Unfenced):
            yield request, self._request_timeout
            return
        with fence.writing(self._answer_timeout) as allowed:
            query = [*request.query, ("timeout", f"{max(1, int(allowed * 1000))}ms")]
            bounded = msgspec.structs.replace(request, query=query)
            yield (
                bounded,
                aiohttp.ClientTimeout(
                    total=allowed,
                    sock_connect=self._request_timeout.sock_connect,
                    ceil_threshold=math.inf,  # aiohttp rounds longer ones up to a whole second
                ),
            )

    async def _open_stream(self, request: Request, identity: Identity) -> aiohttp.ClientResponse:
        session = self._pool.streams()
        began = self._now()
        try:
            async with asyncio.timeout(self._answer_timeout):
                response = await self._request(session, request, identity, self._stream_timeout)
                if response.status == 200:
                    self._pass_on_warnings(response)
                    self.counters.answered(request.verb, "200")
                    return response
                body = await read_all(response)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._unreachable(request, error) from error
        finally:
            self.counters.took(request.verb, self._now() - began)
        raise from_answer(response.status, body, response.headers, context=self._context(request))

    async def _request(
        self, session: aiohttp.ClientSession, request: Request, identity: Identity, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers: list[tuple[str, str]] = [*self._connection.headers, ("Accept", request.accept)]
        if identity.token:
            headers.append(("Authorization", f"Bearer {identity.token}"))
        if request.body is not None:
            headers.append(("Content-Type", request.content_type))
            self.counters.bytes_sent += len(request.body)
        return await session.request(
            request.method,
            f"{self._server}{request.target}",
            data=request.body,
            headers=headers,
            timeout=timeout,
            ssl=self._contexts.context(identity.certificate),
            server_hostname=self._connection.server_name or None,
            proxy=self._proxy or None,
            proxy_headers=self._proxy_headers,
            allow_redirects=False,  # nobody else gets our token
        )

    async def _waiting(self, turn: Awaitable[object]) -> None:
        self.counters.waiting += 1
        try:
            await turn
        finally:
            self.counters.waiting -= 1

    def _unreachable(self, request: Request, error: Exception) -> Unreachable:
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return Untrusted(
                f"{self._context(request)}: {self._server}: {error.certificate_error}; "
                "check certificate-authority and tls-server-name of the kubeconfig"
            )
        never_sent = isinstance(error, NEVER_SENT)
        what = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        return Unreachable(f"{self._context(request)}: {self._server}: {what}", may_have_acted=not never_sent)

    def _context(self, request: Request) -> str:
        return f"{request.method} {request.path}"

    def _count(self, request: Request, error: KubeError) -> None:
        if isinstance(error, Unreachable):
            self.counters.answered(request.verb, "unreachable")
        elif isinstance(error, CredentialsError):
            self.counters.answered(request.verb, "no credentials")
        else:
            self.counters.answered(request.verb, str(getattr(error, "code", "unexpected")))

    def _pass_on_warnings(self, response: aiohttp.ClientResponse) -> None:
        for header in response.headers.getall("Warning", ()):
            if text := warning_text(header):
                self.counters.warnings += 1
                self._on_warning(text)


def split_password(url: str) -> tuple[str, dict[str, str]]:
    """The URL of a proxy and the headers that log in to it, apart: aiohttp's errors quote the URL."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, {}
    login = base64.b64encode(f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()).decode()
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    return urlunsplit(plain), {"Proxy-Authorization": f"Basic {login}"}


async def read_all(response: aiohttp.ClientResponse) -> bytes:
    """The body. If it does not come to its end, the connection ends at once: it would wait for TLS to say goodbye."""
    connection = response.connection
    transport = None if connection is None else connection.transport
    try:
        async with response:
            return await response.read()
    except BaseException:
        if transport is not None:
            transport.abort()
        raise


def warning_text(header: str) -> str:
    """The text of a Warning header as API servers send it: `299 - "use something else"`; else nothing."""
    code, _, rest = header.partition(" ")
    _, _, quoted = rest.partition(" ")
    if code != "299" or len(quoted) < 2 or quoted[0] != '"':
        return ""
    end = quoted.rfind('"')
    return quoted[1:end].replace('\\"', '"').replace("\\\\", "\\") if end > 0 else ""

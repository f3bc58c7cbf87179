"""The server of the admission webhooks: bounded requests over TLS, each answered by the judge of its path.

Runs on every replica, leader or not: the API server asks any of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from aiohttp import web

from grove.kube.clock import Clock
from grove.kube.durations import Durations, DurationStatistics
from grove.operator.admission import exchange, tls
from grove.operator.admission.exchange import Request, Unreadable
from grove.operator.admission.judges import Judge
from grove.operator.admission.served import Served
from grove.runtime.endpoints import listen

log = logging.getLogger(__name__)

MAX_BODY: Final = 8 * 1024 * 1024
"""Bytes. A request holds an object twice, the old and the new, and none is larger than 3 MB."""
LIMIT: Final = 10.0
"""Seconds for a request: the API server waits no longer."""
ENDING: Final = 5.0
"""Seconds in which requests that are under way may end when the server does."""

Verdict = Literal["allowed", "denied", "error"]


@dataclass(frozen=True)
class ServerStatistics:
    """Requests by path and verdict, and how long they took by path."""

    requests: Mapping[tuple[str, Verdict], int]
    seconds: Mapping[str, DurationStatistics]


class WebhookServer:
    """A runnable. Has a `port` once it has `started`; with port 0 the kernel chooses one."""

    def __init__(
        self, *, host: str, port: int, judges: Mapping[str, Judge], served: Served, clock: Clock, limit: float = LIMIT
    ) -> None:
        """Listens as soon as there is a certificate. `limit` is in seconds, `judges` are by path."""
        self.name = "webhooks"
        self.port = port
        self.started = asyncio.Event()
        self._host = host
        self._judges = judges
        self._served = served
        self._clock = clock
        self._limit = limit
        self._requests: Counter[tuple[str, Verdict]] = Counter()
        self._seconds = {path: Durations() for path in judges}

    def statistics(self) -> ServerStatistics:
        return ServerStatistics(
            dict(self._requests), {path: durations.statistics() for path, durations in self._seconds.items()}
        )

    def check(self) -> str:
        """For readiness."""
        return self._served.check() or ("" if self.started.is_set() else "the webhook server does not listen yet")

    async def run(self) -> None:
        await self._served.ready()
        app = web.Application(client_max_size=MAX_BODY)
        for path in self._judges:
            app.router.add_post(path, self._answer)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=ENDING)
        await runner.setup()
        try:
            await listen(self.name, runner, self._host, self.port, tls.following(self._served))
            self.port = runner.addresses[0][1]
            self.started.set()
            await asyncio.Event().wait()
        finally:
            self.started.clear()
            server = runner.server
            open_ones = [one.transport for one in server.connections] if server is not None else []
            await runner.cleanup()
            # Idle by now; the farewell of TLS would wait for API servers, which keep their connections open.
            for transport in open_ones:
                if transport is not None:
                    transport.abort()
            await self._clock.sleep(0.0)

    async def _answer(self, request: web.Request) -> web.Response:
        began = self._clock.monotonic()
        verdict: Verdict = "error"
        try:
            async with asyncio.timeout(self._limit):
                verdict, answer = await self._judged(request)
        except TimeoutError:
            answer = _failure(503, f"not answered within {self._limit:g} s")
        except web.HTTPRequestEntityTooLarge:
            answer = _failure(413, f"the body is larger than {MAX_BODY} bytes")
        finally:
            self._requests[request.path, verdict] += 1
            self._seconds[request.path].add(self._clock.monotonic() - began)
        return answer

    async def _judged(self, request: web.Request) -> tuple[Verdict, web.Response]:
        body = await request.read()
        try:
            asked = exchange.decode(body)
        except Unreadable as error:
            return "error", _failure(400, str(error))
        try:
            response = await self._judges[request.path](asked)
        except Exception:  # the boundary of a request: it fails, the others go on
            log.exception("webhook failed", extra={"path": request.path, "object": _name(asked)})
            return "error", _failure(500, "the webhook failed; the operator's log says why")
        if not response.allowed:
            denied = {"path": request.path, "object": _name(asked), "message": response.message}
            log.debug("request denied", extra=denied)
        verdict: Verdict = "allowed" if response.allowed else "denied"
        return verdict, _json(200, exchange.encode(asked, response))


def _name(request: Request) -> str:
    return "/".join(part for part in (request.kind.kind, request.namespace, request.name) if part)


def _failure(code: int, message: str) -> web.Response:
    return _json(code, exchange.failure(code, message))


def _json(code: int, body: bytes) -> web.Response:
    return web.Response(status=code, body=body, content_type="application/json")

"""The small servers of a process: /healthz, /readyz and /metrics over plain HTTP, for the kubelet and Prometheus."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from grove.runtime.health import Check, look
from grove.runtime.metrics import CONTENT_TYPE

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.Response]]


class CannotListen(Exception):
    """An address that cannot be listened on."""


class Site:
    """A runnable: pages over plain HTTP. Has a `port` once it has `started`; with port 0 the kernel chooses one."""

    def __init__(self, name: str, pages: Mapping[str, Handler], *, host: str, port: int) -> None:
        self.name = name
        self.port = port
        self.started = asyncio.Event()
        self._pages = pages
        self._host = host

    async def run(self) -> None:
        app = web.Application()
        for path, handler in self._pages.items():
            app.router.add_get(path, handler)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await listen(self.name, runner, self._host, self.port)
            self.port = runner.addresses[0][1]
            self.started.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()


async def listen(name: str, runner: web.AppRunner, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
    """Takes connections from now on, on all addresses unless a host is given. Raises CannotListen."""
    try:
        await web.TCPSite(runner, host or None, port, ssl_context=tls).start()
    except OSError as error:
        raise CannotListen(f"{name}: cannot listen on {host or '*'}:{port}: {error.strerror or error}") from error
    log.info("listening", extra={"server": name, "port": runner.addresses[0][1]})


class Endpoints(Site):
    """What it is given of the three; checks without any are always well."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        live: Mapping[str, Check] | None = None,
        ready: Mapping[str, Check] | None = None,
        metrics: Callable[[], bytes] | None = None,
        name: str = "endpoints",
    ) -> None:
        pages: dict[str, Handler] = {}
        if live is not None:
            pages["/healthz"] = checking(live)
        if ready is not None:
            pages["/readyz"] = checking(ready)
        if metrics is not None:
            pages["/metrics"] = telling(metrics)
        super().__init__(name, pages, host=host, port=port)


def checking(checks: Mapping[str, Check]) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        report = look(checks)
        return web.Response(text=report.text(), status=200 if report.good else 503)

    return answer


def telling(metrics: Callable[[], bytes]) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=metrics(), headers={"Content-Type": CONTENT_TYPE})

    return answer

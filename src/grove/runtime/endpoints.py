"""The small server of every process: /healthz, /readyz and /metrics over plain HTTP, for the kubelet and Prometheus."""

import asyncio
from collections.abc import Callable, Mapping

from aiohttp import web

from grove.runtime.health import Check, look
from grove.runtime.metrics import CONTENT_TYPE


class Endpoints:
    """A runnable. Has a `port` once it has `started`; with port 0 the kernel chooses one."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        metrics: Callable[[], bytes],
    ) -> None:
        self.name = "endpoints"
        self.port = port
        self.started = asyncio.Event()
        self._host = host
        self._live = live
        self._ready = ready
        self._metrics = metrics

    async def run(self) -> None:
        app = web.Application()
        app.router.add_get("/healthz", self._answer_live)
        app.router.add_get("/readyz", self._answer_ready)
        app.router.add_get("/metrics", self._answer_metrics)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host or None, self.port)
            await site.start()
            self.port = runner.addresses[0][1]
            self.started.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _answer_live(self, _: web.Request) -> web.Response:
        return answer(self._live)

    async def _answer_ready(self, _: web.Request) -> web.Response:
        return answer(self._ready)

    async def _answer_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics(), headers={"Content-Type": CONTENT_TYPE})


def answer(checks: Mapping[str, Check]) -> web.Response:
    report = look(checks)
    return web.Response(text=report.text(), status=200 if report.good else 503)

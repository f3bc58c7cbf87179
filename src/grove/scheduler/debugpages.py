"""What the scheduler's debug server shows of the engine, beside profiles.

    GET /snapshot                           the engine's state, compressed: grove replay reads it
    GET /debug/gangs/<namespace>/<name>     where a gang is, or why it waits; of a pod without a PodGang: pod:<name>

Only the replica that leads has an engine; the others answer 503. The engine is asked between two of its slices, so an
answer is of one moment; packing a snapshot is left to another thread.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from aiohttp import web

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.clock import Clock
from grove.runtime.endpoints import Handler
from grove.scheduler import answers, lines
from grove.scheduler.engine import Engine
from grove.scheduler.lines import Line
from grove.scheduler.registry import key_of
from grove.scheduler.snapshot import snapshot

_LEVEL: Final = 6


def pages(
    engine: Callable[[], Engine | None], configuration: SchedulerConfiguration, clock: Clock
) -> Mapping[str, Handler]:
    """`engine` gives that of the term, if this process leads."""

    def asked() -> Engine:
        found = engine()
        if found is None:
            raise web.HTTPServiceUnavailable(text="another replica leads: ask that one\n")
        return found

    async def whole(_: web.Request) -> web.Response:
        found = snapshot(asked(), configuration, clock.wall().timestamp())
        packed = await asyncio.to_thread(pack, found)
        headers = {"Content-Disposition": 'attachment; filename="snapshot.gz"'}
        return web.Response(body=packed, content_type="application/gzip", headers=headers)

    async def gang(request: web.Request) -> web.Response:
        key = key_of(request.match_info["namespace"], request.match_info["name"])
        found = answers.answer(asked(), key)
        if found is None:
            raise web.HTTPNotFound(text=f"there is no gang {key}\n")
        return web.Response(body=msgspec.json.encode(found), content_type="application/json")

    return {"/snapshot": whole, "/debug/gangs/{namespace}/{name}": gang}


def pack(found: list[Line]) -> bytes:
    return gzip.compress(b"".join(lines.encode(line) + b"\n" for line in found), _LEVEL)

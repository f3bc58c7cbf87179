"""What the debug server shows of an engine."""

from __future__ import annotations

import asyncio
import gzip
import json

import aiohttp

from grove.runtime.clock import SystemClock
from grove.runtime.profiling import Profiling
from grove.scheduler import assembly, debugpages, history, lines
from grove.scheduler.engine import Engine
from grove.scheduler.lines import Start
from tests.unit.cli.clusters import SETTINGS, engine, gang


def asked(found: Engine | None, path: str) -> tuple[int, bytes]:
    async def work() -> tuple[int, bytes]:
        clock = SystemClock()
        pages = debugpages.pages(lambda: found, SETTINGS, clock)
        site = Profiling(host="127.0.0.1", port=0, clock=clock, more=pages)
        serving = asyncio.create_task(site.run())
        try:
            await site.started.wait()
            async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{site.port}{path}") as answer:
                return answer.status, await answer.read()
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    return asyncio.run(work())


def test_a_gang_that_waits_is_explained() -> None:
    found = engine()
    gang(found, "waits", {f"w-{number}": "" for number in range(3)})
    status, body = asked(found, "/debug/gangs/default/waits")
    answer = json.loads(body)
    assert (status, answer["state"], answer["explanation"]["reason"]) == (200, "waiting", "Unschedulable")
    assert answer["explanation"]["suggestions"][0]["kind"] == "relax"


def test_a_gang_that_nobody_knows_is_not_found() -> None:
    assert asked(engine(), "/debug/gangs/default/none") == (404, b"there is no gang default/none\n")


def test_who_does_not_lead_has_nothing_to_tell() -> None:
    assert asked(None, "/snapshot")[0] == 503
    assert asked(None, "/debug/gangs/default/waits")[0] == 503


def test_a_snapshot_can_be_replayed() -> None:
    found = engine()
    gang(found, "fits", {"f-0": "", "f-1": ""})
    status, body = asked(found, "/snapshot")
    kept = [lines.decode(line) for line in gzip.decompress(body).splitlines()]
    assert status == 200
    assert isinstance(kept[0], Start)
    (step,) = history.replay(assembly.engine(lines.configuration(kept[0])), kept)
    assert [(one.what, one.gang) for one in step.found] == [("bind", "default/fits")]

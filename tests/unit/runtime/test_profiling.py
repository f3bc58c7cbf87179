"""Looking into a running process."""

import asyncio
import threading
from collections import Counter

import aiohttp
import pytest

from grove.runtime import profiling
from grove.runtime.clock import SystemClock
from grove.runtime.endpoints import CannotListen, Endpoints
from grove.runtime.profiling import Profiling


def test_a_thread_is_seen_where_it_is() -> None:
    seen = profiling.sample(threading.get_ident(), 0.0)
    assert seen.total() == 1
    [stack] = seen
    assert any("test_a_thread_is_seen_where_it_is" in place for place in stack)
    assert "sample" in stack[-1]


def test_a_profile_begins_with_what_was_at_work_most_often() -> None:
    text = profiling.profile(Counter({("main", "decode"): 3, ("main", "wait"): 1}))
    assert text.splitlines() == ["# 4 samples", "#  75.0 %  decode", "#  25.0 %  wait", "main;decode 3", "main;wait 1"]


def test_the_pages_answer_and_bad_spans_are_refused() -> None:
    async def scenario() -> None:
        site = Profiling(host="127.0.0.1", port=0, clock=SystemClock())
        serving = asyncio.ensure_future(site.run())
        await site.started.wait()
        async with aiohttp.ClientSession(f"http://127.0.0.1:{site.port}") as session:
            for path, code, text in (
                ("/debug/profile?seconds=0.01", 200, "# 2 samples"),
                ("/debug/tasks", 200, "Task"),
                ("/debug/memory?seconds=0.01", 200, "bytes"),
                ("/debug/profile?seconds=1000", 400, "at most 120"),
                ("/debug/profile?seconds=soon", 400, "a number"),
            ):
                async with session.get(path) as answer:
                    assert (answer.status, text in await answer.text()) == (code, True), path
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(scenario())


def test_an_address_that_is_taken_is_told() -> None:
    async def scenario() -> None:
        first = Endpoints(name="health", host="127.0.0.1", port=0, live={})
        serving = asyncio.ensure_future(first.run())
        await first.started.wait()
        with pytest.raises(CannotListen, match=f"metrics: cannot listen on 127.0.0.1:{first.port}"):
            await Endpoints(name="metrics", host="127.0.0.1", port=first.port, metrics=lambda: b"").run()
        async with aiohttp.ClientSession(f"http://127.0.0.1:{first.port}") as session:
            async with session.get("/healthz") as answer:
                assert answer.status == 200
            async with session.get("/metrics") as answer:
                assert answer.status == 404
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(scenario())

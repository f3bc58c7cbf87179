"""Looking into a running process: where its time goes, what its tasks wait for, what its memory is used for.

    GET /debug/profile?seconds=5      stacks of the event loop's thread, sampled, the most frequent first
    GET /debug/tasks                  every task and where it waits
    GET /debug/memory?seconds=5       what was allocated meanwhile and is still held, by line; slows the process down

Served only where the configuration says so, and then on the loopback address unless it says otherwise: stacks and
lines tell much about a process.
"""

from __future__ import annotations

import asyncio
import io
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from types import FrameType
from typing import Final

from aiohttp import web

from grove.kube.clock import Clock
from grove.runtime.endpoints import Handler, Site

INTERVAL: Final = 0.005
"""Seconds between two samples: a thousand in five seconds cost little and say enough."""
LONGEST: Final = 120.0
ROWS: Final = 40

Stack = tuple[str, ...]


class Profiling(Site):
    """A runnable: the pages above."""

    def __init__(self, *, host: str, port: int, clock: Clock, more: Mapping[str, Handler] | None = None) -> None:
        """`more`: pages of the program's own."""
        pages = {"/debug/profile": self._profile, "/debug/tasks": self._tasks, "/debug/memory": self._memory}
        super().__init__("profiling", {**pages, **(more or {})}, host=host, port=port)
        self._clock = clock
        self._tracing = asyncio.Lock()

    async def _profile(self, request: web.Request) -> web.Response:
        seconds, thread = _seconds(request), threading.get_ident()
        stacks = await asyncio.to_thread(sample, thread, seconds)
        return web.Response(text=profile(stacks))

    async def _tasks(self, _: web.Request) -> web.Response:
        text = io.StringIO()
        for task in sorted(asyncio.all_tasks(), key=lambda one: one.get_name()):
            task.print_stack(limit=8, file=text)
        return web.Response(text=text.getvalue())

    async def _memory(self, request: web.Request) -> web.Response:
        async with self._tracing:  # there is one tracer in a process
            tracemalloc.start()
            try:
                await self._clock.sleep(_seconds(request))
                found = tracemalloc.take_snapshot().statistics("lineno")
            finally:
                tracemalloc.stop()
        lines = [f"{one.size:>12} bytes {one.count:>9} blocks  {one.traceback}" for one in found[:ROWS]]
        return web.Response(text="\n".join(lines) + "\n")


def _seconds(request: web.Request) -> float:
    try:
        seconds = float(request.query.get("seconds", "5"))
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= LONGEST:
        raise web.HTTPBadRequest(text=f"seconds must be a number above 0 and at most {LONGEST:g}\n")
    return seconds


def sample(thread: int, seconds: float) -> Counter[Stack]:
    """How often each stack of a thread was seen; called in another one."""
    seen: Counter[Stack] = Counter()
    pause = threading.Event()
    for _ in range(max(1, round(seconds / INTERVAL))):
        frame = sys._current_frames().get(thread)
        if frame is not None:
            seen[stack_of(frame)] += 1
        pause.wait(INTERVAL)
    return seen


def stack_of(frame: FrameType | None) -> Stack:
    """The functions of a stack, outermost first."""
    found: list[str] = []
    while frame is not None:
        code = frame.f_code
        found.append(f"{frame.f_globals.get('__name__', code.co_filename)}.{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return tuple(reversed(found))


def profile(stacks: Counter[Stack]) -> str:
    """The lines that were at work most often, then the whole stacks, in the form that flame graphs are drawn from."""
    total = max(1, stacks.total())
    at_work: Counter[str] = Counter()
    for stack, count in stacks.items():
        at_work[stack[-1]] += count
    lines = [f"# {stacks.total()} samples"]
    lines += [f"# {100 * count / total:5.1f} %  {place}" for place, count in at_work.most_common(ROWS)]
    lines += [f"{';'.join(stack)} {count}" for stack, count in stacks.most_common()]
    return "\n".join(lines) + "\n"

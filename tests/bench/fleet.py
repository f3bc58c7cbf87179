"""A `grove nodes` process, and waiting until what it keeps is ready, as a cache of Grove sees it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from grove.kube.cache import Cache
from grove.kube.client import Client
from grove.kube.objects import PodView
from grove.kube.resources import Resource
from grove.kube.source import ClientSource
from grove.kube.store import Change
from grove.runtime.clock import SystemClock
from tests.bench.figures import FOLDER

GROVE = Path(sys.executable).parent / "grove"
LOG = FOLDER / "nodes.log"
PROFILE = FOLDER / "nodes.prof"

T = TypeVar("T")


class Fleet:
    """The process. To be used with `with`; with `profile`, PROFILE is there afterwards."""

    def __init__(self, kubeconfig: Path, nodes: int, *, profile: bool = False) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        profiler = ["-m", "cProfile", "-o", str(PROFILE)] if profile else []
        command = [
            sys.executable,
            *profiler,
            str(GROVE),
            "nodes",
            "--count",
            str(nodes),
            "--kubeconfig",
            str(kubeconfig),
        ]
        with LOG.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    async def all_ready(self, cache: Cache[Any], wanted: int, what: str, within: float) -> None:
        """Returns when the cache has seen so many objects ready; raises if the process ends before."""
        tally = Tally(wanted)
        leave = cache.follow(tally.take)
        deadline = time.monotonic() + within
        while not tally.is_full.is_set():
            if self._process.poll() is not None:
                raise RuntimeError(f"grove nodes ended with code {self._process.returncode}; see {LOG}")
            if tally.failure:
                raise RuntimeError(f"of the {what}, {tally.failure}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{tally.count} of {wanted} {what} were ready after {within:g} s; see {LOG}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(tally.is_full.wait(), timeout=1.0)
        leave()


class Tally:
    """Counts objects that are ready, or have been."""

    def __init__(self, wanted: int) -> None:
        self.is_full = asyncio.Event()
        self.failure = ""
        self._wanted = wanted
        self._ready: set[str] = set()

    @property
    def count(self) -> int:
        return len(self._ready)

    def take(self, change: Change[Any]) -> None:
        one = change.new
        if one is None:
            return
        if isinstance(one, PodView) and one.status.phase == "Failed":
            self.failure = f"{one.metadata.name} failed: {one.status.message}"
        if any(condition.type == "Ready" and condition.status == "True" for condition in one.status.conditions):
            self._ready.add(one.metadata.uid or "")
            if len(self._ready) >= self._wanted:
                self.is_full.set()


@contextlib.asynccontextmanager
async def following(client: Client, resource: Resource, type: type[T]) -> AsyncIterator[Cache[T]]:
    """A cache of a resource, synced."""
    cache = Cache(ClientSource(client, resource, type=type), clock=SystemClock(), rng=random.Random(1))
    running = asyncio.create_task(cache.run())
    try:
        await cache.synced()
        yield cache
    finally:
        running.cancel()
        await asyncio.wait({running})

"""A process of `grove operator` or `grove scheduler`, and what it has used and written so far."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.figures import FOLDER
from tests.bench.processes import cpu_seconds, resident

GROVE = Path(sys.executable).parent / "grove"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
WITHIN = 120.0
LOCAL: Mapping[str, Any] = {"bindAddress": "127.0.0.1", "port": 0}


class Usage:
    """What a process has used and written up to a moment, or between two."""

    def __init__(self, cpu: float, by_verb: Mapping[str, float]) -> None:
        self.cpu = cpu
        self.by_verb = dict(by_verb)

    @property
    def writes(self) -> float:
        return sum(self.by_verb.values())

    def __sub__(self, before: Usage) -> Usage:
        verbs = {verb: count - before.by_verb.get(verb, 0.0) for verb, count in self.by_verb.items()}
        return Usage(self.cpu - before.cpu, verbs)


class GroveProcess:
    """The process. To be used with `with`; with `profile`, a profile is in `self.profile` afterwards."""

    def __init__(
        self, program: str, kubeconfig: Path, configuration: Mapping[str, Any], *options: str, profile: bool = False
    ) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self._program = program
        self.log = FOLDER / f"{program}.log"
        self.profile = FOLDER / f"{program}.prof"
        path = FOLDER / f"{program}.yaml"
        path.write_text(json.dumps(configuration))
        profiler = ["-m", "cProfile", "-o", str(self.profile)] if profile else []
        self._command = [sys.executable, *profiler, str(GROVE), program, "--config", str(path)]
        self._command += ["--kubeconfig", str(kubeconfig), *options]

    def start(self) -> None:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def check(self) -> None:
        """Raises if it has ended."""
        if self._process.poll() is not None:
            raise RuntimeError(f"grove {self._program} ended with code {self._process.returncode}; see {self.log}")

    async def ready(self) -> None:
        deadline = time.monotonic() + WITHIN
        while await self._status("health", "/readyz") != 200:
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"grove {self._program} was not ready after {WITHIN:g} s; see {self.log}")
            await asyncio.sleep(0.05)

    async def usage(self) -> Usage:
        text = await self._page("metrics", "/metrics")
        writes = dict.fromkeys(WRITES, 0.0)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == f"grove_{self._program}_client_requests_total" and sample.labels["verb"] in writes:
                    writes[sample.labels["verb"]] += sample.value
        return Usage(cpu_seconds([self._process.pid]), writes)

    async def untold(self) -> float:
        """Events that are still to be sent: of one object only so many are in a minute."""
        for family in text_string_to_metric_families(await self._page("metrics", "/metrics")):
            if family.name == f"grove_{self._program}_events_waiting":
                return sum(sample.value for sample in family.samples)
        raise RuntimeError(f"grove {self._program} does not say how many events wait")

    @property
    def pid(self) -> int:
        return self._process.pid

    def memory(self) -> int:
        return resident(self._process.pid)

    async def _status(self, server: str, path: str) -> int:
        port = self._port(server)
        if port is None:
            return 0
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status

    async def _page(self, server: str, path: str) -> str:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self._port(server)}{path}") as answer,
        ):
            return await answer.text()

    def _port(self, server: str) -> int | None:
        """Where a server listens, as the log tells."""
        for line in self.log.read_text().splitlines():
            if line.startswith("{") and line.endswith("}"):
                one = json.loads(line)
                if one["event"] == "listening" and one["server"] == server:
                    return int(one["port"])
        return None

"""A world with an API server that keeps one Lease, and candidates that can be paused, killed and cut off.

Requests and answers travel for a time; what is on its way arrives even if its sender is paused or dead by then. The
server keeps the writes that candidates send through their terms, in the order of their arrival.
"""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grove.kube.fence import NotLeaderError, Term
from grove.kube.lease import Election, LeadershipLostError, Timing
from grove.kube.leaserecord import LeaseObject
from grove.testing.virtualtime import Process, World

TIMING = Timing(duration=15, renew_deadline=10, retry_period=2, jitter=0.2)
# A write may travel for less than `duration - renew_deadline`; that is what the gap between terms is for.
TRANSIT = 0.01
WRITE_TIMEOUT = 3.0
WRITE_PERIOD = 0.5


class OutageError(ConnectionError):
    """The server cannot be reached."""


@dataclass(frozen=True)
class Write:
    """A write of a leader as it reached the server."""

    at: float
    term: int
    writer: str


@dataclass
class Server:
    """One Lease with optimistic locking."""

    world: World
    lease: LeaseObject | None = None
    version: int = 0
    down: bool = False
    transit: float = TRANSIT
    faults: list[str] = field(default_factory=list)  # for the next requests: "request" or "answer" is lost, or "error"
    requests: int = 0
    writes: list[Write] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.process = self.world.process("server")

    def store(self, process: Process) -> Store:
        return Store(self, process)

    def send(self, sender: Process, handle: Callable[[], Any]) -> asyncio.Future[Any]:
        """Carries a request to the server and the answer back; an answer that is lost never comes."""
        answer: asyncio.Future[Any] = sender.loop.create_future()
        self.requests += 1
        fault = self.faults.pop(0) if self.faults else ""

        def arrive() -> None:
            result: Any = None
            error: Exception | None = None
            if self.down or fault == "error":
                error = OutageError("no server")
            else:
                result = handle()
            if fault != "answer":
                self.process.loop.call_later(self.transit, deliver, result, error)

        def deliver(result: Any, error: Exception | None) -> None:
            if sender.alive:
                sender.loop.call_soon(settle, result, error)

        def settle(result: Any, error: Exception | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        if fault != "request":
            self.process.loop.call_later(self.transit, arrive)
        return answer

    def put(self, lease: LeaseObject) -> LeaseObject:
        self.version += 1
        self.lease = copy.deepcopy(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.lease)

    def touch(self) -> None:
        """Somebody labels the Lease."""
        if self.lease is not None:
            labels = {"touched": str(self.version)}
            self.put({**self.lease, "metadata": {**self.lease["metadata"], "labels": labels}})

    @property
    def holder(self) -> str:
        return "" if self.lease is None else str(self.lease["spec"].get("holderIdentity", ""))


@dataclass(frozen=True)
class Store:
    """What a candidate sees of the server: the LeaseStore of its election, and writing."""

    server: Server
    process: Process

    async def get(self, namespace: str, name: str) -> LeaseObject | None:
        found: LeaseObject | None = await self.server.send(self.process, lambda: copy.deepcopy(self.server.lease))
        return found

    async def create(self, lease: LeaseObject) -> LeaseObject | None:
        stored: LeaseObject | None = await self.server.send(
            self.process, lambda: self.server.put(lease) if self.server.lease is None else None
        )
        return stored

    async def update(self, lease: LeaseObject) -> LeaseObject | None:
        def handle() -> LeaseObject | None:
            stored = self.server.lease
            if stored is None or stored["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]:
                return None
            return self.server.put(lease)

        updated: LeaseObject | None = await self.server.send(self.process, handle)
        return updated

    async def write(self, term: Term, timeout: float) -> None:
        server = self.server
        writer = self.process.name
        async with asyncio.timeout(timeout):
            await server.send(self.process, lambda: server.writes.append(Write(server.world.now, term.number, writer)))


class Candidate:
    """A process that writes again and again while it leads, and ends when it does not lead any more."""

    def __init__(self, server: Server, name: str, *, winding_up: float = 0.0) -> None:
        self.process = server.world.process(name)
        self.name = name
        self.store = server.store(self.process)
        self.winding_up = winding_up
        self.refused = 0
        self.term: Term | None = None
        self.election = Election(
            self.store,
            namespace="grove-system",
            name="grove-operator",
            identity=name,
            clock=self.process.clock,
            rng=random.Random(name),
            timing=TIMING,
        )
        self.task = self.process.start(self._main())

    async def _main(self) -> str:
        try:
            await self.election.run(self._work)
        except LeadershipLostError as error:
            return f"lost: {error}"
        return "done"

    async def _work(self, term: Term) -> None:
        self.term = term
        try:
            while True:
                await self._write(term)
                await self.process.clock.sleep(WRITE_PERIOD)
        finally:
            # A leader that is told to end goes on writing for a while, under its lease.
            end = self.process.clock.monotonic() + self.winding_up
            while self.process.clock.monotonic() < end:
                await self._write(term)
                await self.process.clock.sleep(WRITE_PERIOD)

    async def _write(self, term: Term) -> None:
        try:
            with term.writing(WRITE_TIMEOUT) as allowed:
                await self.store.write(term, allowed)
        except NotLeaderError:
            self.refused += 1
        except (OutageError, TimeoutError):
            pass


def check_writes(server: Server) -> None:
    """Never two writers: terms follow each other, and each has one writer."""
    for before, after in zip(server.writes, server.writes[1:], strict=False):
        assert before.term <= after.term, f"{before} then {after}"
        if before.term == after.term:
            assert before.writer == after.writer, f"{before} then {after}"

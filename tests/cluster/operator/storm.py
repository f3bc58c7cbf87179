"""Bad weather between an operator and the API server, and death by SIGKILL, by a seed.

A proxy stands between them, in a thread of its own. Of the requests that pass, some are refused, answered too late or
not at all, or their answer is lost after the server has acted. With the n-th write the operator is killed: it never
learns what became of it. Which write that is, and what befalls the others, the seed says.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import random
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from grove.testing.controlplane import ControlPlane
from grove.testing.faults import Fault, FaultProxy, ResetAfter, ResetBefore, ResetMidResponse, Respond, Seen, Slow
from grove.testing.kubeconfig import token_user, write_kubeconfig
from tests.cluster.audit import NAMESPACE
from tests.cluster.operator.operator import ACCOUNT, Operator

READS = ("GET",)

LOST: Sequence[Fault] = (ResetBefore(), ResetAfter(), ResetMidResponse(30))
REFUSED: Sequence[Fault] = (
    Respond(429, headers={"Retry-After": "1"}),
    Respond(500),
    Respond(503),
    Respond(504, b"<html>gateway timeout</html>", forward=True),
)
LATE: Sequence[Fault] = (Slow(0.5),)
CUT: Sequence[Fault] = (
    ResetBefore(),
    ResetMidResponse(700),
    ResetMidResponse(20_000),
    Respond(500),
    Respond(429),
    Slow(2.0, after=700),
    Slow(2.0, after=10_000),
)
"""What befalls watches: cut in the middle of an event, early or late, not begun, or behind for a while: then a write
whose answer was lost is not heard of either before it is tried again."""

FAULTS: Sequence[Fault] = (*LOST, *REFUSED, *LATE, *(one for one in CUT if one not in (*LOST, *REFUSED)))

SHARE = 0.06
"""Of the requests that fail."""
CUT_SHARE = 0.5
LATEST_KILL = 60
"""A process dies with one of its first writes, at the latest with this one."""

KILLED, NOT_STARTED = -signal.SIGKILL, 4
"""How an operator may end: by our hand, or because the first thing that it asked failed. Both times it is restarted."""


class Storm:
    """To be used with `with`. It begins when it is told to."""

    def __init__(self, cluster: ControlPlane, seed: int) -> None:
        self.kills = 0
        self.faults = 0
        self._cluster = cluster
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._executor = ThreadPoolExecutor(1, "storm")
        self._blowing: Future[None] = Future()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._proxy = FaultProxy(cluster.url, cluster.ca)
        self._rages = False
        self._left = 0
        self._victim: int | None = None
        self._countdown = 0
        self._drawn: tuple[Seen | None, Fault | None] = (None, None)

    def __enter__(self) -> Self:
        self._blowing = self._executor.submit(self._run)
        self._ready.wait(30.0)
        if self._blowing.done():
            self._blowing.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended by itself, with an error that is raised below
            self._loop.call_soon_threadsafe(self._stop.set)
        self._executor.shutdown()
        if kind is None:
            self._blowing.result()

    def kubeconfig(self, directory: Path) -> Path:
        """The way to the cluster as the operator's service account, through the storm."""
        user = token_user(self._cluster.token_for(NAMESPACE, ACCOUNT))
        return write_kubeconfig(directory / "storm.kubeconfig", url=self._proxy.url, ca=self._proxy.ca, user=user)

    def rage(self, kills: int) -> None:
        """From now on requests fail, and the operator is killed so many times."""
        self._rages, self._left = True, kills

    def threaten(self, pid: int) -> None:
        """Whom it kills next."""
        self._countdown = self._random.randint(1, LATEST_KILL)
        self._victim = pid

    # In its thread

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._blow())
        finally:
            self._ready.set()

    async def _blow(self) -> None:
        async with self._proxy:
            for fault in FAULTS:
                self._proxy.inject(fault, when=functools.partial(self._hits, fault), times=None)
            self._ready.set()
            await self._stop.wait()

    def _hits(self, fault: Fault, seen: Seen) -> bool:
        """Asked for one fault after the other about each request; what befalls it is drawn once."""
        if self._drawn[0] is not seen:
            self._drawn = (seen, self._draw(seen) if self._rages else None)
            self.faults += self._drawn[1] is not None
        return self._drawn[1] == fault

    def _draw(self, seen: Seen) -> Fault | None:
        if seen.method not in READS and self._is_last():
            return self._random.choice((None, ResetBefore()))  # the server has heard of it, or has not
        if "watch" in seen.query:
            return self._random.choice(CUT) if self._random.random() < CUT_SHARE else None
        if self._random.random() < SHARE:
            return self._random.choice((*LOST, *REFUSED, *LATE))
        return None

    def _is_last(self) -> bool:
        """Whether this is the write with which the operator dies; it is dead then."""
        if self._victim is None or not self._left:
            return False
        self._countdown -= 1
        if self._countdown > 0:
            return False
        os.kill(self._victim, signal.SIGKILL)
        self._victim = None
        self._left -= 1
        self.kills += 1
        return True


class Survivor:
    """An operator in the storm: as often as it dies, it is started again, as a kubelet does."""

    def __init__(self, operator: Operator, storm: Storm) -> None:
        self.starts = 0
        self.odd_ends: list[str] = []
        self._operator = operator
        self._storm = storm

    def start(self) -> None:
        self._operator.start()
        self.starts += 1
        self._storm.threaten(self._operator.pid)

    def tend(self) -> None:
        """To be called often: starts it again if it is dead, and remembers if it should not have died."""
        code = self._operator.exit_code
        if code is None:
            return
        if code not in (KILLED, NOT_STARTED):
            self.odd_ends.append(f"it ended with {code}: {self._operator.text()[-3000:]}")
        self.start()

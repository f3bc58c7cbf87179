"""The real clock: the only place in the library that asks the machine for the time or sleeps (a lint rule holds it).

Made once, in `main`. Tests hand out `grove.testing.virtualtime` instead, whose time jumps when nothing else can run.
"""

import asyncio
import datetime
import time

from grove.kube.clock import Clock

__all__ = ["Clock", "SystemClock"]


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        # Linux stops CLOCK_MONOTONIC while the machine sleeps: a leader that slept for an hour would believe that its
        # lease is fresh. CLOCK_BOOTTIME goes on. Other systems have no such clock.
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()

    def wall(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

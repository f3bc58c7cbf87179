import asyncio
import datetime

from grove.runtime.clock import SystemClock


def test_the_real_clock_goes_on_and_sleeps() -> None:
    clock = SystemClock()

    async def nap() -> float:
        before = clock.monotonic()
        await clock.sleep(0.001)
        await clock.sleep(-5)
        return clock.monotonic() - before

    assert 0.001 <= asyncio.run(nap()) < 5
    assert clock.wall().tzinfo is datetime.UTC

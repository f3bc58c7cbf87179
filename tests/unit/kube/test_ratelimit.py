"""The token bucket, on a clock of its own."""

import asyncio

import pytest

from grove.kube.ratelimit import RateLimit, TokenBucket


class Clock:
    """A clock that moves when someone sleeps."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    async def main() -> list[float]:
        clock = Clock()
        bucket = TokenBucket(RateLimit(qps=10, burst=3), now=clock.now, sleep=clock.sleep)
        times = []
        for _ in range(6):
            await bucket.take()
            times.append(round(clock.time - 100.0, 6))
        return times

    assert asyncio.run(main()) == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]


def test_a_pause_gives_a_burst_back_and_no_more() -> None:
    async def main() -> list[float]:
        clock = Clock()
        bucket = TokenBucket(RateLimit(qps=10, burst=2), now=clock.now, sleep=clock.sleep)
        clock.time += 3600
        start, times = clock.time, []
        for _ in range(4):
            await bucket.take()
            times.append(round(clock.time - start, 6))
        return times

    assert asyncio.run(main()) == [0.0, 0.0, 0.1, 0.2]


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (10, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="qps > 0"):
        RateLimit(qps, burst)

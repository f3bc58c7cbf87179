"""Connections by age."""

import asyncio
import random

import aiohttp

from grove.kube.pool import Pool
from tests.unit.kube.kubeconfigs import Clock


def test_a_session_is_replaced_when_it_is_old_and_closed_when_nobody_uses_it() -> None:
    async def main() -> None:
        clock = Clock(0.0)
        pool = Pool(max_age=100.0, user_agent="test", now=clock, rng=random.Random(1))

        def current() -> aiohttp.ClientSession:
            with pool.session() as session:
                return session

        with pool.session() as first:
            clock.time = 79.0
            assert current() is first
            clock.time = 101.0
            second = current()
            assert second is not first
            await pool.tidy()
            assert not first.closed
        await pool.tidy()
        assert (first.closed, second.closed) == (True, False)
        await pool.close()
        assert second.closed

    asyncio.run(main())


def test_sessions_of_many_clients_do_not_end_together() -> None:
    async def main() -> set[int]:
        ends = set()
        for seed in range(20):
            clock = Clock(0.0)
            pool = Pool(max_age=100.0, user_agent="test", now=clock, rng=random.Random(seed))
            with pool.session() as first:
                pass
            while True:
                with pool.session() as session:
                    if session is not first:
                        break
                clock.time += 1
            ends.add(int(clock.time))
            await pool.close()
        return ends

    ends = asyncio.run(main())
    assert 80 <= min(ends) <= max(ends) <= 101
    assert len(ends) > 5

import asyncio
import os
import random
import signal
from collections.abc import Sequence

import pytest

from grove.kube.fence import Fence, Term, Unfenced
from grove.kube.lease import Election, LeadershipLostError
from grove.runtime.clock import SystemClock
from grove.runtime.manager import EndedEarly, Manager, Runnable
from grove.testing.virtualtime import Process, VirtualClock, World, run
from tests.unit.kube.leaseserver import Server

Log = list[tuple[str, str, float]]


class Part:
    """Something that runs until it is cancelled, and then takes some time to end."""

    def __init__(self, name: str, clock: VirtualClock, log: Log, *, ending: float = 0, lives: float = 1e9) -> None:
        self.name = name
        self.clock = clock
        self.log = log
        self.ending = ending
        self.lives = lives

    async def run(self) -> None:
        self.log.append((self.name, "begins", self.clock.monotonic()))
        try:
            await self.clock.sleep(self.lives)
        finally:
            await self.clock.sleep(self.ending)
            self.log.append((self.name, "ends", self.clock.monotonic()))


def test_without_an_election_everything_runs_and_ends_in_order() -> None:
    async def scenario(clock: VirtualClock) -> None:
        log: Log = []

        def led(fence: Fence) -> Sequence[Runnable]:
            assert isinstance(fence, Unfenced)
            return [Part("controller", clock, log, ending=5)]

        manager = Manager(always=[Part("server", clock, log)], led=led)
        task = asyncio.ensure_future(manager.run())
        await clock.sleep(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(log[:2]) == [("controller", "begins", 0), ("server", "begins", 0)]
        assert log[2:] == [("controller", "ends", 15), ("server", "ends", 15)]

    run(scenario)


def elected(server: Server, process: Process, log: Log, *, ending: float = 0) -> Manager:
    election = Election(
        server.store(process),
        namespace="n",
        name="l",
        identity=process.name,
        clock=process.clock,
        rng=random.Random(process.name),
    )

    def led(fence: Fence) -> Sequence[Runnable]:
        assert isinstance(fence, Term)
        return [Part(f"controller of {process.name}", process.clock, log, ending=ending)]

    return Manager(always=[Part(f"server of {process.name}", process.clock, log)], led=led, election=election)


def test_only_the_leader_controls_and_the_lease_is_given_back_after_that_has_ended() -> None:
    with World() as world:
        server = Server(world)
        log: Log = []
        one, two = world.process("one"), world.process("two")
        first = one.start(elected(server, one, log, ending=30).run())
        world.advance(1)
        two.start(elected(server, two, log).run())
        world.advance(10)
        assert ("controller of one", "begins") in [entry[:2] for entry in log]
        assert ("controller of two", "begins") not in [entry[:2] for entry in log]
        assert ("server of two", "begins") in [entry[:2] for entry in log]
        one.stop()
        world.advance(29)
        assert server.holder == "one"
        world.advance(5)
        assert first.cancelled()
        moments = {entry[:2]: entry[2] for entry in log}
        assert moments["controller of one", "ends"] == 41
        assert 41 < moments["server of one", "ends"] < 42
        assert 41 < moments["controller of two", "begins"] < 44


def test_the_loss_of_the_lease_ends_the_process() -> None:
    with World() as world:
        server = Server(world)
        log: Log = []
        process = world.process("one")
        task = process.start(elected(server, process, log).run())
        world.advance(10)
        server.down = True
        world.run_until(task.done)
        error = task.exception()
        assert isinstance(error, ExceptionGroup)
        assert error.split(LeadershipLostError)[1] is None
        assert [entry[1] for entry in log] == ["begins", "begins", "ends", "ends"]


@pytest.mark.parametrize("which", ["server", "controller"])
def test_what_ends_by_itself_ends_everything(which: str) -> None:
    async def scenario(clock: VirtualClock) -> None:
        log: Log = []
        lives = {"server": 1e9, "controller": 1e9, which: 5.0}
        manager = Manager(
            always=[Part("server", clock, log, lives=lives["server"])],
            led=lambda _: [Part("controller", clock, log, lives=lives["controller"])],
        )
        with pytest.raises(ExceptionGroup) as caught:
            await manager.run()
        assert caught.group_contains(EndedEarly, match=which)
        assert [entry[2] for entry in log] == [0, 0, 5, 5]

    run(scenario)


class Forever:
    """Runs until it is cancelled, in real time."""

    name = "forever"

    def __init__(self, started: asyncio.Event, *, stubborn: bool = False) -> None:
        self.started = started
        self.stubborn = stubborn

    async def run(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            if self.stubborn:
                self.started.set()
                await asyncio.Event().wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    async def scenario() -> None:
        started = asyncio.Event()
        manager = Manager(always=[], led=lambda _: [Forever(started)])
        task = asyncio.ensure_future(manager.run_until_signalled())
        await started.wait()
        os.kill(os.getpid(), number)
        await task

    asyncio.run(scenario())


def test_a_second_signal_waits_for_nothing() -> None:
    async def scenario() -> None:
        started = asyncio.Event()
        manager = Manager(always=[], led=lambda _: [Forever(started, stubborn=True)])
        task = asyncio.ensure_future(manager.run_until_signalled())
        for _ in range(2):
            await started.wait()
            started.clear()
            os.kill(os.getpid(), signal.SIGTERM)
        await task

    asyncio.run(scenario())


def test_a_failure_is_raised_although_nobody_signalled() -> None:
    async def scenario() -> None:
        clock = SystemClock()

        class Failing:
            name = "failing"

            async def run(self) -> None:
                await clock.sleep(0)
                raise ValueError("broken")

        manager = Manager(always=[Failing()], led=lambda _: [Forever(asyncio.Event())])
        with pytest.raises(ExceptionGroup) as caught:
            await manager.run_until_signalled()
        assert caught.group_contains(ValueError)

    asyncio.run(scenario())

"""Never two writers, whatever happens: candidates come, are paused, killed, stopped and cut off, in any order."""

import datetime

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from grove.testing.virtualtime import World
from tests.unit.kube.leaseserver import TIMING, Candidate, Server, check_writes

CANDIDATES = 3
# A message may travel for long, but request and answer together less than the gap between two terms.
SLOWEST = (TIMING.duration - TIMING.renew_deadline) / 2 - 0.1


class ElectionMachine(RuleBasedStateMachine):
    """The server's list of writes is the judge."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.server = Server(self.world)
        self.started = 0
        self.candidates: list[Candidate] = []

    def running(self) -> list[Candidate]:
        return [one for one in self.candidates if one.process.alive and not one.task.done()]

    @precondition(lambda self: len(self.running()) < CANDIDATES)
    @rule(winding_up=st.sampled_from([0.0, 1.25, 20.0]))
    def start(self, winding_up: float) -> None:
        self.started += 1
        self.candidates.append(Candidate(self.server, f"c{self.started}", winding_up=winding_up))

    @rule(seconds=st.floats(min_value=0.01, max_value=40))
    def wait(self, seconds: float) -> None:
        self.world.advance(seconds)

    # Moments around the renew deadline and the duration are where mistakes show.
    @rule(
        seconds=st.sampled_from([TIMING.renew_deadline, TIMING.duration, TIMING.retry_period]),
        more=st.floats(min_value=-1, max_value=1),
    )
    def wait_for_about(self, seconds: float, more: float) -> None:
        self.world.advance(seconds + more)

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def pause_or_resume(self, data: st.DataObject) -> None:
        process = data.draw(st.sampled_from(self.running())).process
        if process.paused:
            process.resume()
        else:
            process.pause()

    @precondition(lambda self: any(one.election.statistics().leading for one in self.running()))
    @rule()
    def pause_the_leader(self) -> None:
        next(one for one in self.running() if one.election.statistics().leading).process.pause()

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.running())).process.kill()

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def stop(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.running())).process.stop()

    @rule(down=st.booleans())
    def cut_off(self, down: bool) -> None:
        self.server.down = down

    @rule(transit=st.floats(min_value=0.001, max_value=SLOWEST))
    def change_the_transit(self, transit: float) -> None:
        self.server.transit = transit

    @rule(faults=st.lists(st.sampled_from(["", "request", "answer", "error"]), max_size=6))
    def lose_messages(self, faults: list[str]) -> None:
        self.server.faults = faults

    @precondition(lambda self: self.candidates)
    @rule(data=st.data(), seconds=st.integers(min_value=-(10**6), max_value=10**6))
    def change_the_time_of_day(self, data: st.DataObject, seconds: int) -> None:
        process = data.draw(st.sampled_from(self.candidates)).process
        process.clock.wall_offset = datetime.timedelta(seconds=seconds)

    @rule()
    def label_the_lease(self) -> None:
        self.server.touch()

    @invariant()
    def there_was_one_writer_at_a_time(self) -> None:
        check_writes(self.server)

    def teardown(self) -> None:
        """And when everything works again, somebody leads soon."""
        self.server.down = False
        self.server.transit = 0.01
        self.server.faults = []
        for candidate in self.running():
            candidate.process.resume()
        self.world.advance(2 * TIMING.duration)  # those that are to end, or find that they lost, do
        while len(self.running()) < CANDIDATES:
            self.start(0.0)
        before = len(self.server.writes)
        self.world.advance(2 * TIMING.duration)
        assert len(self.server.writes) > before
        check_writes(self.server)
        self.world.close()


TestElection = ElectionMachine.TestCase
TestElection.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)

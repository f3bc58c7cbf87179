import asyncio
import datetime
import random
from collections.abc import Iterator

import pytest

from grove.kube.fence import NotLeaderError, Term
from grove.kube.lease import Election, Timing, unique_identity
from grove.kube.leaserecord import micro_time
from grove.testing.virtualtime import EPOCH, VirtualClock, World, run
from tests.unit.kube.leaseserver import TIMING, Candidate, Server, Store, check_writes

GAP = TIMING.duration - TIMING.renew_deadline


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.fixture
def server(world: World) -> Server:
    return Server(world)


def three(server: Server) -> list[Candidate]:
    return [Candidate(server, name) for name in ("a", "b", "c")]


def leader(candidates: list[Candidate]) -> Candidate:
    [leading] = [one for one in candidates if one.election.statistics().leading]
    return leading


def test_one_of_three_leads_and_keeps_leading(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(600)
    first = leader(candidates)
    assert {write.writer for write in server.writes} == {first.name}
    assert {write.term for write in server.writes} == {0}
    assert len(server.writes) > 600 / 0.53
    statistics = first.election.statistics()
    assert (statistics.terms, statistics.lost, statistics.failures) == (1, 0, 0)
    assert server.lease is not None
    assert server.lease["spec"]["leaseDurationSeconds"] == 15
    assert server.lease["spec"]["leaseTransitions"] == 0


def test_a_killed_leader_is_followed_after_the_lease_ran_out(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(60)
    first = leader(candidates)
    first.process.kill()
    last = server.writes[-1].at
    world.advance(60)
    after = [write for write in server.writes if write.at > last + 1]
    assert {write.term for write in after} == {1}
    assert 12 < after[0].at - last < 15 + 2 * 2.4 + 1
    check_writes(server)


def test_a_leader_that_ends_gives_its_lease_back_at_once(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(60.25)  # between two writes
    first = leader(candidates)
    first.process.stop()
    world.advance(0.1)
    assert first.task.cancelled()
    assert server.holder == ""
    world.advance(3)
    second = leader([one for one in candidates if one is not first])
    assert server.holder == second.name
    assert server.writes[-1].term == 1
    check_writes(server)


def test_a_leader_that_takes_long_to_end_keeps_its_lease_until_then(world: World, server: Server) -> None:
    first = Candidate(server, "slow", winding_up=60.25)
    world.advance(60.25)
    second = Candidate(server, "next")
    world.advance(5)
    first.process.stop()
    world.advance(59)
    assert server.holder == "slow"
    assert server.writes[-1].writer == "slow"
    world.advance(30)
    assert server.writes[-1].writer == "next"
    assert first.refused == 0
    assert second.election.statistics().term == 1
    check_writes(server)


def test_a_lease_is_not_given_back_while_a_write_may_be_on_its_way(world: World, server: Server) -> None:
    first = Candidate(server, "a")
    world.advance(60.25)
    Candidate(server, "b")
    server.transit = 1.0
    world.run_until(lambda: first.term is not None and first.term.has_unknown_writes)
    first.process.stop()
    world.advance(5)
    assert first.task.cancelled()
    assert server.holder == "a"
    world.advance(20)
    assert server.holder == "b"
    check_writes(server)


def test_a_leader_that_was_stopped_and_wakes_up_late_writes_nothing(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(60)
    first = leader(candidates)
    first.process.pause()
    world.advance(600)
    second = leader([one for one in candidates if one is not first])
    first.process.resume()
    world.advance(60)
    assert server.writes[-1].writer == second.name
    assert first.task.result().startswith("lost")
    check_writes(server)


@pytest.mark.parametrize("seconds", [9.0, 10.5, 14.0, 14.99, 15.5, 17.0])
def test_a_pause_of_any_length_leaves_one_writer(world: World, server: Server, seconds: float) -> None:
    candidates = three(server)
    for _ in range(8):
        world.advance(33.3)
        now = leader([one for one in candidates if one.process.alive and not one.task.done()])
        now.process.pause()
        world.advance(seconds)
        now.process.resume()
        world.advance(30)
        if now.task.done():
            candidates.append(Candidate(server, f"{now.name}'"))
    check_writes(server)
    assert len(server.writes) > 500


def test_a_leader_that_wakes_within_its_term_goes_on(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(60)
    first = leader(candidates)
    first.process.pause()
    world.advance(7)
    first.process.resume()
    world.advance(60)
    assert leader(candidates) is first
    assert {write.term for write in server.writes} == {0}


def test_a_late_riser_whose_lease_nobody_took_writes_nothing_either(world: World, server: Server) -> None:
    alone = Candidate(server, "alone")
    world.advance(60)
    alone.process.pause()
    world.advance(11)
    before = len(server.writes)
    alone.process.resume()
    world.advance(60)
    assert len(server.writes) == before
    assert "not renewed in time" in alone.task.result()


def test_the_time_of_day_may_jump(world: World, server: Server) -> None:
    candidates = three(server)
    rng = random.Random(1)
    for _ in range(80):
        for candidate in candidates:
            candidate.process.clock.wall_offset = datetime.timedelta(seconds=rng.uniform(-1e6, 1e6))
        world.advance(rng.uniform(0, 10))
    assert {write.term for write in server.writes} == {0}


def test_a_time_of_day_that_stands_still_does_not_cost_the_lease(
    world: World, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VirtualClock, "wall", lambda _: EPOCH)
    three(server)
    world.advance(120)
    assert {write.term for write in server.writes} == {0}


def test_a_term_is_counted_from_the_sending_of_a_renewal_not_from_its_answer(world: World, server: Server) -> None:
    candidate = Candidate(server, "a")
    server.transit = 1.0
    world.advance(10)
    left = []
    for _ in range(300):
        world.advance(0.1)
        left.append(candidate.election.statistics().seconds_left)
    assert 7.8 < max(left) <= TIMING.renew_deadline - 2.0


def test_an_outage_shorter_than_the_renew_deadline_is_survived(world: World, server: Server) -> None:
    candidates = three(server)
    for _ in range(8):
        world.advance(30.7)
        server.down = True
        world.advance(TIMING.renew_deadline - 2 * 2.4 - 0.1)
        server.down = False
    world.advance(30)
    assert {write.term for write in server.writes} == {0}
    assert leader(candidates).election.statistics().failures > 0


def test_after_a_longer_outage_somebody_leads_again(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(60)
    first = leader(candidates)
    server.down = True
    world.advance(60)
    assert not any(one.election.statistics().leading for one in candidates)
    assert first.task.result().startswith("lost")
    server.down = False
    world.advance(20)
    assert leader(candidates) is not first
    check_writes(server)


@pytest.mark.parametrize("fault", ["request", "answer", "error"])
def test_one_lost_message_does_not_cost_the_lease(world: World, server: Server, fault: str) -> None:
    three(server)
    world.advance(60)
    for _ in range(20):
        server.faults.append(fault)
        world.advance(12)
    assert {write.term for write in server.writes} == {0}


def test_a_claim_whose_answer_is_lost_is_taken_up_again(world: World, server: Server) -> None:
    server.faults = ["", "answer"]  # the get is answered, the create is not
    Candidate(server, "a")
    world.advance(8 + 2.5)  # until the try is given up, and the next
    assert server.holder == "a"
    assert server.writes
    check_writes(server)


def test_a_renewal_whose_answer_is_lost_is_found_to_be_ours(world: World, server: Server) -> None:
    alone = Candidate(server, "alone")
    world.advance(1.75)
    lost = False
    for _ in range(1000):
        version = server.version
        server.faults = ["answer"]
        world.advance(0.05)
        if server.version > version:
            lost = True
            break
        server.faults = []
    assert lost
    server.faults = []
    world.advance(60)
    assert alone.election.statistics().term == 0
    assert alone.election.statistics().lost == 0


def test_labels_and_fields_of_others_stay_and_do_not_disturb(world: World, server: Server) -> None:
    candidates = three(server)
    for _ in range(100):
        world.advance(1.7)
        server.touch()
    assert server.lease is not None
    server.put({**server.lease, "spec": {**server.lease["spec"], "strategy": "OldestEmulationVersion"}})
    world.advance(10)
    assert {write.term for write in server.writes} == {0}
    assert server.lease["spec"]["strategy"] == "OldestEmulationVersion"
    assert "touched" in server.lease["metadata"]["labels"]
    leader(candidates).process.kill()
    for _ in range(100):  # nor does it keep candidates from seeing that nobody renews
        world.advance(1)
        server.touch()
    assert server.writes[-1].term == 1


def test_whoever_takes_the_lease_by_force_ends_the_term(world: World, server: Server) -> None:
    alone = Candidate(server, "alone")
    world.advance(60)
    assert server.lease is not None
    server.put({**server.lease, "spec": {**server.lease["spec"], "holderIdentity": "usurper", "leaseTransitions": 7}})
    world.advance(3)
    assert alone.task.result() == ("lost: alone lost grove-system/grove-operator: the lease is held by usurper")


def test_a_deleted_lease_ends_the_term_and_binds_those_who_saw_it(world: World, server: Server) -> None:
    candidates = three(server)
    world.advance(60)
    first = leader(candidates)
    first.process.pause()
    server.lease = None
    deleted = world.now
    world.advance(TIMING.renew_deadline)
    assert server.lease is None
    first.process.resume()
    world.advance(30)
    assert "deleted" in first.task.result() or "not renewed" in first.task.result()
    after = [write for write in server.writes if write.at > deleted]
    assert after
    assert {write.term for write in after} == {1}  # it goes on counting
    check_writes(server)


def test_the_name_of_another_process_gives_no_right(world: World, server: Server) -> None:
    first = Candidate(server, "same")
    world.advance(60)
    second = Candidate(server, "same")
    world.advance(60)
    check_writes(server)
    assert first.election.statistics().leading
    assert not second.election.statistics().leading
    first.process.kill()
    world.advance(30)
    assert second.election.statistics().leading
    assert second.election.statistics().term == 1


def test_two_of_one_name_that_start_at_once_do_not_both_lead(world: World, server: Server) -> None:
    both = [Candidate(server, "same") for _ in range(2)]
    world.advance(60)
    assert [one.election.statistics().leading for one in both].count(True) == 1
    assert {write.term for write in server.writes} == {0}  # and neither took it from the other


def test_the_holders_own_promise_counts_not_ours(world: World, server: Server) -> None:
    lease = {"metadata": {}, "spec": {"holderIdentity": "patient", "leaseDurationSeconds": 100, "leaseTransitions": 4}}
    server.put(lease)
    candidate = Candidate(server, "a")
    world.advance(99)
    assert not candidate.election.statistics().leading
    assert candidate.election.statistics().holder == "patient"
    world.advance(6)
    assert candidate.election.statistics().term == 5


def test_a_lease_without_a_holder_or_a_spec_is_free(world: World, server: Server) -> None:
    server.put({"metadata": {"labels": {"made": "by-hand"}}})
    candidate = Candidate(server, "a")
    world.advance(1)
    assert candidate.election.statistics().leading


def test_work_that_ends_gives_the_lease_back_and_its_error_to_the_caller(world: World, server: Server) -> None:
    process = world.process("one")
    seen: list[Term] = []

    async def work(term: Term) -> None:
        seen.append(term)
        await process.clock.sleep(30)
        raise ValueError("broken")

    election = Election(
        Store(server, process),
        namespace="grove-system",
        name="grove-operator",
        identity="one",
        clock=process.clock,
        rng=random.Random(1),
    )
    task = process.start(election.run(work))
    world.run_until(task.done)
    assert isinstance(task.exception(), ValueError)
    assert server.holder == ""
    assert not seen[0].is_open
    assert seen[0].over == "it was given back"


def test_what_the_work_raises_while_it_is_cancelled_is_the_cause(world: World, server: Server) -> None:
    process = world.process("one")

    async def work(term: Term) -> None:
        try:
            await process.clock.sleep(1e9)
        finally:
            raise ValueError("broken")

    election = Election(
        Store(server, process), namespace="n", name="l", identity="one", clock=process.clock, rng=random.Random(1)
    )
    task = process.start(election.run(work))
    world.advance(5)
    server.down = True
    world.run_until(task.done)
    error = task.exception()
    assert error is not None
    assert isinstance(error.__cause__, ValueError)


def test_a_leader_whose_term_ends_while_it_is_told_to_end_does_end(world: World, server: Server) -> None:
    """Who runs for the lease again after losing it would not notice that it was told to stop."""
    first = Candidate(server, "slow", winding_up=60)
    world.advance(10)
    first.process.stop()
    server.down = True
    world.run_until(first.task.done)
    assert first.task.cancelled()
    assert first.election.statistics().lost == 1


def test_a_second_cancellation_waits_for_nothing(world: World, server: Server) -> None:
    first = Candidate(server, "slow", winding_up=1e6)
    world.advance(10)
    first.task.cancel()
    world.advance(10)
    assert not first.task.done()
    first.task.cancel()
    world.advance(0)
    assert first.task.cancelled()
    assert first.term is not None
    assert not first.term.is_open


def test_timings_that_cannot_be_safe_are_refused() -> None:
    with pytest.raises(ValueError, match="each must be longer than the one before"):
        Timing(duration=10, renew_deadline=10)
    with pytest.raises(ValueError, match="with jitter"):
        Timing(duration=10, renew_deadline=5, retry_period=4.5)


def test_identities_are_unique_and_readable() -> None:
    rng = random.Random(1)
    identities = {unique_identity("pod-1", rng) for _ in range(100)}
    assert len(identities) == 100
    assert all(identity.startswith("pod-1_") for identity in identities)


def test_stamps_are_as_the_server_writes_them() -> None:
    moment = datetime.datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
    assert micro_time(moment) == "2030-01-02T03:04:05.000006Z"


# The term itself


def test_a_request_may_not_last_longer_than_the_term() -> None:
    async def scenario(clock: VirtualClock) -> None:
        term = Term(3, "me", clock.monotonic() + 10, clock)
        with term.writing(4) as allowed:
            assert allowed == 4
        await clock.sleep(8)
        with term.writing(4) as allowed:
            assert allowed == 2
        await clock.sleep(2)
        with pytest.raises(NotLeaderError, match="me may not write: its term 3 is over"), term.writing(4):
            pytest.fail("it was let through")

    run(scenario)


def test_a_term_that_is_over_stays_over() -> None:
    async def scenario(clock: VirtualClock) -> None:
        term = Term(3, "me", clock.monotonic() + 10, clock)
        await clock.sleep(10)
        term.extend(clock.monotonic() + 10)
        assert not term.is_open
        term.end("something else")
        assert "not renewed in time" in term.over

    run(scenario)


def test_a_write_that_was_given_up_is_unknown_until_its_deadline() -> None:
    async def scenario(clock: VirtualClock) -> None:
        term = Term(3, "me", clock.monotonic() + 10, clock)

        async def give_up() -> None:
            async with asyncio.timeout(1):
                with term.writing(4):
                    await clock.sleep(3)

        with pytest.raises(TimeoutError):
            await give_up()
        assert term.has_unknown_writes
        await clock.sleep(3)
        assert not term.has_unknown_writes

    run(scenario)

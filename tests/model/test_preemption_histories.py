"""Gangs that come, go and make others go, over and over: it ends, and nobody goes in vain."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.scheduler.cluster import Placed
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.ledger import REPLANS, Ledger
from grove.scheduler.preemption.plan import plan
from grove.scheduler.preemption.running import Crew, Member, Plan, Running
from grove.scheduler.reservations import expire, keep, opened
from grove.scheduler.verdicts import Found
from tests.unit.scheduler.fleets import RACK, fleet, gang, group, occupy, spec
from tests.unit.scheduler.preemption.scene import certain

STEPS = 1_000_000


class Wish(NamedTuple):
    name: str
    size: int
    gpus: int
    packed: bool
    priority: int
    created: float


class World:
    """A scheduler in a few lines: what the engine does around plans."""

    def __init__(self) -> None:
        self.cluster = fleet(2, 2, gpus=4)
        self.ledger = Ledger()
        self.wishes: dict[str, Wish] = {}
        self.running: dict[str, Running] = {}
        self.going: list[str] = []
        self.now = 0.0
        self.evictions: list[tuple[str, str]] = []
        self.plans: dict[str, int] = {}

    def gang(self, wish: Wish) -> Gang:
        pods = group(self.cluster, wish.name, wish.size, spec(gpus=wish.gpus))
        made = gang(pods, required=RACK if wish.packed else None, name=wish.name)
        return made._replace(priority=wish.priority, created=wish.created)

    def step(self) -> bool:
        """Every gang that waits is tried once, in order. Whether anything happened."""
        expire(self.cluster, self.now)
        happened = bool(self.going)
        for uid in self.going:
            if uid in self.cluster.pods:
                self.cluster.take(uid)
        self.going = []
        waiting = sorted(
            (wish for wish in self.wishes.values() if f"default/{wish.name}" not in self.running),
            key=lambda wish: (-wish.priority, wish.created, wish.name),
        )
        for wish in waiting:
            happened |= self.try_(self.gang(wish), wish)
        assert [*self.cluster.recount()] == []
        return happened

    def try_(self, wanted: Gang, wish: Wish) -> bool:
        with opened(self.cluster, wanted.key):
            found = certain(self.cluster, wanted, Budget(STEPS))
        if isinstance(found, Found):
            self.cluster.release(wanted.key)
            members = []
            for put in found.puts:
                pod = Placed(put.pod.uid, "default", put.pod.name, put.pod.cls, put.slot, gang=wanted.key)
                self.cluster.put(pod)
                members.append(Member(pod, self.now, 10.0))
            crew = Crew(wish.name, wish.size, tuple(members))
            self.running[wanted.key] = Running(wanted.key, wish.priority, (crew,), self.now)
            self.ledger.placed(wanted.key)
            return True
        made = plan(
            self.cluster,
            wanted,
            self.running,
            place=certain,
            budget=Budget(STEPS),
            now=self.now,
            ledger=self.ledger,
        )
        if not isinstance(made, Plan) or not made.victims:
            return False
        self.plans[wanted.key] = self.plans.get(wanted.key, 0) + 1
        for victim in made.victims:
            assert self.running[victim.gang].priority < wish.priority
            pod = self.cluster.take(victim.uid)
            again = Placed(pod.uid, "default", pod.name, pod.cls, pod.slot, gang=pod.gang, terminating=True)
            self.cluster.put(again)
            self.going.append(victim.uid)
        for key in made.gangs:
            del self.running[key]
            self.evictions.append((wanted.key, key))
        keep(self.cluster, made.holds)
        self.ledger.planned(wanted.key, [victim.uid for victim in made.victims], made.gangs, self.now)
        return True


wishes = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.booleans(), st.integers(0, 3)), min_size=2, max_size=8
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(wishes)
def test_it_comes_to_rest_and_nobody_comes_back_at_the_cost_of_who_sent_it_away(
    wanted: list[tuple[int, int, bool, int]],
) -> None:
    world = World()
    for number, (size, gpus, packed, priority) in enumerate(wanted):
        world.wishes[f"w{number}"] = Wish(f"w{number}", size, gpus, packed, priority, float(number))
        world.step()
        world.now += 10
    for _ in range(60):
        if not world.step():
            break
        world.now += 10
    else:
        raise AssertionError(world.evictions)
    pairs = set(world.evictions)
    assert not any((other, one) in pairs for one, other in pairs)
    assert len(world.evictions) <= len(wanted) ** 2
    # Who was sent for is there: nobody went for a gang that still waits.
    for one, _ in world.evictions:
        later = [by for by, gone in world.evictions if gone == one]
        assert one in world.running or later


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), min_size=20, max_size=40))
def test_a_gang_whose_room_others_take_makes_few_plans(stolen: list[bool]) -> None:
    world = World()
    for slot in range(4):
        world.wishes[f"v{slot}"] = Wish(f"v{slot}", 1, 4, packed=False, priority=0, created=float(slot))
    world.step()
    world.wishes["w"] = Wish("w", 1, 4, packed=False, priority=2, created=9.0)
    for number, thief in enumerate(stolen):
        world.step()
        held = [hold.slot for hold in world.cluster.holds.get("default/w", ())]
        if thief and held:
            for uid in [*world.going]:
                world.cluster.take(uid)
                world.going.remove(uid)
            taken = occupy(world.cluster, held[0], spec(gpus=4), f"thief-{number}")
            world.cluster.release("default/w")
            assert taken.slot == held[0]
        world.now += 1
    # All of it happens before the first pause is over.
    assert world.plans.get("default/w", 0) <= REPLANS + 1

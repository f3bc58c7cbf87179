"""Who goes for whom."""

from __future__ import annotations

import numpy as np
import pytest

from grove.scheduler.cluster import Hold, Placed
from grove.scheduler.placement.place import place
from grove.scheduler.preemption.ledger import Ledger
from grove.scheduler.preemption.running import Guards, NoPlan, Plan, Policy
from grove.scheduler.verdicts import Found, Put
from tests.unit.scheduler.fleets import RACK, fleet, gang, group, occupy, spec
from tests.unit.scheduler.preemption.scene import NOW, Scene

FULL = spec(gpus=8)
HALF = spec(gpus=4)
ONE = spec(gpus=1)


def test_the_gang_that_is_worth_least_goes() -> None:
    scene = Scene(fleet(1, 3))
    scene.run("dear", (1, FULL, [0]), priority=5)
    scene.run("cheap", (1, FULL, [1]), priority=1)
    scene.run("middle", (1, FULL, [2]), priority=3)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=10)
    found = scene.plan(wanted)
    assert isinstance(found, Plan)
    assert [victim.name for victim in found.victims] == ["cheap-0-0"]
    assert found.proven
    assert [put.slot for put in found.found.puts] == [1]


def test_nobody_goes_for_a_gang_of_the_same_priority() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]), priority=7)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=7)
    assert scene.plan(wanted).reason == "Nobody"  # type: ignore[union-attr]


def test_nobody_goes_for_a_gang_that_does_not_fit_even_so() -> None:
    scene = Scene(fleet(2, 2))
    for slot in range(4):
        scene.run(f"a{slot}", (1, FULL, [slot]))
    before = scene.cluster.free.copy()
    wanted = gang(group(scene.cluster, "w", 3, FULL), required=RACK)._replace(priority=10)
    found = scene.plan(wanted)
    assert isinstance(found, NoPlan)
    assert found.reason == "NotEnough"
    assert np.array_equal(scene.cluster.free, before)
    assert [*scene.cluster.recount()] == []


def test_a_gang_that_loses_one_pod_of_its_minimum_goes_as_a_whole() -> None:
    scene = Scene(fleet(1, 3))
    scene.run("a", (3, FULL, [0, 1, 2]))
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=10)
    found = scene.plan(wanted)
    assert isinstance(found, Plan)
    assert len(found.victims) == 3
    assert found.gangs == ("default/a",)


def test_pods_that_a_gang_can_do_without_go_before_any_gang() -> None:
    scene = Scene(fleet(1, 4))
    scene.run("a", (2, FULL, [0, 1, 2]))
    scene.run("b", (1, HALF, [3, 3]))
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=10)
    found = scene.plan(wanted)
    assert isinstance(found, Plan)
    assert len(found.victims) == 1
    assert found.gangs == ()


def test_no_more_pods_of_a_group_go_than_it_can_do_without() -> None:
    scene = Scene(fleet(1, 4))
    scene.run("a", (2, FULL, [0, 1, 2]))
    scene.run("b", (1, FULL, [3]))
    wanted = gang(group(scene.cluster, "w", 2, FULL))._replace(priority=10)
    found = scene.plan(wanted)
    assert isinstance(found, Plan)
    assert sorted(victim.gang for victim in found.victims) == ["default/a", "default/b"]


def test_scaled_gangs_go_before_base_gangs() -> None:
    scene = Scene(fleet(1, 3))
    scene.run("base", (2, FULL, [0]), priority=0)
    scene.run("s0", (1, HALF, [1]), (1, HALF, [1]), base="base")
    scene.run("s1", (1, HALF, [2]), (1, HALF, [2]), base="base")
    wanted = gang(group(scene.cluster, "w", 2, FULL))._replace(priority=10)
    assert {name[:2] for name in scene.victims(wanted)} == {"s0", "s1"}


def test_with_a_base_gang_all_go_that_depend_on_it() -> None:
    scene = Scene(fleet(2, 1))
    scene.run("base", (1, FULL, [0]), (1, spec(), [0]))
    scene.run("scaled", (1, ONE, [1]), (1, ONE, [1]), base="base")
    scene.run("other", (1, HALF, [1]), priority=9)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    found = scene.plan(wanted)
    assert isinstance(found, Plan)
    assert found.gangs == ("default/base", "default/scaled")


def test_a_base_gang_stays_if_one_that_depends_on_it_must() -> None:
    scene = Scene(fleet(2, 1))
    scene.run("base", (1, FULL, [0]))
    scene.run("scaled", (1, FULL, [1]), base="base", preemptible=False)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert isinstance(scene.plan(wanted), NoPlan)


def test_a_gang_that_forbids_it_does_not_go() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]), preemptible=False)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert isinstance(scene.plan(wanted), NoPlan)


def test_a_gang_whose_policy_is_never_waits() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]))
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5, preempts=False)
    assert scene.plan(wanted).reason == "Never"  # type: ignore[union-attr]


def test_the_delay_is_waited_for() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]))
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5, created=NOW - 10)
    found = scene.plan(wanted, policy=Policy(delay=30))
    assert isinstance(found, NoPlan)
    assert (found.reason, found.again) == ("Waiting", NOW + 20)
    assert isinstance(scene.plan(wanted, policy=Policy(delay=10)), Plan)


def test_all_victims_are_in_the_domain_that_costs_least() -> None:
    scene = Scene(fleet(3, 4))
    for rack in range(3):
        for at in range(4):
            scene.run(f"r{rack}-{at}", (1, FULL if rack != 1 else HALF, [rack * 4 + at]))
    wanted = gang(group(scene.cluster, "w", 3, FULL), required=RACK)._replace(priority=10)
    assert scene.victims(wanted) == ["r1-0-0-0", "r1-1-0-0", "r1-2-0-0"]


def test_a_disruption_budget_is_broken_only_if_that_is_allowed_and_nothing_else_helps() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("guarded", (1, FULL, [0]), priority=0)
    scene.run("dear", (1, FULL, [1]), priority=4)
    guards = Guards({"uid-default-guarded-0-0": ("pdb",)}, {"pdb": 0})
    one = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    two = gang(group(scene.cluster, "w", 2, FULL))._replace(priority=5)
    assert scene.victims(one, guards=guards, policy=Policy(break_budgets=True)) == ["dear-0-0"]
    assert isinstance(scene.plan(two, guards=guards), NoPlan)
    found = scene.plan(two, guards=guards, policy=Policy(break_budgets=True))
    assert isinstance(found, Plan)
    assert found.cost.violations == 1


def test_a_budget_lets_as_many_go_as_it_says() -> None:
    scene = Scene(fleet(1, 4))
    for at in range(4):
        scene.run(f"a{at}", (1, FULL, [at]), priority=int(at == 3))
    guards = Guards({f"uid-default-a{at}-0-0": ("pdb",) for at in range(3)}, {"pdb": 1})
    wanted = gang(group(scene.cluster, "w", 2, FULL))._replace(priority=5)
    names = scene.victims(wanted, guards=guards)
    assert len(names) == 2
    assert "a3-0-0" in names


def test_what_was_held_and_what_goes_already_needs_no_victims() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [0]))
    going = occupy(scene.cluster, 1, FULL, "going")
    scene.cluster.take(going.uid)
    scene.cluster.put(Placed(going.uid, "default", "going", going.cls, 1, terminating=True))
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    scene.cluster.hold(Hold(wanted.key, 1, wanted.root.groups[0].waiting[0].cls.requests, kind="preempted", until=NOW))
    found = scene.plan(wanted)
    assert isinstance(found, Plan)
    assert found.victims == ()
    assert [hold.slot for hold in found.holds] == [1]
    assert [*scene.cluster.recount()] == []


def test_room_that_goes_to_another_is_not_counted_twice() -> None:
    scene = Scene(fleet(1, 1))
    going = occupy(scene.cluster, 0, FULL, "going")
    scene.cluster.take(going.uid)
    scene.cluster.put(Placed(going.uid, "default", "going", going.cls, 0, terminating=True))
    scene.cluster.hold(Hold("default/first", 0, going.requests, kind="preempted", until=NOW))
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert isinstance(scene.plan(wanted), NoPlan)


def test_pods_that_went_for_the_gang_before_cost_nothing_any_more() -> None:
    scene = Scene(fleet(1, 3))
    scene.run("a", (1, FULL, [0]), priority=4)
    scene.run("b", (1, FULL, [1]), priority=1)
    ledger = Ledger()
    wanted = gang(group(scene.cluster, "w", 2, FULL))._replace(priority=5)
    occupy(scene.cluster, 2, FULL)
    ledger.planned(wanted.key, ["uid-default-a-0-0"], ["default/a"], NOW)
    found = scene.plan(wanted, ledger=ledger)
    assert isinstance(found, Plan)
    # Who has not gone yet is told again, and costs nothing.
    assert [victim.name for victim in found.victims] == ["a-0-0", "b-0-0"]
    assert found.cost.priority == 1


def test_pods_that_could_not_be_made_to_go_cost_what_they_did() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [0]), priority=4)
    scene.run("b", (1, FULL, [1]), priority=1)
    ledger = Ledger()
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    ledger.planned(wanted.key, ["uid-default-a-0-0"], ["default/a"], NOW)
    assert scene.victims(wanted, ledger=ledger) == ["a-0-0"]
    ledger.stays(wanted.key, "uid-default-a-0-0")
    assert scene.victims(wanted, ledger=ledger) == ["b-0-0"]


def test_a_gang_whose_room_is_lost_again_and_again_waits_longer_each_time() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]))
    ledger = Ledger()
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    now, pauses = NOW, []
    for _ in range(9):
        found = scene.plan(wanted, ledger=ledger, now=now)
        if isinstance(found, NoPlan):
            assert found.again is not None
            pauses.append(found.again - now)
            now = found.again
        ledger.planned(wanted.key, ["gone"], ["default/a"], now)
    assert pauses == [60.0, 120.0]


def test_who_had_to_go_often_is_spared_among_equals() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [0]))
    scene.run("b", (1, FULL, [1]))
    ledger = Ledger()
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    (first,) = scene.victims(wanted, ledger=ledger)
    for _ in range(2):
        ledger.planned("default/x", [], [f"default/{first[0]}"], NOW)
    (second,) = scene.victims(wanted, ledger=ledger)
    assert second != first
    assert scene.victims(wanted, ledger=ledger, now=NOW + 4000) == [first]


def test_the_youngest_goes_and_then_the_one_that_stops_soonest() -> None:
    scene = Scene(fleet(1, 3))
    scene.run("old", (1, FULL, [0]), started=NOW - 5000, grace=0.0, restart_cost=60.0)
    scene.run("slow", (1, FULL, [1]), started=NOW - 50, grace=300.0, restart_cost=60.0)
    scene.run("young", (1, FULL, [2]), started=NOW - 50, grace=10.0, restart_cost=60.0)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert scene.victims(wanted) == ["young-0-0"]


def test_the_gang_that_loses_least_work_goes() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [0]), restart_cost=7200.0)
    scene.run("b", (1, FULL, [1]), restart_cost=10.0)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert scene.victims(wanted) == ["b-0-0"]


def test_pods_of_other_schedulers_go_only_if_that_is_set() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("foreign", (1, FULL, [0]), foreign=True)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert isinstance(scene.plan(wanted), NoPlan)
    assert scene.victims(wanted, policy=Policy(foreign_pods=True)) == ["foreign-0-0"]


def test_a_gang_that_has_just_started_may_run_for_a_while() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]), started=NOW - 100)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    assert isinstance(scene.plan(wanted, policy=Policy(min_runtime=200)), NoPlan)
    assert isinstance(scene.plan(wanted, policy=Policy(min_runtime=100)), Plan)


def test_a_queue_takes_back_what_is_its_own_whatever_the_priorities() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("own", (1, FULL, [0]), queue="a")
    scene.run("borrower", (1, FULL, [1]), queue="b", priority=50)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5, queue="a")
    assert scene.victims(wanted, eligible=lambda one: one.queue == "b") == ["borrower-0-0"]


def test_the_gangs_of_its_own_replica_do_not_go() -> None:
    scene = Scene(fleet(1, 1))
    replica = ("default", "my", 0)
    scene.run("a", (1, FULL, [0]), set_replica=replica)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5, set_replica=replica)
    assert isinstance(scene.plan(wanted), NoPlan)


@pytest.mark.parametrize(("order", "names"), [("minDisruption", "bc"), ("minGangs", "a")])
def test_the_policy_decides_between_few_gangs_and_little_worth(order: str, names: str) -> None:
    scene = Scene(fleet(2, 2))
    scene.run("a", (2, FULL, [0, 1]), priority=3)
    scene.run("b", (2, HALF, [2, 2]), priority=1)
    scene.run("c", (2, HALF, [3, 3]), priority=1)
    wanted = gang(group(scene.cluster, "w", 2, FULL), required=RACK)._replace(priority=5)
    found = scene.plan(wanted, policy=Policy(order=order))  # type: ignore[arg-type]
    assert isinstance(found, Plan)
    assert found.gangs == tuple(f"default/{name}" for name in names)


def test_that_many_are_alike_makes_it_no_harder() -> None:
    scene = Scene(fleet(1, 16))
    for slot in range(16):
        scene.run(f"g{slot:02}", (1, FULL, [slot]))
    wanted = gang(group(scene.cluster, "w", 8, FULL), required=RACK)._replace(priority=5)
    found = scene.plan(wanted, place=place)
    assert isinstance(found, Plan)
    assert len(found.victims) == 8
    assert found.proven
    assert found.looked < 1000


def test_a_placement_that_breaks_a_rule_is_not_trusted() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [0]))
    occupy(scene.cluster, 1, FULL)
    wanted = gang(group(scene.cluster, "w", 1, FULL))._replace(priority=5)
    pending = wanted.root.groups[0].waiting[0]

    def wrong(*_: object) -> Found:
        return Found((Put(pending, 1),))

    assert isinstance(scene.plan(wanted, place=wrong), NoPlan)

"""Room for gangs that have waited too long."""

from __future__ import annotations

from math import inf

from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.reservations import opened
from grove.scheduler.starvation import Head, choose, open_to, refresh, starving
from grove.scheduler.verdicts import Found
from tests.unit.scheduler.fleets import GPU, RACK, fleet, gang, group, spec
from tests.unit.scheduler.preemption.scene import NOW, Scene, certain

FULL = spec(gpus=8)
HALF = spec(gpus=4)


def wants(scene: Scene, count: int, *, required: str | None = RACK, waited: float = 600, priority: int = 0) -> Gang:
    wanted = gang(group(scene.cluster, "w", count, FULL), required=required)
    return wanted._replace(created=NOW - waited, priority=priority)


def chosen(scene: Scene, wanted: Gang, old: Head | None = None, now: float = NOW) -> Head:
    head = choose(scene.cluster, wanted, scene.running, now=now, old=old)
    assert head is not None
    return head


def held(scene: Scene, owner: str) -> dict[int, int]:
    row = scene.cluster.resources.row(GPU)
    return {hold.slot: dict(hold.requests)[row] for hold in scene.cluster.holds.get(owner, ())}


def test_one_gang_of_a_priority_and_kind_gets_room_and_only_after_a_while() -> None:
    scene = Scene(fleet(1, 1))
    young, old, older = (wants(scene, 1, waited=waited) for waited in (10, 400, 500))
    other = wants(scene, 1, waited=400, priority=3)
    cpus = gang(group(scene.cluster, "c", 1, spec()))._replace(created=NOW - 400)
    found = starving(scene.cluster, [other, young, old, older, cpus], NOW, 300)
    assert found == [other, old, cpus]


def test_the_domain_that_is_free_first_is_chosen() -> None:
    scene = Scene(fleet(2, 2))
    scene.run("a", (1, FULL, [0]), ends=NOW + 1000)
    scene.run("b", (1, FULL, [1]), ends=NOW + 500)
    scene.run("c", (1, FULL, [2]), ends=NOW + 800)
    scene.run("d", (1, FULL, [3]), ends=NOW + 900)
    head = chosen(scene, wants(scene, 2))
    assert head.domain[-1] == "r001"
    assert head.start == NOW + 900


def test_without_durations_the_domain_is_chosen_in_which_least_must_become_free() -> None:
    scene = Scene(fleet(2, 3))
    for slot in (0, 1, 3, 4, 5):
        scene.run(f"g{slot}", (1, FULL, [slot]))
    wanted = wants(scene, 3)
    head = chosen(scene, wanted)
    assert (head.domain[-1], head.start, head.lacking) == ("r000", inf, 16)
    refresh(scene.cluster, [head], percent=100)
    assert held(scene, wanted.key) == {2: 8}


def test_what_is_held_grows_as_others_end_until_the_gang_fits() -> None:
    scene = Scene(fleet(1, 2))
    first = scene.run("a", (1, HALF, [0]), (1, HALF, [0]))
    second = scene.run("b", (1, FULL, [1]))
    wanted = wants(scene, 2)
    head = chosen(scene, wanted)
    refresh(scene.cluster, [head], percent=100)
    assert held(scene, wanted.key) == {}
    scene.cluster.take(first.crews[0].members[0].pod.uid)
    refresh(scene.cluster, [head], percent=100)
    assert held(scene, wanted.key) == {0: 4}
    scene.cluster.take(first.crews[1].members[0].pod.uid)
    scene.cluster.take(second.crews[0].members[0].pod.uid)
    refresh(scene.cluster, [head], percent=100)
    assert held(scene, wanted.key) == {0: 8, 1: 8}
    other = wants(scene, 1)
    assert not isinstance(certain(scene.cluster, other, Budget(1)), Found)
    with opened(scene.cluster, wanted.key):
        assert isinstance(certain(scene.cluster, wanted, Budget(1)), Found)
    assert held(scene, wanted.key) == {0: 8, 1: 8}
    assert [*scene.cluster.recount()] == []


def test_no_more_than_a_share_of_the_devices_is_held() -> None:
    scene = Scene(fleet(1, 4))
    scene.run("a", (1, FULL, [3]))
    wanted = wants(scene, 4)
    refresh(scene.cluster, [chosen(scene, wanted)], percent=40)
    assert sum(held(scene, wanted.key).values()) == 32 * 40 // 100


def test_the_more_important_head_holds_first() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [1]))
    low, high = wants(scene, 2), wants(scene, 2, priority=5)
    heads = [chosen(scene, low), chosen(scene, high)]
    refresh(scene.cluster, heads, percent=100)
    assert held(scene, high.key) == {0: 8}
    assert held(scene, low.key) == {}


def test_a_head_stays_where_it_is_unless_another_domain_is_clearly_better() -> None:
    scene = Scene(fleet(2, 1))
    scene.run("a", (1, FULL, [0]), ends=NOW + 1000)
    scene.run("b", (1, FULL, [1]), ends=NOW + 1100)
    wanted = wants(scene, 1)
    first = chosen(scene, wanted)
    assert first.domain[-1] == "r000"
    scene.running["default/b"] = scene.running["default/b"]._replace(ends=NOW + 900)
    assert chosen(scene, wanted, first).domain[-1] == "r000"
    scene.running["default/b"] = scene.running["default/b"]._replace(ends=NOW + 700)
    assert chosen(scene, wanted, first).domain[-1] == "r001"


def test_a_gang_that_fits_nowhere_ever_gets_no_head() -> None:
    scene = Scene(fleet(2, 2))
    assert choose(scene.cluster, wants(scene, 3), scene.running, now=NOW) is None


def test_who_has_ended_before_the_head_can_start_may_use_its_room() -> None:
    scene = Scene(fleet(1, 2))
    scene.run("a", (1, FULL, [0]), ends=NOW + 1000)
    head = chosen(scene, wants(scene, 2))
    assert open_to([head], NOW + 900) == [head.gang]
    assert open_to([head], NOW + 1100) == []
    assert open_to([head], inf) == []
    assert open_to([head._replace(start=inf)], NOW + 1) == []


def test_a_gang_that_runs_longer_than_it_said_is_expected_to_end_soon() -> None:
    scene = Scene(fleet(1, 1))
    scene.run("a", (1, FULL, [0]), ends=NOW - 1000)
    assert chosen(scene, wants(scene, 1)).start == NOW + 60


def test_any_nodes_will_do_for_a_gang_without_a_level() -> None:
    scene = Scene(fleet(2, 2))
    for slot in range(4):
        scene.run(f"g{slot}", (1, FULL, [slot]), ends=NOW + 100 * (slot + 1))
    head = chosen(scene, wants(scene, 3, required=None))
    assert (head.domain, head.start) == ((), NOW + 300)
    assert [slot for slot, _ in head.targets] == [0, 1, 2]

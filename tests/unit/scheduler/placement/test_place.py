"""Where gangs go."""

from __future__ import annotations

import numpy as np

from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Group, Pack, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.place import place
from grove.scheduler.verdicts import Answer, Found, InDomain, NotFound, Shortfall
from tests.unit.scheduler.checker import faults
from tests.unit.scheduler.fleets import (
    BLOCK,
    GPU,
    HOST,
    KEYS,
    RACK,
    ZONE,
    fleet,
    gang,
    group,
    node,
    occupy,
    spec,
)


def asked(cluster: Cluster, wanted: Gang, options: Options | None = None, steps: int = 50_000) -> Answer:
    before = cluster.free.copy()
    answer = place(cluster, wanted, Budget(steps), options=options or Options())
    assert np.array_equal(cluster.free, before)
    if isinstance(answer, Found):
        assert [*faults(cluster, wanted, answer)] == []
    return answer


def found(cluster: Cluster, wanted: Gang, options: Options | None = None) -> Found:
    answer = asked(cluster, wanted, options)
    assert isinstance(answer, Found)
    return answer


def refused(cluster: Cluster, wanted: Gang, steps: int = 50_000) -> NotFound:
    answer = asked(cluster, wanted, steps=steps)
    assert isinstance(answer, NotFound)
    return answer


def nodes(cluster: Cluster, answer: Found, prefix: str = "") -> list[str]:
    """The nodes of pods whose names begin so."""
    return [cluster.names[put.slot] for put in answer.puts if put.pod.name.startswith(prefix)]


def racks(cluster: Cluster, answer: Found, prefix: str = "") -> set[str]:
    return {name.split("-")[0] for name in nodes(cluster, answer, prefix)}


def commit(cluster: Cluster, answer: Found) -> None:
    for put in answer.puts:
        cluster.put(Placed(put.pod.uid, put.pod.namespace, put.pod.name, put.pod.cls, put.slot))


def part(cluster: Cluster, name: str, count: int, gpus: int = 8, *, pack: Pack | None = None) -> Scope:
    return Scope(name, pack or Pack(RACK), KEYS, (), (group(cluster, f"{name}-w", count, spec(gpus=gpus)),))


# One scope


def test_a_gang_goes_to_one_domain_of_the_level_that_it_requires() -> None:
    cluster = fleet(4, 4)
    answer = found(cluster, gang(group(cluster, "w", 4, spec(gpus=8)), required=RACK, name="g"))
    assert len(racks(cluster, answer)) == 1
    assert answer.domains == (InDomain("g", RACK, "z/b0/r000"),)
    assert answer.score == 1.0


def test_a_gang_goes_where_it_fits_tightest() -> None:
    cluster = fleet(3, 4)
    for slot in (4, 5, 8):
        occupy(cluster, slot, spec(gpus=8))
    answer = found(cluster, gang(group(cluster, "w", 2, spec(gpus=8)), required=RACK))
    assert racks(cluster, answer) == {"n001"}


def test_clean_racks_are_spared() -> None:
    cluster = fleet(3, 4)
    occupy(cluster, 4, spec(gpus=1))
    for slot in (0, 1):
        cluster.node(node(cluster.names[slot], {ZONE: "z", BLOCK: "b0", RACK: "r000"}, gpus=4))
    answer = found(cluster, gang(group(cluster, "w", 3, spec(gpus=4)), required=RACK))
    assert racks(cluster, answer) == {"n001"}


def test_pods_fill_the_fewest_nodes_and_the_last_one_tightly() -> None:
    cluster = fleet(1, 4)
    occupy(cluster, 1, spec(gpus=5))
    answer = found(cluster, gang(group(cluster, "w", 11, spec(gpus=1)), required=RACK))
    assert sorted(nodes(cluster, answer)) == ["n000-000"] * 8 + ["n000-001"] * 3


def test_a_gang_without_constraints_is_kept_together_all_the_same() -> None:
    cluster = fleet(4, 2, blocks=2)
    answer = found(cluster, gang(group(cluster, "w", 4, spec(gpus=8)), name="g"))
    assert answer.domains == (InDomain("g", BLOCK, "z/b0"),)


def test_pods_without_constraints_are_kept_together_by_the_configured_topology() -> None:
    cluster = fleet(4, 2, blocks=2)
    occupy(cluster, 7, spec(gpus=8))
    occupy(cluster, 5, spec(gpus=1))
    wanted = gang(group(cluster, "w", 2, spec(gpus=8)), keys=())
    assert len(racks(cluster, found(cluster, wanted, Options(keys=(ZONE, BLOCK, RACK))))) == 1


def test_a_preference_that_cannot_be_met_is_met_as_narrowly_as_possible() -> None:
    cluster = fleet(4, 2, blocks=2)
    answer = found(cluster, gang(group(cluster, "w", 4, spec(gpus=8)), preferred=RACK, name="g"))
    assert answer.domains == (InDomain("g", BLOCK, "z/b0"),)
    assert answer.score == 1.0, "nothing better exists"


def test_a_preference_is_not_met_past_what_is_required() -> None:
    cluster = fleet(4, 2, blocks=2)
    answer = refused(cluster, gang(group(cluster, "w", 5, spec(gpus=8)), required=BLOCK, preferred=RACK))
    assert answer.proven
    assert answer.key == BLOCK


def test_pods_that_need_no_devices_keep_off_nodes_that_have_some() -> None:
    cluster = fleet(2, 2)
    cluster.node(node("plain", {ZONE: "z", BLOCK: "b0", RACK: "r009"}, gpus=0, cpu="4"))
    answer = found(cluster, gang(group(cluster, "w", 4, spec())))
    assert nodes(cluster, answer) == ["plain"] * 4


def test_pods_that_need_no_devices_share_a_rack_in_use_rather_than_opening_one() -> None:
    cluster = fleet(3, 2)
    occupy(cluster, 2, spec(gpus=1))
    answer = found(cluster, gang(group(cluster, "w", 2, spec()), required=RACK))
    assert racks(cluster, answer) == {"n001"}


def test_unlike_pods_share_a_rack() -> None:
    cluster = fleet(4, 3)
    leader, workers = group(cluster, "leader", 1, spec(cpu="8")), group(cluster, "worker", 3, spec(gpus=8, cpu="8"))
    answer = found(cluster, gang(leader, workers, required=RACK))
    assert len(racks(cluster, answer)) == 1
    assert len({*nodes(cluster, answer, "worker")}) == 3


def test_a_sum_that_suffices_does_not_fool_anybody() -> None:
    cluster = fleet(1, 4, gpus=5)
    answer = refused(cluster, gang(group(cluster, "w", 5, spec(gpus=4)), required=RACK, name="g"))
    assert answer.proven
    assert answer.shortfalls == (Shortfall("z/b0/r000", 4, 5, "w", GPU, 4),)


def test_a_node_without_a_label_is_in_no_domain_of_its_level() -> None:
    cluster = Cluster()
    for name in ("a", "b"):
        cluster.node(node(name, {ZONE: "z", BLOCK: "b0"}))
    cluster.node(node("c", {ZONE: "z", BLOCK: "b0", RACK: "r"}, gpus=1))
    wanted = group(cluster, "w", 2, spec(gpus=8))
    assert refused(cluster, gang(wanted, required=RACK)).proven
    assert nodes(cluster, found(cluster, gang(wanted, required=BLOCK))) == ["a", "b"]


def test_racks_of_one_name_in_two_blocks_are_two_racks() -> None:
    cluster = Cluster()
    for block in ("b0", "b1"):
        cluster.node(node(f"n-{block}", {ZONE: "z", BLOCK: block, RACK: "r"}))
    assert refused(cluster, gang(group(cluster, "w", 2, spec(gpus=8)), required=RACK)).proven


def test_slots_outside_of_the_mask_of_a_gang_are_not_used() -> None:
    cluster = fleet(2, 2)
    wanted = gang(group(cluster, "w", 2, spec(gpus=8)), required=RACK)
    wanted = wanted._replace(within=np.array([True, False, True, True]))
    assert racks(cluster, found(cluster, wanted)) == {"n001"}


def test_what_speaks_against_nodes_counts_among_equals() -> None:
    cluster = fleet(1, 3)
    wanted = gang(group(cluster, "w", 1, spec(gpus=8)), required=RACK)
    wanted = wanted._replace(taste=np.array([5, 1, 3]))
    assert nodes(cluster, found(cluster, wanted)) == ["n000-001"]


def test_a_gang_whose_pods_do_not_exist_yet_has_no_place() -> None:
    cluster = fleet(1, 1)
    some = group(cluster, "w", 2, spec())
    answer = refused(cluster, gang(some._replace(minimum=3)))
    assert answer.proven
    assert answer.shortfalls == (Shortfall("", 2, 3, "w"),)


# Scopes in scopes


def test_parts_have_a_rack_each_and_the_gang_a_block() -> None:
    cluster = fleet(8, 2, blocks=2)
    answer = found(cluster, gang(scopes=[part(cluster, f"p{n}", 2) for n in range(4)], required=BLOCK))
    assert sorted(len(racks(cluster, answer, f"p{n}")) for n in range(4)) == [1, 1, 1, 1]
    assert len(racks(cluster, answer)) == 4


def test_a_first_part_does_not_take_the_only_rack_of_another() -> None:
    cluster = fleet(2, 4)
    occupy(cluster, 0, spec(gpus=8))
    parts = [part(cluster, "a", 3), part(cluster, "b", 4)]
    answer = found(cluster, gang(scopes=parts, required=BLOCK))
    assert racks(cluster, answer, "b") == {"n001"}


def test_parts_that_fit_alone_and_not_together_are_refused_with_proof() -> None:
    cluster = fleet(2, 3)
    answer = refused(cluster, gang(scopes=[part(cluster, f"p{n}", 2) for n in range(3)], required=BLOCK))
    assert answer.proven
    assert answer.shortfalls == (Shortfall("z/b0", 4, 6, "p0-w"),)


def test_when_the_budget_ends_nothing_is_proven() -> None:
    cluster = fleet(6, 5)
    parts = [part(cluster, f"p{n}", 1 + n % 3) for n in range(10)]
    parts += [part(cluster, "last", 4), part(cluster, "more", 5)]
    assert not refused(cluster, gang(scopes=parts), steps=12).proven


def test_three_levels_and_pods_of_the_gang_itself() -> None:
    cluster = fleet(8, 2, blocks=4)
    inner = [part(cluster, f"r{n}", 1) for n in range(4)]
    halves = [Scope(f"h{n}", Pack(BLOCK), KEYS, tuple(inner[2 * n : 2 * n + 2])) for n in range(2)]
    wanted = gang(group(cluster, "router", 2, spec(cpu="2")), scopes=halves, required=ZONE)
    answer = found(cluster, wanted)
    assert len(answer.puts) == 6
    assert [one.key for one in answer.domains if one.scope.startswith("h")] != []


def test_scopes_may_use_different_topologies() -> None:
    cluster = Cluster()
    for at in range(4):
        labels = {ZONE: "z", BLOCK: "b0", RACK: f"r{at // 2}", "power": f"p{at % 2}"}
        cluster.node(node(f"n{at}", labels))
    inner = Scope("inner", Pack("power"), ("power", HOST), (), (group(cluster, "w", 2, spec(gpus=4)),))
    answer = found(cluster, gang(scopes=[inner], required=RACK))
    assert len({*nodes(cluster, answer)}) == 1
    inner = Scope("inner", Pack("power"), ("power", HOST), (), (group(cluster, "v", 2, spec(gpus=8)),))
    assert refused(cluster, gang(scopes=[inner], required=RACK)).proven


def test_the_preference_of_many_outweighs_that_of_few() -> None:
    cluster = fleet(2, 3)
    occupy(cluster, 5, spec(gpus=8))
    parts = [
        part(cluster, "few", 2, pack=Pack(None, RACK)),
        part(cluster, "many", 3, pack=Pack(None, RACK)),
    ]
    answer = found(cluster, gang(scopes=parts))
    assert len(racks(cluster, answer, "many")) == 1
    assert answer.score == 1.0


# Gangs that run


def placed(cluster: Cluster, name: str, slot: int, gpus: int) -> Placed:
    return occupy(cluster, slot, spec(gpus=gpus), name=name)


def test_what_is_missing_goes_where_the_rest_is() -> None:
    cluster = fleet(3, 3)
    here = placed(cluster, "w-old", 7, 8)
    more = group(cluster, "w", 2, spec(gpus=8))
    wanted = gang(Group("w", 3, (here,), more.waiting), required=RACK)
    assert racks(cluster, found(cluster, wanted)) == {"n002"}


def test_a_repair_that_has_no_room_in_its_domain_is_refused() -> None:
    cluster = fleet(3, 2)
    here = placed(cluster, "w-old", 0, 8)
    occupy(cluster, 1, spec(gpus=1))
    more = group(cluster, "w", 1, spec(gpus=8))
    answer = refused(cluster, gang(Group("w", 2, (here,), more.waiting), required=RACK, name="g"))
    assert answer.proven
    assert [one.domain for one in answer.shortfalls] == ["z/b0/r000"]


def test_a_gang_in_several_domains_goes_on_in_them() -> None:
    cluster = fleet(3, 2)
    here = (placed(cluster, "old-0", 0, 8), placed(cluster, "old-1", 2, 8))
    more = group(cluster, "w", 2, spec(gpus=8))
    wanted = gang(Group("w", 4, here, more.waiting), required=RACK, name="g")
    assert racks(cluster, found(cluster, wanted)) == {"n000", "n001"}
    occupy(cluster, 1, spec(gpus=1))
    answer = refused(cluster, wanted)
    assert answer.proven
    assert answer.reasons[0] == (f"pods of g are in several domains of {RACK}", 2)


def test_anchors_hold_a_gang_like_pods_of_its_own() -> None:
    cluster = fleet(3, 2)
    wanted = gang(group(cluster, "w", 2, spec(gpus=8)), required=RACK)
    wanted = wanted._replace(root=wanted.root._replace(anchors=(4,)))
    assert racks(cluster, found(cluster, wanted)) == {"n002"}


# Extras


def test_extras_go_beside_the_minimum() -> None:
    cluster = fleet(3, 4)
    answer = found(cluster, gang(group(cluster, "w", 6, spec(gpus=8), minimum=2), required=RACK))
    assert len(racks(cluster, answer)) == 1
    assert len(answer.puts) == 4
    assert [one.name for one in answer.left] == ["w-4", "w-5"]


def test_a_domain_with_room_for_extras_is_better() -> None:
    cluster = fleet(2, 4)
    occupy(cluster, 0, spec(gpus=8))
    occupy(cluster, 1, spec(gpus=8))
    answer = found(cluster, gang(group(cluster, "w", 4, spec(gpus=8), minimum=2), required=RACK))
    assert racks(cluster, answer) == {"n001"}
    assert not answer.left


def test_a_gang_that_runs_gets_as_many_extras_as_fit() -> None:
    cluster = fleet(2, 3)
    here = placed(cluster, "w-old", 0, 8)
    more = group(cluster, "w", 4, spec(gpus=8))
    answer = found(cluster, gang(Group("w", 1, (here,), more.waiting), required=RACK))
    assert racks(cluster, answer) == {"n000"}
    assert len(answer.puts) == 2
    assert len(answer.left) == 2


def test_extras_stay_in_the_preferred_domain_while_there_is_room() -> None:
    cluster = fleet(4, 3, blocks=2)
    answer = found(cluster, gang(group(cluster, "w", 4, spec(gpus=8), minimum=2), required=BLOCK, preferred=RACK))
    assert answer.score == 1.0
    assert not answer.left
    names = nodes(cluster, answer)
    assert sorted(sum(name.startswith(rack) for name in names) for rack in racks(cluster, answer)) == [1, 3]


def test_extras_of_a_part_without_a_minimum_choose_one_domain() -> None:
    cluster = fleet(2, 2)
    spare = Scope("spare", Pack(RACK), KEYS, (), (group(cluster, "s", 3, spec(gpus=8), minimum=0),))
    answer = found(cluster, gang(group(cluster, "w", 1, spec(gpus=8)), scopes=[spare], required=BLOCK))
    assert len(racks(cluster, answer, "s")) == 1
    assert len(answer.left) == 1


# The same again


def test_nodes_that_came_in_another_order_give_the_same_placement() -> None:
    names: list[list[str]] = []
    for turn in (1, -1):
        cluster = Cluster()
        for at in range(12)[::turn]:
            cluster.node(node(f"n{at:03}", {ZONE: "z", BLOCK: "b", RACK: f"r{at % 4}"}))
        parts = [part(cluster, f"p{n}", 1 + n) for n in range(2)]
        names.append(nodes(cluster, found(cluster, gang(group(cluster, "w", 3, spec(gpus=2)), scopes=parts))))
    assert names[0] == names[1]


def test_decisions_build_on_each_other() -> None:
    cluster = fleet(10, 4)
    for number in range(20):
        commit(cluster, found(cluster, gang(group(cluster, f"w{number}", 2, spec(gpus=8)), required=RACK)))
    assert refused(cluster, gang(group(cluster, "w", 1, spec(gpus=1)), required=RACK)).proven


def test_the_part_that_has_no_domain_of_its_own_is_what_is_named() -> None:
    cluster = fleet(4, 2, blocks=2)
    part = Scope("part", Pack(RACK), KEYS, (), (group(cluster, "worker", 3, spec(gpus=8)),))
    wanted = gang(group(cluster, "router", 2, spec()), required=BLOCK, scopes=[part])
    answer = place(cluster, wanted, Budget(10_000))
    assert isinstance(answer, NotFound)
    assert (answer.proven, answer.scope, answer.key) == (True, "part", RACK)
    assert (answer.shortfalls[0].group, answer.shortfalls[0].fits, answer.shortfalls[0].needs) == ("worker", 2, 3)

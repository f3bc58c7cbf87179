"""Placements against everything tried, and on gangs that are known to have a place."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.place import place
from grove.scheduler.verdicts import Answer, Found, Put
from tests.model.feasible import aloof, siblings, three_levels, unlike
from tests.model.placements import Truth, a_cluster, a_gang
from tests.unit.scheduler.checker import faults

STEPS = 100_000


def decided(cluster: Cluster, gang: Gang, *, options: Options | None = None) -> Answer:
    """The answer, when nothing else changed."""
    before = cluster.free.copy()
    answer = place(cluster, gang, Budget(STEPS), options=options or Options())
    assert np.array_equal(cluster.free, before)
    assert [*cluster.recount()] == []
    if isinstance(answer, Found):
        assert [*faults(cluster, gang, answer)] == []
    return answer


def agrees(answer: Answer, cluster: Cluster, gang: Gang) -> None:
    """Found where there is a place, refused with proof where there is none, and 1.0 only for the best."""
    truth = Truth(cluster, gang)
    if not isinstance(answer, Found):
        assert truth.best < 0
        assert answer.proven
        return
    slot_of = {put.pod.uid: put.slot for put in answer.puts}
    truth.slots = [slot_of[pod.uid] for pod, _ in truth.pods]
    if gang.missing:
        assert (answer.score == 1.0) == (truth.quality() == truth.best)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_found_or_refused_is_what_trying_everything_finds(seed: int) -> None:
    for at in range(25):
        dice = random.Random(seed * 1000 + at)
        cluster = a_cluster(dice)
        gang = a_gang(dice, cluster)
        agrees(decided(cluster, gang), cluster, gang)


@pytest.mark.parametrize("seed", range(25))
def test_so_it_is_where_pods_heed_each_other(seed: int) -> None:
    for at in range(20):
        dice = random.Random(seed * 1000 + at)
        cluster = a_cluster(dice, company=True)
        gang = a_gang(dice, cluster, company=True)
        agrees(decided(cluster, gang), cluster, gang)


@pytest.mark.parametrize("seed", range(20))
def test_extras_are_left_only_where_there_is_no_room_for_one_more(seed: int) -> None:
    for at in range(25):
        dice = random.Random(seed * 1000 + at)
        cluster = a_cluster(dice)
        gang = a_gang(dice, cluster, running=False)
        answer = decided(cluster, gang)
        if isinstance(answer, Found):
            for pod in answer.left:
                left = tuple(one for one in answer.left if one is not pod)
                for slot in range(cluster.size):
                    assert [*faults(cluster, gang, answer._replace(puts=(*answer.puts, Put(pod, slot)), left=left))]


Maker = Callable[[random.Random], tuple[Cluster, Gang]]


def _siblings(racks: int, largest: int) -> Maker:
    return lambda dice: siblings(dice, racks, largest, 0.96)


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize(
    ("maker", "count"),
    [
        pytest.param(_siblings(4, 8), 200, id="small scopes in 4 racks"),
        pytest.param(_siblings(4, 16), 200, id="large scopes in 4 racks"),
        pytest.param(_siblings(8, 16), 200, id="scopes in 8 racks"),
        pytest.param(_siblings(16, 16), 200, id="scopes in 16 racks"),
        pytest.param(unlike, 200, id="unlike pods"),
        pytest.param(three_levels, 200, id="three levels"),
        pytest.param(aloof, 200, id="pods that keep apart"),
    ],
)
@pytest.mark.slow
def test_a_gang_that_has_a_place_gets_one(maker: Maker, count: int, part: int) -> None:
    for seed in range(part, count, 8):
        cluster, gang = maker(random.Random(seed))
        assert isinstance(decided(cluster, gang), Found), seed


@pytest.mark.parametrize("seed", range(60))
def test_the_order_in_which_nodes_came_does_not_matter(seed: int) -> None:
    answers: list[object] = []
    for turn in range(2):
        dice = random.Random(seed)
        cluster = a_cluster(dice, shuffled=turn)
        gang = a_gang(dice, cluster, running=False)
        if gang.within is not None:
            gang = gang._replace(within=None)
        answer = decided(cluster, gang)
        if isinstance(answer, Found):
            named = [(put.pod.name, cluster.names[put.slot]) for put in answer.puts]
            answers.append((sorted(named), answer.score, answer.domains, [pod.name for pod in answer.left]))
        else:
            answers.append(answer)
    assert answers[0] == answers[1]

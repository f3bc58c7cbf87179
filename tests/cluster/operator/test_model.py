"""Random games of a user with the operator on a real control plane: after each turn everything comes to be as he may
expect, counted from scratch, and no pod has gone that did not have to."""

from __future__ import annotations

import random
from typing import Any

import pytest

from grove.testing.waiting import eventually
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator.player import Player, Turn
from tests.cluster.operator.recount import Recount
from tests.cluster.operator.workloads import PATIENCE, PODS, Workloads, label

JSON = dict[str, Any]

SEEDS = (1, 2, 3, 4, 5, 6)
TURNS = 20

Uids = dict[str, set[str]]
"""Of the pods, by their PodClique."""


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_a_user_does_it_settles_as_he_may_expect(workloads: Workloads, fleet: Fleet, seed: int) -> None:
    player = Player(random.Random(seed), workloads, fleet)
    played = [player.begin()]
    spared: frozenset[str] = frozenset()
    before = settled(player, workloads, spared, played)
    for _ in range(TURNS):
        played.append(player.play())
        patient = {place.name for wish in player.wishes if wish.on_delete for place in wish.places()}
        spared = frozenset(uid for clique, uids in before.items() if clique in patient for uid in uids)
        after = settled(player, workloads, spared, played)
        assert lost(before, after, played[-1]) == [], played[-1].text
        before = after


def settled(player: Player, workloads: Workloads, spared: frozenset[str], played: list[Turn]) -> Uids:
    """Waits until everything is as it is wished; the pods then."""
    eventually(
        lambda: Recount(player.wishes, workloads.all, spared).first()[:20],
        lambda found: not found,
        timeout=PATIENCE,
        message=f"it does not settle after {[turn.text for turn in played]}",
    )
    found: Uids = {}
    for pod in workloads.all(PODS):
        found.setdefault(label(pod, "grove.io/podclique"), set()).add(pod["metadata"]["uid"])
    return found


def lost(before: Uids, after: Uids, turn: Turn) -> list[str]:
    """PodCliques of which more pods are gone than had to be."""
    return [
        f"{clique} has kept {len(uids & after[clique])} of {len(uids)} pods, and has {len(after[clique])}"
        for clique, uids in before.items()
        if clique in after and clique not in turn.disturbed
        if len(uids & after[clique]) < min(len(uids), len(after[clique]))
    ]

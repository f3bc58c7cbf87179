"""What plans of preemption cost on packed clusters, beside the method of taking gangs in order and giving back.

The clusters are as those of which the design's figures come: nodes of eight devices, all in use by gangs of whole
nodes, some of them over several racks; what comes needs empty nodes in one rack.
"""

from __future__ import annotations

import pytest

from grove.scheduler.placement.place import place
from grove.scheduler.preemption.running import Plan, Policy, Running
from tests.bench.preemption import packed
from tests.unit.scheduler.fleets import RACK, gang, group, spec
from tests.unit.scheduler.preemption.scene import Scene

CLUSTERS = 12


def nodes(one: Running) -> list[int]:
    return sorted({member.pod.slot for crew in one.crews for member in crew.members})


def by_prefix(scene: Scene, size: int, wanted: int) -> list[Running]:
    """Gangs by priority and age until it fits; then those stay after all who need not go, the dearest first."""
    ordered = sorted(scene.running.values(), key=lambda one: (one.priority, -one.started, one.key))

    def fits(gone: list[Running]) -> bool:
        empty: dict[int, set[int]] = {}
        for one in gone:
            for slot in nodes(one):
                empty.setdefault(slot // size, set()).add(slot)
        return any(len(found) >= wanted for found in empty.values())

    gone: list[Running] = []
    for one in ordered:
        gone.append(one)
        if fits(gone):
            break
    for one in reversed(gone[:]):
        rest = [other for other in gone if other is not one]
        if fits(rest):
            gone = rest
    return gone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("racks", "size", "wanted", "across"), [(16, 18, 8, 0.1), (32, 18, 16, 0.1), (32, 18, 16, 0.4), (64, 16, 4, 0.2)]
)
@pytest.mark.parametrize("order", ["minDisruption", "minGangs"])
def test_no_more_is_lost_than_by_the_usual_method(
    racks: int, size: int, wanted: int, across: float, order: str
) -> None:
    ours: list[tuple[int, int]] = []
    theirs: list[tuple[int, int]] = []
    for seed in range(CLUSTERS):
        scene = packed(racks, size, seed=seed, across=across, surplus=0.0)
        newcomer = gang(group(scene.cluster, "w", wanted, spec(gpus=8)), required=RACK)._replace(priority=10)
        found = scene.plan(newcomer, policy=Policy(order=order), place=place)  # type: ignore[arg-type]
        assert isinstance(found, Plan)
        ours.append((len(found.gangs), len(found.victims)))
        gone = by_prefix(scene, size, wanted)
        theirs.append((len(gone), sum(one.pods for one in gone)))
    gangs, pods = (sum(column) / CLUSTERS for column in zip(*ours, strict=True))
    their_gangs, their_pods = (sum(column) / CLUSTERS for column in zip(*theirs, strict=True))
    assert pods <= their_pods
    if order == "minGangs":
        assert gangs <= their_gangs

"""Gangs of one replica: the base goes where those that are scaled from it will find room too."""

from __future__ import annotations

from typing import Any

from grove.api.kinds.topology import ClusterTopologyBinding
from grove.scheduler.placement.place import place
from grove.scheduler.verdicts import Bind
from tests.unit.scheduler.fleets import BLOCK, RACK, spec
from tests.unit.scheduler.test_model import binding
from tests.unit.scheduler.worlds import World

PACKED: dict[str, Any] = {"topologyConstraint": {"packConstraint": {"required": BLOCK}}}
WHOLE = spec(gpus=8)


def world(**options: Any) -> World:
    """Block a has room for the base alone, which would fit there tightest; block b for the scaled gang too."""
    made = World(nodes=0, place=place, **options)
    found: ClusterTopologyBinding = binding("default", (BLOCK, RACK))
    made.engine.topology(found)
    for index in range(2):
        made.node(f"a{index}", {BLOCK: "a", RACK: "a"})
    for index in range(4):
        made.node(f"b{index}", {BLOCK: "b", RACK: f"b{index % 2}"})
    return made


def placed(made: World) -> dict[str, str]:
    """The block of each gang that was decided."""
    return {
        one.gang.key.removeprefix("default/"): {node[0] for _, node in one.puts}.pop()
        for one in made.settle()
        if isinstance(one, Bind)
    }


def test_a_base_gang_leaves_room_for_its_scaled_gangs() -> None:
    made = world()
    made.gang("base", {"w": 2}, wanted=WHOLE, **PACKED)
    made.gang("scaled", {"w": 2}, wanted=WHOLE, base="base", **PACKED)
    assert placed(made) == {"base": "b", "scaled": "b"}


def test_without_scaled_gangs_it_goes_where_it_fits_tightest() -> None:
    made = world()
    made.gang("base", {"w": 2}, wanted=WHOLE, **PACKED)
    assert placed(made) == {"base": "a"}


def test_where_gangs_of_a_replica_need_not_be_near_each_other_nothing_is_left() -> None:
    made = world(replica_affinity="none")
    made.gang("base", {"w": 2}, wanted=WHOLE, **PACKED)
    made.gang("scaled", {"w": 2}, wanted=WHOLE, base="base", **PACKED)
    assert placed(made) == {"base": "a", "scaled": "b"}


def test_pods_of_scaled_gangs_are_not_bound_with_the_base() -> None:
    made = world()
    made.gang("base", {"w": 2}, wanted=WHOLE, **PACKED)
    made.gang("scaled", {"w": 4}, wanted=WHOLE, base="base", **PACKED)
    decisions = made.settle()
    bound = [pod.name for one in decisions if isinstance(one, Bind) for pod, _ in one.puts]
    assert sorted(bound) == ["base-w-0", "base-w-1"]

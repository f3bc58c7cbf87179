"""How long a plan of preemption takes on 2,000 nodes with 700 gangs that could go, in time of the processor.

Run by `make bench-preemption`. Clusters are packed to the last device: nothing fits without somebody going.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from statistics import median

from grove.kube.objects import PodSpec
from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang, Pack, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.place import place
from grove.scheduler.preemption.plan import plan
from grove.scheduler.preemption.running import NoPlan, Outcome, Plan, Policy
from tests.bench.figures import Figure, report
from tests.unit.scheduler.fleets import KEYS, RACK, fleet, gang, group, spec
from tests.unit.scheduler.preemption.scene import NOW, Scene

RACKS, NODES = 125, 16
GANGS = 745
"""Of which about 700 come out, as the last ones of a rack are shorter."""
BAR = 500.0
ROUNDS = 7


def packed(
    racks: int, nodes: int, *, seed: int, across: float = 0.2, gangs: int = 0, small: bool = False, surplus: float = 0.2
) -> Scene:
    """Gangs of whole nodes, or of parts of nodes, until there is nothing left; some of them over several racks."""
    rng = random.Random(seed)
    scene = Scene(fleet(racks, nodes, blocks=max(1, racks // 8)))
    free = {rack: [rack * nodes + at for at in range(nodes)] for rack in range(racks)}
    sizes = [1, 2, 2, 4, 4, 8] if not gangs else None
    number = 0
    left = racks * nodes
    while left:
        size = (
            rng.choice(sizes) if sizes else max(1, round(racks * nodes / gangs * rng.choice([0.4, 0.7, 1, 1.3, 1.6])))
        )
        size = min(size, left)
        slots: list[int] = []
        if rng.random() < across and size > 1:
            open_ = [rack for rack, found in free.items() if found]
            for _ in range(size):
                rack = rng.choice(open_)
                slots.append(free[rack].pop())
                if not free[rack]:
                    open_.remove(rack)
        else:
            rack = max(free, key=lambda one: (len(free[one]) >= size, rng.random()))
            while len(slots) < size:
                if not free[rack]:
                    rack = max(free, key=lambda one: len(free[one]))
                slots.append(free[rack].pop())
        left -= len(slots)
        gpus = 8
        wanted = spec(gpus=gpus)
        every = slots
        if small and rng.random() < 0.5:
            wanted = spec(gpus=2)
            every = [slot for slot in slots for _ in range(4)]
        spare = int(rng.random() < surplus and len(every) > 2)
        scene.run(
            f"g{number:05}",
            (len(every) - spare, wanted, every),
            priority=rng.choice([0, 0, 0, 1, 2]),
            started=NOW - rng.randrange(60, 7200),
        )
        number += 1
    return scene


def crowded(racks: int, nodes: int, *, seed: int) -> Scene:
    """Four pods of two devices on every node, each by itself."""
    rng = random.Random(seed)
    scene = Scene(fleet(racks, nodes))
    for slot in range(racks * nodes):
        for part in range(4):
            scene.run(f"p{slot:05}-{part}", (1, spec(gpus=2), [slot]), priority=rng.choice([0, 1, 2]))
    return scene


def several(cluster: Cluster, parts: int, size: int, wanted: PodSpec) -> Gang:
    """Parts that each keep to a rack."""
    scopes = []
    for number in range(parts):
        one = group(cluster, f"part{number}", size, wanted)
        scopes.append(Scope(one.name, Pack(RACK), KEYS, (), (one,)))
    return gang(scopes=scopes, name="wanted")


def timed(action: Callable[[], Outcome]) -> tuple[float, Outcome]:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        found = action()
        times.append((time.process_time() - start) * 1000)
    return median(times), found


def main() -> int:
    return report("preemption", figures())


def figures() -> list[Figure]:
    """Milliseconds of processor time for plans of several kinds."""
    found: list[Figure] = []
    plain = packed(RACKS, NODES, seed=1, gangs=GANGS)
    mixed = packed(RACKS, NODES, seed=2, gangs=GANGS, small=True)
    full = spec(gpus=8)

    def case(name: str, scene: Scene, wanted: Gang, policy: Policy = Policy(), bar: float | None = BAR) -> None:  # noqa: B008
        wanted = wanted._replace(priority=10)

        def once() -> Outcome:
            return plan(
                scene.cluster, wanted, scene.running, place=place, budget=Budget(50_000), policy=policy, now=NOW
            )

        taken, made = timed(once)
        if isinstance(made, Plan):
            said = f"{len(made.gangs)} gangs, {len(made.victims)} pods, {made.cost}, proven {made.proven}"
        else:
            assert isinstance(made, NoPlan)
            said = f"{made.reason}"
        print(f"# {name}: {len(scene.running)} gangs run; {said}; {made.looked} steps", file=sys.stderr)
        found.append(Figure(f"plan of preemption, {name}, ms", taken, bar))

    def whole(scene: Scene, count: int, wanted: PodSpec, required: str | None = RACK) -> Gang:
        return gang(group(scene.cluster, "w", count, wanted), required=required, name="wanted")

    for scene, label in ((plain, "whole nodes"), (mixed, "parts of nodes")):
        case(f"{label}: 8 nodes of a rack", scene, whole(scene, 8, full))
        case(f"{label}: 16 nodes of a rack", scene, whole(scene, 16, full))
        case(f"{label}: 17 nodes of a rack, which none has", scene, whole(scene, 17, full))
        case(f"{label}: 2 devices", scene, whole(scene, 1, spec(gpus=2), None))
        case(f"{label}: 64 nodes anywhere", scene, whole(scene, 64, full, None))
        case(f"{label}: 8 nodes of a rack, fewest gangs", scene, whole(scene, 8, full), Policy(order="minGangs"))
        case(f"{label}: 4 parts of 4 nodes of a rack", scene, several(scene.cluster, 4, 4, full))
    lone = crowded(RACKS, NODES, seed=3)
    case("8,000 lone pods: 8 nodes of a rack", lone, whole(lone, 8, full), bar=None)
    return found


if __name__ == "__main__":
    sys.exit(main())

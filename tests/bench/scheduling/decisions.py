"""What it costs to decide, without an API server: an engine is told of a fleet and of gangs, and decides on all.

What counts is the processor time of `decide`: finding the gang's pods, the search, and taking the decision for done.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Iterator

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.assembly import engine
from grove.scheduler.engine import Engine
from grove.scheduler.verdicts import Bind, Evict, Refuse
from tests.bench.figures import Figure
from tests.bench.scheduling.worlds import BLOCK, RACK, TOPOLOGY, gang, nodes, pod, spec

NOW = 1_800_000_000.0


def fleet(count: int, **options: int) -> Engine:
    made = engine(SchedulerConfiguration())
    made.topology(TOPOLOGY)
    for one in nodes(count, **options):
        made.node(one)
    return made


def decided(made: Engine) -> tuple[float, list[Bind | Evict | Refuse]]:
    """Seconds of processor time until nothing is left to decide, and what was decided: others use the machine too."""
    gc.collect()
    gc.disable()
    decisions: list[Bind | Evict | Refuse] = []
    start = time.process_time()
    while some := made.decide(NOW):
        decisions += some
    seconds = time.process_time() - start
    gc.enable()
    return seconds, decisions


def rack_gangs(count: int, *, gangs: int = 2250, size: int = 4, classes: int = 50) -> tuple[float, float]:
    """Gangs that must be in one rack; gives the seconds of telling and of deciding."""
    made = fleet(count)
    start = time.perf_counter()
    for index in range(gangs):
        view, pods = gang(spec(1 + index % 2, cpu=f"{1000 + index % classes}m"), size, required=RACK)
        for one in pods:
            made.pod(one)
        made.gang(view)
    told = time.perf_counter() - start
    seconds, decisions = decided(made)
    placed = sum(isinstance(one, Bind) for one in decisions)
    if placed != gangs:
        raise RuntimeError(f"{gangs} gangs fit, {placed} were placed")
    return told, seconds


def large_gang(count: int = 512) -> float:
    """A gang as large as the fleet, which would like to be in one rack."""
    made = fleet(count)
    view, pods = gang(spec(8, cpu="32"), count, preferred=RACK)
    for one in pods:
        made.pod(one)
    made.gang(view)
    seconds, decisions = decided(made)
    if not isinstance(decisions[0], Bind):
        raise RuntimeError(f"not placed: {decisions[0]}")
    return seconds


def cannot_fit(count: int = 500) -> float:
    """A gang of 80 GPUs in one block, of which every node has lost one: proven, with an explanation."""
    made = fleet(count)
    for index in range(count):
        made.pod(pod(f"other-{index}", spec(1), node=f"node-{index:06}"))
    view, pods = gang(spec(8, cpu="8"), 10, required=BLOCK)
    for one in pods:
        made.pod(one)
    made.gang(view)
    seconds, decisions = decided(made)
    (refusal,) = decisions
    if not isinstance(refusal, Refuse) or refusal.reason != "Unschedulable":
        raise RuntimeError(f"not proven: {refusal}")
    return seconds


def growth(small: int = 10_000, large: int = 100_000) -> tuple[float, float]:
    """Milliseconds for a gang in a rack in a small and in a large fleet."""
    found = []
    for count in (small, large):
        _, seconds = rack_gangs(count, gangs=200)
        found.append(1000 * seconds / 200)
    return found[0], found[1]


def memory(count: int = 15_000, pods: int = 150_000) -> tuple[float, float]:
    """MiB of a process that has only an engine with so many nodes and pods, and seconds until its first decision."""
    command = [sys.executable, "-m", "tests.bench.scheduling.large", str(count), str(pods)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(told[0]), float(told[1])


def figures(*, large: bool = True) -> Iterator[Figure]:
    def best(count: int) -> float:
        return min(rack_gangs(count)[1] for _ in range(3))

    yield Figure("2,250 gangs of 4, rack required, 50 classes, 5,000 nodes: seconds to decide", best(5000), bar=1.0)
    yield Figure("the same with 15,000 nodes", best(15_000), bar=2.0)
    yield Figure("a gang of 512 on 512 nodes, preferred rack: ms", 1000 * min(large_gang() for _ in range(3)), bar=20.0)
    proof = min(cannot_fit() for _ in range(3))
    yield Figure("80 GPUs that cannot fit, proven and explained: ms", 1000 * proof, bar=100.0)
    if large:
        few, many = growth()
        yield Figure("a gang in a rack, 10,000 nodes: ms", few)
        yield Figure("a gang in a rack, 100,000 nodes: ms", many)
        yield Figure("growth of the cost of a gang for 10 times the nodes", many / few, bar=10.0)
        used, seconds = memory()
        yield Figure("15,000 nodes, 150,000 pods in the engine: MiB resident", used, bar=1000.0)
        yield Figure("the same, told and decided: seconds", seconds, bar=20.0)

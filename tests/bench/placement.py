"""What deciding about a gang costs, without engine and API server: microseconds of CPU for each shape of gang.

A decision is `place` and putting every pod on its node. All rules of the scheduler are obeyed. Clusters are filled as
the gangs are placed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Pack, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.place import place
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Found
from tests.bench.figures import Figure, report
from tests.unit.scheduler.fleets import BLOCK, KEYS, RACK, ZONE, gang, group, node, spec

STEPS = 25_000
OPTIONS = Options(keys=(ZONE, BLOCK, RACK))


def fleet(racks: int, nodes: int, *, gpus: int = 8, every: int = 0) -> Cluster:
    """Racks of equal nodes in blocks of 20; each `every`th rack has no GPUs."""
    cluster = Cluster()
    cluster.obey(rules(cluster, Surroundings(), SchedulerConfiguration()))
    for rack in range(racks):
        bare = every and rack % every == 0
        for at in range(nodes):
            labels = {ZONE: "z", BLOCK: f"b{rack // 20:04}", RACK: f"r{rack:05}"}
            name = f"n{rack:05}-{at:03}"
            cluster.node(node(name, labels, cpu="128", gpus=0 if bare else gpus))
    return cluster


def flat(cluster: Cluster, count: int, pods: int, classes: int, gpus: int, pack: Pack) -> list[Gang]:
    """Gangs of one group."""
    wanted = [spec(gpus=gpus, cpu=f"{1000 + number}m") for number in range(classes)]
    return [
        gang(
            group(cluster, f"w{number}", pods, wanted[number % classes]),
            required=pack.required,
            preferred=pack.preferred,
            keys=KEYS if pack != Pack() else (),
            name=f"g{number}",
        )
        for number in range(count)
    ]


def led(cluster: Cluster, count: int) -> list[Gang]:
    """A leader without GPUs and eight workers, in one rack."""
    leader, worker = spec(cpu="4"), spec(gpus=8, cpu="8")
    return [
        gang(group(cluster, f"l{n}", 1, leader), group(cluster, f"w{n}", 8, worker), required=RACK, name=f"g{n}")
        for n in range(count)
    ]


def nested(cluster: Cluster, count: int) -> list[Gang]:
    """Four parts of four workers in a rack each, all in one block."""
    worker = spec(gpus=8, cpu="8")

    def part(number: int, at: int) -> Scope:
        return Scope(f"p{at}", Pack(RACK), KEYS, (), (group(cluster, f"w{number}-{at}", 4, worker),))

    return [gang(scopes=[part(n, at) for at in range(4)], required=BLOCK, name=f"g{n}") for n in range(count)]


def decide(cluster: Cluster, gangs: Iterable[Gang]) -> tuple[list[float], int]:
    """Seconds of CPU of each decision, and how many were placed."""
    times: list[float] = []
    found = 0
    for one in gangs:
        start = time.thread_time()
        answer = place(cluster, one, Budget(STEPS), options=OPTIONS)
        if isinstance(answer, Found):
            found += 1
            for put in answer.puts:
                pod = put.pod
                cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, put.slot, gang=one.key))
        times.append(time.thread_time() - start)
    return times, found


def main() -> int:
    figures: list[Figure] = []

    def measure(name: str, cluster: Cluster, gangs: Sequence[Gang], *, placed: int, mean: float | None = None) -> None:
        times, found = decide(cluster, gangs)
        if found != placed:
            raise SystemExit(f"{name}: placed {found} of {placed}")
        figures.append(Figure(f"{name}: mean us", sum(times) / len(times) * 1e6, mean))
        figures.append(Figure(f"{name}: median us", median(times) * 1e6))
        figures.append(Figure(f"{name}: largest us", max(times) * 1e6))

    def case(
        name: str,
        cluster: Cluster,
        make: Callable[[Cluster], Sequence[Gang]],
        *,
        placed: int | None = None,
        mean: float | None = None,
    ) -> None:
        gangs = make(cluster)
        measure(name, cluster, gangs, placed=len(gangs) if placed is None else placed, mean=mean)

    rack, near = Pack(RACK), Pack(None, RACK)
    case("500 nodes, 4,000 pods", fleet(50, 10), lambda c: flat(c, 4000, 1, 1, 1, Pack()), mean=100)
    case("5,000 nodes, 4,000 pods", fleet(500, 10), lambda c: flat(c, 4000, 1, 1, 1, Pack()), mean=150)
    case("5,000 nodes, 4,000 pods without GPUs", fleet(500, 10, every=10), lambda c: flat(c, 4000, 1, 1, 0, Pack()))
    case("512 nodes, gang of 512", fleet(32, 16), lambda c: flat(c, 1, 512, 1, 8, near), mean=20_000)
    case("5,000 nodes, 2,250 gangs of 4", fleet(500, 10), lambda c: flat(c, 2250, 4, 1, 4, rack), mean=250)
    case("5,000 nodes, 50 classes", fleet(500, 10), lambda c: flat(c, 2250, 4, 50, 4, rack), mean=300)
    case("5,000 nodes, 500 classes", fleet(500, 10), lambda c: flat(c, 2250, 4, 500, 4, rack))
    case("15,000 nodes, 50 classes", fleet(1500, 10), lambda c: flat(c, 2250, 4, 50, 4, rack), mean=600)
    case("100,000 nodes, 50 classes", fleet(5000, 20), lambda c: flat(c, 2250, 4, 50, 4, rack))
    case("5,000 nodes, 9 gangs of 1,000", fleet(500, 10), lambda c: flat(c, 9, 1000, 1, 1, Pack()))
    case("5,000 nodes, leaders and workers", fleet(500, 10), lambda c: led(c, 300))
    case("5,000 nodes, parts in racks", fleet(500, 10), lambda c: nested(c, 200))
    full = fleet(500, 10, gpus=7)
    case(
        "5,000 nodes, 10 pods of 8 GPUs that cannot fit",
        full,
        lambda c: flat(c, 5, 10, 5, 8, rack),
        placed=0,
        mean=100_000,
    )
    return report("placement", figures)


if __name__ == "__main__":
    sys.exit(main())

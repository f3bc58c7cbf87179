"""`make bench-client`: Grove's client against the official ones on the same real control plane, side by side.

The clients are used as their users use them, with 32 requests under way: the synchronous one with a thread for each.
They send the same bodies, in turns, each from a process of its own, and decode what the server answers: Grove into the
struct of what it reads, the others into their models. Client and server share the machine: what a client's processor
time saves shows in the throughput too, up to what the server needs, which is told beside it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from grove.testing.controlplane import ControlPlane
from tests.bench import cache, nodes
from tests.bench.clients import bodies
from tests.bench.clients.contest import CLIENTS, GROVE, OTHERS, Cost, Entrant, Scores, contest
from tests.bench.clients.serving import Order, Verb
from tests.bench.figures import Figure, report

PODS = 10_000
ROUNDS, LIST_ROUNDS = 5, 2
TURN = PODS // (ROUNDS * len(CLIENTS))
WARM = 60
NODES, PODS_ON_NODES = 500, 2000


def main() -> int:
    with ControlPlane.start(controller_manager=False) as cluster, ExitStack() as stack:
        cluster.create_namespace(bodies.NAMESPACE)
        entrants = [stack.enter_context(Entrant(name, cluster)) for name in CLIENTS]
        creates = contest(entrants, ROUNDS, writes("create"))
        fill(entrants[0], "create")
        patches = contest(entrants, ROUNDS, writes("patch"))
        fill(entrants[0], "patch")
        lists = contest(entrants, LIST_ROUNDS, itertools.repeat(Order("list", 0, PODS)))
        plain = contest(entrants, LIST_ROUNDS, itertools.repeat(Order("list plain", 0, PODS)))
    return report(
        "client",
        [
            *of_writes("creates of pods", creates, time_bar=1.0, cpu_bar=0.4),
            *of_writes("merge patches of statuses", patches, time_bar=1.0, cpu_bar=0.4),
            *of_lists("list of 10,000 pods, typed", lists, time_bar=0.5, cpu_bar=0.1),
            *of_lists("list of 10,000 pods, plain", plain, time_bar=1.25, cpu_bar=1.25),
            *of_memory(),
            *of_nodes(),
        ],
    )


def writes(verb: Verb) -> Iterator[Order]:
    """Orders for parts of the pods, one after the other."""
    for first in itertools.count(0, TURN):
        yield Order(verb, first, TURN, WARM)


def fill(entrant: Entrant, verb: Verb) -> None:
    """Does, unmeasured, what the turns have left of the pods."""
    first = ROUNDS * len(CLIENTS) * TURN
    if first < PODS:
        entrant.take(Order(verb, first, PODS - first))


def of_writes(what: str, scores: Scores, *, time_bar: float, cpu_bar: float) -> Iterator[Figure]:
    yield from against(what, scores, time_bar, cpu_bar)
    ours = scores.median(GROVE, lambda cost: cost.client / cost.server)
    yield Figure(f"{what}, Grove's CPU against the server's", ours, bar=0.25)
    yield from each(f"{what} a second", scores, lambda cost: 1 / cost.time)
    yield from each(f"{what}, client's CPU seconds for 1,000", scores, lambda cost: cost.client * 1000)
    yield from each(f"{what}, server's CPU seconds for 1,000", scores, lambda cost: cost.server * 1000)


def of_lists(what: str, scores: Scores, *, time_bar: float, cpu_bar: float) -> Iterator[Figure]:
    yield from against(what, scores, time_bar, cpu_bar)
    yield from each(f"{what}, seconds", scores, lambda cost: cost.time * PODS)
    yield from each(f"{what}, client's CPU seconds", scores, lambda cost: cost.client * PODS)
    yield from each(f"{what}, server's CPU seconds", scores, lambda cost: cost.server * PODS)


def against(what: str, scores: Scores, time_bar: float, cpu_bar: float) -> Iterator[Figure]:
    for other in OTHERS:
        yield Figure(f"{what}, time against {other}", scores.against(other, lambda cost: cost.time), bar=time_bar)
        yield Figure(f"{what}, CPU against {other}", scores.against(other, lambda cost: cost.client), bar=cpu_bar)


def each(what: str, scores: Scores, of: Callable[[Cost], float]) -> Iterator[Figure]:
    for name in CLIENTS:
        yield Figure(f"{what}: {name}", scores.median(name, of))


def of_memory() -> Iterator[Figure]:
    """What `make bench-cache` measures, once: pods in a cache of Grove, from the pages of a list."""
    held = cache.in_a_process("typed", cache.PODS)
    yield Figure("bytes a pod in a cache of 100,000, indexed", held["memory"], bar=1500)
    yield Figure("CPU seconds to decode and index 100,000 pods", held["seconds"] * cache.PODS, bar=3)


def of_nodes() -> Iterator[Figure]:
    """What `make bench-nodes` measures, with a tenth of its nodes and pods."""
    for figure in nodes.figures(nodes.measure(NODES, PODS_ON_NODES)):
        yield replace(figure, name=f"{NODES} nodes, {PODS_ON_NODES} pods: {figure.name}")


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-nodes`: pods on thousands of simulated nodes become ready, and what that costs us and the API server.

`grove nodes` keeps the nodes, a real control plane without scheduler and controllers stores them, and this process
creates the pods, already bound, and follows them through a cache of Grove. Time runs from the first pod created until
the cache has seen the last one ready; processor time is that of each process over the same span, as the kernel counts
it, renewals of node leases included. The API server is the bottleneck as long as `grove nodes`, which has one thread,
does not fill its processor, and costs less than the server does.

    python -m tests.bench.nodes --nodes 100 --pods 400      a quick look
    python -m tests.bench.nodes --profile                   with a profile of `grove nodes`, which it slows down
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grove.kube.client import Client
from grove.kube.kubeconfig import connect
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import NODES, PODS
from grove.testing.components import APISERVER, ETCD
from grove.testing.controlplane import ControlPlane
from tests.bench.clients import bodies
from tests.bench.clients.serving import IN_FLIGHT, in_flight
from tests.bench.figures import Figure, report
from tests.bench.fleet import PROFILE, Fleet, following
from tests.bench.processes import cpu_seconds, resident

NODES_WITHIN, PODS_WITHIN = 600.0, 1800.0
FLEET, BENCHMARK = "grove nodes", "this benchmark"
ASKS = {"cpu": "1", "memory": "1Gi"}
REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Snapshot:
    """What had been done and used up to a moment."""

    time: float
    cpu: Mapping[str, float]
    requests: Mapping[tuple[str, str, str], float]
    """By verb, resource and subresource, as the API server counts them."""


@dataclass(frozen=True)
class Run:
    """What was measured: from before the first pod to after the last."""

    pods: int
    nodes_seconds: float
    """From the start of `grove nodes` until every node was ready."""
    before: Snapshot
    after: Snapshot
    memory: int
    """Of `grove nodes`, at the end."""

    @property
    def seconds(self) -> float:
        return self.after.time - self.before.time

    @property
    def cpu(self) -> dict[str, float]:
        return {name: used - self.before.cpu[name] for name, used in self.after.cpu.items()}

    def requests(self, verb: str, resource: str, subresource: str = "") -> float:
        key = (verb, resource, subresource)
        return self.after.requests.get(key, 0.0) - self.before.requests.get(key, 0.0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nodes")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true", help=f"write {PROFILE}")
    options = parser.parse_args()
    return report("nodes", [*figures(measure(options.nodes, options.pods, profile=options.profile))])


def figures(run: Run) -> Iterator[Figure]:
    """The ratios are held against bars; the rest tells how they come about."""
    ours, server = run.cpu[FLEET], run.cpu[APISERVER] + run.cpu[ETCD]
    statuses, leases = run.requests("PATCH", "pods", "status"), run.requests("PATCH", "leases")
    yield Figure("grove nodes' CPU against that of API server and etcd", ours / server, bar=0.5)
    yield Figure("grove nodes, share of its one processor", ours / run.seconds, bar=0.8)
    yield Figure("API server and etcd, processors used", server / run.seconds)
    yield Figure("seconds until all nodes were ready", run.nodes_seconds)
    yield Figure("seconds from the first pod created until all were ready", run.seconds)
    yield Figure("pods ready a second", run.pods / run.seconds)
    yield Figure("pod statuses patched a second", statuses / run.seconds)
    yield Figure("pod statuses patched for each pod", statuses / run.pods)
    yield Figure("node leases renewed a second", leases / run.seconds)
    for process, seconds in run.cpu.items():
        yield Figure(f"CPU seconds: {process}", seconds)
    yield Figure("grove nodes, MiB at the end", run.memory / 2**20)


def measure(nodes: int, pods: int, *, profile: bool = False) -> Run:
    with ControlPlane.start(controller_manager=False) as cluster:
        cluster.create_namespace(bodies.NAMESPACE)
        start = time.perf_counter()
        with Fleet(cluster.kubeconfig, nodes, profile=profile) as fleet:
            return asyncio.run(follow(cluster, fleet, nodes, pods, start))


async def follow(cluster: ControlPlane, fleet: Fleet, nodes: int, pods: int, start: float) -> Run:
    """The run, with `start` as the moment when the fleet began."""

    def costs() -> dict[str, float]:
        server = {name: cpu_seconds([pid]) for name, pid in cluster.processes.items()}
        return {FLEET: cpu_seconds([fleet.pid]), **server, BENCHMARK: time.process_time()}

    async with Client(connect(str(cluster.kubeconfig)), user_agent="bench", max_in_flight=IN_FLIGHT) as client:
        async with following(client, NODES, NodeView) as seen:
            await fleet.all_ready(seen, nodes, "nodes", NODES_WITHIN)
            names = sorted(node.metadata.name for node in seen)
        nodes_seconds = time.perf_counter() - start

        async def create(number: int) -> None:
            await client.create(PODS, bound(number, names[number % nodes]), namespace=bodies.NAMESPACE, type=PodView)

        async with following(client, PODS, PodView) as cache:
            before = await snapshot(client, costs)
            await in_flight(range(pods), create)
            await fleet.all_ready(cache, pods, "pods", PODS_WITHIN)
            after = await snapshot(client, costs)
    return Run(pods, nodes_seconds, before, after, resident(fleet.pid))


async def snapshot(client: Client, costs: Callable[[], dict[str, float]]) -> Snapshot:
    metrics = (await client.request("GET", "/metrics", accept="text/plain")).body.decode()
    requests: dict[tuple[str, str, str], float] = {}
    for text, count in REQUESTS.findall(metrics):
        labels = dict(LABEL.findall(text))
        key = (labels["verb"], labels["resource"], labels["subresource"])
        requests[key] = requests.get(key, 0.0) + float(count)
    return Snapshot(time.perf_counter(), costs(), requests)


def bound(number: int, node: str) -> dict[str, Any]:
    """A pod that a scheduler has put on a node: one that starts at once, and of which many fit."""
    pod = bodies.created(number)
    spec = pod["spec"]
    del spec["initContainers"], spec["affinity"]
    for container in spec["containers"]:
        container["resources"] = {"requests": ASKS, "limits": ASKS}
    return pod | {"spec": spec | {"nodeName": node}}


if __name__ == "__main__":
    sys.exit(main())

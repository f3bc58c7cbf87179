"""`make bench-operator`: a PodCliqueSet of a thousand pods comes up, is updated and goes, and what that costs.

The operator and `grove nodes` are processes of their own, as users run them, on a real control plane. A stand-in for a
scheduler that knows gangs binds (`binder.py`), for both shapes: all copies of the scaling groups in the gangs of their
replicas, and one in each, the others in gangs of their own. For orientation kube-scheduler binds as well; it knows no
gangs, so the operator must hold the pods back with gates and open them.

The bar of time is a loop in this process that sends the same writes to the same server: all objects that the operator
created until the last pod was there, and as many patches, twice. For this comparison the set comes up once while
nothing is bound, so that both have the server for themselves; all else is measured with the second coming.

    python -m tests.bench.operator --pods 200                a quick look
    python -m tests.bench.operator --restart-pods 10000      restart and idleness with so many
    python -m tests.bench.operator --profile                 with a profile of the operator, which it slows down
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from grove.api import labels
from grove.api.crds import all_crds
from grove.api.kinds.podgang import PodGang
from grove.kube.client import Client
from grove.kube.errors import AlreadyExists
from grove.kube.kubeconfig import connect
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import (
    NODES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SERVICES,
    Resource,
)
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS, SCALING_GROUPS
from grove.testing.controlplane import ControlPlane
from tests.bench import audit
from tests.bench.binder import Binder
from tests.bench.clients.serving import in_flight
from tests.bench.figures import Figure, report
from tests.bench.fleet import Fleet, following
from tests.bench.operatorprocess import PROFILE, OperatorProcess, Usage

Scheduler = Literal["binder", "kube"]

NAMESPACE, COPY = "bench", "loop"
WORKERS = 4
PODS_A_COPY = WORKERS + 1
WITHIN = 1800.0
IDLE_SECONDS = 30.0
PODS_A_NODE = 100
SCHEDULERS = {"binder": "grove-scheduler", "kube": "default-scheduler"}


@dataclass(frozen=True)
class Shape:
    """A set of `replicas` times `copies` of a leader and its workers; `least` copies are in the gang of a replica."""

    name: str
    replicas: int
    copies: int
    least: int

    @property
    def pods(self) -> int:
        return self.replicas * self.copies * PODS_A_COPY


@dataclass
class Run:
    """What was measured of one shape under one scheduler."""

    shape: Shape
    scheduler: Scheduler
    seconds: dict[str, float] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    """Of the operator, for each phase."""
    binds: float = 0.0
    """Writes of the stand-in until all were ready."""
    loop: float = 0.0
    """Seconds of the loop that sends the same writes."""
    memory: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.operator")
    parser.add_argument("--pods", type=int, default=1000, help="of the set that comes and goes")
    parser.add_argument("--restart-pods", type=int, default=0, help="with which the operator idles and is restarted")
    parser.add_argument("--schedulers", nargs="+", default=["binder", "kube"], choices=["binder", "kube"])
    parser.add_argument("--max-unavailable", type=int, default=5, help="copies that an update may take at once")
    parser.add_argument("--audit", action="store_true", help="tell of all writes what they were: slows the server down")
    parser.add_argument("--profile", action="store_true", help=f"write {PROFILE}")
    options = parser.parse_args()
    found: list[Figure] = []
    for scheduler in options.schedulers:
        found += asyncio.run(measure(scheduler, options))
    return report("operator", found)


async def measure(scheduler: Scheduler, options: Any) -> list[Figure]:
    replicas = min(10, max(1, options.pods // (2 * PODS_A_COPY)))
    copies = max(2, options.pods // (replicas * PODS_A_COPY))
    shapes = [Shape("whole", replicas, copies, copies), Shape("scaled", replicas, copies, 1)]
    found: list[Figure] = []
    nodes = max(options.pods, options.restart_pods) // PODS_A_NODE + 1
    flags = audit.flags() if options.audit else ()
    with ControlPlane.start(scheduler=scheduler == "kube", apiserver_flags=flags) as cluster:
        for crd in all_crds():
            cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        cluster.create_namespace(NAMESPACE)
        cluster.create_namespace(COPY)
        with Fleet(cluster.kubeconfig, nodes) as fleet:
            async with Bench(cluster, fleet, scheduler, options).prepared(nodes) as bench:
                for shape in shapes:
                    found += figures(await bench.come_and_go(shape))
                if options.restart_pods and scheduler == "binder":
                    found += await bench.idle_and_restart(options.restart_pods)
    return found


@dataclass
class Stage:
    """From a moment on: what is noted in the run when something is reached."""

    run: Run
    operator: OperatorProcess
    started: float
    before: Usage

    async def reached(self, name: str) -> None:
        self.run.seconds[name] = time.perf_counter() - self.started
        await self.settled(name)

    async def settled(self, name: str) -> None:
        """What was written a while after it was reached belongs to it too."""
        self.run.usage[name] = await self.operator.usage() - self.before


class Bench:
    """One control plane with its operator."""

    def __init__(self, cluster: ControlPlane, fleet: Fleet, scheduler: Scheduler, options: Any) -> None:
        self._cluster = cluster
        self._fleet = fleet
        self._scheduler: Scheduler = scheduler
        self._options = options

    @contextlib.asynccontextmanager
    async def prepared(self, nodes: int) -> AsyncIterator[Bench]:
        async with (
            Client(connect(str(self._cluster.kubeconfig)), user_agent="bench", max_in_flight=32) as self._client,
            Client(connect(str(self._cluster.kubeconfig)), user_agent="binder", max_in_flight=32) as self._binding,
            following(self._client, NODES, NodeView) as seen,
            following(self._client, PODS, PodView) as self._pods,
            following(self._client, POD_GANGS, PodGang) as self._gangs,
        ):
            await self._fleet.all_ready(seen, nodes, "nodes", WITHIN)
            self._nodes = sorted(one.metadata.name for one in seen)
            with OperatorProcess(
                self._cluster.kubeconfig, SCHEDULERS[self._scheduler], profile=self._options.profile
            ) as self._operator:
                await self._operator.ready()
                yield self

    # A set that comes and goes

    async def come_and_go(self, shape: Shape) -> Run:
        run = Run(shape, self._scheduler)
        if self._scheduler == "binder":
            await self._against_the_loop(run)
        binds = self._writes_of_binder()
        async with self._bound():
            stage = await self._stage(run)
            await self._client.create(POD_CLIQUE_SETS, self._set(shape), namespace=NAMESPACE)
            await self._until(lambda: len(self._live()) >= shape.pods)
            await stage.reached("created")
            await self._until(lambda: self._ready() >= shape.pods)
            await stage.reached("ready")
            await self._quiet()
            await stage.settled("ready")
            run.binds = self._writes_of_binder() - binds
            run.memory = self._operator.memory()
            self._tell(shape, "until ready")
            stage = await self._stage(run)
            await self._update(shape)
            await self._until(lambda: self._updated(shape))
            await stage.reached("updated")
            await self._quiet()
            await stage.settled("updated")
            self._tell(shape, "until updated")
        stage = await self._stage(run)
        await self._delete(shape)
        await stage.reached("deleted")
        self._tell(shape, "until deleted")
        return run

    async def _against_the_loop(self, run: Run) -> None:
        """Creation alone: nothing is bound meanwhile, neither here nor there."""
        stage = await self._stage(run)
        await self._client.create(POD_CLIQUE_SETS, self._set(run.shape), namespace=NAMESPACE)
        await self._until(lambda: len(self._live()) >= run.shape.pods)
        await stage.reached("created, unbound")
        objects = await self._created(run.shape)
        await self._delete(run.shape)
        patches = round(run.usage["created, unbound"].writes) - len(objects)
        run.loop = (await self._loop(objects, patches) + await self._loop(objects, patches)) / 2
        self._tell(run.shape, "unbound, and deleted")

    async def _stage(self, run: Run) -> Stage:
        return Stage(run, self._operator, time.perf_counter(), await self._operator.usage())

    def _tell(self, shape: Shape, what: str) -> None:
        if self._options.audit:
            audit.tell(f"{shape.name}, {self._scheduler}, {what}", shape.pods)

    async def _delete(self, shape: Shape) -> None:
        await self._client.delete(POD_CLIQUE_SETS, shape.name, namespace=NAMESPACE)
        await self._gone()

    def _set(self, shape: Shape) -> dict[str, Any]:
        return podcliqueset(shape, SCHEDULERS[self._scheduler], self._options.max_unavailable)

    async def _update(self, shape: Shape) -> None:
        body = self._set(shape)
        for clique in body["spec"]["template"]["cliques"]:
            clique["spec"]["podSpec"]["containers"][0]["image"] = "worker:v2"
        change = {"spec": {"template": body["spec"]["template"]}}
        await self._client.patch(POD_CLIQUE_SETS, shape.name, change, namespace=NAMESPACE)
        self._before = {one.metadata.uid for one in self._live()}

    def _updated(self, shape: Shape) -> bool:
        live = self._live()
        fresh = [one for one in live if one.metadata.uid not in self._before]
        return len(fresh) == len(live) == shape.pods and self._ready() == shape.pods

    async def _gone(self) -> None:
        await self._until(lambda: not list(self._pods))
        while (await self._client.list(POD_CLIQUE_SETS, namespace=NAMESPACE)).items:
            await asyncio.sleep(0.05)

    # What is there

    def _live(self) -> list[PodView]:
        return [one for one in self._pods if one.metadata.deletion_timestamp is None]

    def _ready(self) -> int:
        return sum(
            1
            for pod in self._live()
            if any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
        )

    async def _until(self, done: Any) -> None:
        deadline = time.monotonic() + WITHIN
        while not done():
            self._operator.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"not done within {WITHIN:g} s; see {self._operator.log}")
            await asyncio.sleep(0.05)

    async def _quiet(self) -> None:
        """Until the operator has written nothing for some seconds: it holds statuses back for a moment."""
        last, since = -1.0, time.monotonic()
        while time.monotonic() - since < 3.0:
            writes = (await self._operator.usage()).writes
            if writes != last:
                last, since = writes, time.monotonic()
            await asyncio.sleep(0.2)

    def _writes_of_binder(self) -> float:
        return sum(self._binding.statistics().requests.get((verb, "201"), 0) for verb in ("create",)) + sum(
            count for (verb, code), count in self._binding.statistics().requests.items() if verb == "patch"
        )

    @contextlib.asynccontextmanager
    async def _bound(self) -> AsyncIterator[None]:
        """Within, the stand-in binds, where it is what binds."""
        if self._scheduler == "kube":
            yield
            return
        running = asyncio.create_task(Binder(self._binding, self._gangs, self._pods, self._nodes).run())
        try:
            yield
            if running.done():
                running.result()
        finally:
            running.cancel()
            await asyncio.wait({running})

    # The loop that it is held against

    async def _created(self, shape: Shape) -> list[tuple[Resource, dict[str, Any]]]:
        """Everything that the operator has created, as it can be created anew in another namespace."""
        selector = f"{labels.PART_OF}={shape.name}"
        kinds = (SERVICES, ROLES, ROLE_BINDINGS, SCALING_GROUPS, POD_CLIQUES, POD_GANGS, PODS)
        found = []
        for resource in kinds:
            page = await self._client.list_all(resource, namespace=NAMESPACE, labels=selector)
            found += [(resource, stripped(one)) for one in page.items]
        return found

    async def _loop(self, objects: list[tuple[Resource, dict[str, Any]]], patches: int) -> float:
        """Seconds of sending them, and patches of statuses, 32 at a time; what it made is gone afterwards."""

        async def create(job: tuple[Resource, dict[str, Any]]) -> None:
            with contextlib.suppress(AlreadyExists):
                await self._client.create(job[0], job[1], namespace=COPY)

        cliques = [body["metadata"]["name"] for resource, body in objects if resource is POD_CLIQUES]

        async def patch(number: int) -> None:
            change = {"status": {"replicas": number}}
            name = cliques[number % len(cliques)]
            await self._client.patch(POD_CLIQUES, name, change, namespace=COPY, subresource="status")

        started = time.perf_counter()
        await in_flight(objects, create)
        await in_flight(range(max(0, patches)), patch)
        taken = time.perf_counter() - started
        for resource in (PODS, POD_GANGS, POD_CLIQUES, SCALING_GROUPS, ROLE_BINDINGS, ROLES):
            await self._client.delete_collection(resource, namespace=COPY, grace_period=0)
        for resource, body in objects:
            if resource is SERVICES:
                await self._client.delete(SERVICES, body["metadata"]["name"], namespace=COPY)
        await self._until(lambda: not list(self._pods))
        return taken

    # Many pods

    async def idle_and_restart(self, pods: int) -> list[Figure]:
        """With so many pods: what an idle operator costs, and how long a restarted one takes to do something."""
        shapes = [Shape(f"many-{number}", 10, 20, 20) for number in range(max(1, pods // 1000))]
        async with self._bound():
            for number, shape in enumerate(shapes, start=1):
                await self._client.create(POD_CLIQUE_SETS, self._set(shape), namespace=NAMESPACE)
                await self._until(lambda wanted=number * shape.pods: self._ready() >= wanted)
            while await self._operator.untold():  # of the sets that were there before, too
                await asyncio.sleep(1.0)
            await self._quiet()
            before = await self._operator.usage()
            await asyncio.sleep(IDLE_SECONDS)
            idle = await self._operator.usage() - before
            memory = self._operator.memory()
            self._operator.kill()
            name = f"{shapes[0].name}-0-model-0-worker"
            scale = {"spec": {"replicas": WORKERS + 1}}
            await self._client.patch(POD_CLIQUES, name, scale, namespace=NAMESPACE)
            started, count = time.perf_counter(), len(self._live())
            self._operator.start()
            await self._until(lambda: len(self._live()) > count)
            seconds = time.perf_counter() - started
            await self._operator.ready()
            await self._quiet()
            after = self._operator.memory()
        total = sum(shape.pods for shape in shapes)
        return [
            Figure(f"{total} pods: MiB of the operator", memory / 2**20, bar=200.0),
            Figure(f"{total} pods: MiB after a restart", after / 2**20, bar=200.0),
            Figure(f"{total} pods: writes while idle for {IDLE_SECONDS:g} s", idle.writes, bar=0.0),
            Figure(f"{total} pods: share of a processor while idle", idle.cpu / IDLE_SECONDS, bar=0.01),
            Figure(f"{total} pods: seconds from start to the first pod created", seconds),
        ]


def podcliqueset(shape: Shape, scheduler: str, max_unavailable: int) -> dict[str, Any]:
    def clique(name: str, replicas: int) -> dict[str, Any]:
        container = {"name": name, "image": "worker:v1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
        pod = {"schedulerName": scheduler, "containers": [container], "terminationGracePeriodSeconds": 5}
        return {"name": name, "spec": {"replicas": replicas, "minAvailable": replicas, "podSpec": pod}}

    return {
        "metadata": {"name": shape.name},
        "spec": {
            "replicas": shape.replicas,
            "template": {
                "cliques": [clique("leader", 1), clique("worker", WORKERS)],
                "podCliqueScalingGroups": [
                    {
                        "name": "model",
                        "cliqueNames": ["leader", "worker"],
                        "replicas": shape.copies,
                        "minAvailable": shape.least,
                        "rollingUpdate": {"maxUnavailable": min(max_unavailable, shape.copies)},
                    }
                ],
            },
        },
    }


def stripped(stored: dict[str, Any]) -> dict[str, Any]:
    """An object as it was created, without what ties it to its owner and its place."""
    kept = ("name", "labels", "annotations")
    body = {key: value for key, value in stored.items() if key not in ("status", "metadata")}
    body["metadata"] = {key: value for key, value in stored["metadata"].items() if key in kept}
    if stored.get("kind") == "Service" or "clusterIP" in body.get("spec", {}):
        body["spec"] = {key: value for key, value in body["spec"].items() if key in ("clusterIP", "selector")}
    return body


def figures(run: Run) -> Iterator[Figure]:
    """The ratios are held against bars; the rest tells how they come about."""
    shape = run.shape
    title = f"{shape.name}, {run.scheduler}, {shape.pods} pods"
    until = run.usage["ready"]
    per_pod = (until.writes + run.binds) / shape.pods
    if run.scheduler == "binder":
        yield Figure(f"{title}: writes for each pod until ready, with binding", per_pod, bar=3.0)
        ratio = run.seconds["created, unbound"] / run.loop
        yield Figure(f"{title}: created, against a loop of the same writes", ratio, bar=1.15)
    else:
        yield Figure(f"{title}: the operator's writes for each pod until ready", until.writes / shape.pods)
    for name, seconds in run.seconds.items():
        yield Figure(f"{title}: seconds until {name}", seconds)
    for name, used in run.usage.items():
        yield Figure(f"{title}: CPU seconds of the operator until {name}", used.cpu)
    for verb, count in sorted(until.by_verb.items()):
        yield Figure(f"{title}: {verb} for each pod until ready", count / shape.pods)
    for name in ("updated", "deleted"):
        yield Figure(f"{title}: writes for each pod until {name}", run.usage[name].writes / shape.pods)
    yield Figure(f"{title}: MiB of the operator", run.memory / 2**20)


if __name__ == "__main__":
    sys.exit(main())

"""An engine and what it is told: PodGangs with their pods, as the operator makes them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import PodSpec, PodView
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.engine import Engine, Rules
from grove.scheduler.gangs import Gang
from grove.scheduler.needs import PodNeeds
from grove.scheduler.placement.budget import Budget
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Answer, Found, NotFound, Put
from tests.unit.scheduler.fleets import KEYS, node, pod, spec

_times = itertools.count()


def first_fit(cluster: Cluster, gang: Gang, budget: Budget) -> Answer:
    """A search without any sense of place: enough where only the engine is tried."""
    puts: list[Put] = []
    left = []
    mark = cluster.mark()
    try:
        for group in gang.groups():
            for index, one in enumerate(group.waiting):
                slots = cluster.capacity(one.cls).nonzero()[0]
                if len(slots):
                    puts.append(Put(one, int(slots[0])))
                    cluster.put(Placed(one.uid, one.namespace, one.name, one.cls, int(slots[0])))
                elif index < group.missing:
                    return NotFound(True, group.name, "")
                else:
                    left.append(one)
    finally:
        cluster.rollback(mark)
    return Found(tuple(puts), tuple(left))


class World:
    """What the API server would tell an engine."""

    def __init__(self, *, nodes: int = 2, gpus: int = 8, place: Any = first_fit, **options: Any) -> None:
        surroundings = Surroundings()
        self.cluster = Cluster()
        self.engine = Engine(
            Rules(scheduler_names=["grove-scheduler"], **options),
            cluster=self.cluster,
            surroundings=surroundings,
            needs=PodNeeds(surroundings),
            place=place,
        )
        self.pods: dict[str, PodView] = {}
        self.gangs: dict[str, PodGang] = {}
        self.now = 1_900_000_000.0
        for index in range(nodes):
            self.node(f"n{index}", {KEYS[2]: "r0"}, gpus=gpus)

    def node(self, name: str, found: Mapping[str, str] | None = None, *, gpus: int = 8) -> None:
        self.engine.node(node(name, found, gpus=gpus))

    def pod(self, name: str, wanted: PodSpec | None = None, *, gang: str = "", on: str = "", **more: Any) -> PodView:
        """A pod that is there from now on."""
        found = {labels.POD_GANG: gang} if gang else {}
        view = pod(name, wanted or spec(gpus=1), labels=found)
        view = msgspec.structs.replace(view, node_name=on, **more)
        return self.tell(view)

    def tell(self, view: PodView) -> PodView:
        self.pods[view.metadata.name] = view
        self.engine.pod(view)
        return view

    def gang(
        self,
        name: str,
        groups: Mapping[str, int],
        *,
        wanted: PodSpec | None = None,
        minimum: int | None = None,
        base: str = "",
        pods: bool = True,
        priority: str = "",
        **constraints: Any,
    ) -> PodGang:
        """A PodGang with so many pods in each group, which all exist."""
        podgroups: list[dict[str, Any]] = []
        for group, count in groups.items():
            members = [f"{name}-{group}-{index}" for index in range(count)]
            if pods:
                for member in members:
                    self.pod(member, wanted, gang=name)
            references = [{"namespace": "default", "name": member} for member in members]
            least = count if minimum is None else minimum
            podgroups.append({"name": f"{name}-{group}", "podReferences": references, "minReplicas": least})
        found = {labels.BASE_POD_GANG: base} if base else {}
        time = f"2026-11-19T00:{next(_times) // 60 % 60:02}:{next(_times) % 60:02}Z"
        metadata = {"name": name, "namespace": "default", "uid": f"uid-gang-{name}", "labels": found}
        body = {
            "metadata": metadata | {"creationTimestamp": time},
            "spec": {"podgroups": podgroups, "priorityClassName": priority or None} | constraints,
        }
        view = msgspec.convert(body, PodGang)
        self.gangs[name] = view
        self.engine.gang(view)
        return view

    def gone(self, name: str) -> None:
        self.engine.pod_gone(self.pods.pop(name))

    def decide(self) -> Sequence[Any]:
        self.now += 1
        return self.engine.decide(self.now)

    def settle(self) -> Sequence[Any]:
        """Decides, and has all binds carried out."""
        decisions = self.decide()
        for one in decisions:
            for pending, on in getattr(one, "puts", ()):
                self.tell(msgspec.structs.replace(self.pods[pending.name], node_name=on))
        return decisions

    def where(self) -> dict[str, str]:
        """The node of each pod that has one, as the engine sees it."""
        return {one.name: self.cluster.names[one.slot] for one in self.cluster.pods.values()}


def terminating(view: PodView) -> PodView:
    meta = msgspec.structs.replace(view.metadata, deletion_timestamp="2026-11-19T01:00:00Z")
    assert isinstance(meta, ObjectMeta)
    return msgspec.structs.replace(view, metadata=meta)

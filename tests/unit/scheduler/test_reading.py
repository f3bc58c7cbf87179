"""A cluster that is read once, with the rights that the user has."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any, TypeAlias, cast

import msgspec
import pytest

from grove.api import codec
from grove.api.conditions import timestamp
from grove.api.kinds.processconfig import LeaderElection
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.decoding import Page
from grove.kube.errors import ApiError, Forbidden, NotFound, Unavailable
from grove.kube.objects import NodeView, PodView
from grove.kube.reader import Reader
from grove.kube.resources import LEASES, NODES, PODS, RESOURCE_SLICES, STORAGE_CLASSES, Resource
from grove.scheduler import reading, record
from grove.scheduler.engine import Engine
from grove.scheduler.kinds import DECISION, POD_GANGS, QUEUES, TOPOLOGY_BINDINGS
from grove.scheduler.reading import CannotRead, Leader
from tests.unit.scheduler.fleets import node, pod, spec

NOW = datetime.datetime(2026, 11, 20, 10, tzinfo=datetime.UTC)
SETTINGS = SchedulerConfiguration()
GANG: dict[str, Any] = {
    "metadata": {"name": "g", "namespace": "default", "uid": "uid-g"},
    "spec": {
        "podgroups": [
            {"name": "w", "minReplicas": 1, "podReferences": [{"namespace": "default", "name": "w-0"}]},
        ]
    },
}


Items: TypeAlias = list[Any]


class Server:
    """As far as a reader asks it."""

    def __init__(self) -> None:
        self.objects: dict[Resource, list[Any]] = {
            NODES: [node("n0"), node("n1")],
            PODS: [pod("w-0", spec(gpus=4)), msgspec.structs.replace(pod("other", spec(gpus=8)), node_name="n0")],
            POD_GANGS: [GANG],
        }
        self.failures: dict[Resource, ApiError] = {}

    async def list_all(self, resource: Resource, *, fields: str = "", type: Any) -> Page[Any]:
        assert (resource is PODS) == bool(fields)
        return Page([self._converted(one, type) for one in self._items(resource)], "1")

    async def list(self, resource: Resource, **_: Any) -> Page[Any]:
        return Page(self._items(resource), "1")

    def _items(self, resource: Resource) -> Items:
        if resource in self.failures:
            raise self.failures[resource]
        return self.objects.get(resource, [])

    def _converted(self, found: Any, type: Any) -> Any:
        return found if isinstance(found, NodeView | PodView) else msgspec.convert(found, type)

    def read(self, **options: Any) -> Engine:
        return asyncio.run(reading.read(cast(Reader, self), SETTINGS, now=NOW, **options))

    def leader(self, election: LeaderElection = SETTINGS.leader_election) -> Leader:
        return asyncio.run(reading.leader(cast(Reader, self), election, NOW))


def test_an_engine_knows_what_the_cluster_has() -> None:
    engine = Server().read()
    assert set(engine.cluster.slot_of) == {"n0", "n1"}
    (bind,) = engine.decide(NOW.timestamp())
    assert (bind.gang.key, [on for _, on in getattr(bind, "puts", ())]) == ("default/g", ["n1"])


def test_kinds_that_a_cluster_may_not_have_are_nothing() -> None:
    server = Server()
    for resource in (QUEUES, TOPOLOGY_BINDINGS, RESOURCE_SLICES):
        server.failures[resource] = NotFound("no such kind", code=404)
    assert server.read().find("default/g") is not None


def test_kinds_that_it_must_have_are_named() -> None:
    server = Server()
    server.failures[POD_GANGS] = NotFound("no such kind", code=404)
    with pytest.raises(CannotRead, match="the cluster does not know PodGangs") as error:
        server.read()
    assert error.value.remedy == "run grove crds apply as an administrator"


def test_a_right_that_is_missing_is_named() -> None:
    server = Server()
    server.failures[STORAGE_CLASSES] = Forbidden("you may not", code=403)
    with pytest.raises(CannotRead, match="you may not") as error:
        server.read()
    assert error.value.remedy == "ask for the right to list storageclasses in storage.k8s.io in the whole cluster"


def test_other_failures_are_told_as_they_are() -> None:
    server = Server()
    server.failures[NODES] = Unavailable("not now", code=503)
    with pytest.raises(CannotRead, match="not now"):
        server.read()


def test_it_can_be_read_as_if_there_were_only_some_nodes() -> None:
    assert set(Server().read(nodes=["n1"]).cluster.slot_of) == {"n1"}
    with pytest.raises(CannotRead, match="there is no node n9"):
        Server().read(nodes=["n9"])


def test_what_a_scheduler_is_carrying_out_counts_as_done() -> None:
    server = Server()
    targets = [record.Target("default", "w-0", "uid-default-w-0", "n1")]
    until = NOW + datetime.timedelta(seconds=60)
    text = record.text(record.make(targets, term=1, now=NOW, until=until))
    annotated = {**GANG, "metadata": {**GANG["metadata"], "annotations": {DECISION: text}}}
    server.objects[POD_GANGS] = [annotated]
    engine = server.read()
    assert engine.cluster.pods["uid-default-w-0"].slot == engine.cluster.slot_of["n1"]


def lease(namespace: str, holder: str, ago: float) -> dict[str, Any]:
    renewed = timestamp(NOW - datetime.timedelta(seconds=ago))
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    return {"metadata": {"name": "grove-scheduler-leader-election", "namespace": namespace}, "spec": spec}


def test_the_lease_tells_whether_somebody_decides() -> None:
    server = Server()
    assert server.leader().standing == "missing"
    server.objects[LEASES] = [lease("old", "gone", 3600.0), lease("grove-system", "scheduler-1", 2.0)]
    found = server.leader()
    assert (found.standing, found.holder) == ("leads", "scheduler-1")
    assert (found.lease, found.sentence()) == ("grove-system/grove-scheduler-leader-election", "")
    server.objects[LEASES] = [lease("grove-system", "scheduler-1", 120.0)]
    assert server.leader().standing == "expired"
    server.objects[LEASES] = [lease("grove-system", "", 120.0)]
    assert server.leader().standing == "free"


def test_who_may_not_read_leases_is_told_nothing_of_them() -> None:
    server = Server()
    server.failures[LEASES] = Forbidden("you may not", code=403)
    assert (server.leader().standing, server.leader().sentence()) == ("unknown", "")
    assert Server().leader(codec.decode({"enabled": False}, LeaderElection)).standing == "unknown"

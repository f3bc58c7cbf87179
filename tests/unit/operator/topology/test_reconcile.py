"""When the status of a topology binding is written, and what is told of it."""

import asyncio
import random
from typing import Any, cast

import pytest

from grove.api import codec
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.cachedclient import Caches
from grove.kube.errors import Conflict
from grove.kube.events import Regarding
from grove.kube.store import Change
from grove.operator.topology.reconcile import TopologyReconciler, sources
from grove.operator.world import Key, World
from grove.runtime.clock import SystemClock
from grove.runtime.followed import Followed
from grove.runtime.outcomes import Retry
from tests.unit.operator.podgang.builders import merged

JSON = dict[str, Any]


class Desk:
    """Writer and recorder of a controller, and the cache that it reads."""

    def __init__(self) -> None:
        clock = SystemClock()
        self.world = World(Caches(cast("Any", None), clock=clock, rng=random.Random(1)))
        self.written: list[JSON] = []
        self.events: list[tuple[str, str, str]] = []
        self.fails: Exception | None = None
        self.reconcile = TopologyReconciler(
            world=self.world,
            writer=cast("Any", self),
            recorder=cast("Any", self),
            clock=clock,
            schedulers={"grove-scheduler": "grove"},
        )

    def put(self, version: int, *schedulers: str, **more: Any) -> ClusterTopologyBinding:
        listed = [{"schedulerName": name, "topologyReference": "x"} for name in schedulers]
        metadata = {"name": "t", "uid": "u", "resourceVersion": str(version), "generation": version, **more}
        spec = {"levels": [{"domain": "zone", "key": "zone"}], "schedulerTopologyBindings": listed}
        held = self.world.topologies.get("t")
        stored = {} if held is None or held.status is None else {"status": codec.encode(held.status)}
        binding = codec.decode({"metadata": metadata, "spec": spec, **stored}, ClusterTopologyBinding)
        self.world.topologies.wrote(binding)
        return binding

    async def patch(self, resource: Any, held: Any, change: JSON, *, type: Any, subresource: str, guarded: bool) -> Any:
        assert (subresource, guarded) == ("status", True)
        if self.fails is not None:
            raise self.fails
        self.written.append(change)
        tree = merged(codec.encode(cast("Any", self.world.topologies.get("t"))), change)
        tree["metadata"]["resourceVersion"] = str(int(held.resource_version) + 1)
        self.world.topologies.wrote(codec.decode(tree, type))

    def record(self, regarding: Regarding, type: str, reason: str, message: str) -> None:
        self.events.append((regarding.kind, type, reason))


def test_a_status_is_written_once_and_coming_into_sync_is_told_once() -> None:
    async def main() -> None:
        desk = Desk()
        desk.put(1, "grove-scheduler")
        for _ in range(2):
            await desk.reconcile(Key("", "t"))
        assert len(desk.written) == 1
        assert desk.events == [("ClusterTopologyBinding", "Normal", "TopologyInSync")]
        desk.put(3)
        await desk.reconcile(Key("", "t"))
        assert desk.written[-1]["status"]["observedGeneration"] == 3
        assert len(desk.events) == 1

    asyncio.run(main())


def test_what_is_gone_or_going_is_left_alone() -> None:
    async def main() -> None:
        desk = Desk()
        await desk.reconcile(Key("", "t"))
        desk.put(1, deletionTimestamp="2026-01-02T03:04:05Z", finalizers=["x"])
        await desk.reconcile(Key("", "t"))
        assert desk.written == []

    asyncio.run(main())


def test_a_conflict_is_decided_anew() -> None:
    async def main() -> None:
        desk = Desk()
        desk.put(1)
        desk.fails = Conflict("it changed", code=409)
        with pytest.raises(Retry):
            await desk.reconcile(Key("", "t"))

    asyncio.run(main())


def test_only_changes_of_the_spec_wake_it() -> None:
    desk = Desk()
    (source,) = sources(desk.world)
    assert isinstance(source, Followed)
    old, new = desk.put(1), desk.put(2)
    keys = source._keys
    assert list(keys(Change(None, old))) == [Key("", "t")]
    assert list(keys(Change(old, new))) == [Key("", "t")]
    assert list(keys(Change(old, old))) == []
    assert list(keys(Change(old, None))) == []

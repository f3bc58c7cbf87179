"""How children are written: never over somebody else's object, and never twice."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from grove.api.kinds.meta import ObjectMeta
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.errors import Conflict, Unreachable
from grove.kube.resources import SERVICES
from grove.operator.owners import reference
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.views import ServiceView
from grove.operator.writer import COLLECTED, GOING, ForeignObjectError, Writer
from grove.runtime.outcomes import Retry
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.apiserver import OperatorServer, faults
from tests.unit.operator.podcliqueset.builders import JSON

OWNER = ObjectMeta(name="demo", namespace="default", uid="u1")


class Desk:
    """A writer on an API server of memory, with a cache of Services."""

    def __init__(self, clock: VirtualClock) -> None:
        self.server = OperatorServer(clock)
        client = cast(Client, self.server)
        caches = Caches(client, clock=clock, rng=random.Random(1))
        self.services = caches.add(SERVICES, type=ServiceView)
        self.writer = Writer(client, caches)

    async def create(self, owner: ObjectMeta = OWNER) -> ServiceView:
        return await self.writer.create(SERVICES, body(owner), owner, type=ServiceView)

    @property
    def held(self) -> ServiceView | None:
        return self.services.get("demo-0", "default")


def body(owner: ObjectMeta | None = OWNER) -> JSON:
    owners = [] if owner is None else [reference(POD_CLIQUE_SETS, owner)]
    metadata = {"name": "demo-0", "namespace": "default", "ownerReferences": owners}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}


def play(story: Callable[[Desk], Awaitable[Any]]) -> None:
    async def main(clock: VirtualClock) -> None:
        await story(Desk(clock))

    run(main)


def test_what_is_created_is_in_the_cache_before_the_writer_returns() -> None:
    async def story(desk: Desk) -> None:
        assert await desk.create() == desk.held

    play(story)


def test_an_answer_that_was_lost_is_made_good_by_the_next_try() -> None:
    async def story(desk: Desk) -> None:
        with faults(desk.server, lambda *_: "lost"), pytest.raises(Unreachable):
            await desk.create()
        assert desk.held is None
        made = await desk.create()
        assert made == desk.held
        assert desk.server.count(verb="create") == 1

    play(story)


@pytest.mark.parametrize("owner", [None, ObjectMeta(name="other", namespace="default", uid="u2")])
def test_somebody_elses_object_is_an_error_that_says_what_to_do(owner: ObjectMeta | None) -> None:
    async def story(desk: Desk) -> None:
        theirs = desk.server.put(SERVICES, body(owner))
        with pytest.raises(ForeignObjectError) as caught:
            await desk.create()
        assert str(caught.value) == (
            "Service default/demo-0 exists and does not belong to demo: "
            "delete or rename it, or give the PodCliqueSet another name"
        )
        assert desk.server.one(SERVICES, "demo-0") == theirs
        assert desk.held is None

    play(story)


def test_what_an_earlier_owner_of_the_name_left_is_waited_for() -> None:
    async def story(desk: Desk) -> None:
        desk.server.put(SERVICES, body(replace(OWNER, uid="u0")))
        with pytest.raises(Retry) as caught:
            await desk.create()
        assert caught.value.after == COLLECTED
        desk.server.remove(SERVICES, "demo-0", "default")
        assert await desk.create() == desk.held

    play(story)


def test_a_name_whose_holder_is_being_deleted_is_tried_again() -> None:
    async def story(desk: Desk) -> None:
        going = body()
        going["metadata"] |= {"deletionTimestamp": "2026-11-19T12:00:00Z", "finalizers": ["somebody/else"]}
        desk.server.put(SERVICES, going)
        with pytest.raises(Retry) as caught:
            await desk.create()
        assert caught.value.after == GOING

    play(story)


def test_a_guarded_patch_is_for_the_version_that_is_held() -> None:
    async def story(desk: Desk) -> None:
        made = await desk.create()
        desk.server.edit(SERVICES, "demo-0", {"metadata": {"labels": {"theirs": "new"}}}, "default")
        change = {"spec": {"publishNotReadyAddresses": True}}
        with pytest.raises(Conflict):
            await desk.writer.patch(SERVICES, made.metadata, change, type=ServiceView, guarded=True)
        changed = await desk.writer.patch(SERVICES, made.metadata, change, type=ServiceView)
        assert changed.spec.publish_not_ready_addresses
        assert changed == desk.held

    play(story)


def test_only_the_very_object_is_deleted_and_not_its_successor() -> None:
    async def story(desk: Desk) -> None:
        made = await desk.create()
        desk.server.remove(SERVICES, "demo-0", "default")
        desk.server.put(SERVICES, body())
        assert not await desk.writer.delete(SERVICES, made.metadata)
        assert "demo-0" in desk.server.names(SERVICES)

    play(story)


def test_deleting_what_is_gone_is_no_error() -> None:
    async def story(desk: Desk) -> None:
        made = await desk.create()
        assert await desk.writer.delete(SERVICES, made.metadata)
        assert desk.held is None
        assert not await desk.writer.delete(SERVICES, made.metadata)

    play(story)

"""Children are written side by side, and each failure is one child's own."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from grove.api.kinds.meta import ObjectMeta
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.errors import Conflict, InternalError, Invalid, NotFound
from grove.kube.fence import NotLeaderError
from grove.kube.resources import SERVICES, Resource
from grove.operator.owners import reference
from grove.operator.podcliqueset import steps
from grove.operator.podcliqueset.children import Patch, Plan
from grove.operator.podcliqueset.steps import Steps
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.writer import Writer
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.apiserver import Fault, OperatorServer, faults
from tests.unit.operator.podcliqueset.builders import JSON

OWNER = ObjectMeta(name="demo", namespace="default", uid="u1")


def body(name: str) -> JSON:
    metadata = {"name": name, "namespace": "default", "ownerReferences": [reference(POD_CLIQUE_SETS, OWNER)]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}


def creates(count: int) -> Plan:
    return Plan(creates=tuple(body(f"s{number}") for number in range(count)))


def play(story: Callable[[OperatorServer, Steps], Awaitable[Any]]) -> None:
    async def main(clock: VirtualClock) -> None:
        server = OperatorServer(clock)
        client = cast(Client, server)
        await story(server, Steps(Writer(client, Caches(client, clock=clock, rng=random.Random(1))), OWNER))

    run(main)


def refuse(error: Exception, *names: str) -> Fault:
    def fault(verb: str, resource: Resource, name: str) -> None:
        if not names or name in names:
            raise error

    return fault


def test_what_was_written_is_told_by_name() -> None:
    async def story(server: OperatorServer, done: Steps) -> None:
        found = await done.carry_out(steps.SERVICE, creates(3))
        assert found.created == ("s0", "s1", "s2")
        assert done.is_complete

    play(story)


def test_one_child_that_is_invalid_stops_no_other() -> None:
    async def story(server: OperatorServer, done: Steps) -> None:
        with faults(server, refuse(Invalid("bad name", code=422), "s0", "s5")):
            found = await done.carry_out(steps.SERVICE, creates(20))
        assert len(found.created) == 18
        assert [error.code for error in done.errors] == ["ERR_SYNC_PODCLIQUESET_SERVICE"] * 2
        assert "could not write Service s0" in str(done.errors[0])
        assert done.failure() is done.errors[0]

    play(story)


def test_a_server_that_refuses_everything_is_asked_little() -> None:
    async def story(server: OperatorServer, done: Steps) -> None:
        with faults(server, refuse(InternalError("etcd is away", code=500))):
            found = await done.carry_out(steps.SERVICE, creates(500))
        assert found.created == ()
        assert len(done.errors) == steps.FIRST_BATCH

    play(story)


@pytest.mark.parametrize("error", [Conflict("changed", code=409), NotFound("gone", code=404)])
def test_what_changed_meanwhile_is_tried_again_soon_and_is_no_error(error: Exception) -> None:
    async def story(server: OperatorServer, done: Steps) -> None:
        patch = Patch(ObjectMeta(name="s0", namespace="default", uid="u"), {"spec": {}})
        with faults(server, refuse(error)):
            found = await done.carry_out(steps.SERVICE, Plan(patches=(patch,)))
        assert found.patched == ()
        assert not done.errors
        assert [one.after for one in done.again] == [steps.SOON]
        assert not done.is_complete

    play(story)


def test_whose_term_is_over_writes_nothing_more() -> None:
    async def story(server: OperatorServer, done: Steps) -> None:
        with faults(server, refuse(NotLeaderError("over"))), pytest.raises(NotLeaderError):
            await done.carry_out(steps.SERVICE, creates(3))

    play(story)


def test_a_deletion_that_fails_is_told_under_its_own_code() -> None:
    async def story(server: OperatorServer, done: Steps) -> None:
        held = ObjectMeta(name="s0", namespace="default", uid="u")
        with faults(server, refuse(InternalError("no", code=500))):
            assert await done.delete(steps.SERVICE, [held]) == ()
        (error,) = done.errors
        assert error.code == "ERR_DELETE_PODCLIQUESET_SERVICE"
        assert error.operation == "Delete"
        assert SERVICES.kind in str(error)

    play(story)

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.install import crds
from grove.install.crds import ORDER, Applied, NotEstablished
from grove.kube.client import Client
from grove.kube.errors import Forbidden, NotFound, TooManyRequests
from grove.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, of_kind
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.admission.cluster import Cluster

NAME = catalog.POD_CLIQUE_SET.crd_name
APPLIED = Applied(catalog.POD_CLIQUE_SET, "created", "1")


def test_every_kind_is_installed_and_those_of_grove_first() -> None:
    assert {*ORDER} == {*catalog.SERVED}
    assert [kind.name for kind in ORDER[:5]] == [
        "PodClique",
        "PodCliqueSet",
        "PodCliqueScalingGroup",
        "ClusterTopologyBinding",
        "PodGang",
    ]


def condition(type: str, status: str, message: str = "") -> JSON:
    return {"type": type, "status": status, "message": message}


def definition(*conditions: JSON) -> JSON:
    return {"metadata": {"name": NAME}, "status": {"conditions": list(conditions)}}


def test_a_definition_is_established_when_it_says_so() -> None:
    assert crds.is_established(definition(condition("Established", "True")))
    assert not crds.is_established(definition(condition("Established", "False")))
    assert not crds.is_established({"metadata": {}})


def test_a_name_that_is_taken_is_a_refusal() -> None:
    assert crds.refusal(definition(condition("NamesAccepted", "False", "taken"))) == "taken"
    assert crds.refusal(definition(condition("NamesAccepted", "True"))) == ""
    assert crds.refusal({}) == ""


class Server(Cluster):
    """Serves the kind after it has answered otherwise so often."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.answers: list[Exception] = []

    async def list(self, resource: Any, **options: Any) -> Any:
        assert resource == of_kind(catalog.POD_CLIQUE_SET)
        if self.answers:
            raise self.answers.pop(0)
        return await super().list(resource, **options)

    def watch(
        self, resource: Any, *, labels: str = "", resource_version: str = "", type: Any = JSON, **rest: Any
    ) -> Any:
        return super().watch(resource, labels=labels, type=type, **rest)

    def set(self, *conditions: JSON) -> None:
        self._put("customresourcedefinitions", "", NAME, definition(*conditions))


def play(scene: Callable[[Server], Coroutine[Any, Any, None]]) -> None:
    run(lambda clock: scene(Server(clock)))


async def waiting(server: Server, timeout: float = 1e9) -> None:
    await crds.wait(cast(Client, server), [APPLIED], clock=server.clock, timeout=timeout)


def test_it_waits_until_the_kind_is_established_and_answers() -> None:
    async def scene(server: Server) -> None:
        server.set()
        server.answers = [NotFound("not yet", code=404), TooManyRequests("storage is initializing", code=429)]
        task = asyncio.ensure_future(waiting(server))
        await server.clock.sleep(5)
        assert not task.done()
        server.set(condition("NamesAccepted", "True"))
        await server.clock.sleep(5)
        assert not task.done()
        server.set(condition("NamesAccepted", "True"), condition("Established", "True"))
        await task
        assert server.answers == []

    play(scene)


def test_who_may_not_read_the_objects_may_install_their_kinds() -> None:
    async def scene(server: Server) -> None:
        server.set(condition("Established", "True"))
        server.answers = [Forbidden("you may not", code=403)]
        await waiting(server)

    play(scene)


def test_a_name_that_is_taken_ends_the_wait() -> None:
    async def scene(server: Server) -> None:
        server.set(condition("NamesAccepted", "False", '"podclique" is already in use'))
        with pytest.raises(NotEstablished, match=r'^podcliquesets\.grove\.io is not served: "podclique" is'):
            await waiting(server)

    play(scene)


def test_time_is_up_at_some_point() -> None:
    async def scene(server: Server) -> None:
        server.set()
        with pytest.raises(NotEstablished, match="not within 5 s"):
            await waiting(server, timeout=5.0)

    play(scene)


def test_each_definition_is_told_when_it_is_applied() -> None:
    async def scene(server: Server) -> None:
        async def outcomes() -> list[tuple[str, str]]:
            return [(one.kind.name, one.outcome) async for one in crds.apply(cast(Client, server), ORDER[:2])]

        assert await outcomes() == [("PodClique", "created"), ("PodCliqueSet", "created")]
        server.edit(CUSTOM_RESOURCE_DEFINITIONS, NAME, {"spec": {"scope": "Cluster"}})
        assert await outcomes() == [("PodClique", "unchanged"), ("PodCliqueSet", "configured")]

    play(scene)

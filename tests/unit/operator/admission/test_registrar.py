from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import Awaitable, Callable

from grove.api.fields import JSON
from grove.kube.resources import CLUSTER_ROLES
from grove.operator.admission.certificates import Bundle
from grove.operator.admission.registrar import CALM, Registrar
from grove.operator.admission.registration import MUTATING, VALIDATING, Service, configurations
from grove.operator.admission.served import Served
from grove.operator.permissions import CLUSTER_ROLE
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.admission.cluster import NAMESPACE, Cluster, running, until

NAME = "podcliqueset-validating-webhook"
ALL = 7


class World:
    """A registrar and what it depends on."""

    def __init__(self, cluster: Cluster, served: Served | None = None, *, with_authorizer: bool = True) -> None:
        self.cluster = cluster
        self.task: asyncio.Task[None]
        self.listening = asyncio.Event()
        self.served = served or Served()
        if served is None:
            self.served.take(Bundle(b"certificate"), b"first")
        self.registrar = Registrar(
            cluster.client,
            served=self.served,
            listening=self.listening.wait,
            where=lambda: Service(namespace=NAMESPACE),
            with_authorizer=with_authorizer,
            clock=cluster.clock,
            rng=random.Random(1),
        )

    async def registered(self) -> None:
        self.listening.set()
        await until(self.cluster.clock, lambda: not self.registrar.check())

    def entry(self, name: str = NAME) -> JSON:
        found = self.cluster.get_now(VALIDATING, name)
        assert found is not None
        entry: JSON = found["webhooks"][0]
        return entry

    def bundle(self, name: str = NAME) -> bytes:
        return base64.b64decode(self.entry(name)["clientConfig"]["caBundle"])


def play(scene: Callable[[World], Awaitable[None]]) -> None:
    async def on(clock: VirtualClock) -> None:
        world = World(Cluster(clock))
        async with running(world.registrar):
            await scene(world)

    run(on)


def test_nothing_is_registered_before_the_server_listens() -> None:
    async def scene(world: World) -> None:
        await world.cluster.clock.sleep(60)
        assert world.cluster.writes == []
        assert world.registrar.check() == "the webhooks are not registered yet"
        await world.registered()
        assert world.cluster.count(verb="apply") == ALL
        assert world.bundle() == b"first"

    play(scene)


def test_what_is_registered_is_not_written_again() -> None:
    async def scene(world: World) -> None:
        await world.registered()
        other = World(world.cluster)
        async with running(other.registrar):
            await other.registered()
            await world.cluster.clock.sleep(3600)
        assert len(world.cluster.writes) == ALL

    play(scene)


def test_new_authorities_reach_every_configuration() -> None:
    async def scene(world: World) -> None:
        await world.registered()
        await world.cluster.clock.sleep(CALM)
        world.served.take(authorities=b"second first")
        assert await until(world.cluster.clock, lambda: world.cluster.count(verb="apply") == 2 * ALL) < 1.0
        for wanted in configurations(Service(namespace=NAMESPACE), b"", with_authorizer=True):
            found = world.cluster.get_now(wanted.resource, wanted.name)
            assert found is not None
            assert base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]) == b"second first"

    play(scene)


def test_what_is_deleted_or_trusts_another_comes_back_and_what_people_change_stays() -> None:
    async def scene(world: World) -> None:
        await world.registered()
        cluster, clock = world.cluster, world.cluster.clock
        cluster.remove(VALIDATING, NAME)
        await until(clock, lambda: cluster.get_now(VALIDATING, NAME))
        edited = dict(world.entry(), failurePolicy="Ignore")
        cluster.edit(VALIDATING, NAME, {"webhooks": [edited]})
        await clock.sleep(60)
        assert world.entry()["failurePolicy"] == "Ignore"
        edited["clientConfig"] = dict(edited["clientConfig"], caBundle="")
        cluster.edit(VALIDATING, NAME, {"webhooks": [edited]})
        await until(clock, lambda: world.bundle() == b"first")
        assert world.entry()["failurePolicy"] == "Fail"

    play(scene)


def test_a_replica_that_starts_puts_right_what_was_changed() -> None:
    async def scene(world: World) -> None:
        await world.registered()
        world.cluster.edit(VALIDATING, NAME, {"webhooks": [dict(world.entry(), failurePolicy="Ignore")]})
        other = World(world.cluster)
        async with running(other.registrar):
            await other.registered()
            assert world.entry()["failurePolicy"] == "Fail"

    play(scene)


def test_two_that_want_different_things_do_not_answer_each_other_at_full_speed() -> None:
    async def scene(world: World) -> None:
        await world.registered()
        clock, cluster = world.cluster.clock, world.cluster
        other = World(cluster, with_authorizer=False)
        other.served.take(authorities=b"of another Grove")
        async with running(other.registrar):
            await other.registered()
            before = len(cluster.writes)
            await clock.sleep(100 * CALM)
            assert ALL < len(cluster.writes) - before <= 2 * 101 * ALL

    play(scene)


def test_the_last_one_that_is_left_has_its_way() -> None:
    async def scene(world: World) -> None:
        """An upgrade that turns the authorizer off, and two replicas that saw it otherwise until they ended."""
        cluster = world.cluster
        new = World(cluster, with_authorizer=False)
        async with running(new.registrar):
            await new.registered()
            await world.registered()
            await cluster.clock.sleep(10 * CALM)
            world.task.cancel()
            await cluster.clock.sleep(3 * CALM)
            assert cluster.get_now(VALIDATING, "authorizer-webhook") is None
            assert cluster.get_now(VALIDATING, NAME) is not None

    async def on(clock: VirtualClock) -> None:
        world = World(Cluster(clock))
        world.task = asyncio.ensure_future(world.registrar.run())
        await scene(world)

    run(on)


def test_a_replica_that_hears_of_a_new_authority_late_does_not_undo_it() -> None:
    async def scene(world: World) -> None:
        await world.registered()
        clock = world.cluster.clock
        late = World(world.cluster)
        async with running(late.registrar):
            await late.registered()
            await clock.sleep(2 * CALM)
            before = len(world.cluster.writes)
            world.served.take(authorities=b"second first")
            await clock.sleep(CALM / 2)
            late.served.take(authorities=b"second first")
            await clock.sleep(10 * CALM)
            assert len(world.cluster.writes) - before == ALL
            assert world.bundle() == b"second first"

    play(scene)


def test_a_server_that_is_away_is_asked_again() -> None:
    async def scene(world: World) -> None:
        world.listening.set()
        world.cluster.is_away = True
        await world.cluster.clock.sleep(60)
        world.cluster.is_away = False
        await until(world.cluster.clock, lambda: not world.registrar.check())
        assert world.cluster.get_now(MUTATING, "podcliqueset-defaulting-webhook") is not None

    play(scene)


def test_they_are_owned_by_the_operators_role_and_by_its_successor() -> None:
    async def scene(world: World) -> None:
        cluster = world.cluster
        first = (await cluster.create(CLUSTER_ROLES, {"metadata": {"name": CLUSTER_ROLE}}))["metadata"]["uid"]
        await world.registered()

        def owners() -> list[str]:
            found = cluster.get_now(VALIDATING, NAME)
            return [] if found is None else [one["uid"] for one in found["metadata"]["ownerReferences"]]

        assert owners() == [first]
        cluster.remove(CLUSTER_ROLES, CLUSTER_ROLE)
        second = (await cluster.create(CLUSTER_ROLES, {"metadata": {"name": CLUSTER_ROLE}}))["metadata"]["uid"]
        cluster.remove(VALIDATING, NAME)  # as the garbage collector does
        await until(cluster.clock, owners)
        assert owners() == [second] != [first]

    play(scene)

"""Watches on a real API server: what they say, how they end, and what they leave behind."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from grove.kube.client import Client
from grove.kube.decoding import Bookmark, Event
from grove.kube.errors import Gone, NotFound, Unreachable
from grove.kube.resources import CONFIG_MAPS, Resource
from grove.testing.components import APISERVER
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import client_for


class Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str
    resource_version: str


class ConfigMap(msgspec.Struct, frozen=True, gc=False):
    """Both fields must be there, as in no bookmark."""

    metadata: Meta
    data: dict[str, str]


def run(cluster: ControlPlane, test: Callable[[Client], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), client_for(cluster, **settings) as client:
            await test(client)
            assert client.statistics().watches == 0

    asyncio.run(main())


def config_map(name: str, value: str = "1", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": {"k": value}}


def seen(event: Event[ConfigMap] | Bookmark) -> tuple[str, ...]:
    if isinstance(event, Bookmark):
        return ("BOOKMARK", "end" if event.initial_events_end else "")
    return (event.type, event.object.metadata.name, event.object.data["k"])


# Not kube-root-ca.crt, which comes when it comes.
OURS = "metadata.name!=kube-root-ca.crt"


def test_changes_come_in_order_and_typed(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        start = await client.list(CONFIG_MAPS, namespace=namespace)
        watching = client.watch(
            CONFIG_MAPS, namespace=namespace, fields=OURS, resource_version=start.resource_version, type=ConfigMap
        )
        async with watching as events:
            await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
            await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, namespace=namespace)
            await client.delete(CONFIG_MAPS, "a", namespace=namespace)
            found = [seen(await anext(events)) for _ in range(3)]
        assert found == [("ADDED", "a", "1"), ("MODIFIED", "a", "2"), ("DELETED", "a", "2")]

    run(cluster, test)


def test_what_is_there_comes_first_and_a_bookmark_ends_it(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        for name in ("a", "b"):
            await client.create(CONFIG_MAPS, config_map(name), namespace=namespace)
        watching = client.watch(CONFIG_MAPS, namespace=namespace, fields=OURS, initial_events=True, type=ConfigMap)
        async with watching as events:
            found = [await anext(events) for _ in range(3)]
            assert [seen(one) for one in found] == [("ADDED", "a", "1"), ("ADDED", "b", "1"), ("BOOKMARK", "end")]
            await client.create(CONFIG_MAPS, config_map("c"), namespace=namespace)
            assert seen(await anext(events)) == ("ADDED", "c", "1")
        last = found[-1]
        assert isinstance(last, Bookmark)
        # It goes on where it was, in another watch.
        watching = client.watch(
            CONFIG_MAPS, namespace=namespace, fields=OURS, resource_version=last.resource_version, type=ConfigMap
        )
        async with watching as events:
            assert seen(await anext(events)) == ("ADDED", "c", "1")

    run(cluster, test)


def test_a_watch_ends_when_its_time_is_up_with_a_bookmark(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        start = await client.list(CONFIG_MAPS, namespace=namespace)
        watching = client.watch(
            CONFIG_MAPS, namespace=namespace, fields=OURS, resource_version=start.resource_version, timeout=1
        )
        found = [event async for event in watching]
        # The server sends one shortly before the end, if it has the time to.
        assert all(isinstance(event, Bookmark) for event in found)

    run(cluster, test)


def test_selectors_turn_changes_into_coming_and_going(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
        watching = client.watch(
            CONFIG_MAPS, namespace=namespace, labels={"x": "y"}, initial_events=True, type=ConfigMap
        )
        async with watching as events:
            assert seen(await anext(events)) == ("BOOKMARK", "end")
            for value in ("y", "z"):
                await client.patch(CONFIG_MAPS, "a", {"metadata": {"labels": {"x": value}}}, namespace=namespace)
            assert [seen(await anext(events)) for _ in range(2)] == [("ADDED", "a", "1"), ("DELETED", "a", "1")]

    run(cluster, test)


def test_an_object_larger_than_any_buffer_comes_whole(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        large = "x" * 900_000
        watching = client.watch(CONFIG_MAPS, namespace=namespace, fields=OURS, initial_events=True, type=ConfigMap)
        async with watching as events:
            assert seen(await anext(events)) == ("BOOKMARK", "end")
            await client.create(CONFIG_MAPS, config_map("a", large), namespace=namespace)
            assert seen(await anext(events)) == ("ADDED", "a", large)

    run(cluster, test)


def test_a_watch_of_what_is_not_served_is_not_found(cluster: ControlPlane) -> None:
    async def test(client: Client) -> None:
        with pytest.raises(NotFound):
            await anext(client.watch(Resource("none.example", "v1", "things", "Thing")))

    run(cluster, test)


def test_cancelling_closes_the_connection(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        began = asyncio.Event()

        async def forever() -> None:
            async for _ in client.watch(CONFIG_MAPS, namespace=namespace, initial_events=True):
                began.set()

        task = asyncio.create_task(forever())
        await began.wait()
        assert client.statistics().watches == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.statistics().watches == 0

    run(cluster, test)


def test_closing_the_client_ends_its_watches(cluster: ControlPlane, namespace: str) -> None:
    async def main() -> None:
        async with client_for(cluster) as client:
            events = client.watch(CONFIG_MAPS, namespace=namespace, initial_events=True)
            await anext(events)
        assert client.statistics().watches == 0
        assert [event async for event in events] == []

    asyncio.run(main())


def test_closing_the_client_ends_a_watch_that_waits(cluster: ControlPlane, namespace: str) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def count() -> int:
            number = 0
            async for event in events:
                number += 1
                if isinstance(event, Bookmark):
                    begun.set()
            return number

        async with asyncio.timeout(20), client_for(cluster) as client:
            events = client.watch(CONFIG_MAPS, namespace=namespace, fields=OURS, initial_events=True)
            waiting = asyncio.create_task(count())
            await begun.wait()
            await client.close()
            assert await waiting == 1

    asyncio.run(main())


def test_many_watches_do_not_take_the_place_of_requests(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        watches = [client.watch(CONFIG_MAPS, namespace=namespace, initial_events=True) for _ in range(8)]
        for watch in watches:
            await anext(watch)
        assert client.statistics().watches == 8
        await client.list(CONFIG_MAPS, namespace=namespace)
        for watch in watches:
            watch.close()

    run(cluster, test, max_in_flight=1)


# What expires, on a control plane that forgets quickly.


@pytest.fixture(scope="module")
def forgetful() -> Iterator[ControlPlane]:
    # The cache of the server would answer for much longer.
    flags = ["--etcd-compaction-interval=1s", "--watch-cache=false"]
    with ControlPlane.start(controller_manager=False, apiserver_flags=flags) as running:
        yield running


def test_what_is_too_old_is_gone(forgetful: ControlPlane) -> None:
    async def test(client: Client) -> None:
        for number in range(4):
            await client.create(CONFIG_MAPS, config_map(f"n-{number}", part="yes"), namespace="default")
        first = await client.list(CONFIG_MAPS, namespace="default", labels="part", limit=2)
        assert first.next
        await client.create(CONFIG_MAPS, config_map("n-9", part="yes"), namespace="default")

        async def again() -> Gone | None:
            try:
                await client.list(CONFIG_MAPS, namespace="default", labels="part", limit=2, next=first.next)
            except Gone as error:
                return error
            return None

        while (gone := await again()) is None:
            # The bound is that of the whole test. Something must change for a version to become old.
            await client.patch(CONFIG_MAPS, "n-9", {"data": {"k": str(client.statistics())}}, namespace="default")
        assert gone.reason == "Expired"
        rest = await client.list(CONFIG_MAPS, namespace="default", labels="part", next=gone.continuation)
        assert [one["metadata"]["name"] for one in rest.items] == ["n-2", "n-3", "n-9"]
        with pytest.raises(Gone):
            await client.list(
                CONFIG_MAPS,
                namespace="default",
                resource_version=first.resource_version,
                resource_version_match="Exact",
                limit=2,
            )
        with pytest.raises(Gone):
            await anext(client.watch(CONFIG_MAPS, namespace="default", resource_version=first.resource_version))

    run(forgetful, test)


@pytest.fixture(scope="module")
def mortal() -> Iterator[ControlPlane]:
    """One that may be killed: nobody else uses it."""
    with ControlPlane.start(controller_manager=False) as running:
        yield running


def test_a_restart_of_the_server_is_survived_and_a_watch_from_before_it_is_gone(mortal: ControlPlane) -> None:
    async def test(client: Client) -> None:
        await client.create(CONFIG_MAPS, config_map("before"), namespace="default")
        events = client.watch(CONFIG_MAPS, namespace="default", initial_events=True)
        await anext(events)
        await asyncio.to_thread(mortal.kill, APISERVER)
        with pytest.raises(Unreachable, match="watching"):
            async for _ in events:
                pass
        with pytest.raises(Unreachable):
            await client.create(CONFIG_MAPS, config_map("meanwhile"), namespace="default")
        # In the main thread: the component ends with the thread that starts it.
        mortal.restart(APISERVER)
        assert await client.get(CONFIG_MAPS, "before", namespace="default")
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "meanwhile", namespace="default")
        # Its cache of changes begins with the restart.
        with pytest.raises(Gone, match="too old"):
            await anext(client.watch(CONFIG_MAPS, namespace="default", resource_version="1"))

    run(mortal, test)

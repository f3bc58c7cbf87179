"""Whatever a client is at when it is closed: nothing of it is open afterwards, and whoever waits for it is told."""

import asyncio
import gc
import random
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from grove.kube.client import Client
from grove.kube.connection import Connection
from grove.kube.connector import Connector, ConnectorClosed
from grove.kube.errors import NotFound, Unreachable
from grove.kube.resources import PODS
from tests.unit.kube.fakes import settle
from tests.unit.kube.kubeconfigs import CA
from tests.unit.kube.peers import PATIENCE, Act, Peer, answer, deaf, open_sockets, shake_no_hands

Ask = Callable[[Client], Awaitable[Any]]

NO_ANSWER = b""
BEGUN = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"items":\r\n'
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
LISTED = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"items":[]}'


async def read(client: Client) -> object:
    return await client.list(PODS)


async def write(client: Client) -> object:
    return await client.delete_collection(PODS, namespace="n")


async def watch(client: Client) -> object:
    async with client.watch(PODS) as events:
        return [event async for event in events]


def play(url: str, scene: Callable[[Client], Awaitable[None]], **settings: Any) -> None:
    """Runs a scene that ends with its client closed, and ends the loop in the same turn: what is open stays so."""

    async def main() -> None:
        client = Client(Connection(server=url, ca=CA), rng=random.Random(1), **settings)
        async with asyncio.timeout(PATIENCE):
            await scene(client)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(main())
        finally:
            loop.close()
        gc.collect()
    assert [str(one.message) for one in caught] == []


def ended(client: Client, request: Ask, reached: Callable[[], Awaitable[object]]) -> Awaitable["asyncio.Task[Any]"]:
    """The task that makes a request, whose client was closed when it had come as far as that."""

    async def end() -> asyncio.Task[Any]:
        before = open_sockets(client.connection.server)
        task = asyncio.ensure_future(request(client))
        await reached()
        assert not task.done()
        await client.close()
        assert open_sockets(client.connection.server) <= before, "a connection is open"
        await asyncio.wait({task})
        return task

    return end()


def close_meanwhile(peer: Peer, request: Ask) -> "asyncio.Task[Any]":
    """The same, with the peer come as far as it comes."""
    found: list[asyncio.Task[Any]] = []

    async def reached() -> None:
        assert await asyncio.to_thread(peer.reached.wait, PATIENCE)

    async def scene(client: Client) -> None:
        found.append(await ended(client, request, reached))

    play(peer.url, scene)
    return found[0]


@pytest.mark.parametrize("request_", [read, write])
def test_a_request_whose_connection_is_being_secured_ends_and_was_not_sent(request_: Ask) -> None:
    with Peer(shake_no_hands) as peer:
        error = close_meanwhile(peer, request_).exception()
    assert isinstance(error, Unreachable)
    assert not error.may_have_acted
    assert "closed" in str(error)


@pytest.mark.parametrize("request_", [read, write])
def test_a_request_whose_connection_is_being_made_ends_and_was_not_sent(request_: Ask) -> None:
    async def scene(client: Client) -> None:
        error = (await ended(client, request_, settle)).exception()
        assert isinstance(error, Unreachable)
        assert not error.may_have_acted

    with deaf() as url:
        play(url, scene)


@pytest.mark.parametrize("act", [answer(NO_ANSWER), answer(BEGUN)], ids=["before", "in"])
@pytest.mark.parametrize("request_", [read, write])
def test_a_request_that_waits_for_its_answer_ends_and_may_have_acted(request_: Ask, act: Act) -> None:
    with Peer(act) as peer:
        error = close_meanwhile(peer, request_).exception()
    assert isinstance(error, Unreachable)
    assert error.may_have_acted


@pytest.mark.parametrize(
    "act", [shake_no_hands, answer(NO_ANSWER), answer(BEGUN)], ids=["in the handshake", "before the answer", "in it"]
)
def test_a_watch_ends_wherever_it_is(act: Act) -> None:
    with Peer(act) as peer:
        assert close_meanwhile(peer, watch).result() == []


def test_a_watch_that_connects_ends() -> None:
    async def scene(client: Client) -> None:
        assert (await ended(client, watch, settle)).result() == []
        assert client.statistics().watches == 0

    with deaf() as url:
        play(url, scene)


@pytest.mark.parametrize("request_", [read, watch])
def test_a_connection_that_was_let_go_does_not_wait_for_a_goodbye(request_: Ask) -> None:
    """After an answer that is an error, a watch's connection is closed politely: over TLS that takes two."""

    async def scene(client: Client) -> None:
        with pytest.raises(NotFound):
            await request_(client)
        await client.close()

    with Peer(answer(NOT_FOUND)) as peer:
        play(peer.url, scene)


def test_a_request_that_was_cancelled_leaves_nothing_open() -> None:
    async def scene(client: Client) -> None:
        task = asyncio.ensure_future(read(client))
        assert await asyncio.to_thread(peer.reached.wait, PATIENCE)
        task.cancel()
        await asyncio.wait({task})
        await client.close()

    with Peer(answer(NO_ANSWER)) as peer:
        play(peer.url, scene)


def test_a_connection_that_is_kept_is_closed_with_its_client() -> None:
    async def scene(client: Client) -> None:
        before = open_sockets(client.connection.server)
        await read(client)
        assert len(open_sockets(client.connection.server) - before) == 1
        await client.close()
        assert open_sockets(client.connection.server) <= before

    with Peer(answer(LISTED)) as peer:
        play(peer.url, scene)


def test_who_pauses_before_another_try_makes_none_with_a_client_that_is_closed() -> None:
    async def scene(client: Client) -> None:
        with pytest.raises(RuntimeError, match="the client is closed"):
            await read(client)
        assert client.statistics().retries == 1

    async def close(_: float) -> None:
        await closing[0].close()

    async def remember(client: Client) -> None:
        closing.append(client)
        await scene(client)

    closing: list[Client] = []
    with Peer(answer(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as peer:
        play(peer.url, remember, sleep=close)


def test_who_waits_for_a_turn_is_told_too() -> None:
    async def scene(client: Client) -> None:
        first = asyncio.ensure_future(read(client))
        second = asyncio.ensure_future(read(client))
        assert await asyncio.to_thread(peer.reached.wait, PATIENCE)
        await client.close()
        await asyncio.wait({first, second})
        assert isinstance(first.exception(), Unreachable)
        assert isinstance(second.exception(), RuntimeError)

    with Peer(answer(NO_ANSWER)) as peer:
        play(peer.url, scene, max_in_flight=1)


def test_of_two_who_close_at_once_neither_returns_before_all_is_closed() -> None:
    async def scene(client: Client) -> None:
        before = open_sockets(client.connection.server)
        task = asyncio.ensure_future(read(client))
        assert await asyncio.to_thread(peer.reached.wait, PATIENCE)
        other = asyncio.ensure_future(client.close())
        await client.close()
        assert open_sockets(client.connection.server) <= before
        await asyncio.wait({task, other})
        assert other.exception() is None
        assert isinstance(task.exception(), Unreachable)

    with Peer(shake_no_hands) as peer:
        play(peer.url, scene)


def test_a_connector_that_is_closed_twice_at_once_ends_its_attempts_once() -> None:
    async def main(url: str) -> None:
        connector = Connector(keep_alive=True)
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(connector=connector) as session:
            asking = asyncio.ensure_future(session.get(url))
            await settle()
            first = asyncio.ensure_future(connector.close())
            await connector.close()
            await asyncio.wait({asking, first})
            assert first.exception() is None
            assert isinstance(asking.exception(), ConnectorClosed)

    with deaf() as url:
        asyncio.run(main(url))


def test_a_closed_connector_makes_no_connection() -> None:
    async def main() -> None:
        connector = Connector(keep_alive=True)
        await connector.close()
        await connector.close()
        assert connector.connections == 0

    asyncio.run(main())

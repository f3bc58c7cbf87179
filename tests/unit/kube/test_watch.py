"""What a watch makes of the lines of a stream, whatever they hold. The stream is played by a server on this machine."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web

from grove.kube.client import Client
from grove.kube.connection import Connection
from grove.kube.decoding import Bookmark, Event
from grove.kube.errors import Forbidden, Gone, InternalError, NotFound, UnexpectedAnswer, Unreachable
from grove.kube.resources import PODS
from grove.kube.retry import NEVER

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Meta(msgspec.Struct, frozen=True, gc=False):
    name: str


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: Meta
    spec: dict[str, list[str]]


def line(kind: str, thing: Any) -> bytes:
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


POD = {"metadata": {"name": "a"}, "spec": {"containers": ["x"]}}
# As API servers send it: the empty object of the kind, with nulls that no pod has.
BOOKMARK = {
    "kind": "Pod",
    "metadata": {"resourceVersion": "7", "creationTimestamp": None},
    "spec": {"containers": None},
    "status": {},
}
END = {**BOOKMARK, "metadata": {"resourceVersion": "8", "annotations": {"k8s.io/initial-events-end": "true"}}}


async def with_server(handler: Handler, test: Callable[[Client], Awaitable[None]], **settings: Any) -> None:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    connection = Connection(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        async with asyncio.timeout(20), Client(connection, retries=NEVER, rng=random.Random(1), **settings) as client:
            await test(client)
    finally:
        await runner.cleanup()


def watch(*chunks: bytes, stall: float | None = 5.0, cut: bool = False) -> list[Event[Pod] | Bookmark]:
    """The events that these chunks become."""
    found: list[Event[Pod] | Bookmark] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if stall is not None and stall < 1:
            await asyncio.Event().wait()
        if cut and request.transport is not None:
            request.transport.close()
        return response

    async def test(client: Client) -> None:
        async with client.watch(PODS, stall=stall, type=Pod) as events:
            async for event in events:
                found.append(event)
        assert client.statistics().watches == 0

    asyncio.run(with_server(handler, test))
    return found


def test_objects_and_bookmarks() -> None:
    pod = Pod(Meta("a"), {"containers": ["x"]})
    lines = [line("ADDED", POD), line("BOOKMARK", BOOKMARK), line("MODIFIED", POD), line("BOOKMARK", END)]
    expected = [Event("ADDED", pod), Bookmark("7"), Event("MODIFIED", pod), Bookmark("8", initial_events_end=True)]
    assert watch(b"".join(lines)) == expected
    whole = b"".join(lines)
    assert watch(*(whole[start : start + 7] for start in range(0, len(whole), 7))) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"code": 410, "reason": "Expired", "message": "too old resource version: 1 (5)"}, Gone),
        ({"code": 410, "reason": "Gone"}, Gone),
        ({"code": 403, "reason": "Forbidden"}, Forbidden),
        ({}, InternalError),
    ],
)
def test_an_error_event_is_raised(status: dict[str, Any], expected: type[Exception]) -> None:
    with pytest.raises(expected, match="watching /api/v1/pods"):
        watch(line("ADDED", POD), line("ERROR", {"kind": "Status", **status}))


@pytest.mark.parametrize(
    "broken", [b"<html>\n", b"null\n", line("ADDED", {}), line("SOMETHING", POD), line("ERROR", "text"), b"\xff\n"]
)
def test_what_is_no_event_is_an_error(broken: bytes) -> None:
    with pytest.raises(UnexpectedAnswer, match="watching /api/v1/pods"):
        watch(broken)


def test_a_stream_that_breaks_in_an_event_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        watch(line("ADDED", POD), b'{"type":"ADD', cut=True)
    with pytest.raises(Unreachable, match="in the middle of an event"):
        watch(line("ADDED", POD), b'{"type":"ADD')


def test_silence_has_a_bound() -> None:
    with pytest.raises(Unreachable, match=r"silent for 0\.05 s"):
        watch(line("ADDED", POD), stall=0.05)


def test_what_the_server_is_asked() -> None:
    asked: list[dict[str, str]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        asked.append(dict(request.query))
        return web.Response(body=b"")

    async def test(client: Client) -> None:
        async for _ in client.watch(PODS, labels={"a": "b"}, fields="x=y", resource_version="5", timeout=60):
            pass
        async for _ in client.watch(PODS, initial_events=True, timeout=0.2):
            pass
        async for _ in client.watch(PODS, bookmarks=False):
            pass

    asyncio.run(with_server(handler, test))
    assert asked[0] == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "60",
        "labelSelector": "a=b",
        "fieldSelector": "x=y",
    }
    assert asked[1] == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "1",
    }
    assert set(asked[2]) == {"watch", "timeoutSeconds"}
    assert 300 <= int(asked[2]["timeoutSeconds"]) <= 600


def test_warnings_of_the_server_are_passed_on() -> None:
    heard: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.Response(body=b"{}")
        for header in ('299 - "old \\"thing\\""', '299 - "two"', '199 - "other"', "299", "nonsense"):
            response.headers.add("Warning", header)
        return response

    async def test(client: Client) -> None:
        await client.request("GET", "/x")

    asyncio.run(with_server(handler, test, on_warning=heard.append))
    assert heard == ['old "thing"', "two"]


def test_how_long_requests_took_is_counted_by_verb_whatever_came_of_them() -> None:
    times = iter(range(1000))

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"{}", status=404 if request.method == "DELETE" else 200)

    async def test(client: Client) -> None:
        await client.get(PODS, "a", namespace="n")
        with pytest.raises(NotFound):
            await client.delete(PODS, "a", namespace="n")
        async with client.watch(PODS) as events:
            await events.open()
        taken = client.statistics().seconds
        assert {verb: one.count for verb, one in taken.items()} == {"get": 1, "delete": 1, "watch": 1}
        assert taken["get"].total >= 1.0

    asyncio.run(with_server(handler, test, now=lambda: float(next(times))))


def test_a_client_that_is_closed_says_so() -> None:
    async def main() -> None:
        client = Client(Connection(server="http://127.0.0.1:1"))
        await client.close()
        await client.close()
        with pytest.raises(RuntimeError, match="closed"):
            await client.request("GET", "/x")

    asyncio.run(main())

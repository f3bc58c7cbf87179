"""Through an HTTP proxy, as kubeconfigs and environments name them: a tunnel, in which the server is still verified."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from grove.kube.errors import Unreachable
from grove.kube.kubeconfig import connect
from grove.kube.resources import NAMESPACES
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import client_with


@contextlib.asynccontextmanager
async def tunnels(answer: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that opens tunnels, or does not; and what it was asked."""
    asked: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            to.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        writer.write(answer)
        if b"200" in answer:
            host, port = head.split()[1].split(":")
            upstream_reader, upstream = await asyncio.open_connection(host, int(port))
            ways = [asyncio.create_task(copy(reader, upstream)), asyncio.create_task(copy(upstream_reader, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            upstream.transport.abort()
        else:
            await reader.read()
        writer.transport.abort()

    def track(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        tasks.add(task)

    server = await asyncio.start_server(track, "127.0.0.1", 0)
    async with server:
        yield f"http://user:geheim@127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
        await asyncio.gather(*tasks)


def test_a_tunnel(cluster: ControlPlane) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), tunnels(b"HTTP/1.1 200 OK\r\n\r\n") as (url, asked):
            connection = msgspec.structs.replace(connect(str(cluster.kubeconfig)), proxy=url)
            async with client_with(connection) as client:
                assert await client.get(NAMESPACES, "default")
                await client.get(NAMESPACES, "default")
            assert len(asked) == 1
            assert asked[0].startswith(f"CONNECT {cluster.url.removeprefix('https://')} ")
            assert "Bearer" not in asked[0]
            assert base64.b64encode(b"user:geheim").decode() in asked[0]
            assert "geheim" not in repr(connection)

    asyncio.run(main())


def test_a_proxy_that_refuses_has_not_passed_on_anything(cluster: ControlPlane) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), tunnels(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as (url, asked):
            connection = msgspec.structs.replace(connect(str(cluster.kubeconfig)), proxy=url)
            async with client_with(connection) as client:
                with pytest.raises(Unreachable) as raised:
                    await client.create(NAMESPACES, {"metadata": {"name": "x"}})
            assert raised.value.may_have_acted is False
            assert "geheim" not in f"{raised.value} {raised.value.__cause__}"
            assert len(asked) == 5

    asyncio.run(main())

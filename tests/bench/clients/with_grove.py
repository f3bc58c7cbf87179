"""Grove's client, asked for what Grove reads of a pod; arguments: a kubeconfig."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from grove.kube.client import Client
from grove.kube.kubeconfig import connect
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from tests.bench.clients.bodies import NAMESPACE
from tests.bench.clients.serving import IN_FLIGHT, Body, in_flight, serve


class WithGrove:
    """See Contender."""

    def __init__(self, runner: asyncio.Runner, client: Client) -> None:
        self._runner = runner
        self._client = client

    def create(self, pods: Sequence[Body]) -> None:
        async def create(pod: Body) -> None:
            await self._client.create(PODS, pod, namespace=NAMESPACE, type=PodView)

        self._runner.run(in_flight(pods, create))

    def patch(self, changes: Sequence[tuple[str, Body]]) -> None:
        async def patch(change: tuple[str, Body]) -> None:
            name, body = change
            await self._client.patch(PODS, name, body, namespace=NAMESPACE, subresource="status", type=PodView)

        self._runner.run(in_flight(changes, patch))

    def list(self, page: int, *, plain: bool, once: bool = False) -> int:
        wanted: Any = dict[str, Any] if plain else PodView

        async def read() -> int:
            if once:
                return len((await self._client.list(PODS, namespace=NAMESPACE, limit=page, type=wanted)).items)
            return len((await self._client.list_all(PODS, namespace=NAMESPACE, limit=page, type=wanted)).items)

        return self._runner.run(read())


def main() -> int:
    with asyncio.Runner() as runner:

        async def open_client() -> Client:
            return Client(connect(sys.argv[1]), user_agent="bench-grove", max_in_flight=IN_FLIGHT)

        client = runner.run(open_client())
        serve(WithGrove(runner, client))
        runner.run(client.close())
    return 0


if __name__ == "__main__":
    sys.exit(main())

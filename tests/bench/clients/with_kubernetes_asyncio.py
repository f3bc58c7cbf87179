"""The client `kubernetes_asyncio`; arguments: a kubeconfig."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from kubernetes_asyncio import client, config

from tests.bench.clients.bodies import NAMESPACE
from tests.bench.clients.serving import IN_FLIGHT, MERGE, Body, in_flight, serve


class WithKubernetesAsyncio:
    """See Contender."""

    def __init__(self, runner: asyncio.Runner, api: Any) -> None:
        self._runner = runner
        self._api = api

    def create(self, pods: Sequence[Body]) -> None:
        async def create(pod: Body) -> None:
            await self._api.create_namespaced_pod(NAMESPACE, pod)

        self._runner.run(in_flight(pods, create))

    def patch(self, changes: Sequence[tuple[str, Body]]) -> None:
        async def patch(change: tuple[str, Body]) -> None:
            name, body = change
            await self._api.patch_namespaced_pod_status(name, NAMESPACE, body, _content_type=MERGE)

        self._runner.run(in_flight(changes, patch))

    def list(self, page: int, *, plain: bool, once: bool = False) -> int:
        return self._runner.run(self._read(page, plain, once))

    async def _read(self, page: int, plain: bool, once: bool) -> int:
        held: list[Any] = []
        following: dict[str, str] = {}
        while True:
            answer = await self._api.list_namespaced_pod(NAMESPACE, limit=page, _preload_content=not plain, **following)
            if plain:
                content = json.loads(await answer.read())
                held += content["items"]
                token = content["metadata"].get("continue")
            else:
                held += answer.items
                token = answer.metadata._continue
            if once or not token:
                return len(held)
            following = {"_continue": token}


def main() -> int:
    with asyncio.Runner() as runner:

        async def open_client() -> Any:
            settings = client.Configuration()
            await config.load_kube_config(sys.argv[1], client_configuration=settings)
            settings.connection_pool_maxsize = IN_FLIGHT
            return client.ApiClient(settings)

        connection = runner.run(open_client())
        serve(WithKubernetesAsyncio(runner, client.CoreV1Api(connection)))
        runner.run(connection.close())
    return 0


if __name__ == "__main__":
    sys.exit(main())

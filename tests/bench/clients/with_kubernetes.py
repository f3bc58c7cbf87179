"""The official `kubernetes` client, a thread for each request under way; arguments: a kubeconfig."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubernetes import client, config

from tests.bench.clients.bodies import NAMESPACE
from tests.bench.clients.serving import IN_FLIGHT, MERGE, Body, serve


class WithKubernetes:
    """See Contender."""

    def __init__(self, api: Any, threads: ThreadPoolExecutor) -> None:
        self._api = api
        self._threads = threads

    def create(self, pods: Sequence[Body]) -> None:
        for _ in self._threads.map(lambda pod: self._api.create_namespaced_pod(NAMESPACE, pod), pods):
            pass

    def patch(self, changes: Sequence[tuple[str, Body]]) -> None:
        def patch(change: tuple[str, Body]) -> None:
            name, body = change
            self._api.patch_namespaced_pod_status(name, NAMESPACE, body, _content_type=MERGE)

        for _ in self._threads.map(patch, changes):
            pass

    def list(self, page: int, *, plain: bool, once: bool = False) -> int:
        held: list[Any] = []
        following = None
        while True:
            answer = self._api.list_namespaced_pod(
                NAMESPACE, limit=page, _continue=following, _preload_content=not plain
            )
            if plain:
                content = json.loads(answer.data)
                held += content["items"]
                following = content["metadata"].get("continue")
            else:
                held += answer.items
                following = answer.metadata._continue
            if once or not following:
                return len(held)


def main() -> int:
    settings = client.Configuration()
    config.load_kube_config(sys.argv[1], client_configuration=settings)
    settings.connection_pool_maxsize = IN_FLIGHT  # by default five for each processor
    with client.ApiClient(settings) as connection, ThreadPoolExecutor(IN_FLIGHT) as threads:
        serve(WithKubernetes(client.CoreV1Api(connection), threads))
    return 0


if __name__ == "__main__":
    sys.exit(main())

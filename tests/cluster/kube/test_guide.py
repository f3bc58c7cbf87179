"""The code of docs/guides/client.md does what the guide says, on a real API server."""

import asyncio
import re
from pathlib import Path
from typing import Any

from grove.kube.resources import CONFIG_MAPS, LEASES
from grove.runtime.clock import SystemClock
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import client_for

GUIDE = Path(__file__).parents[3] / "docs/guides/client.md"


def program() -> dict[str, Any]:
    """What the blocks of the guide define, one after the other."""
    defined: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(GUIDE), "exec"), defined)
    return defined


def test_the_verbs(cluster: ControlPlane, namespace: str) -> None:
    assert asyncio.run(program()["verbs"](str(cluster.kubeconfig), namespace)) == 1


def test_the_operator(cluster: ControlPlane, namespace: str) -> None:
    async def main() -> None:
        metrics: list[Any] = []
        async with asyncio.timeout(60), client_for(cluster) as client:
            running = asyncio.ensure_future(program()["operator"](str(cluster.kubeconfig), namespace, metrics))
            body = {"metadata": {"name": "world", "labels": {"greet": "yes"}}}
            await client.create(CONFIG_MAPS, body, namespace=namespace)
            async with client.watch(CONFIG_MAPS, namespace=namespace, labels="greet", initial_events=True) as events:
                async for event in events:
                    assert not running.done(), running.exception()
                    if getattr(event, "object", {}).get("data") == {"greeting": "hello, world"}:
                        break
            expected = {
                'grove_client_requests_total{client="greeter",code="200",verb="patch"} 1.0',
                'grove_cache_objects{resource="configmaps"} 1.0',
                'grove_leader{lease="greeter"} 1.0',
            }
            # We may have heard of the patch before its sender has the answer.
            while not expected <= set(metrics[0].text().decode().splitlines()):
                await SystemClock().sleep(0.02)
            running.cancel()
            await asyncio.wait({running})
            lease = await client.get(LEASES, "greeter", namespace=namespace)
            assert not lease["spec"].get("holderIdentity"), "it was given back"

    asyncio.run(main())

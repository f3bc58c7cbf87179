"""The fence of a client, and the recorder of events, against the real API server."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

import pytest

from grove.kube.client import Client
from grove.kube.events import Recorder, Regarding
from grove.kube.eventstore import ClientEvents
from grove.kube.fence import NotLeaderError, Term
from grove.kube.kubeconfig import connect
from grove.kube.resources import CONFIG_MAPS
from grove.runtime.clock import SystemClock
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually


def with_client(cluster: ControlPlane, scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Client(connect(str(cluster.kubeconfig))) as client:
            await scenario(client)

    asyncio.run(main())


def test_a_fenced_client_writes_only_within_its_term(cluster: ControlPlane, namespace: str) -> None:
    clock = SystemClock()
    term = Term(1, "me", clock.monotonic() + 60, clock)

    async def scenario(client: Client) -> None:
        fenced = client.fenced(term)
        await fenced.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, namespace=namespace)
        await fenced.patch(CONFIG_MAPS, "one", {"data": {"a": "b"}}, namespace=namespace)
        term.end("it was given back")
        with pytest.raises(NotLeaderError):
            await fenced.create(CONFIG_MAPS, {"metadata": {"name": "two"}}, namespace=namespace)
        with pytest.raises(NotLeaderError):
            await fenced.delete(CONFIG_MAPS, "one", namespace=namespace)
        found = await fenced.get(CONFIG_MAPS, "one", namespace=namespace)  # reading is free
        assert found["data"] == {"a": "b"}
        await client.create(CONFIG_MAPS, {"metadata": {"name": "three"}}, namespace=namespace)

    with_client(cluster, scenario)
    names = {
        item["metadata"]["name"]
        for item in cluster.request("GET", f"/api/v1/namespaces/{namespace}/configmaps")[1]["items"]
    }
    assert {"one", "three"} <= names
    assert "two" not in names


def test_kubectl_describes_what_was_recorded(cluster: ControlPlane, namespace: str, kubectl: Kubectl) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    uid = cluster.create(path, {"metadata": {"name": "thing"}})["metadata"]["uid"]
    thing = Regarding("v1", "ConfigMap", namespace, "thing", uid)

    async def scenario(client: Client) -> None:
        recorder = Recorder(
            ClientEvents(client),
            component="grove-operator",
            instance="pod-1",
            clock=SystemClock(),
            rng=random.Random(),
        )
        running = asyncio.ensure_future(recorder.run())
        for count in range(1, 4):
            recorder.record(thing, "Warning", "GangUnplaceable", "2 of 8 pods fit rack r1")
            while recorder.statistics().created + recorder.statistics().patched < count:
                await SystemClock().sleep(0.01)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert recorder.statistics().failures == 0

    with_client(cluster, scenario)
    items = eventually(lambda: cluster.request("GET", f"/api/v1/namespaces/{namespace}/events")[1]["items"])
    [event] = [item for item in items if item["reason"] == "GangUnplaceable"]
    assert event["count"] == 3
    assert event["involvedObject"]["uid"] == uid
    described = kubectl.run("describe", "configmap", "thing").stdout
    assert "GangUnplaceable" in described
    assert "(x3 over" in described
    assert "grove-operator" in described

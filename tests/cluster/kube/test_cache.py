"""The cache against a real API server: what it lists and follows, what it does when connections break, and that our
own writes are read whoever else writes."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from grove.kube.cache import Cache, Pace
from grove.kube.cachedclient import CachedClient, Caches
from grove.kube.client import Client
from grove.kube.errors import AlreadyExists, NotFound
from grove.kube.indexes import by_label, by_owner
from grove.kube.objects import PodView
from grove.kube.resources import CONFIG_MAPS, PODS, SERVICE_ACCOUNTS, Resource
from grove.kube.source import ClientSource
from grove.kube.store import Change
from grove.testing.components import APISERVER
from grove.testing.controlplane import ControlPlane
from grove.testing.faults import FaultProxy, Respond
from tests.cluster.kube.connections import client_for, client_through
from tests.cluster.objects import POD_SPEC

JSON = dict[str, Any]
PATIENCE = 60.0

# The fake API server of tests/unit says 410 when it likes; a real one only after minutes. So a proxy says it.
EXPIRED = b"""{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
 "code": 410, "message": "The resourceVersion for the provided watch is too old."}"""


class RealClock:
    """The machine's."""

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def play(scene: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await scene

    asyncio.run(bounded())


def maps(client: Client, namespace: str, **options: Any) -> Cache[JSON]:
    """A cache of a namespace's config maps that the test made; Kubernetes makes one of its own in each."""
    source: ClientSource[JSON] = ClientSource(
        client, CONFIG_MAPS, type=dict[str, Any], namespace=namespace, labels="test", page_size=2
    )
    return Cache(
        source,
        clock=RealClock(),
        rng=random.Random(1),
        indexes={"owner": by_owner, "test": by_label("test")},
        matches=source.matches(),
        pace=Pace(first=0.05, longest=0.5),
        **options,
    )


@contextlib.asynccontextmanager
async def running(cache: Cache[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(cache.run())
    try:
        await cache.synced()
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(cache: Cache[Any], condition: Callable[[], object]) -> None:
    """Returns when a change has made it so."""
    changed = asyncio.Event()
    end = cache.follow(lambda _: changed.set())
    try:
        while not condition():
            changed.clear()
            await changed.wait()
    finally:
        end()


def config_map(name: str, value: str = "x") -> JSON:
    return {"metadata": {"name": name, "labels": {"test": value}}, "data": {"value": value}}


async def make(client: Client, namespace: str, *names: str) -> None:
    for name in names:
        await client.create(CONFIG_MAPS, config_map(name), namespace=namespace)


def value_of(cache: Cache[JSON], name: str, namespace: str) -> str:
    found = cache.get(name, namespace)
    return "" if found is None else found["data"]["value"]


def names(cache: Cache[JSON]) -> list[str]:
    return sorted(one["metadata"]["name"] for one in cache)


async def truth(client: Client, namespace: str) -> dict[str, str]:
    page = await client.list_all(CONFIG_MAPS, namespace=namespace, labels="test")
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in page.items}


def content(cache: Cache[JSON]) -> dict[str, str]:
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in cache}


@pytest.mark.parametrize("streaming", [True, False])
def test_it_syncs_and_follows(cluster: ControlPlane, namespace: str, streaming: bool) -> None:
    async def scene() -> None:
        async with client_for(cluster) as client:
            await make(client, namespace, "a", "b", "c")
            cache = maps(client, namespace, streaming=streaming)
            async with running(cache):
                assert names(cache) == ["a", "b", "c"]
                await client.patch(CONFIG_MAPS, "a", {"data": {"value": "y"}}, namespace=namespace)
                await client.delete(CONFIG_MAPS, "b", namespace=namespace)
                await client.patch(CONFIG_MAPS, "c", {"metadata": {"labels": {"test": None}}}, namespace=namespace)
                await make(client, namespace, "d")
                await until(cache, lambda: names(cache) == ["a", "d"])
                assert value_of(cache, "a", namespace) == "y"
                assert len(cache.find("test", (namespace, "x"))) == 2
            statistics = cache.statistics()
            assert statistics.streamed == (1 if streaming else 0), "a server of 1.36 streams lists"
            assert (statistics.lists, statistics.failures, statistics.store.comparable) == (1, 0, True)

    play(scene())


def test_it_goes_on_after_its_connection_was_cut(cluster: ControlPlane, namespace: str) -> None:
    async def scene() -> None:
        async with FaultProxy(cluster.url, cluster.ca) as proxy, client_through(proxy, cluster) as client:
            direct = client_for(cluster)
            cache = maps(client, namespace)
            changes: list[Change[JSON]] = []
            cache.follow(changes.append)
            async with direct, running(cache):
                for name in ("a", "b", "c"):
                    await proxy.refuse()
                    await make(direct, namespace, name)  # while nobody watches
                    await proxy.listen()
                    await until(cache, lambda name=name: cache.get(name, namespace))  # type: ignore[misc]
            assert cache.statistics().lists == 1, "it resumed"
            assert cache.statistics().watches >= 4
            assert [change.new["metadata"]["name"] for change in changes if change.new] == ["a", "b", "c"]

    play(scene())


@pytest.mark.parametrize("streaming", [True, False])
def test_410_makes_it_list_anew(cluster: ControlPlane, namespace: str, streaming: bool) -> None:
    async def scene() -> None:
        async with FaultProxy(cluster.url, cluster.ca) as proxy, client_through(proxy, cluster) as client:
            direct = client_for(cluster)
            cache = maps(client, namespace, streaming=streaming)
            async with direct, running(cache):
                await make(direct, namespace, "kept", "lost")
                await until(cache, lambda: len(cache) == 2)
                proxy.inject(
                    Respond(410, EXPIRED, {"Content-Type": "application/json"}),
                    when=lambda one: "watch" in one.query and "sendInitialEvents" not in one.query,
                )
                await proxy.refuse()
                await direct.delete(CONFIG_MAPS, "lost", namespace=namespace)
                await make(direct, namespace, "new")
                await proxy.listen()
                await until(cache, lambda: names(cache) == ["kept", "new"])
            assert cache.statistics().gone == 1
            assert cache.statistics().lists == 2

    play(scene())


class Contest:
    """Writers of ours, who read what they wrote, and someone else, who writes to the same few objects."""

    def __init__(self, client: Client, other: Client, namespace: str) -> None:
        self.other = other
        self.namespace = namespace
        caches = Caches(client, clock=RealClock(), rng=random.Random(1))
        self.cache: Cache[JSON] = caches.add(CONFIG_MAPS, type=dict[str, Any], namespace=namespace, labels="test")
        self.ours = CachedClient(client, caches)
        self.seen: dict[str, int] = {}
        self.gone: set[str] = set()
        self.checked = 0
        self.cache.follow(self.only_forward)

    def only_forward(self, change: Change[JSON]) -> None:
        if change.new is None:
            assert change.old is not None
            self.gone.add(change.old["metadata"]["uid"])
        else:
            uid = change.new["metadata"]["uid"]
            assert version_of(change.new) > self.seen.get(uid, 0)
            self.seen[uid] = version_of(change.new)

    async def write(self, rng: random.Random) -> None:
        for number in range(60):
            name = f"n{rng.randrange(4)}"
            with contextlib.suppress(NotFound, AlreadyExists):  # someone else was faster
                if self.cache.get(name, self.namespace) is None:
                    self.check(await self.create(name, f"{number}"))
                elif rng.random() < 0.2:
                    await self.delete(name)
                else:
                    self.check(await self.patch(name, f"{number}"))

    async def create(self, name: str, value: str) -> JSON:
        body = config_map(name, value)
        return await self.ours.create(CONFIG_MAPS, body, namespace=self.namespace, type=dict[str, Any])

    async def patch(self, name: str, value: str) -> JSON:
        change = {"data": {"value": value}}
        return await self.ours.patch(CONFIG_MAPS, name, change, namespace=self.namespace, type=dict[str, Any])

    async def delete(self, name: str) -> None:
        before = self.cache.get(name, self.namespace)
        assert before is not None
        assert await self.ours.delete(CONFIG_MAPS, name, namespace=self.namespace)
        assert self.cache.by_uid(before["metadata"]["uid"]) is None
        self.checked += 1

    def check(self, written: JSON) -> None:
        uid = written["metadata"]["uid"]
        held = self.cache.by_uid(uid)
        # What is not held has been deleted since: perhaps by another of our writers, whose answer came before this one.
        assert uid in self.gone if held is None else version_of(held) >= version_of(written)
        self.checked += 1

    async def disturb(self, rng: random.Random) -> None:
        for number in range(120):
            name = f"n{rng.randrange(4)}"
            with contextlib.suppress(NotFound):
                if rng.random() < 0.2:
                    await self.other.delete(CONFIG_MAPS, name, namespace=self.namespace)
                else:
                    change = {"data": {"other": f"{number}"}}
                    await self.other.patch(CONFIG_MAPS, name, change, namespace=self.namespace)


def version_of(obj: JSON) -> int:
    return int(obj["metadata"]["resourceVersion"])


def test_our_own_writes_are_read_while_others_write(cluster: ControlPlane, namespace: str) -> None:
    async def scene() -> None:
        async with client_for(cluster) as client, client_for(cluster) as other:
            contest = Contest(client, other, namespace)
            async with running(contest.cache):
                async with asyncio.TaskGroup() as group:
                    for seed in range(4):
                        group.create_task(contest.write(random.Random(seed)))
                    group.create_task(contest.disturb(random.Random(9)))
                last = await client.create(CONFIG_MAPS, config_map("last", ""), namespace=namespace)
                await contest.cache.wait_for(last["metadata"]["resourceVersion"])
                assert content(contest.cache) == await truth(client, namespace)
            assert contest.checked > 60
            assert contest.cache.statistics().handler_errors == 0
            assert contest.cache.statistics().store.echoes > 0, "the watch told what we knew"

    play(scene())


def test_a_pod_that_we_delete_is_going_or_gone_at_once(cluster: ControlPlane, namespace: str) -> None:
    async def scene() -> None:
        async with client_for(cluster) as client:
            caches = Caches(client, clock=RealClock(), rng=random.Random(1))
            pods = caches.add(PODS, type=PodView, namespace=namespace)
            accounts = caches.add(SERVICE_ACCOUNTS, type=dict[str, Any], namespace=namespace)
            ours = CachedClient(client, caches)
            async with running(pods), running(accounts):
                made = await ours.create(PODS, pod("waits"), namespace=namespace, type=PodView)
                assert pods.by_uid(made.metadata.uid or "") == made
                held = pod("held", finalizers=["example.com/hold"])
                await ours.create(PODS, held, namespace=namespace, type=PodView)
                assert await ours.delete(PODS, "waits", namespace=namespace), "it was on no node"
                assert not await ours.delete(PODS, "held", namespace=namespace)
                assert [one.metadata.name for one in pods] == ["held"]
                going = pods.get("held", namespace)
                assert going is not None
                assert going.metadata.deletion_timestamp is not None
                release = {"metadata": {"finalizers": None}}
                await ours.patch(PODS, "held", release, namespace=namespace, type=PodView)
                assert len(pods) == 0, "the answer was the object's last state"
                with pytest.raises(NotFound):
                    await ours.delete(PODS, "held", namespace=namespace)
                # A service account is returned as it was, without a sign that it is gone.
                body = {"metadata": {"name": "short"}}
                await ours.create(SERVICE_ACCOUNTS, body, namespace=namespace, type=dict[str, Any])
                assert await ours.delete(SERVICE_ACCOUNTS, "short", namespace=namespace)
                assert accounts.get("short", namespace) is None
                # What the server tells of all this comes before what it tells of a later pod.
                later = await client.create(PODS, pod("later"), namespace=namespace, type=PodView)
                await pods.wait_for(later.metadata.resource_version or "")
                assert [one.metadata.name for one in pods] == ["later"]

    play(scene())


def test_a_dry_run_and_a_scale_change_no_cache(cluster: ControlPlane, namespace: str) -> None:
    async def scene() -> None:
        deployments = Resource("apps", "v1", "deployments", "Deployment")
        async with client_for(cluster) as client:
            caches = Caches(client, clock=RealClock(), rng=random.Random(1))
            cache = caches.add(deployments, type=dict[str, Any], namespace=namespace)
            ours = CachedClient(client, caches)
            labels = {"app": "x"}
            body = {
                "metadata": {"name": "d"},
                "spec": {
                    "replicas": 0,
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": POD_SPEC},
                },
            }
            async with running(cache):
                await ours.create(deployments, body, namespace=namespace, type=dict[str, Any], dry_run=True)
                assert len(cache) == 0
                await ours.create(deployments, body, namespace=namespace, type=dict[str, Any])
                scale = {"spec": {"replicas": 0}, "metadata": {"annotations": None}}
                answer = await ours.patch(
                    deployments, "d", scale, namespace=namespace, type=dict[str, Any], subresource="scale"
                )
                assert answer["kind"] == "Scale"
                assert [one["spec"]["replicas"] for one in cache] == [0]

    play(scene())


def test_it_survives_a_restart_of_the_api_server() -> None:
    with ControlPlane.start(controller_manager=False) as own:

        async def scene() -> None:
            async with client_for(own) as client:
                await make(client, "default", "before")
                cache = maps(client, "default")
                async with running(cache):
                    own.kill(APISERVER)
                    await asyncio.to_thread(own.restart, APISERVER)
                    await client.delete(CONFIG_MAPS, "before", namespace="default")
                    await make(client, "default", "after")
                    await until(cache, lambda: names(cache) == ["after"])
                    assert content(cache) == await truth(client, "default")

        play(scene())


def pod(name: str, **metadata: Any) -> JSON:
    # On no node, so that no kubelet is waited for; the shared cluster has a scheduler, but no node that fits.
    return {
        "metadata": {"name": name, **metadata},
        "spec": POD_SPEC | {"schedulerName": "nobody"},
    }

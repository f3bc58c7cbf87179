"""Every verb under every fault: what is made again, what is not, and that nothing is written twice."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from grove.kube.client import Client
from grove.kube.errors import (
    BadGateway,
    Conflict,
    InternalError,
    KubeError,
    ServerTimeout,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from grove.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from grove.kube.transport import Timeouts
from grove.testing.controlplane import ControlPlane
from grove.testing.faults import (
    Fault,
    FaultProxy,
    ResetAfter,
    ResetBefore,
    ResetMidResponse,
    Respond,
    Seen,
    Slow,
    Stale,
    Stall,
)
from tests.cluster.kube.connections import Pauses, client_for, client_through
from tests.cluster.objects import POD_SPEC

JSON = dict[str, Any]


@dataclass(frozen=True)
class Names:
    """The objects of one test: those it is about are there before."""

    namespace: str
    name: str
    labels: dict[str, str]


Act = Callable[[Client, Names], Awaitable[object]]


def config_map(names: Names, **changes: Any) -> JSON:
    return {"metadata": {"name": names.name, "labels": names.labels}, **changes}


async def create(client: Client, names: Names) -> object:
    body = {"metadata": {"generateName": "made-", "labels": {"made-by": names.name}}}
    return await client.create(CONFIG_MAPS, body, namespace=names.namespace)


async def update_status(client: Client, names: Names) -> object:
    namespace = await client.get(NAMESPACES, names.namespace)
    return await client.update(NAMESPACES, names.namespace, namespace, subresource="status")


async def bind(client: Client, names: Names) -> object:
    target = {"apiVersion": "v1", "kind": "Node", "name": "any"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": names.name}, "target": target}
    return await client.create(PODS, body, namespace=names.namespace, name=names.name, subresource="binding")


async def evict(client: Client, names: Names) -> object:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": names.name}}
    return await client.create(PODS, body, namespace=names.namespace, name=names.name, subresource="eviction")


async def token(client: Client, names: Names) -> object:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return await client.create(SERVICE_ACCOUNTS, body, namespace=names.namespace, name="default", subresource="token")


async def watch(client: Client, names: Names) -> object:
    async with client.watch(CONFIG_MAPS, namespace=names.namespace, initial_events=True) as events:
        async for event in events:
            return event
    return None


READS: dict[str, Act] = {
    "get": lambda client, names: client.get(CONFIG_MAPS, names.name, namespace=names.namespace),
    "list": lambda client, names: client.list(CONFIG_MAPS, namespace=names.namespace),
    "list_all": lambda client, names: client.list_all(CONFIG_MAPS, namespace=names.namespace),
    "raw": lambda client, names: client.request("GET", CONFIG_MAPS.path(names.namespace, names.name)),
}
WRITES: dict[str, tuple[str, Act]] = {
    "create": ("POST", create),
    "update": (
        "PUT",
        lambda client, names: client.update(CONFIG_MAPS, names.name, config_map(names), namespace=names.namespace),
    ),
    "update status": ("PUT", update_status),
    "merge patch": (
        "PATCH",
        lambda client, names: client.patch(CONFIG_MAPS, names.name, {"data": {"a": "1"}}, namespace=names.namespace),
    ),
    "json patch": (
        "PATCH",
        lambda client, names: client.patch(
            CONFIG_MAPS,
            names.name,
            [{"op": "add", "path": "/data", "value": {"a": "1"}}],
            namespace=names.namespace,
            form="json",
        ),
    ),
    "apply": (
        "PATCH",
        lambda client, names: client.apply(
            CONFIG_MAPS, names.name, {"metadata": {"name": names.name}}, namespace=names.namespace
        ),
    ),
    "delete": ("DELETE", lambda client, names: client.delete(CONFIG_MAPS, names.name, namespace=names.namespace)),
    "delete collection": (
        "DELETE",
        lambda client, names: client.delete_collection(CONFIG_MAPS, namespace=names.namespace, labels=names.labels),
    ),
    "bind": ("POST", bind),
    "evict": ("POST", evict),
    "token": ("POST", token),
}
SAFE: dict[str, Fault] = {
    "429 with Retry-After": Respond(429, headers={"Retry-After": "3"}),
    "429 without Retry-After": Respond(429),
}
# What the fault is, what a write raises, and whether the API server has heard of it.
UNSAFE: dict[str, tuple[Fault, type[KubeError], bool]] = {
    "reset before": (ResetBefore(), Unreachable, False),
    "reset after": (ResetAfter(), Unreachable, True),
    "reset mid-response": (ResetMidResponse(), Unreachable, True),
    "500": (Respond(500), InternalError, False),
    "502 afterwards": (Respond(502, forward=True), BadGateway, True),
    "503": (Respond(503, headers={"Retry-After": "1"}), Unavailable, False),
    "504 afterwards": (Respond(504, b"<html>gateway timeout</html>", forward=True), ServerTimeout, True),
    "slow body": (Stall(after=10), Unreachable, True),
}


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane) -> Iterator[str]:
    """A namespace for all tests of this module: each has names of its own in it."""
    name = cluster.create_namespace(f"faults-{secrets.token_hex(3)}")
    yield name
    cluster.delete_namespace(name)


@pytest.fixture
def names(cluster: ControlPlane, shared: str, request: pytest.FixtureRequest) -> Names:
    name = f"one-{secrets.token_hex(4)}"
    made = Names(shared, name, {"test": name})
    cluster.create(CONFIG_MAPS.path(shared), config_map(made))
    if "bind" in request.node.name or "evict" in request.node.name:
        cluster.create(PODS.path(shared), {"metadata": {"name": name}, "spec": {**POD_SPEC, "schedulerName": "none"}})
    return made


def run(cluster: ControlPlane, test: Callable[[FaultProxy], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30), FaultProxy(cluster.url, cluster.ca) as proxy:
            await test(proxy)

    asyncio.run(main())


def made_by(cluster: ControlPlane, names: Names) -> int:
    """How many objects `create` has made."""
    path = f"{CONFIG_MAPS.path(names.namespace)}?labelSelector=made-by%3D{names.name}"
    return len(cluster.request("GET", path)[1]["items"])


def writes(method: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.method == method


# A slow body is noticed by the time limit: short where one is to come, the usual one elsewhere.
def limits(fault: Fault) -> Timeouts:
    return Timeouts(request=1.0) if isinstance(fault, Stall) else Timeouts()


@pytest.mark.parametrize("fault", [*SAFE, *UNSAFE])
@pytest.mark.parametrize("verb", READS)
def test_a_read_is_made_again_after_any_fault(cluster: ControlPlane, names: Names, verb: str, fault: str) -> None:
    async def test(proxy: FaultProxy) -> None:
        injected = SAFE.get(fault) or UNSAFE[fault][0]
        proxy.inject(injected)
        pauses = Pauses()
        async with client_through(proxy, cluster, sleep=pauses, timeouts=limits(injected)) as client:
            assert await READS[verb](client, names)
            assert client.statistics().retries == 1
        assert proxy.received("GET") == 2
        assert len(pauses.taken) == 1

    run(cluster, test)


@pytest.mark.parametrize("fault", SAFE)
@pytest.mark.parametrize("verb", WRITES)
def test_a_write_that_was_refused_is_made_again(cluster: ControlPlane, names: Names, verb: str, fault: str) -> None:
    method, act = WRITES[verb]

    async def test(proxy: FaultProxy) -> None:
        proxy.inject(SAFE[fault], when=writes(method))
        pauses = Pauses()
        async with client_through(proxy, cluster, sleep=pauses) as client:
            await act(client, names)
        assert (proxy.received(method), proxy.forwarded(method)) == (2, 1)
        assert (pauses.taken[0] >= 3.0) == (fault == "429 with Retry-After")

    run(cluster, test)
    assert made_by(cluster, names) == (verb == "create")


@pytest.mark.parametrize("verb", [*READS, *WRITES])
def test_what_never_left_is_made_again(cluster: ControlPlane, names: Names, verb: str) -> None:
    method, act = WRITES[verb] if verb in WRITES else ("GET", READS[verb])

    async def test(proxy: FaultProxy) -> None:
        await proxy.refuse()
        pauses = Pauses(then=proxy.listen)
        async with client_through(proxy, cluster, sleep=pauses) as client:
            await act(client, names)
            assert client.statistics().retries == 1
        assert proxy.forwarded(method) == proxy.received(method) >= 1
        assert len(pauses.taken) == 1

    run(cluster, test)
    assert made_by(cluster, names) == (verb == "create")


@pytest.mark.parametrize("fault", UNSAFE)
@pytest.mark.parametrize("verb", WRITES)
def test_a_write_that_may_have_been_carried_out_is_sent_once(
    cluster: ControlPlane, names: Names, verb: str, fault: str
) -> None:
    method, act = WRITES[verb]
    injected, expected, carried_out = UNSAFE[fault]

    async def test(proxy: FaultProxy) -> None:
        proxy.inject(injected, when=writes(method))
        pauses = Pauses()
        async with client_through(proxy, cluster, sleep=pauses, timeouts=limits(injected)) as client:
            # On a connection that is there already: aiohttp by itself would send PUT and DELETE again.
            await client.get(NAMESPACES, names.namespace)
            with pytest.raises(expected) as raised:
                await act(client, names)
            assert client.statistics().retries == 0
        assert (proxy.received(method), proxy.forwarded(method)) == (1, int(carried_out))
        assert len({seen.connection for seen in proxy.seen}) == 1
        assert pauses.taken == []
        assert getattr(raised.value, "may_have_acted", True)

    run(cluster, test)
    assert made_by(cluster, names) == (verb == "create" and carried_out)


# The others let the answer begin, or wait for its end, which a watch has not.
@pytest.mark.parametrize("fault", [*SAFE, "reset before", "500", "503"])
def test_a_watch_is_opened_again(cluster: ControlPlane, names: Names, fault: str) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(SAFE.get(fault) or UNSAFE[fault][0])
        async with client_through(proxy, cluster) as client:
            assert await watch(client, names)
            assert client.statistics().retries == 1
            assert client.statistics().watches == 0

    run(cluster, test)


def test_giving_up_has_a_bound(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(Respond(503), times=None)
        pauses = Pauses()
        async with client_through(proxy, cluster, sleep=pauses) as client:
            with pytest.raises(Unavailable):
                await READS["get"](client, names)
        assert proxy.received("GET") == 5
        assert all(0.05 <= pause <= 5.0 for pause in pauses.taken)

    run(cluster, test)


def test_a_server_that_asks_for_much_patience_gets_none(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(Respond(429, headers={"Retry-After": "600"}))
        async with client_through(proxy, cluster) as client:
            with pytest.raises(TooManyRequests) as raised:
                await READS["get"](client, names)
        assert raised.value.retry_after == 600.0
        assert proxy.received("GET") == 1

    run(cluster, test)


def test_a_watch_that_is_reset_raises(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(ResetMidResponse(after=30))
        async with client_through(proxy, cluster) as client:
            with pytest.raises(Unreachable, match="watching"):
                await watch(client, names)
            assert client.statistics().watches == 0

    run(cluster, test)


def test_a_watch_that_goes_silent_raises(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(Stall(after=30))
        async with (
            client_through(proxy, cluster) as client,
            client.watch(CONFIG_MAPS, namespace=names.namespace, initial_events=True, stall=0.2) as events,
        ):
            with pytest.raises(Unreachable, match=r"silent for 0\.2 s"):
                await anext(events)

    run(cluster, test)


def test_a_stale_read_is_passed_on_and_a_write_based_on_it_is_a_conflict(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(Stale(), times=None, when=writes("GET"))
        async with client_through(proxy, cluster) as client, client_for(cluster) as other:
            first = await client.get(CONFIG_MAPS, names.name, namespace=names.namespace)
            await other.patch(CONFIG_MAPS, names.name, {"data": {"a": "theirs"}}, namespace=names.namespace)
            assert await client.get(CONFIG_MAPS, names.name, namespace=names.namespace) == first
            mine = {**first, "data": {"a": "mine"}}
            with pytest.raises(Conflict):
                await client.update(CONFIG_MAPS, names.name, mine, namespace=names.namespace)
            kept = await other.get(CONFIG_MAPS, names.name, namespace=names.namespace)
        assert kept["data"] == {"a": "theirs"}

    run(cluster, test)


def test_an_answer_that_is_no_json_is_an_error_of_its_own(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(Respond(200, b"<html>log in first</html>"))
        async with client_through(proxy, cluster) as client:
            with pytest.raises(KubeError, match=r"not what was asked for.*<html>"):
                await READS["get"](client, names)

    run(cluster, test)


def test_a_redirect_is_not_followed(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        proxy.inject(Respond(307, headers={"Location": "https://elsewhere.invalid/"}))
        async with client_through(proxy, cluster) as client:
            with pytest.raises(KubeError, match="307"):
                await READS["get"](client, names)
        assert proxy.received("GET") == 1

    run(cluster, test)


def test_a_body_that_comes_late_is_waited_for(cluster: ControlPlane, names: Names) -> None:
    async def test(proxy: FaultProxy) -> None:
        async with client_through(proxy, cluster) as client:
            proxy.inject(Slow(0.05, after=10))
            found = await client.get(CONFIG_MAPS, names.name, namespace=names.namespace)
            assert found["metadata"]["name"] == names.name
            assert proxy.received("GET") == 1

    run(cluster, test)

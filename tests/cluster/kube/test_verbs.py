"""Every verb of the client on a real API server: what it does, and which errors it raises."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from grove.kube import paging
from grove.kube.client import Client
from grove.kube.decoding import Page
from grove.kube.discovery import discover
from grove.kube.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    MethodNotAllowed,
    NotFound,
    TooManyRequests,
    UnsupportedMediaType,
)
from grove.kube.kubeconfig import connect
from grove.kube.resources import (
    AUTOSCALERS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from grove.kube.transport import JSON, Answer, Method
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import client_for
from tests.cluster.objects import POD_SPEC

Test = Callable[[Client], Awaitable[None]]


class Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str
    uid: str
    resource_version: str
    labels: dict[str, str] | None = None


class ConfigMap(msgspec.Struct, frozen=True, gc=False):
    """What a controller would read of a config map."""

    metadata: Meta
    data: dict[str, str] | None = None


def run(cluster: ControlPlane, test: Test, **settings: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), client_for(cluster, **settings) as client:
            await test(client)

    asyncio.run(main())


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": data or {}}


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": {**POD_SPEC, "schedulerName": "none"}}


def deployment(name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {**POD_SPEC, "schedulerName": "none"}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def test_create_get_update_and_delete(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        made = await client.create(CONFIG_MAPS, config_map("a", {"k": "1"}), namespace=namespace, type=ConfigMap)
        assert await client.get(CONFIG_MAPS, "a", namespace=namespace, type=ConfigMap) == made
        plain = await client.get(CONFIG_MAPS, "a", namespace=namespace)
        plain["data"]["k"] = "2"
        updated = await client.update(CONFIG_MAPS, "a", plain, namespace=namespace, type=ConfigMap)
        assert (updated.data, updated.metadata.uid) == ({"k": "2"}, made.metadata.uid)
        assert updated.metadata.resource_version != made.metadata.resource_version
        assert await client.delete(CONFIG_MAPS, "a", namespace=namespace) is None
        with pytest.raises(NotFound) as raised:
            await client.get(CONFIG_MAPS, "a", namespace=namespace)
        assert (raised.value.details.kind, raised.value.details.name) == ("configmaps", "a")
        assert client.statistics().requests == {
            ("create", "201"): 1,
            ("get", "200"): 2,
            ("get", "404"): 1,
            ("update", "200"): 1,
            ("delete", "200"): 1,
        }

    run(cluster, test)


def test_what_is_there_is_not_created(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
        with pytest.raises(AlreadyExists):
            await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)

    run(cluster, test)


def test_a_version_that_is_not_the_last_is_a_conflict(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        old = await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
        await client.patch(CONFIG_MAPS, "a", {"data": {"k": "1"}}, namespace=namespace)
        with pytest.raises(Conflict, match="has been modified"):
            await client.update(CONFIG_MAPS, "a", old, namespace=namespace)
        version = old["metadata"]["resourceVersion"]
        with pytest.raises(Conflict):
            await client.patch(CONFIG_MAPS, "a", {"metadata": {"resourceVersion": version}}, namespace=namespace)

    run(cluster, test)


def test_an_invalid_object_names_its_fields(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        wrong = pod("a")
        wrong["spec"]["containers"] = [{"name": "A B", "image": "x"}]
        wrong["spec"]["restartPolicy"] = "Maybe"
        with pytest.raises(Invalid) as raised:
            await client.create(PODS, wrong, namespace=namespace)
        assert set(raised.value.fields) == {"spec.containers[0].name", "spec.restartPolicy"}

    run(cluster, test)


def test_each_form_of_a_patch(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(CONFIG_MAPS, config_map("a", {"k": "1", "l": "1"}), namespace=namespace)
        merged = await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2", "l": None}}, namespace=namespace)
        assert merged["data"] == {"k": "2"}
        operations = [
            {"op": "test", "path": "/data/k", "value": "2"},
            {"op": "add", "path": "/data/m", "value": "3"},
        ]
        changed = await client.patch(CONFIG_MAPS, "a", operations, namespace=namespace, form="json", type=ConfigMap)
        assert changed.data == {"k": "2", "m": "3"}
        wrong = [{"op": "test", "path": "/data/k", "value": "other"}]
        with pytest.raises(Invalid):
            await client.patch(CONFIG_MAPS, "a", wrong, namespace=namespace, form="json")
        await client.create(PODS, pod("p"), namespace=namespace)
        image = {"spec": {"containers": [{"name": "main", "image": "main:v2"}]}}
        strategic = await client.patch(PODS, "p", image, namespace=namespace, form="strategic")
        assert [one["image"] for one in strategic["spec"]["containers"]] == ["main:v2"]

    run(cluster, test)


def test_server_side_apply(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        async def apply(value: str, manager: str, force: bool = False) -> ConfigMap:
            return await client.apply(
                CONFIG_MAPS,
                "a",
                config_map("a", {"k": value}),
                namespace=namespace,
                field_manager=manager,
                force=force,
                type=ConfigMap,
            )

        made = await apply("1", "first")
        assert (await apply("1", "first")).metadata.resource_version == made.metadata.resource_version
        with pytest.raises(Conflict) as raised:
            await apply("2", "second")
        assert [(cause.reason, cause.field) for cause in raised.value.causes] == [("FieldManagerConflict", ".data.k")]
        assert (await apply("2", "second", force=True)).data == {"k": "2"}

    run(cluster, test)


def test_applying_needs_a_field_manager(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        with pytest.raises(ValueError, match="name the field_manager"):
            await client.apply(CONFIG_MAPS, "a", config_map("a"), namespace=namespace)

    run(cluster, test, field_manager="")


def test_who_wrote_is_recorded(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        made = await client.create(CONFIG_MAPS, config_map("a", {"k": "1"}), namespace=namespace)
        assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["grove-tests"]
        patched = await client.patch(CONFIG_MAPS, "a", {"data": {"l": "1"}}, namespace=namespace, field_manager="other")
        assert {entry["manager"] for entry in patched["metadata"]["managedFields"]} == {"grove-tests", "other"}

    run(cluster, test)


def test_a_dry_run_of_every_write_changes_nothing(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        before = await client.create(CONFIG_MAPS, config_map("a", {"k": "1"}), namespace=namespace)
        changed = {**before, "data": {"k": "2"}}
        place: dict[str, Any] = {"namespace": namespace, "dry_run": True}
        await client.create(CONFIG_MAPS, config_map("b"), **place)
        assert (await client.update(CONFIG_MAPS, "a", changed, **place))["data"] == {"k": "2"}
        assert (await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, **place))["data"] == {"k": "2"}
        await client.apply(CONFIG_MAPS, "a", config_map("a", {"k": "2"}), force=True, **place)
        await client.delete(CONFIG_MAPS, "a", **place)
        await client.delete_collection(CONFIG_MAPS, **place)
        found = await client.list(CONFIG_MAPS, namespace=namespace, fields={"metadata.name": "a"})
        assert [one["metadata"]["resourceVersion"] for one in found.items] == [before["metadata"]["resourceVersion"]]
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "b", namespace=namespace)

    run(cluster, test)


def test_unknown_fields_are_refused_or_warned_about(cluster: ControlPlane, namespace: str) -> None:
    warnings: list[str] = []

    async def test(client: Client) -> None:
        wrong = {**config_map("a"), "dta": {}}
        with pytest.raises(BadRequest, match='unknown field "dta"'):
            await client.create(CONFIG_MAPS, wrong, namespace=namespace, field_validation="Strict")
        assert warnings == []
        await client.create(CONFIG_MAPS, wrong, namespace=namespace, field_validation="Warn")
        assert warnings == ['unknown field "dta"']
        assert client.statistics().warnings == 1

    run(cluster, test, on_warning=warnings.append)


def test_preconditions_of_a_deletion(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        made = await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace, type=ConfigMap)
        with pytest.raises(Conflict, match="UID"):
            await client.delete(CONFIG_MAPS, "a", namespace=namespace, uid="another")
        with pytest.raises(Conflict, match="ResourceVersion"):
            await client.delete(CONFIG_MAPS, "a", namespace=namespace, resource_version="1")
        await client.delete(
            CONFIG_MAPS,
            "a",
            namespace=namespace,
            uid=made.metadata.uid,
            resource_version=made.metadata.resource_version,
        )
        with pytest.raises(NotFound):
            await client.delete(CONFIG_MAPS, "a", namespace=namespace)

    run(cluster, test)


def test_an_object_with_a_finalizer_is_given_back_marked(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(CONFIG_MAPS, config_map("a", finalizers=["grove.io/test"]), namespace=namespace)
        marked = await client.delete(CONFIG_MAPS, "a", namespace=namespace)
        assert marked is not None
        assert marked["metadata"]["deletionTimestamp"]
        await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, namespace=namespace)
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "a", namespace=namespace)

    run(cluster, test)


def test_a_grace_period_is_kept(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(NODES, {"metadata": {"name": namespace}})
        bound = pod("a")
        bound["spec"]["nodeName"] = namespace
        await client.create(PODS, bound, namespace=namespace)
        marked = await client.delete(PODS, "a", namespace=namespace, grace_period=7)
        assert marked is not None
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 7
        await client.delete(PODS, "a", namespace=namespace, grace_period=0)
        with pytest.raises(NotFound):
            await client.get(PODS, "a", namespace=namespace)
        await client.delete(NODES, namespace)

    run(cluster, test)


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
)
def test_how_a_deletion_reaches_dependents(
    cluster: ControlPlane, namespace: str, propagation: Any, finalizers: list[str]
) -> None:
    async def test(client: Client) -> None:
        # Held by a finalizer of our own, so that the garbage collector is never too fast for us.
        body = deployment("a")
        body["metadata"]["finalizers"] = ["grove.io/test"]
        await client.create(REPLICA_SETS, body, namespace=namespace)
        marked = await client.delete(REPLICA_SETS, "a", namespace=namespace, propagation=propagation)
        assert marked is not None
        assert set(finalizers) <= set(marked["metadata"]["finalizers"])
        await client.patch(REPLICA_SETS, "a", {"metadata": {"finalizers": None}}, namespace=namespace)

    run(cluster, test)


def test_a_collection_is_deleted_by_selector(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        for name in ("a", "b", "c"):
            labels = {"kind": "odd" if name != "b" else "even"}
            await client.create(CONFIG_MAPS, config_map(name, labels=labels), namespace=namespace)
        gone = await client.delete_collection(CONFIG_MAPS, namespace=namespace, labels={"kind": "odd"}, type=ConfigMap)
        assert sorted(one.metadata.name for one in gone.items) == ["a", "c"]
        left = await client.list(CONFIG_MAPS, namespace=namespace, labels="kind")
        assert [one["metadata"]["name"] for one in left.items] == ["b"]
        with pytest.raises(ValueError, match="name the namespace"):
            await client.delete_collection(CONFIG_MAPS)

    run(cluster, test)


# Lists


async def fill(client: Client, namespace: str, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            body = config_map(f"n-{number:04}", {"number": str(number)}, labels={"third": str(number % 3 == 0)})
            group.create_task(client.create(CONFIG_MAPS, body, namespace=namespace))


def test_pages_are_one_list_of_one_version(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await fill(client, namespace, 12)
        whole = await client.list(CONFIG_MAPS, namespace=namespace, labels="third", type=ConfigMap)
        pages: list[Page[ConfigMap]] = []
        async for page in client.pages(CONFIG_MAPS, namespace=namespace, labels="third", limit=5, type=ConfigMap):
            pages.append(page)
            await client.create(
                CONFIG_MAPS, config_map(f"new-{len(pages)}", labels={"third": "x"}), namespace=namespace
            )
        assert [len(page.items) for page in pages] == [5, 5, 2]
        assert len({page.resource_version for page in pages}) == 1
        assert [one for page in pages for one in page.items] == whole.items
        first = await client.list(CONFIG_MAPS, namespace=namespace, limit=4)
        assert first.remaining == 12 + 3 + 1 - 4  # and kube-root-ca.crt
        together = await client.list_all(CONFIG_MAPS, namespace=namespace, labels="third", limit=4, type=ConfigMap)
        assert len(together.items) == 15
        assert not together.next

    run(cluster, test)


def test_selectors_choose(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await fill(client, namespace, 6)

        async def names(**selectors: Any) -> list[str]:
            page = await client.list(CONFIG_MAPS, namespace=namespace, type=ConfigMap, **selectors)
            return [one.metadata.name for one in page.items]

        assert await names(labels={"third": "True"}) == ["n-0000", "n-0003"]
        assert await names(labels="third,third notin (True)") == ["n-0001", "n-0002", "n-0004", "n-0005"]
        assert await names(fields={"metadata.name": "n-0004"}) == ["n-0004"]
        assert await names(labels={"third": "True"}, fields="metadata.name!=n-0000") == ["n-0003"]
        with pytest.raises(BadRequest):
            await names(labels="=")

    run(cluster, test)


def test_versions_of_a_list(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await fill(client, namespace, 2)
        before = await client.list(CONFIG_MAPS, namespace=namespace)
        await client.delete(CONFIG_MAPS, "n-0000", namespace=namespace)
        exact = await client.list(
            CONFIG_MAPS,
            namespace=namespace,
            resource_version=before.resource_version,
            resource_version_match="Exact",
            limit=500,
        )
        assert (len(exact.items), exact.resource_version) == (len(before.items), before.resource_version)
        fresh = await client.list(
            CONFIG_MAPS,
            namespace=namespace,
            resource_version=before.resource_version,
            resource_version_match="NotOlderThan",
        )
        assert int(fresh.resource_version) >= int(before.resource_version)
        assert await client.get(CONFIG_MAPS, "n-0001", namespace=namespace, resource_version="0")

    run(cluster, test)


def test_a_list_whose_version_expires_begins_anew_once(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await fill(client, namespace, 7)
        expired = 0

        async def page(next: str) -> Page[dict[str, Any]]:
            nonlocal expired
            if next and not expired:
                expired += 1
                raise Gone("too old", code=410)
            return await client.list(CONFIG_MAPS, namespace=namespace, labels="third", limit=3, next=next)

        found = await paging.whole(lambda: paging.pages(page))
        assert (len(found.items), expired) == (7, 1)

    run(cluster, test)


def test_a_thousand_objects_typed(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await fill(client, namespace, 1000)
        assert client.statistics().in_flight == 0
        found = await client.list_all(CONFIG_MAPS, namespace=namespace, labels="third", type=ConfigMap)
        assert [one.data for one in found.items] == [{"number": str(number)} for number in range(1000)]
        assert all(isinstance(one, ConfigMap) for one in found.items)
        assert client.statistics().requests == {("create", "201"): 1000, ("list", "200"): 2}

    run(cluster, test)


# Subresources


def test_status_is_written_apart_from_the_rest(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        made = await client.create(PODS, pod("a"), namespace=namespace)
        changed = {**made, "status": {"phase": "Running"}, "metadata": {**made["metadata"], "labels": {"x": "y"}}}
        updated = await client.update(PODS, "a", changed, namespace=namespace, subresource="status")
        assert updated["status"]["phase"] == "Running"
        patched = await client.patch(
            PODS, "a", {"status": {"phase": "Succeeded"}}, namespace=namespace, subresource="status"
        )
        assert patched["status"]["phase"] == "Succeeded"
        applied = await client.apply(
            PODS,
            "a",
            {"metadata": {"name": "a"}, "status": {"message": "done"}},
            namespace=namespace,
            subresource="status",
        )
        assert applied["status"]["message"] == "done"

    run(cluster, test)


def test_scale(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(DEPLOYMENTS, deployment("a", replicas=0, paused=True), namespace=namespace)
        place: dict[str, Any] = {"namespace": namespace, "subresource": "scale"}
        scale = await client.get(DEPLOYMENTS, "a", **place)
        assert (scale["kind"], scale["spec"].get("replicas", 0)) == ("Scale", 0)
        scale["spec"]["replicas"] = 1
        del scale["metadata"]["resourceVersion"]
        assert (await client.update(DEPLOYMENTS, "a", scale, **place))["spec"]["replicas"] == 1
        patched = await client.patch(DEPLOYMENTS, "a", {"spec": {"replicas": 2}}, **place)
        assert patched["spec"]["replicas"] == 2

    run(cluster, test)


def test_binding(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(PODS, pod("a"), namespace=namespace)
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "nowhere"},
        }
        place: dict[str, Any] = {"namespace": namespace, "name": "a", "subresource": "binding"}
        answer = await client.create(PODS, body, **place)
        assert (answer["kind"], answer["status"]) == ("Status", "Success")
        assert (await client.get(PODS, "a", namespace=namespace))["spec"]["nodeName"] == "nowhere"
        with pytest.raises(Conflict, match="already assigned"):
            await client.create(PODS, body, **place)

    run(cluster, test)


def test_an_eviction_that_a_budget_forbids_is_not_asked_for_again(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        await client.create(PODS, pod("a", labels={"app": "a"}), namespace=namespace)
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await client.patch(PODS, "a", {"status": running}, namespace=namespace, subresource="status")
        budget = {
            "metadata": {"name": "all"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
        }
        await client.create(DISRUPTION_BUDGETS, budget, namespace=namespace)
        async with client.watch(DISRUPTION_BUDGETS, namespace=namespace, initial_events=True) as events:
            async for event in events:
                seen = getattr(event, "object", {})
                if seen.get("status", {}).get("currentHealthy") == 1:
                    break
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
        place: dict[str, Any] = {"namespace": namespace, "name": "a", "subresource": "eviction"}
        with pytest.raises(TooManyRequests) as raised:
            await client.create(PODS, body, **place)
        assert raised.value.by_disruption_budget
        assert client.statistics().retries == 0
        await client.delete(DISRUPTION_BUDGETS, "all", namespace=namespace)
        assert (await client.create(PODS, body, **place))["status"] == "Success"

    run(cluster, test)


def test_tokens_are_granted(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        granted = await client.create(
            SERVICE_ACCOUNTS,
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}},
            namespace=namespace,
            name="default",
            subresource="token",
        )
        assert granted["status"]["token"].count(".") == 2

    run(cluster, test)


# Everything else


def test_what_is_not_done_has_errors_of_its_own(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        with pytest.raises(NotFound):
            await client.list(Resource("none.example", "v1", "things", "Thing"))
        with pytest.raises(MethodNotAllowed):
            await client.request("DELETE", "/version/")
        with pytest.raises(UnsupportedMediaType):
            await client.request(
                "PATCH", CONFIG_MAPS.path(namespace, "kube-root-ca.crt"), {}, content_type="text/plain"
            )

    run(cluster, test)


def test_discovery_knows_every_resource(cluster: ControlPlane) -> None:
    async def test(client: Client) -> None:
        found = await client.discover()
        pods = found.named("po")
        assert pods is not None
        assert pods.resource == PODS
        assert {"status", "binding", "eviction"} <= set(pods.subresources)
        assert found.find("autoscaling/v2", "HorizontalPodAutoscaler") == found.named("hpa")
        for word in ("pods", "pod", "Pod"):
            assert found.named(word) == pods
        autoscalers = found.named("horizontalpodautoscalers.autoscaling")
        assert autoscalers is not None
        assert autoscalers.resource == AUTOSCALERS
        assert found.unavailable == ()
        assert client.statistics().requests == {("discover", "200"): 2}

    run(cluster, test)


def test_discovery_without_aggregation_finds_the_same(cluster: ControlPlane) -> None:
    async def test(client: Client) -> None:
        async def plainly(method: Method, path: str, *, accept: str = JSON) -> Answer:
            return await client.request(method, path)

        aggregated = await client.discover()
        one_by_one = await discover(plainly)
        assert {one.resource for one in one_by_one.served} == {one.resource for one in aggregated.served}
        by_resource = {one.resource: one for one in aggregated.served}
        for one in one_by_one.served:
            assert set(one.verbs) == set(by_resource[one.resource].verbs)
            assert set(one.subresources) == set(by_resource[one.resource].subresources)

    run(cluster, test)


def test_requests_in_flight_are_bounded(cluster: ControlPlane, namespace: str) -> None:
    async def test(client: Client) -> None:
        most = 0

        async def one() -> None:
            nonlocal most
            await client.list(CONFIG_MAPS, namespace=namespace)
            most = max(most, client.statistics().in_flight)

        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(one())
        assert 1 <= most <= 4
        assert (client.statistics().in_flight, client.statistics().waiting) == (0, 0)

    run(cluster, test, max_in_flight=4)


def test_what_an_account_may_not_do_is_forbidden(cluster: ControlPlane, namespace: str) -> None:
    async def main() -> None:
        path = cluster.kubeconfig_for(namespace, "nobody")
        async with Client(connect(str(path))) as client:
            with pytest.raises(Forbidden, match=r"nobody.*cannot list resource"):
                await client.list(CONFIG_MAPS, namespace=namespace)

    asyncio.run(main())

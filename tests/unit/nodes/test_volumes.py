"""What a container's files are made of, and the tokens of its pod."""

import base64
from typing import Any, cast

import msgspec
import pytest

from grove.kube.client import Client
from grove.kube.errors import CredentialsError, NotFound
from grove.kube.resources import CONFIG_MAPS, SECRETS
from grove.nodes import volumes
from grove.nodes.objects import ContainerSpec, PodRecord
from grove.nodes.volumes import Files, PodToken, Token
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.nodes.apiserver import ApiServer

JSON = dict[str, Any]

POD: JSON = {
    "metadata": {
        "name": "worker",
        "namespace": "default",
        "uid": "u1",
        "labels": {"grove.io/podgang": "x-0", "app": "y"},
        "annotations": {"note": "z"},
    },
    "spec": {"serviceAccountName": "waiter"},
}


def pod(*found: JSON, mounts: tuple[JSON, ...] | None = None) -> tuple[PodRecord, ContainerSpec]:
    """A pod with volumes v0, v1, …, mounted at /v0, /v1, …, and its container."""
    named = [{"name": f"v{index}", **one} for index, one in enumerate(found)]
    placed = mounts or tuple({"name": one["name"], "mountPath": f"/{one['name']}"} for one in named)
    container = {"name": "main", "volumeMounts": list(placed)}
    body = POD | {"spec": POD["spec"] | {"volumes": named, "containers": [container]}}
    record = msgspec.convert(body, PodRecord)
    return record, record.spec.containers[0]


def files(*found: JSON, mounts: tuple[JSON, ...] | None = None) -> Files:
    """What the container of such a pod is given, where there are a secret and a config map."""

    async def scene(clock: VirtualClock) -> Files:
        server = ApiServer(clock)
        data = {"token": base64.b64encode(b"abc").decode(), "other": base64.b64encode(b"\xff").decode()}
        await server.create(SECRETS, {"metadata": {"name": "s"}, "data": data}, namespace="default")
        await server.create(CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {"a": "1"}}, namespace="default")
        record, container = pod(*found, mounts=mounts)
        return await volumes.files(cast(Client, server), record, container)

    return run(scene)


def test_secrets_config_maps_and_fields_are_files() -> None:
    items = [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "gang", "fieldRef": {"fieldPath": "metadata.labels['grove.io/podgang']"}},
    ]
    found = files({"secret": {"secretName": "s"}}, {"configMap": {"name": "c"}}, {"downwardAPI": {"items": items}})
    assert found.contents == {
        "/v0/token": b"abc",
        "/v0/other": b"\xff",
        "/v1/a": b"1",
        "/v2/name": b"worker",
        "/v2/gang": b"x-0",
    }
    assert found.read("/v2/gang") == "x-0"
    with pytest.raises(FileNotFoundError, match="/v2/nope"):
        found.read("/v2/nope")


def test_a_projected_volume_joins_its_sources_and_tokens_stand_for_themselves() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"serviceAccountToken": {"path": "vault", "audience": "vault"}},
        {"configMap": {"name": "c", "items": [{"key": "a", "path": "sub/ca.crt"}, {"key": "none", "path": "x"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        {"clusterTrustBundle": {"path": "bundle"}},
    ]
    found = files({"projected": {"sources": sources}})
    assert found.contents == {"/v0/sub/ca.crt": b"1", "/v0/namespace": b"default"}
    assert found.tokens == {"/v0/token": Token("", 3607), "/v0/vault": Token("vault", 3600)}


def test_a_part_of_a_volume_may_be_mounted() -> None:
    source = {"configMap": {"name": "c", "items": [{"key": "a", "path": "sub/a"}]}}
    mounts = (
        {"name": "v0", "mountPath": "/folder", "subPath": "sub"},
        {"name": "v0", "mountPath": "/file", "subPath": "sub/a"},
        {"name": "v0", "mountPath": "/none", "subPath": "su"},
        {"name": "gone", "mountPath": "/gone"},
    )
    assert files(source, mounts=mounts).contents == {"/folder/a": b"1", "/file": b"1"}


def test_what_is_missing_is_waited_for_unless_it_is_optional() -> None:
    with pytest.raises(NotFound):
        files({"secret": {"secretName": "gone"}})
    assert files({"secret": {"secretName": "gone", "optional": True}}).contents == {}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metadata.uid", "u1"),
        ("metadata.labels", 'app="y"\ngrove.io/podgang="x-0"'),
        ("metadata.annotations['note']", "z"),
        ("metadata.labels['none']", ""),
        ("spec.unknown", ""),
    ],
)
def test_fields_are_as_the_downward_api_gives_them(path: str, text: str) -> None:
    assert volumes.field(pod()[0], {"fieldRef": {"fieldPath": path}}) == text


def test_a_token_is_asked_for_once_and_renewed_in_time() -> None:
    async def scene(clock: VirtualClock) -> None:
        server = ApiServer(clock)
        token = PodToken(cast(Client, server), pod()[0], Token("vault", 1000), now=lambda: clock.wall().timestamp())
        first = await token.identity()
        await clock.sleep(799)
        assert await token.identity() is first
        await clock.sleep(2)
        second = await token.identity()
        assert second != first
        assert token.refused(second)
        assert await token.identity() != second
        assert len(server.tokens) == 3
        assert server.tokens[0]["spec"] == {
            "expirationSeconds": 1000,
            "audiences": ["vault"],
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "worker", "uid": "u1"},
        }
        assert {one.name for one in server.writes} == {"waiter"}

    run(scene)


def test_a_token_that_is_not_granted_is_an_error_of_credentials() -> None:
    async def scene(clock: VirtualClock) -> None:
        server = ApiServer(clock)
        server.is_away = True
        token = PodToken(cast(Client, server), pod()[0], Token(), now=lambda: 0.0)
        with pytest.raises(CredentialsError, match="service account waiter"):
            await token.identity()

    run(scene)

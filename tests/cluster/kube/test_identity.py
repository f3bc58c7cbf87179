"""Who we are to a real API server: every way to show it, and what happens when it is not, or no longer, accepted."""

import asyncio
import datetime
import json
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grove.kube.client import Client
from grove.kube.connection import Connection, in_cluster
from grove.kube.errors import CredentialsError, Unauthorized, Untrusted
from grove.kube.kubeconfig import connect
from grove.kube.resources import Resource
from grove.testing.certificates import Authority
from grove.testing.controlplane import ControlPlane
from tests.cluster.kube.connections import Pauses, client_for, client_with

REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
V1 = "client.authentication.k8s.io/v1"


async def whoami(client: Client) -> str:
    review = await client.create(REVIEWS, {})
    name: str = review["status"]["userInfo"]["username"]
    return name


def ask(connection: Connection) -> str:
    async def main() -> str:
        async with client_with(connection) as client:
            return await whoami(client)

    return asyncio.run(main())


def with_user(cluster: ControlPlane, folder: Path, user: dict[str, Any], **of_cluster: Any) -> Path:
    """The administrator's kubeconfig with another user."""
    content = json.loads(cluster.kubeconfig.read_text())
    content["users"][0]["user"] = user
    content["clusters"][0]["cluster"] |= of_cluster
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


def test_a_bound_token_of_a_service_account(cluster: ControlPlane, namespace: str) -> None:
    assert ask(connect(str(cluster.kubeconfig_for(namespace, "me")))) == f"system:serviceaccount:{namespace}:me"


def test_a_client_certificate(cluster: ControlPlane) -> None:
    assert ask(connect(str(cluster.kubeconfig_as("jane", ["admins"])))) == "jane"


def test_as_a_pod_in_the_cluster(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(cluster.token_for(namespace, "me"))
    (tmp_path / "ca.crt").write_bytes(cluster.ca)
    (tmp_path / "namespace").write_text(namespace)
    host, port = cluster.url.removeprefix("https://").split(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    connection = in_cluster(environment=environment, folder=tmp_path)
    assert (ask(connection), connection.namespace) == (f"system:serviceaccount:{namespace}:me", namespace)


def test_a_plugin_that_gives_tokens_and_one_that_gives_certificates(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    certificate = connect(str(cluster.kubeconfig_as("plugged")))
    shown = asyncio.run(certificate.credentials.identity()).certificate
    assert shown is not None
    for status, expected in (
        ({"token": cluster.token_for(namespace, "me")}, f"system:serviceaccount:{namespace}:me"),
        ({"clientCertificateData": shown.certificate.decode(), "clientKeyData": shown.key.decode()}, "plugged"),
    ):
        output = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})
        plugin = tmp_path / "plugin"
        plugin.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
        plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
        user = {"exec": {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"}}
        assert ask(connect(str(with_user(cluster, tmp_path, user)))) == expected


def test_whom_the_user_acts_for(cluster: ControlPlane, tmp_path: Path) -> None:
    admin = json.loads(cluster.kubeconfig.read_text())["users"][0]["user"]
    assert ask(connect(str(with_user(cluster, tmp_path, {**admin, "as": "jane"})))) == "jane"


def test_a_token_that_was_renewed_is_taken_up_without_a_failure(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(cluster.token_for(namespace, "before"))
    path = with_user(cluster, tmp_path, {"tokenFile": "token"})

    async def main() -> None:
        time = [0.0]
        pauses = Pauses()
        async with client_with(connect(str(path), now=lambda: time[0]), sleep=pauses) as client:
            assert await whoami(client) == f"system:serviceaccount:{namespace}:before"
            token.write_text(cluster.token_for(namespace, "after"))
            time[0] += 60
            assert await whoami(client) == f"system:serviceaccount:{namespace}:after"
            # Refused, although it was read just now: the account and with it the token are gone.
            cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/after")
            token.write_text("no token of anyone")
            time[0] += 60
            with pytest.raises(Unauthorized):
                await whoami(client)
            token.write_text(cluster.token_for(namespace, "last"))
            assert await whoami(client) == f"system:serviceaccount:{namespace}:last"
            assert client.statistics().requests[("create", "401")] == 2
        assert pauses.taken == []

    asyncio.run(main())


def test_who_is_not_known_is_told_so(cluster: ControlPlane, tmp_path: Path) -> None:
    with pytest.raises(Unauthorized):
        ask(connect(str(with_user(cluster, tmp_path, {"token": "wrong"}))))
    with pytest.raises(CredentialsError, match="none: the token cannot be read"):
        ask(connect(str(with_user(cluster, tmp_path, {"tokenFile": "none"}))))


def test_a_server_that_nobody_vouches_for_hears_nothing_from_us(cluster: ControlPlane) -> None:
    async def main() -> None:
        stranger = Authority.create("stranger", datetime.datetime.now(datetime.UTC)).certificate
        connection = msgspec.structs.replace(connect(str(cluster.kubeconfig)), ca=stranger)
        async with client_with(connection) as client:
            with pytest.raises(Untrusted, match=r"certificate verify failed.*check certificate-authority") as raised:
                await whoami(client)
            assert client.statistics().retries == 0
            assert raised.value.may_have_acted is False
        without_check = msgspec.structs.replace(connection, insecure=True, ca=b"")
        async with client_with(without_check) as client:
            assert await whoami(client) == "admin"

    asyncio.run(main())


def test_the_name_in_the_certificate_is_checked(cluster: ControlPlane) -> None:
    connection = connect(str(cluster.kubeconfig))
    assert ask(msgspec.structs.replace(connection, server_name="kubernetes.default.svc")) == "admin"
    with pytest.raises(Untrusted, match="certificate verify failed"):
        ask(msgspec.structs.replace(connection, server_name="elsewhere.example"))


def test_connections_are_replaced_when_they_are_old(cluster: ControlPlane, tmp_path: Path) -> None:
    async def main() -> None:
        time = [0.0]
        async with client_for(cluster, now=lambda: time[0], max_connection_age=100.0) as client:
            pool = client._transport._pool
            sessions = []
            for moment in (0.0, 79.0, 101.0, 102.0, 202.0):
                time[0] = moment
                await whoami(client)
                sessions.append(pool._current)
            assert sessions[0] is sessions[1]
            assert sessions[2] is sessions[3]
            assert len({id(session) for session in sessions}) == 3
            assert [session.closed for session in sessions if session is not None] == [True, True, True, True, False]

    asyncio.run(main())

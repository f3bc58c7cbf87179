"""Exec plugins: little scripts that count how often they run."""

import asyncio
import base64
import datetime
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from grove.kube.credentials import Identity
from grove.kube.errors import ConnectionConfigError, CredentialsError
from grove.kube.execplugin import ExecPlugin
from grove.kube.kubeconfig import connect
from grove.kube.tls import make_context
from tests.unit.kube.kubeconfigs import CA, Clock, client_certificate, content, encoded, write

V1 = "client.authentication.k8s.io/v1"
BETA = "client.authentication.k8s.io/v1beta1"


def script(folder: Path, body: str) -> Path:
    path = write(folder / "plugin", f"#!/bin/sh\necho run >> {folder}/runs\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def credential(status: dict[str, Any], version: str = V1) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def printing(folder: Path, status: dict[str, Any], version: str = V1) -> Path:
    write(folder / "output", credential(status, version))
    return script(folder, f"cat {folder}/output")


def runs(folder: Path) -> int:
    path = folder / "runs"
    return len(path.read_text().split()) if path.exists() else 0


def user(command: Path | str, version: str = V1, **more: Any) -> dict[str, Any]:
    mode = {"interactiveMode": "Never"} if version == V1 else {}
    return {"exec": {"apiVersion": version, "command": str(command), **mode, **more}}


def plugin(folder: Path, entry: dict[str, Any], clock: Clock | None = None, **cluster: Any) -> ExecPlugin:
    path = write(folder / "config", content(user=entry, cluster=cluster))
    environment = {"PATH": "/usr/bin:/bin", "FROM_US": "yes"}
    found = connect(str(path), environment=environment, wall_clock=clock or Clock()).credentials
    assert isinstance(found, ExecPlugin)
    return found


def ask(credentials: ExecPlugin) -> Identity:
    return asyncio.run(credentials.identity())


@pytest.mark.parametrize("version", [V1, BETA])
def test_a_token_is_asked_for_once(tmp_path: Path, version: str) -> None:
    credentials = plugin(tmp_path, user(printing(tmp_path, {"token": "t"}, version), version))
    assert (ask(credentials).token, ask(credentials).token, runs(tmp_path)) == ("t", "t", 1)


def test_many_who_wait_are_served_by_one_run(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, user(printing(tmp_path, {"token": "t"})))

    async def main() -> list[Identity]:
        return await asyncio.gather(*(credentials.identity() for _ in range(20)))

    assert {one.token for one in asyncio.run(main())} == {"t"}
    assert runs(tmp_path) == 1


def test_what_expires_is_asked_for_again_a_little_before(tmp_path: Path) -> None:
    clock = Clock(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp())
    status = {"token": "t", "expirationTimestamp": "2026-01-01T01:00:00Z"}
    credentials = plugin(tmp_path, user(printing(tmp_path, status)), clock)
    ask(credentials)
    clock.time += 3589
    ask(credentials)
    assert runs(tmp_path) == 1
    clock.time += 1
    ask(credentials)
    assert runs(tmp_path) == 2


def test_what_is_refused_is_asked_for_again(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, user(printing(tmp_path, {"token": "t"})))
    old = ask(credentials)
    assert credentials.refused(old)
    new = ask(credentials)
    assert runs(tmp_path) == 2
    assert credentials.refused(old)  # of another request that was on its way
    assert ask(credentials) is new
    assert runs(tmp_path) == 2


def test_a_certificate_with_its_key(tmp_path: Path) -> None:
    pair = client_certificate()
    status = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    path = write(tmp_path / "config", content(user=user(printing(tmp_path, status))))
    connection = connect(str(path), environment={"PATH": "/usr/bin:/bin"})
    shown = asyncio.run(connection.credentials.identity())
    assert shown.certificate is not None
    make_context(connection, shown.certificate)


def test_arguments_and_environment_are_passed(tmp_path: Path) -> None:
    answer = credential({"token": "$1-$2-$OWN-$FROM_US"}).replace('"', '\\"')
    entry = user(script(tmp_path, f'echo "{answer}"'), args=["a", "b"], env=[{"name": "OWN", "value": "own"}])
    assert ask(plugin(tmp_path, entry)).token == "a-b-own-yes"


def test_the_plugin_is_told_of_the_cluster_if_it_wants_to_be(tmp_path: Path) -> None:
    path = printing(tmp_path, {"token": "t"})
    path.write_text(path.read_text() + f'printf %s "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\n')
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]
    cluster: dict[str, Any] = {
        "certificate-authority-data": encoded(CA),
        "tls-server-name": "api",
        "extensions": extensions,
    }
    for wanted in (True, False):
        ask(plugin(tmp_path, user(path, provideClusterInfo=wanted), **cluster))
        info = json.loads((tmp_path / "info").read_text())
        assert (info["apiVersion"], info["kind"], info["spec"]["interactive"]) == (V1, "ExecCredential", False)
        assert info["spec"].get("cluster") == (
            {
                "server": "https://one.example:6443",
                "tls-server-name": "api",
                "certificate-authority-data": base64.b64encode(CA).decode(),
                "config": {"audience": "x"},
            }
            if wanted
            else None
        )


def test_a_command_without_a_slash_is_found_on_path_and_one_with_it_beside_the_kubeconfig(tmp_path: Path) -> None:
    printing(tmp_path / "bin", {"token": "t"})
    entry = user("plugin")
    path = write(tmp_path / "config", content(user=entry))
    on_path = connect(str(path), environment={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}).credentials
    assert asyncio.run(on_path.identity()).token == "t"
    assert ask(plugin(tmp_path, user("bin/plugin"))).token == "t"


def test_a_token_counts_before_a_plugin(tmp_path: Path) -> None:
    path = write(tmp_path / "config", content(user={"token": "t", **user("nothing")}))
    assert asyncio.run(connect(str(path), environment={}).credentials.identity()).token == "t"


FAILING = {
    "exit": ("echo 'log in first' >&2; exit 3", "ended with code 3: log in first"),
    "garbage": ("echo geheim", "printed no ExecCredential"),
    "kind": ('echo \'{"kind":"Pod","token":"geheim"}\'', "printed Pod of no version, not ExecCredential"),
    "other version": (f"echo '{credential({'token': 'geheim'}, BETA)}'", f"of {BETA}, not ExecCredential of {V1}"),
    "nothing": (f"echo '{credential({})}'", "gave neither a token nor a client certificate"),
    "half": (f"echo '{credential({'clientKeyData': 'geheim'})}'", "a key without its certificate"),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_plugin_that_fails_says_how_and_tells_no_secret(tmp_path: Path, case: str) -> None:
    body, why = FAILING[case]
    with pytest.raises(CredentialsError, match=why) as raised:
        ask(plugin(tmp_path, user(script(tmp_path, body), installHint="see the manual")))
    assert str(raised.value).startswith(f"{tmp_path / 'config'}: user one: exec plugin")
    assert ("see the manual" in str(raised.value)) == (case == "exit")
    assert "geheim" not in str(raised.value)


def test_a_plugin_that_is_not_there_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="`no-such` is not installed\nget it from the vendor"):
        ask(plugin(tmp_path, user("no-such", installHint="get it from the vendor\n")))


def test_a_plugin_that_wants_a_terminal_is_not_run_without_one(tmp_path: Path) -> None:
    entry = user(printing(tmp_path, {"token": "t"}))
    entry["exec"]["interactiveMode"] = "Always"
    credentials = plugin(tmp_path, entry)
    credentials._terminal = lambda: False
    with pytest.raises(CredentialsError, match="there is no terminal"):
        ask(credentials)
    assert runs(tmp_path) == 0


def test_a_plugin_that_does_not_end_is_ended(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, user(script(tmp_path, f"echo $$ > {tmp_path}/pid; exec cat {tmp_path}/pipe")))
    credentials._timeout = 0.05
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CredentialsError, match=r"has not ended within 0\.05 s"):
        ask(credentials)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1' is not supported"),
        ({"apiVersion": None}, "None is not supported"),
        ({"interactiveMode": None}, "must be Never, IfAvailable or Always .* demands it"),
        ({"interactiveMode": "Sometimes"}, "'Sometimes' must be"),
        ({"command": ""}, "name the program"),
    ],
)
def test_a_plugin_that_is_described_wrongly_is_refused(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    entry = user("x")
    entry["exec"] |= changes
    with pytest.raises(ConnectionConfigError, match=why):
        plugin(tmp_path, entry)

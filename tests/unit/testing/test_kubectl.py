import json
from pathlib import Path

import pytest

from grove.testing.kubeconfig import token_user, write_kubeconfig
from grove.testing.kubectl import Kubectl, KubectlError


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return write_kubeconfig(tmp_path / "kubeconfig", url="https://127.0.0.1:1", ca=b"pem", user=token_user("secret"))


def fake(tmp_path: Path, script: str) -> Path:
    path = tmp_path / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_namespace_is_in_the_kubeconfig_and_only_the_owner_may_read_it(tmp_path: Path, kubeconfig: Path) -> None:
    kubectl = Kubectl(fake(tmp_path, 'cat "$KUBECONFIG"'), kubeconfig, "mine")
    content = kubectl.run().json()
    assert [context["context"]["namespace"] for context in content["contexts"]] == ["mine"]
    assert content["users"] == json.loads(kubeconfig.read_text())["users"]
    assert Path(kubectl.environment()["KUBECONFIG"]).stat().st_mode & 0o077 == 0


def test_the_settings_of_the_user_are_not_seen(
    tmp_path: Path, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("KUBERC", "/home/someone/kuberc")
    seen = Kubectl(fake(tmp_path, "env"), kubeconfig).run().stdout
    assert "/home/someone" not in seen


def test_a_failure_is_raised_with_what_was_said_unless_it_is_expected(tmp_path: Path, kubeconfig: Path) -> None:
    kubectl = Kubectl(fake(tmp_path, "echo no such thing >&2; exit 7"), kubeconfig)
    with pytest.raises(KubectlError, match=r"`kubectl get 'a b'` returned 7\nno such thing"):
        kubectl.run("get", "a b")
    result = kubectl.run("get", check=False)
    assert (result.code, result.stderr) == (7, "no such thing\n")


def test_standard_input_is_what_was_given_and_otherwise_empty(tmp_path: Path, kubeconfig: Path) -> None:
    kubectl = Kubectl(fake(tmp_path, "cat"), kubeconfig)
    assert kubectl.run("apply", "-f", "-", stdin="kind: Pod").stdout == "kind: Pod"
    assert kubectl.run("apply", "-f", "-").stdout == ""

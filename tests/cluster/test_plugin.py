"""The command as a plugin: `kubectl grove …`, found on PATH as kubectl finds plugins."""

import os
import sys
from pathlib import Path

import pytest

from grove.testing.kubectl import Kubectl

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(ROOT)


def test_kubectl_lists_the_plugin(kubectl: Kubectl) -> None:
    assert "kubectl-grove" in kubectl.run("plugin", "list", check=False).stdout


def test_kubectl_grove_validates(kubectl: Kubectl) -> None:
    result = kubectl.run("grove", "validate", "-f", "examples/simple1.yaml")
    assert result.stdout.splitlines()[-1] == "1 accepted, 0 refused, 0 warnings"


def test_a_refusal_reaches_the_caller_of_kubectl(kubectl: Kubectl) -> None:
    result = kubectl.run("grove", "validate", "tools/demo-mistakes.yaml", check=False)
    assert result.code == 1
    assert "minAvailable must not be greater than replicas" in result.stdout


def test_help_names_the_command_as_it_was_called(kubectl: Kubectl) -> None:
    assert kubectl.run("grove", "--help").stdout.startswith("Usage: kubectl grove [OPTIONS] COMMAND [ARGS]...")

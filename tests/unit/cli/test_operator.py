"""`grove operator` without a cluster, and the rights that it asks for."""

import json
from pathlib import Path

import yaml

from tests.unit.cli.conftest import Run


def test_the_version_is_told(run: Run) -> None:
    for option in ("-v", "--version"):
        result = run("operator", option)
        assert result.exit_code == 0
        assert result.stdout.startswith("grove-operator ")


def test_a_wrong_configuration_ends_with_2_and_says_which_field(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text("apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nlogLevel: loud\n")
    result = run("operator", "--config", str(file))
    assert result.exit_code == 2
    assert "logLevel" in result.stderr
    assert run("operator", "--config", str(tmp_path / "none.yaml")).exit_code == 2


def test_without_a_cluster_it_ends_with_4(run: Run, tmp_path: Path) -> None:
    result = run("operator", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 4
    assert "defaults are in force" in result.stdout
    assert "help: name a cluster" in result.stderr


def test_the_rights_are_printed_for_kubectl_and_for_people(run: Run) -> None:
    printed = list(yaml.safe_load_all(run("manifests", "operator-rbac", "-n", "elsewhere").stdout))
    assert [one["kind"] for one in printed][:2] == ["ServiceAccount", "ClusterRole"]
    assert printed[0]["metadata"]["namespace"] == "elsewhere"
    listed = json.loads(run("manifests", "operator-rbac", "-n", "elsewhere", "-o", "json").stdout)
    assert listed["items"] == printed
    table = run("manifests", "operator-rbac", "-o", "table").stdout
    assert "REASON" in table
    assert "podgangs/status" in table

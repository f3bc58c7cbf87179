"""`grove scheduler` without a cluster, and the rights that it asks for."""

from pathlib import Path

import yaml

from tests.unit.cli.conftest import Run


def test_the_version_is_told(run: Run) -> None:
    result = run("scheduler", "--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("grove-scheduler ")


def test_wrong_options_end_with_1(run: Run) -> None:
    assert run("scheduler", "--nonsense").exit_code == 1


def test_a_wrong_configuration_ends_with_2_and_says_which_field(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text("apiVersion: scheduler.config.grove.io/v1alpha1\nkind: SchedulerConfiguration\nlogLevel: loud\n")
    result = run("scheduler", "--config", str(file))
    assert result.exit_code == 2
    assert "logLevel" in result.stderr
    file.write_text("apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n")
    result = run("scheduler", "--config", str(file))
    assert result.exit_code == 2
    assert "holds no SchedulerConfiguration" in result.stderr


def test_without_a_cluster_it_ends_with_4(run: Run, tmp_path: Path) -> None:
    result = run("scheduler", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 4
    assert "defaults are in force" in result.stdout
    assert "help: name a cluster" in result.stderr


def test_the_rights_are_printed_for_kubectl_and_for_people(run: Run) -> None:
    printed = list(yaml.safe_load_all(run("manifests", "scheduler-rbac", "-n", "elsewhere").stdout))
    assert {one["metadata"]["name"] for one in printed} == {
        "grove-scheduler",
        "grove:system:grove-scheduler",
        "grove:system:grove-scheduler-lease",
    }
    assert "pods/binding" in run("manifests", "scheduler-rbac", "-o", "table").stdout


def test_the_service_of_the_metrics_is_printed(run: Run) -> None:
    service = yaml.safe_load(run("manifests", "scheduler-metrics", "-n", "elsewhere").stdout)
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == ("grove-scheduler-metrics", "elsewhere")
    assert service["spec"]["ports"] == [{"name": "metrics", "port": 8080, "targetPort": "metrics"}]

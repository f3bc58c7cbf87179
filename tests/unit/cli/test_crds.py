import json

import yaml

from grove.api import crds
from tests.unit.cli.conftest import Run


def test_all_crds_are_printed_as_yaml_documents(run: Run) -> None:
    assert list(yaml.safe_load_all(run("crds").stdout)) == crds.all_crds()


def test_some_crds_are_printed_as_a_json_list(run: Run) -> None:
    data = json.loads(run("crds", "pcs", "podgangs.scheduler.grove.io", "-o", "json").stdout)
    assert [one["metadata"]["name"] for one in data["items"]] == [
        "podcliquesets.grove.io",
        "podgangs.scheduler.grove.io",
    ]


def test_a_table_lists_the_names(run: Run) -> None:
    lines = run("crds", "-o", "table").stdout.splitlines()
    assert lines[0].split() == ["KIND", "APIVERSION", "SHORT", "SCOPE", "NAME"]
    assert lines[1].split() == ["PodCliqueSet", "grove.io/v1alpha1", "pcs", "Namespaced", "podcliquesets.grove.io"]


def test_an_unknown_kind_is_an_error(run: Run) -> None:
    result = run("crds", "nope")
    assert result.exit_code == 2
    assert "podcliquesets.grove.io" in result.stderr


def test_words_are_kinds_unless_they_are_commands(run: Run) -> None:
    assert run("crds", "print", "pcs").stdout == run("crds", "pcs").stdout
    assert "apply  Put the definitions into a cluster." in run("crds", "--help").stdout


def test_without_a_cluster_it_says_where_it_looked(run: Run) -> None:
    result = run("crds", "apply", "--kubeconfig", "/nowhere/config")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: no kubeconfig: /nowhere/config is not there" in result.stderr


def test_a_wait_needs_time(run: Run) -> None:
    assert run("crds", "apply", "--timeout", "0").exit_code == 2

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Run

GOOD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: good
spec:
  replicas: 2
  template:
    cliques:
    - name: worker
      spec:
        replicas: 3
        podSpec:
          containers:
          - name: worker
            image: worker:v1
"""
BAD = GOOD.replace("name: good", "name: bad").replace(
    "        replicas: 3\n", "        replicas: 3\n        minAvailable: 4\n"
)


def test_an_accepted_object_says_what_it_becomes(run: Run) -> None:
    result = run("validate", "-f", "-", stdin=GOOD)
    assert result.exit_code == 0
    assert result.stdout == (
        "<stdin>:1: podcliqueset/good accepted  6 pods in 2 gangs\n1 accepted, 0 refused, 0 warnings\n"
    )


def test_a_refused_object_names_line_field_value_reason_and_remedy(run: Run) -> None:
    result = run("validate", "-f", "-", stdin=BAD)
    assert result.exit_code == 1
    assert result.stdout == (
        "<stdin>:1: podcliqueset/bad refused\n"
        "  <stdin>:12:9: error: spec.template.cliques[0].spec.minAvailable: Invalid value: 4: "
        "minAvailable must not be greater than replicas\n"
        "    help: lower minAvailable to 3, or raise replicas to 4\n"
        "0 accepted, 1 refused, 0 warnings\n"
    )


def test_every_example_is_accepted(run: Run) -> None:
    result = run("validate", "examples")
    assert result.exit_code == 0
    assert " 0 refused" in result.stdout


def test_github_annotations_stand_on_the_line(run: Run) -> None:
    result = run("validate", "-f", "-", "-o", "github", stdin=BAD)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        "::error file=<stdin>,line=12,col=9,title=podcliqueset/bad::spec.template.cliques[0].spec.minAvailable: "
        "Invalid value: 4: minAvailable must not be greater than replicas; "
        "lower minAvailable to 3, or raise replicas to 4"
    )


def test_json_has_every_part_of_a_problem(run: Run) -> None:
    data = json.loads(run("validate", "-f", "-", "-o", "json", stdin=f"{GOOD}---\n{BAD}").stdout)
    assert [one["verdict"] for one in data["objects"]] == ["accepted", "refused"]
    (error,) = data["objects"][1]["errors"]
    assert error == {
        "line": 28,
        "column": 9,
        "path": "spec.template.cliques[0].spec.minAvailable",
        "reason": "FieldValueInvalid",
        "message": "spec.template.cliques[0].spec.minAvailable: Invalid value: 4: "
        "minAvailable must not be greater than replicas",
        "remedy": "lower minAvailable to 3, or raise replicas to 4",
    }


def test_yaml_says_the_same_as_json(run: Run) -> None:
    as_yaml = yaml.safe_load(run("validate", "-f", "-", "-o", "yaml", stdin=BAD).stdout)
    assert as_yaml == json.loads(run("validate", "-f", "-", "-o", "json", stdin=BAD).stdout)


def test_objects_of_other_kinds_are_counted_and_passed_over(run: Run) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    result = run("validate", "-f", "-", stdin=f"{other}---\n{GOOD}")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "1 accepted, 0 refused, 0 warnings, 1 object of other kinds passed over"


def test_a_change_is_judged_against_the_stored_object(run: Run, tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(GOOD)
    changed = GOOD.replace("name: worker\n      spec", "name: other\n      spec")
    result = run("validate", "-f", "-", "--old", str(old), stdin=changed)
    assert result.exit_code == 1
    assert "not allowed to change clique composition, new clique name 'other' is not allowed" in result.stdout


def test_an_object_of_another_name_is_no_change(run: Run, tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(GOOD)
    changed = GOOD.replace("name: worker\n      spec", "name: other\n      spec").replace("name: good", "name: new")
    assert run("validate", "-f", "-", "--old", str(old), stdin=changed).exit_code == 0


def test_strict_mode_refuses_what_lenient_mode_puts_right(run: Run) -> None:
    assert run("validate", "examples/distributed-training-complete.yaml").exit_code == 0
    result = run("validate", "--mode", "strict", "examples/distributed-training-complete.yaml")
    assert result.exit_code == 1
    assert "combined resource name length 59 exceeds 45-character limit" in result.stdout


def test_the_configuration_decides_the_mode_and_the_schedulers(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "operator.yaml"
    config.write_text(
        "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"
        "scheduler: {profiles: [{name: default-scheduler}]}\n"
    )
    named = GOOD.replace("          containers:", "          schedulerName: grove-scheduler\n          containers:")
    assert run("validate", "-f", "-", stdin=named).exit_code == 0
    result = run("validate", "-f", "-", "--config", str(config), stdin=named)
    assert result.exit_code == 1
    assert "schedulerName must be an enabled scheduler backend" in result.stdout


def test_a_broken_configuration_is_an_error_of_usage(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "operator.yaml"
    config.write_text("apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nlogLevel: loud\n")
    result = run("validate", "-f", "-", "--config", str(config), stdin=GOOD)
    assert result.exit_code == 2
    assert "logLevel: Unsupported value" in result.stderr


def test_a_file_without_configuration_is_an_error_of_usage(run: Run) -> None:
    result = run("validate", "-f", "-", "--config", "examples/simple1.yaml", stdin=GOOD)
    assert result.exit_code == 2
    assert "holds no OperatorConfiguration" in result.stderr


def test_broken_yaml_is_refused_with_its_place(run: Run) -> None:
    result = run("validate", "-f", "-", stdin="kind: [\n")
    assert result.exit_code == 1
    assert "<stdin>:2:1: error:" in result.stdout


def test_a_missing_file_is_an_error_of_usage_with_a_next_step(run: Run) -> None:
    result = run("validate", "-f", "nowhere.yaml")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: cannot read nowhere.yaml: no such file or directory\n"
        "help: check the path, or pass - to read standard input\n"
    )


def test_without_files_it_says_what_to_name(run: Run) -> None:
    result = run("validate")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no files given\nhelp: ")


@pytest.mark.parametrize(("color", "colored"), [("always", True), ("never", False), ("auto", False)])
def test_colour_is_for_terminals_and_on_request(run: Run, color: str, colored: bool) -> None:
    result = run("validate", "-f", "-", "--color", color, stdin=GOOD)
    assert ("\x1b[" in result.stdout) == colored

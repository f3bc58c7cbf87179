"""The table of `tests/manifests`, judged by the rules and by the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from grove.api import admission
from grove.cli.main import grove
from tests.manifests.cases import BASES, FOLDER, Case, cases, steps

EACH = pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases()])


@EACH
def test_the_rules_give_the_verdict_of_the_table(case: Case) -> None:
    verdict = admission.review(case.manifest, case.policy, case.old)
    assert {(str(error.path), str(error.reason)) for error in verdict.errors} == {
        (expected.path, expected.cause) for expected in case.errors
    }
    assert sorted(str(warning.path) for warning in verdict.warnings) == sorted(case.warnings)
    for expected in case.errors:
        assert [error for error in verdict.errors if str(error.path) == expected.path and expected.detail in str(error)]
    assert all(error.remedy for error in verdict.errors)
    assert verdict.allowed is case.accepted


@EACH
def test_the_command_gives_the_same_verdict_with_the_line_of_the_field(case: Case, tmp_path: Path) -> None:
    manifest = _write(tmp_path / "manifest.yaml", case.manifest)
    arguments = ["validate", "-o", "json", "--mode", case.mode, str(manifest)]
    arguments += ["--config", str(_write(tmp_path / "configuration.yaml", case.configuration))]
    if case.bindings:
        arguments.append(str(_write(tmp_path / "topologies.yaml", *case.bindings)))
    if case.old is not None:
        arguments += ["--old", str(_write(tmp_path / "old.yaml", case.old))]
    result = CliRunner().invoke(grove, arguments, catch_exceptions=False)
    assert result.exit_code == (0 if case.accepted else 1), result.output
    found = json.loads(result.stdout)["objects"][0]
    assert found["verdict"] in (("accepted", "skipped") if case.accepted else ("refused",))
    assert {(error["path"], error["reason"]) for error in found["errors"]} == {
        (expected.path, expected.cause) for expected in case.errors
    }
    document = yaml.compose(manifest.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert document is not None
    for said in (*found["errors"], *found["warnings"]):
        assert said["line"] == _line(document, steps(said["path"])), said


def _write(path: Path, *documents: object) -> Path:
    path.write_text(yaml.safe_dump_all(documents, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def _line(node: yaml.Node, path: Sequence[str | int]) -> int:
    """The line of the field, or of the innermost thing around it that is there."""
    line: int = node.start_mark.line + 1
    for step in path:
        if isinstance(node, yaml.MappingNode):
            keys: dict[Any, tuple[yaml.Node, yaml.Node]] = {key.value: (key, value) for key, value in node.value}
            if step not in keys:
                break
            key, node = keys[step]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            break
    return line


def test_the_command_says_the_same_when_it_is_run_on_its_own(tmp_path: Path) -> None:
    plain = [
        case
        for case in cases()
        if case.mode == "lenient" and case.old is None and case.topologies is None and not case.is_configured
    ]
    for number, case in enumerate(plain):
        _write(tmp_path / f"{number:03}.yaml", case.manifest)
    command = [sys.executable, "-m", "grove.cli.main", "validate", "-o", "json", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 1, done.stderr
    verdicts = {Path(one["file"]).stem: one["verdict"] != "refused" for one in json.loads(done.stdout)["objects"]}
    # Bindings among the files are topologies to constraints: their cases have their own run above.
    about_topology = {f"{number:03}" for number, case in enumerate(plain) if case.file == "topology"}
    wanted = {f"{number:03}": case.accepted for number, case in enumerate(plain)}
    assert {name: one for name, one in verdicts.items() if name not in about_topology} == {
        name: one for name, one in wanted.items() if name not in about_topology
    }


def test_titles_are_unique() -> None:
    assert {title for title, count in Counter(case.title for case in cases()).items() if count > 1} == set()


def test_every_base_is_accepted_without_a_warning() -> None:
    for name, manifest in yaml.safe_load((FOLDER / f"{BASES}.yaml").read_text(encoding="utf-8")).items():
        verdict = admission.review(manifest, cases()[0].policy)
        assert (name, verdict.errors, verdict.warnings) == (name, (), ())


def test_no_case_changes_what_it_judges() -> None:
    for case in cases():
        before = json.dumps(case.manifest)
        admission.review(case.manifest, case.policy, case.old)
        assert json.dumps(case.manifest) == before

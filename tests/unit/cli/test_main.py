import json
import os
import subprocess
import sys

import click
import pytest

from grove import __version__
from grove.cli import main
from tests.unit.cli.conftest import ROOT, Run


def test_the_version_is_printed(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"grove {__version__}\n")


def test_the_help_lists_every_verb_and_the_exit_codes(run: Run) -> None:
    text = run("--help").stdout
    for verb, line in main.VERBS.items():
        assert f"{verb} " in text
        assert line in text
    assert "Exit codes:" in text


@pytest.mark.parametrize("verb", main.VERBS)
def test_every_verb_has_help(run: Run, verb: str) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert main.VERBS[verb] in result.stdout


def test_an_unknown_verb_gets_a_suggestion(run: Run) -> None:
    result = run("valdate")
    assert result.exit_code == 2
    assert result.stderr == "error: there is no command valdate\nhelp: did you mean grove validate?\n"


def test_a_verb_like_no_other_is_sent_to_the_help(run: Run) -> None:
    assert run("xyzzy").stderr == "error: there is no command xyzzy\nhelp: see grove --help\n"


def test_starting_imports_nothing_that_it_does_not_need() -> None:
    """The start must be fast: no YAML, no schemas, no kinds for `--version`."""
    code = (
        "import sys\nfrom grove.cli.main import grove\n"
        "try:\n    grove.main(['--version'], standalone_mode=False)\nfinally:\n"
        "    import json\n    print(json.dumps(sorted(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    loaded = set(json.loads(output.splitlines()[-1]))
    assert not loaded & {"yaml", "msgspec", "rich", "grove.api", "grove.testing", "asyncio"}


def test_as_kubectl_grove_it_names_itself_as_kubectl_calls_it() -> None:
    code = "import sys; sys.argv = ['/usr/bin/kubectl-grove', 'xyzzy']; from grove.cli.main import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "see kubectl grove --help" in result.stderr


def test_wrong_usage_is_an_error_with_a_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["grove", "crds", "--nope"])
    with pytest.raises(SystemExit) as stopped:
        main.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "error: no such option '--nope'\nhelp: see grove crds print --help\n"


def test_an_interrupt_exits_as_shells_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise click.Abort

    monkeypatch.setattr(main.grove, "main", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main.main()
    assert stopped.value.code == 130


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m grove.cli.main crds | head -1"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=environment)
    assert result.stdout == "apiVersion: apiextensions.k8s.io/v1\n"
    assert result.stderr == ""
    assert ROOT.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_the_command(run: Run, shell: str) -> None:
    assert "_GROVE_COMPLETE" in run("completion", shell).stdout


def test_completion_offers_verbs() -> None:
    environment = {**os.environ, "_GROVE_COMPLETE": "bash_complete", "COMP_WORDS": "grove va", "COMP_CWORD": "1"}
    code = "from grove.cli.main import grove; grove.main(prog_name='grove')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "validate" in result.stdout

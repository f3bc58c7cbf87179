"""Running the command inside the test's process, as from a shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grove.cli.main import grove

ROOT = Path(__file__).parents[3]

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `grove` with arguments, in the root of the repository."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(grove, list(arguments), input=stdin, prog_name="grove", catch_exceptions=False)

    return invoke

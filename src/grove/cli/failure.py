"""How the command fails: on standard error, with what, where and the next step; and with which exit code."""

from __future__ import annotations

from typing import IO, Any, Final

import click

OK: Final = 0
REFUSED: Final = 1
"""The command did its work and the answer is no: an object was refused."""
USAGE: Final = 2
"""The command could not do its work as it was called: unknown options, files that can't be read."""


class Failure(click.ClickException):
    """An error for the user: what went wrong, and what to do next."""

    exit_code = USAGE

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {self.message}", err=True, file=file)
        click.echo(f"help: {self.help}", err=True, file=file)


class Refusal(Failure):
    """The answer is no: an API server or a rule refused what was to be done."""

    exit_code = REFUSED

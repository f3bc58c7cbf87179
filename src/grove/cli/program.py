"""What the commands that run Grove's programs have in common: their options, their codes, how they begin and end."""

from __future__ import annotations

import asyncio
import logging
import platform
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import click

from grove import __version__
from grove.api.errors import FieldWarning
from grove.api.kinds.processconfig import LogFormat, LogLevel
from grove.cli.failure import Failure
from grove.kube import kubeconfig as kubeconfigs
from grove.kube.connection import Connection
from grove.kube.errors import ConnectionConfigError
from grove.runtime import logs

log = logging.getLogger(__name__)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _WrongOptions(click.UsageError):
    exit_code = 1


class Program(click.Command):
    """A command that ends with 1 when it is called wrongly: 2 says that the configuration is wrong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _WrongOptions(error.format_message(), ctx) from error


def reaching(kind: str) -> Callable[[Decorated], Decorated]:
    """The options that every program has: its configuration, of this kind, and the cluster."""

    def decorate(command: Decorated) -> Decorated:
        for option in (
            click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig."),
            click.option(
                "--kubeconfig",
                metavar="FILE",
                default="",
                help="How to reach the cluster; without it, $KUBECONFIG, ~/.kube/config or our own pod's account.",
            ),
            click.option(
                "--config", metavar="FILE", default="", help=f"The {kind}; without it, the defaults of all settings."
            ),
        ):
            command = option(command)
        return command

    return decorate


def versioned(name: str) -> Callable[[Decorated], Decorated]:
    """The option that prints the program's version."""

    def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(f"{name} {__version__} python {platform.python_version()} {sys.platform}/{platform.machine()}")
            ctx.exit()

    return click.option(
        "-v",
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_version,
        help="Print the version.",
    )


def begin_logging(file: str, warnings: list[FieldWarning], *, form: LogFormat, level: LogLevel) -> None:
    """Says what of the configuration is passed over."""
    logs.configure(sys.stdout, form=form, level=level)
    for warning in warnings:
        log.info("configuration passed over", extra={"file": file, "problem": str(warning)})
    if not file:
        log.info("no configuration given: defaults are in force")


def connected(kubeconfig: str, context: str) -> Connection:
    """The way to the cluster. Raises CannotRun."""
    from grove.runtime.exits import CannotRun, Exit

    try:
        return kubeconfigs.connect(kubeconfig, context=context)
    except ConnectionConfigError as error:
        raise CannotRun(
            Exit.PREPARATION, str(error), "name a cluster with --kubeconfig, --context or $KUBECONFIG"
        ) from error


SERVER_HELP: Final = "check that the cluster runs, and which one is meant: --kubeconfig, --context"


def client_connection(kubeconfig: str, context: str) -> Connection:
    """The way to the cluster, for a command that ends. Raises Failure."""
    try:
        return kubeconfigs.connect(kubeconfig, context=context)
    except ConnectionConfigError as error:
        raise Failure(str(error), SERVER_HELP) from error


def run(ctx: click.Context, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs what `work` makes to its end; what keeps it from that is told, and the command ends with its code."""
    from grove.runtime.exits import CannotRun

    try:
        asyncio.run(work())
    except CannotRun as error:
        Failure(str(error), error.remedy).show()
        ctx.exit(error.code)

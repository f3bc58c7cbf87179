"""`grove operator`: the operator, on any cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import random
import sys
from typing import Final

import click

from grove import __version__
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.cli import configuration as configurations
from grove.cli.failure import Failure
from grove.kube import kubeconfig as kubeconfigs
from grove.kube.connection import SERVICE_ACCOUNT
from grove.kube.errors import ConnectionConfigError
from grove.runtime import logs
from grove.runtime.clock import SystemClock

log = logging.getLogger(__name__)

_SERVICE: Final = "service"
_NONE: Final = "none"


class _WrongOptions(click.UsageError):
    exit_code = 1


class _Operator(click.Command):
    """A command that ends with 1 when it is called wrongly: 2 says that the configuration is wrong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _WrongOptions(error.format_message(), ctx) from error


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(
            f"grove-operator {__version__} python {platform.python_version()} {sys.platform}/{platform.machine()}"
        )
        ctx.exit()


@click.command(cls=_Operator)
@click.option(
    "--config", metavar="FILE", default="", help="The OperatorConfiguration; without it, the defaults of all settings."
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    default="",
    help="How to reach the cluster; without it, $KUBECONFIG, ~/.kube/config or our own pod's account.",
)
@click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig.")
@click.option(
    "--webhooks",
    metavar="HOW",
    default="",
    help="How the API server reaches the webhooks: `service`, by the Service grove-operator of our namespace; a name "
    "or address of this machine; `none`: there are none. Without it: `service` in a pod, `none` elsewhere.",
)
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def command(ctx: click.Context, config: str, kubeconfig: str, context: str, webhooks: str) -> None:
    """Run the operator: PodCliqueSets become pods.

    Runs in the foreground and ends in order on SIGTERM and Ctrl-C. Logs go to standard output as the configuration
    says, a fatal error to standard error.

    \b
    Examples:
      grove operator --config config.yaml
      grove operator --kubeconfig kind.yaml --webhooks none

    \b
    Exit codes:
      0    ended by SIGTERM or Ctrl-C
      1    wrong options
      2    the configuration cannot be read or is wrong
      4    the cluster cannot be reached or used, or a port is taken
      5    a scheduler backend that is not supported
      6    something failed while it ran, or the lease was lost
      7    multi-node NVLink is asked for, and not supported
    """
    from grove.runtime.exits import CannotRun

    settings, warnings = configurations.read_with_warnings(config) if config else (OperatorConfiguration(), [])
    logs.configure(sys.stdout, form=settings.log_format, level=settings.log_level)
    for warning in warnings:
        log.info("configuration passed over", extra={"file": config, "problem": str(warning)})
    if not config:
        log.info("no configuration given: defaults are in force")
    try:
        _operate(settings, kubeconfig, context, webhooks)
    except CannotRun as error:
        Failure(str(error), error.remedy).show()
        ctx.exit(error.code)


def _operate(settings: OperatorConfiguration, kubeconfig: str, context: str, webhooks: str) -> None:
    from grove.operator import process
    from grove.runtime.exits import CannotRun, Exit

    try:
        connection = kubeconfigs.connect(kubeconfig, context=context)
    except ConnectionConfigError as error:
        raise CannotRun(
            Exit.PREPARATION, str(error), "name a cluster with --kubeconfig, --context or $KUBECONFIG"
        ) from error
    how = webhooks or (_SERVICE if SERVICE_ACCOUNT.is_dir() and not kubeconfig else _NONE)
    if how == _NONE:
        log.info("no webhooks: workloads are neither checked nor completed when they are applied")
    log.info("operator starting", extra={"version": __version__, "server": connection.server, "webhooks": how})
    asyncio.run(
        process.operate(
            connection,
            settings,
            webhooks="" if how == _NONE else how,
            environment=os.environ,
            clock=SystemClock(),
            rng=random.Random(),  # noqa: S311 - jitter, no secret
        )
    )
    log.info("operator ended")

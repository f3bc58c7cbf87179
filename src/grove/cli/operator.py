"""`grove operator`: the operator, on any cluster."""

from __future__ import annotations

import logging
import os
import random
from typing import Final

import click

from grove import __version__
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.cli import configuration as configurations
from grove.cli import program
from grove.kube.connection import SERVICE_ACCOUNT
from grove.runtime.clock import SystemClock

log = logging.getLogger(__name__)

_SERVICE: Final = "service"
_NONE: Final = "none"


@click.command(cls=program.Program)
@program.reaching("OperatorConfiguration")
@click.option(
    "--webhooks",
    metavar="HOW",
    default="",
    help="How the API server reaches the webhooks: `service`, by the Service grove-operator of our namespace; a name "
    "or address of this machine; `none`: there are none. Without it: `service` in a pod, `none` elsewhere.",
)
@program.versioned("grove-operator")
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
    settings, warnings = configurations.read_with_warnings(config) if config else (OperatorConfiguration(), [])
    program.begin_logging(config, warnings, form=settings.log_format, level=settings.log_level)
    program.run(ctx, lambda: _operate(settings, kubeconfig, context, webhooks))


async def _operate(settings: OperatorConfiguration, kubeconfig: str, context: str, webhooks: str) -> None:
    from grove.operator import process

    connection = program.connected(kubeconfig, context)
    is_reached = bool(settings.server.webhooks.url) or (SERVICE_ACCOUNT.is_dir() and not kubeconfig)
    how = webhooks or (_SERVICE if is_reached else _NONE)
    if how == _NONE:
        log.info("no webhooks: workloads are neither checked nor completed when they are applied")
    log.info("operator starting", extra={"version": __version__, "server": connection.server, "webhooks": how})
    await process.operate(
        connection,
        settings,
        webhooks="" if how == _NONE else how,
        environment=os.environ,
        clock=SystemClock(),
        rng=random.Random(),  # noqa: S311 - jitter, no secret
    )
    log.info("operator ended")

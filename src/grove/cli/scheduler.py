"""`grove scheduler`: the scheduler, on any cluster."""

from __future__ import annotations

import logging
import random

import click

from grove import __version__
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.cli import configuration as configurations
from grove.cli import program
from grove.runtime.clock import SystemClock

log = logging.getLogger(__name__)


@click.command(cls=program.Program)
@program.reaching("SchedulerConfiguration")
@program.versioned("grove-scheduler")
@click.pass_context
def command(ctx: click.Context, config: str, kubeconfig: str, context: str) -> None:
    """Run the scheduler: whole gangs get their nodes.

    Places the pods whose `schedulerName` is one of those that the configuration lists, `grove-scheduler` by default,
    and runs beside other schedulers. Runs in the foreground and ends in order on SIGTERM and Ctrl-C. Logs go to
    standard output as the configuration says, a fatal error to standard error.

    \b
    Examples:
      grove scheduler --config config.yaml
      grove scheduler --kubeconfig kind.yaml

    \b
    Exit codes:
      0    ended by SIGTERM or Ctrl-C
      1    wrong options
      2    the configuration cannot be read or is wrong
      4    the cluster cannot be reached or used, or a port is taken
      6    something failed while it ran, or the lease was lost
    """
    settings, warnings = configurations.of_scheduler(config) if config else (SchedulerConfiguration(), [])
    program.begin_logging(config, warnings, form=settings.log_format, level=settings.log_level)
    program.run(ctx, lambda: _schedule(settings, kubeconfig, context))


async def _schedule(settings: SchedulerConfiguration, kubeconfig: str, context: str) -> None:
    from grove.scheduler import process

    connection = program.connected(kubeconfig, context)
    log.info("scheduler starting", extra={"version": __version__, "server": connection.server})
    await process.schedule(
        connection,
        settings,
        clock=SystemClock(),
        rng=random.Random(),  # noqa: S311 - jitter, no secret
    )
    log.info("scheduler ended")

"""`grove initc`: the waiter, as the last init container of a pod runs it."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path

import click

from grove.initc import waiter
from grove.initc.waiter import Ended
from grove.kube.client import Client
from grove.kube.connection import Connection, in_cluster
from grove.runtime import logs
from grove.runtime.clock import SystemClock

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@click.command()
@click.option(
    "-p",
    "--podcliques",
    multiple=True,
    metavar="NAME:COUNT",
    help="A parent PodClique and how many of its pods must be ready; may be repeated.",
)
@click.option(
    "--pod-info",
    default=waiter.POD_INFO,
    show_default=True,
    metavar="DIR",
    help="Where the files namespace and podgangname are.",
)
@click.option("--kubeconfig", metavar="FILE", help="How to reach the API; without it, as the pod's service account.")
@click.pass_context
def command(ctx: click.Context, podcliques: tuple[str, ...], pod_info: str, kubeconfig: str | None) -> None:
    """Wait inside a pod until its parents are ready.

    Grove runs it as the last init container of pods that start after others. It ends when, at the same
    moment, every parent has as many ready pods in the pod's gang as it must have.

    \b
    Example:
      grove initc --podcliques=router-0-frontend:2 --podcliques=router-0-cache:1

    \b
    Exit codes:
      0    all parents are ready, or none was named
      1    wrong input, no way to the API, or told to end by SIGTERM or SIGINT
    """
    logs.configure(sys.stderr, form="json", level="info")
    args = [f"--podcliques={entries.removeprefix('=')}" for entries in podcliques]  # of -p=… click leaves the sign
    ctx.exit(asyncio.run(_main(args, pod_info, kubeconfig)))


async def _main(args: list[str], pod_info: str, kubeconfig: str | None) -> int:
    clock = SystemClock()
    rng = random.Random()  # noqa: S311 - jitter, no secret

    def connect() -> Client:
        return Client(_connection(kubeconfig), user_agent="grove-initc", max_in_flight=1, rng=rng)

    return await until_signalled(
        waiter.run(
            args,
            read=_read,
            connect=connect,
            clock=clock,
            rng=rng,
            log=logging.getLogger("grove.initc"),
            pod_info=pod_info,
        )
    )


async def until_signalled(wait: Awaitable[Ended]) -> int:
    """The exit code of a wait, also of one that a signal ends. A second signal waits for nothing."""
    loop = asyncio.get_running_loop()
    waiting = asyncio.ensure_future(wait)

    def stop(received: signal.Signals) -> None:
        log.info("signal received", extra={"signal": received.name})
        if waiting.cancelling():
            os._exit(waiter.FAILED)
        waiting.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    await asyncio.wait({waiting})
    return waiter.FAILED if waiting.cancelled() else waiting.result().exit_code


def _connection(kubeconfig: str | None) -> Connection:
    if kubeconfig is None:
        return in_cluster()
    from grove.kube.kubeconfig import connect  # reads YAML, which a pod has no need of

    return connect(kubeconfig)


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")

"""`grove crds`: the CustomResourceDefinitions, printed for `kubectl apply -f -` or put into a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from grove.api import crds
from grove.api.kinds import catalog
from grove.cli import output
from grove.cli.failure import Failure, Refusal

if TYPE_CHECKING:
    from grove.kube.connection import Connection

_SERVER_HELP: Final = "check that the cluster runs, and which one is meant: --kubeconfig, --context"


class _Crds(click.Group):
    """A group whose words are kinds unless they are commands: `grove crds pcs` is `grove crds print pcs`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["print", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Crds)
def command() -> None:
    """Print the CustomResourceDefinitions, or put them into a cluster.

    Without a command it prints.

    \b
    Examples:
      grove crds | kubectl apply -f -
      grove crds pcs pclq -o json
      grove crds apply
    """


@command.command("print")
@click.argument("kinds", nargs=-1, metavar="[KIND…]")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("yaml", "json", "table")),
    default="yaml",
    show_default=True,
    help="How to print them; table: their names only.",
)
def print_(kinds: tuple[str, ...], form: str) -> None:
    """Print the definitions of all kinds or of some."""
    wanted = [_kind(word) for word in kinds] or list(catalog.SERVED)
    if form == "table":
        rows = [
            (kind.name, kind.api_version, ",".join(kind.short_names) or "-", kind.scope, kind.crd_name)
            for kind in wanted
        ]
        click.echo(output.as_table(("kind", "apiVersion", "short", "scope", "name"), rows))
    elif form == "json":
        made = [crds.crd(kind) for kind in wanted]
        click.echo(output.as_json({"apiVersion": "v1", "kind": "List", "items": made}))
    else:
        click.echo("\n---\n".join(output.as_yaml(crds.crd(kind)) for kind in wanted))


@command.command(
    short_help="Put the definitions into a cluster.",
    epilog="Exit code 0: they are there. 1: the API server refuses one or does not serve it. 2: wrong options, or the "
    "cluster cannot be reached.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    default="",
    help="How to reach the cluster; without it, $KUBECONFIG, ~/.kube/config or our own pod's account.",
)
@click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until the API server serves the kinds.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="How long to wait for each.",
)
def apply(kubeconfig: str, context: str, wait: bool, timeout: float) -> None:
    """Put the definitions into a cluster, or bring those that are there up to date.

    By server-side apply as grove-crd-installer. Run again it changes nothing.
    """
    import asyncio

    from grove.install.crds import NotEstablished
    from grove.kube import kubeconfig as kubeconfigs
    from grove.kube.errors import ApiError, ConnectionConfigError, KubeError

    try:
        connection = kubeconfigs.connect(kubeconfig, context=context)
        asyncio.run(_apply(connection, timeout if wait else None))
    except ApiError as error:
        help = "check the rights of the user: it must get, watch, create and patch these definitions"
        raise Refusal(str(error), help) from error
    except NotEstablished as error:
        raise Refusal(str(error), error.remedy) from error
    except (ConnectionConfigError, KubeError) as error:
        raise Failure(str(error), _SERVER_HELP) from error


async def _apply(connection: Connection, timeout: float | None) -> None:
    from grove.install import crds as installation
    from grove.kube.client import Client
    from grove.runtime.clock import SystemClock

    async with Client(connection, user_agent="grove-cli", field_manager=installation.FIELD_MANAGER) as client:
        applied = []
        async for one in installation.apply(client):
            applied.append(one)
            click.echo(f"{one.name} {one.outcome}")
        if timeout is not None:
            await installation.wait(client, applied, clock=SystemClock(), timeout=timeout)


def _kind(word: str) -> catalog.Kind:
    kind = catalog.named(word, catalog.SERVED)
    if kind is None:
        known = ", ".join(dict.fromkeys(one.crd_name for one in catalog.SERVED))
        raise Failure(f"there is no kind {word}", f"use one of {known}")
    return kind

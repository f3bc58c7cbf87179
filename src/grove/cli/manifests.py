"""`grove manifests`: what a cluster needs so that Grove can run there, for `kubectl apply -f -`."""

from __future__ import annotations

import click

from grove.cli import output
from grove.install import rbac


@click.group()
def command() -> None:
    """Print what a cluster needs so that Grove can run there."""


@command.command("operator-rbac")
@click.option(
    "-n", "--namespace", metavar="NAME", default="grove-system", show_default=True, help="Where the operator runs."
)
@click.option(
    "--service-account", metavar="NAME", default=rbac.ACCOUNT, show_default=True, help="The operator's account there."
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("yaml", "json", "table")),
    default="yaml",
    show_default=True,
    help="How to print them; table: every right with its reason.",
)
def operator_rbac(namespace: str, service_account: str, form: str) -> None:
    """Print the operator's service account and its rights.

    \b
    Examples:
      grove manifests operator-rbac | kubectl apply -f -
      grove manifests operator-rbac -o table
    """
    found = rbac.manifests(namespace, service_account)
    if form == "table":
        click.echo(output.as_table(("group", "resources", "verbs", "where", "reason"), rbac.rows()))
    elif form == "json":
        click.echo(output.as_json({"apiVersion": "v1", "kind": "List", "items": found}))
    else:
        click.echo("\n---\n".join(map(output.as_yaml, found)))

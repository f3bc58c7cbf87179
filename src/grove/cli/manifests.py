"""`grove manifests`: what a cluster needs so that Grove can run there, for `kubectl apply -f -`."""

from __future__ import annotations

from typing import Final

import click

from grove.cli import output
from grove.install import rbac
from grove.install.rbac import Rights


@click.group()
def command() -> None:
    """Print what a cluster needs so that Grove can run there."""


_NAMESPACE: Final = "grove-system"
_FORMS: Final = click.Choice(("yaml", "json", "table"))
_FORM_HELP: Final = "How to print them; table: every right with its reason."


@command.command("operator-rbac")
@click.option(
    "-n", "--namespace", metavar="NAME", default=_NAMESPACE, show_default=True, help="Where the operator runs."
)
@click.option(
    "--service-account",
    metavar="NAME",
    default=rbac.OPERATOR.account,
    show_default=True,
    help="The operator's account there.",
)
@click.option("-o", "--output", "form", type=_FORMS, default="yaml", show_default=True, help=_FORM_HELP)
def operator_rbac(namespace: str, service_account: str, form: str) -> None:
    """Print the operator's service account and its rights.

    \b
    Examples:
      grove manifests operator-rbac | kubectl apply -f -
      grove manifests operator-rbac -o table
    """
    _print(rbac.OPERATOR, namespace, service_account, form)


@command.command("scheduler-rbac")
@click.option(
    "-n", "--namespace", metavar="NAME", default=_NAMESPACE, show_default=True, help="Where the scheduler runs."
)
@click.option(
    "--service-account",
    metavar="NAME",
    default=rbac.SCHEDULER.account,
    show_default=True,
    help="The scheduler's account there.",
)
@click.option("-o", "--output", "form", type=_FORMS, default="yaml", show_default=True, help=_FORM_HELP)
def scheduler_rbac(namespace: str, service_account: str, form: str) -> None:
    """Print the scheduler's service account and its rights.

    \b
    Examples:
      grove manifests scheduler-rbac | kubectl apply -f -
      grove manifests scheduler-rbac -o table
    """
    _print(rbac.SCHEDULER, namespace, service_account, form)


def _print(rights: Rights, namespace: str, service_account: str, form: str) -> None:
    found = rbac.manifests(namespace, service_account, rights=rights)
    if form == "table":
        click.echo(output.as_table(("group", "resources", "verbs", "where", "reason"), rights.rows()))
    elif form == "json":
        click.echo(output.as_json({"apiVersion": "v1", "kind": "List", "items": found}))
    else:
        click.echo("\n---\n".join(map(output.as_yaml, found)))

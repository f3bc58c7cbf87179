"""`grove manifests`: what a cluster needs so that Grove can run there, for `kubectl apply -f -`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

from grove.cli import output
from grove.install import rbac, services
from grove.install.rbac import Rights


@click.group()
def command() -> None:
    """Print what a cluster needs so that Grove can run there."""


_NAMESPACE: Final = "grove-system"
_FORMS: Final = click.Choice(("yaml", "json", "table"))
_FORM_HELP: Final = "How to print them; table: every right with its reason."


Decorated = TypeVar("Decorated", bound=Callable[..., None])


def _rights(rights: Rights, program: str) -> Callable[[Decorated], Decorated]:
    """The options of a command that prints the rights of a program."""
    options = (
        click.option(
            "-n",
            "--namespace",
            metavar="NAME",
            default=_NAMESPACE,
            show_default=True,
            help=f"Where the {program} runs.",
        ),
        click.option(
            "--service-account",
            metavar="NAME",
            default=rights.account,
            show_default=True,
            help=f"The {program}'s account there.",
        ),
        click.option("-o", "--output", "form", type=_FORMS, default="yaml", show_default=True, help=_FORM_HELP),
    )

    def decorate(function: Decorated) -> Decorated:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@command.command("operator-rbac")
@_rights(rbac.OPERATOR, "operator")
def operator_rbac(namespace: str, service_account: str, form: str) -> None:
    """Print the operator's service account and its rights.

    \b
    Examples:
      grove manifests operator-rbac | kubectl apply -f -
      grove manifests operator-rbac -o table
    """
    _print(rbac.OPERATOR, namespace, service_account, form)


@command.command("scheduler-rbac")
@_rights(rbac.SCHEDULER, "scheduler")
def scheduler_rbac(namespace: str, service_account: str, form: str) -> None:
    """Print the scheduler's service account and its rights.

    \b
    Examples:
      grove manifests scheduler-rbac | kubectl apply -f -
      grove manifests scheduler-rbac -o table
    """
    _print(rbac.SCHEDULER, namespace, service_account, form)


@command.command("scheduler-metrics")
@click.option(
    "-n", "--namespace", metavar="NAME", default=_NAMESPACE, show_default=True, help="Where the scheduler runs."
)
def scheduler_metrics(namespace: str) -> None:
    """Print the Service through which the scheduler's metrics are read.

    It chooses pods with the label app.kubernetes.io/name=grove-scheduler, and their port named `metrics`.

    \b
    Example:
      grove manifests scheduler-metrics | kubectl apply -f -
    """
    click.echo(output.as_yaml(services.scheduler_metrics(namespace)))


def _print(rights: Rights, namespace: str, service_account: str, form: str) -> None:
    found = rbac.manifests(namespace, service_account, rights=rights)
    if form == "table":
        click.echo(output.as_table(("group", "resources", "verbs", "where", "reason"), rights.rows()))
    elif form == "json":
        click.echo(output.as_json({"apiVersion": "v1", "kind": "List", "items": found}))
    else:
        click.echo("\n---\n".join(map(output.as_yaml, found)))

"""`grove crds`: the CustomResourceDefinitions, for `kubectl apply -f -`."""

from __future__ import annotations

import click

from grove.api import crds
from grove.api.kinds import catalog
from grove.cli import output
from grove.cli.failure import Failure


@click.command()
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
def command(kinds: tuple[str, ...], form: str) -> None:
    """Print the CustomResourceDefinitions, of all kinds or of some.

    \b
    Examples:
      grove crds | kubectl apply -f -
      grove crds pcs pclq -o json
    """
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


def _kind(word: str) -> catalog.Kind:
    kind = catalog.named(word, catalog.SERVED)
    if kind is None:
        known = ", ".join(dict.fromkeys(one.crd_name for one in catalog.SERVED))
        raise Failure(f"there is no kind {word}", f"use one of {known}")
    return kind

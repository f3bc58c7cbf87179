"""`grove explain`: what a field means, and what becomes of a manifest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

import click

from grove.api import admission, codec, outline, reference
from grove.api.kinds import catalog
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from grove.api.reference import Explanation
from grove.cli import documents, output
from grove.cli.failure import Failure

_WIDTH: Final = 100
_EVERYTHING: Final = 64


@click.command()
@click.argument("field", required=False, metavar="[KIND[.FIELD…]]")
@click.option(
    "-f", "--filename", metavar="FILE", type=click.Path(), help="Explain the PodCliqueSets of a file instead."
)
@click.option("-r", "--recursive", is_flag=True, help="Show the fields inside the fields, all the way down.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("table", "json", "yaml")),
    default="table",
    show_default=True,
    help="How to print it.",
)
def command(field: str | None, filename: str | None, recursive: bool, form: str) -> None:
    """Explain a field, or what becomes of a manifest.

    \b
    Examples:
      grove explain pcs.spec.template.cliques
      grove explain pcs.spec.template.cliques.spec.podSpec.containers
      grove explain -f examples/multi-node-aggregated.yaml
    """
    if filename:
        _print(_outlines(filename), form, _outline_text)
    elif field:
        try:
            found = reference.explain(field, depth=_EVERYTHING if recursive else 1)
        except reference.UnknownFieldError as error:
            raise Failure(str(error), error.remedy) from error
        _print([_as_data(found)], form, lambda _: "\n".join(_text(found, recursive)))
    else:
        raise Failure("nothing to explain", "name a field, as in grove explain pcs.spec, or a manifest with -f")


def _print(data: list[dict[str, Any]], form: str, as_text: Any) -> None:
    if form == "json":
        click.echo(output.as_json(data if len(data) != 1 else data[0]))
    elif form == "yaml":
        click.echo(output.as_yaml(data if len(data) != 1 else data[0]))
    else:
        click.echo(as_text(data))


def _text(found: Explanation, recursive: bool) -> Iterator[str]:
    yield f"KIND:     {found.kind.name}"
    yield f"VERSION:  {found.kind.api_version}"
    yield ""
    yield f"FIELD:    {found.path} <{found.type}>{_facts(found)}"
    yield ""
    yield from textwrap.wrap(found.doc, _WIDTH)
    if found.fields:
        yield ""
        yield "FIELDS:"
        for field in found.fields:
            yield from _field(field, 1, recursive)


def _field(field: Explanation, level: int, recursive: bool) -> Iterator[str]:
    indent = "  " * level
    yield f"{indent}{field.path.rpartition('.')[2]} <{field.type}>{_facts(field)}"
    if recursive:
        for inner in field.fields:
            yield from _field(inner, level + 1, recursive)
        return
    for line in textwrap.wrap(field.doc, _WIDTH - len(indent) - 4):
        yield f"{indent}    {line}"


def _facts(field: Explanation) -> str:
    return f"  {'; '.join(field.facts)}" if field.facts else ""


def _as_data(found: Explanation) -> dict[str, Any]:
    data: dict[str, Any] = {
        "path": found.path,
        "apiVersion": found.kind.api_version,
        "type": found.type,
        "facts": list(found.facts),
        "doc": found.doc,
    }
    return {**data, "fields": [_as_data(field) for field in found.fields]} if found.fields else data


def _outlines(filename: str) -> list[dict[str, Any]]:
    try:
        read = [one for source in documents.find([filename]) for one in documents.read(source)]
    except documents.UnreadableError as error:
        raise Failure(str(error), "check the path, or pass - to read standard input") from error
    found = []
    for document in read:
        verdict = admission.review(document.tree, Policy())
        if document.problems or not verdict.allowed:
            line = document.start.line
            raise Failure(f"{document.source}:{line}: the object is refused", f"see grove validate -f {filename}")
        if verdict.kind is catalog.POD_CLIQUE_SET:
            found.append(_outline_data(codec.decode(verdict.admitted, PodCliqueSet), verdict.admitted))
    if not found:
        raise Failure(f"{filename} holds no PodCliqueSet", "name a file with one")
    return found


def _outline_data(pcs: PodCliqueSet, tree: dict[str, Any]) -> dict[str, Any]:
    gangs = [
        {
            "name": gang.name,
            "scaled": gang.scaled,
            "pods": gang.pods,
            "cliques": [{"name": one.name, "pods": one.pods, "least": one.least} for one in gang.cliques],
        }
        for gang in outline.gangs_of(pcs)
    ]
    return {"name": pcs.metadata.name, "summary": outline.sentence(tree), "gangs": gangs}


def _outline_text(sets: list[dict[str, Any]]) -> str:
    return "\n\n".join("\n".join(_set_text(one)) for one in sets)


def _set_text(described: dict[str, Any]) -> Iterator[str]:
    yield f"PodCliqueSet {described['name']}: {described['summary']}"
    for gang in described["gangs"]:
        waits = ", placed once its base gang is" if gang["scaled"] else ""
        yield f"  PodGang {gang['name']}: {gang['pods']} pods, all or none{waits}"
        for clique in gang["cliques"]:
            yield f"    PodClique {clique['name']}: {_pods(clique)}"


def _pods(clique: dict[str, Any]) -> str:
    pods, least = clique["pods"], clique["least"]
    counted = "1 pod" if pods == 1 else f"{pods} pods"
    return counted if least == pods else f"{counted}, of which at least {least}"

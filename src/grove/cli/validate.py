"""`grove validate`: what the API server and Grove's webhooks would say of manifests, without either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import click
import msgspec

from grove.api import admission, policy
from grove.api.admission import Verdict
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.policy import Policy
from grove.cli import configuration, documents, report
from grove.cli.documents import Document
from grove.cli.failure import OK, REFUSED, Failure
from grove.cli.output import wants_color

_MODES: Final = ("lenient", "strict")


@click.command(epilog="Exit code 0: everything is accepted. 1: something is refused. 2: a file cannot be read.")
@click.argument("paths", nargs=-1, metavar="[FILE…]", type=click.Path())
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="A file, a folder, or - for standard input.",
)
@click.option(
    "--old", metavar="FILE", type=click.Path(), help="Stored objects: those in FILE are judged as changes of these."
)
@click.option(
    "--config", metavar="FILE", type=click.Path(), help="The operator's configuration; without it, Grove's defaults."
)
@click.option("--mode", type=click.Choice(_MODES), help="How strictly to judge; without it, as the configuration says.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(report.FORMATS),
    default="table",
    show_default=True,
    help="How to print the verdicts.",
)
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Whether to use colours.")
def command(
    paths: tuple[str, ...],
    files: tuple[str, ...],
    old: str | None,
    config: str | None,
    mode: str | None,
    output: str,
    color: str,
) -> None:
    """Check manifests without a cluster.

    Says of every object what the API server's schema and Grove's webhooks would say, with file and line. Objects
    that are not Grove's are counted and passed over. ClusterTopologyBindings among the files are the topologies that
    constraints are checked against.
    """
    sources = [*files, *paths]
    if not sources:
        raise Failure("no files given", "name files or folders, as in grove validate -f examples/")
    read = _read(sources)
    stored = _read([old]) if old else []
    rules = _policy(config, mode, [*read, *stored])
    findings = [report.Finding(one, _verdict(one, rules, stored)) for one in read]
    colored = wants_color(color)
    click.echo(report.render(findings, output, colored=colored), color=colored)
    raise click.exceptions.Exit(OK if all(finding.accepted for finding in findings) else REFUSED)


def _read(sources: Iterable[str]) -> list[Document]:
    try:
        return [one for source in documents.find(sources) for one in documents.read(source)]
    except documents.UnreadableError as error:
        raise Failure(str(error), "check the path, or pass - to read standard input") from error


def _policy(config: str | None, mode: str | None, read: Sequence[Document]) -> Policy:
    topologies = admission.topologies_in([one.tree for one in read]) or None
    rules = policy.of_configuration(configuration.read(config) if config else OperatorConfiguration(), topologies)
    return msgspec.structs.replace(rules, mode=mode) if mode else rules


def _verdict(document: Document, rules: Policy, stored: Sequence[Document]) -> Verdict:
    if document.problems:
        return Verdict(None, document.tree)
    identity = _identity(document)
    before = next((one.tree for one in stored if not one.problems and _identity(one) == identity), None)
    return admission.review(document.tree, rules, before)


def _identity(document: Document) -> tuple[str, str, str, str]:
    metadata = document.tree.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return (
        str(document.tree.get("apiVersion")),
        str(document.tree.get("kind")),
        str(metadata.get("namespace") or "default"),
        str(metadata.get("name")),
    )

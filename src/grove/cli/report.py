"""The verdicts of `grove validate` as text for people, as data, and as annotations for GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from grove.api import outline
from grove.api.admission import Verdict
from grove.cli import output
from grove.cli.documents import Document, Position

FORMATS: Final = ("table", "json", "yaml", "github")

Severity = Literal["error", "warning"]


class Line(msgspec.Struct, frozen=True):
    """One thing to say about a place in a file."""

    severity: Severity
    position: Position
    message: str
    remedy: str
    path: str = ""
    reason: str = ""


class Finding(msgspec.Struct, frozen=True):
    """A document and the verdict on it."""

    document: Document
    verdict: Verdict

    @property
    def accepted(self) -> bool:
        return self.verdict.allowed and not self.document.problems

    @property
    def skipped(self) -> bool:
        return self.accepted and self.verdict.kind is None

    @property
    def name(self) -> str:
        metadata = self.document.tree.get("metadata")
        name = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None
        kind = str(self.document.tree.get("kind") or "document")
        return f"{kind.lower()}/{name}" if name else kind.lower()

    def lines(self) -> Iterator[Line]:
        for problem in self.document.problems:
            yield Line("error", problem.position, problem.detail, problem.remedy, reason="Syntax")
        for error in self.verdict.errors:
            position = self.document.position_of(error.path)
            yield Line("error", position, str(error), error.remedy, str(error.path), error.reason)
        for warning in self.verdict.warnings:
            position = self.document.position_of(warning.path)
            yield Line("warning", position, str(warning), warning.remedy, str(warning.path))


def render(findings: Sequence[Finding], form: str, *, colored: bool) -> str:
    """The verdicts in the wanted form."""
    match form:
        case "json":
            return output.as_json(as_data(findings))
        case "yaml":
            return output.as_yaml(as_data(findings))
        case "github":
            return "\n".join([*_annotations(findings), summary(findings)])
        case _:
            return "\n".join([*_text(findings, colored), summary(findings)])


def summary(findings: Sequence[Finding]) -> str:
    """One line that counts."""
    skipped = sum(finding.skipped for finding in findings)
    accepted = sum(finding.accepted for finding in findings) - skipped
    refused = sum(not finding.accepted for finding in findings)
    warnings = sum(line.severity == "warning" for finding in findings for line in finding.lines())
    text = f"{accepted} accepted, {refused} refused, {_count(warnings, 'warning')}"
    return f"{text}, {_count(skipped, 'object')} of other kinds passed over" if skipped else text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _text(findings: Sequence[Finding], colored: bool) -> Iterator[str]:
    for finding in findings:
        if finding.skipped:
            continue
        source, start = finding.document.source, finding.document.start
        word, color = ("accepted", "green") if finding.accepted else ("refused", "red")
        what = f"  {_contents(finding)}" if finding.accepted else ""
        verdict = output.paint(word, colored, fg=color, bold=True)
        yield f"{source}:{start.line}: {finding.name} {verdict}{what}".rstrip()
        for line in sorted(finding.lines(), key=lambda one: (one.severity, one.position)):
            mark = output.paint(line.severity, colored, fg="red" if line.severity == "error" else "yellow", bold=True)
            yield f"  {source}:{line.position.line}:{line.position.column}: {mark}: {line.message}"
            if line.remedy:
                yield f"    {output.paint('help', colored, fg='cyan')}: {line.remedy}"


def _contents(finding: Finding) -> str:
    return outline.sentence(finding.verdict.admitted) if finding.verdict.kind is not None else ""


def _annotations(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        for line in finding.lines():
            message = f"{line.message}; {line.remedy}" if line.remedy else line.message
            place = f"file={_property(finding.document.source)},line={line.position.line},col={line.position.column}"
            yield f"::{line.severity} {place},title={_property(finding.name)}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def as_data(findings: Sequence[Finding]) -> dict[str, Any]:
    """The verdicts as plain data."""
    objects = []
    for finding in findings:
        lines = list(finding.lines())
        objects.append(
            {
                "file": finding.document.source,
                "line": finding.document.start.line,
                "object": finding.name,
                "verdict": "skipped" if finding.skipped else "accepted" if finding.accepted else "refused",
                "errors": [_line(line) for line in lines if line.severity == "error"],
                "warnings": [_line(line) for line in lines if line.severity == "warning"],
            }
        )
    return {"objects": objects, "summary": summary(findings)}


def _line(line: Line) -> dict[str, Any]:
    data: dict[str, Any] = {"line": line.position.line, "column": line.position.column, "path": line.path}
    if line.reason:
        data["reason"] = str(line.reason)
    return {**data, "message": line.message, "remedy": line.remedy}

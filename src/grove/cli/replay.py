"""`grove replay`: lives through what a scheduler was told, and says what it decides."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from grove.cli import output
from grove.cli.failure import OK, REFUSED, Failure

if TYPE_CHECKING:
    from grove.scheduler.history import Step
    from grove.scheduler.lines import Choice


@click.command(
    epilog="Exit code 0: it was replayed. 1: with --compare: other decisions than recorded. 2: it cannot be read."
)
@click.argument("file", metavar="FILE")
@click.option("--until", metavar="TIME", help="Stop there: seconds since 1970, or as in 2026-11-20T10:00:00Z.")
@click.option("--gang", metavar="KEY", help="Show only the decisions about this gang: namespace/name.")
@click.option("--compare", is_flag=True, help="Show only where the decisions differ from the recorded ones.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="How to print the decisions.",
)
@click.pass_context
def command(ctx: click.Context, file: str, until: str | None, gang: str | None, compare: bool, form: str) -> None:
    """Replay what a scheduler was told.

    And print what it decides. FILE is a snapshot, as /snapshot of a scheduler gives it, or a history that
    debugging.recordHistory had it keep; - is standard input. Nothing is asked of a cluster. A history that began with
    the scheduler is lived through exactly; of one that begins with a snapshot, gangs that slept may be placed earlier.

    \b
    Examples:
      curl -s localhost:2753/snapshot > now.gz && grove replay now.gz
      grove replay history.gz --gang default/train-0
      grove replay history.gz --compare
    """
    from grove.scheduler.lines import NotAHistory

    try:
        steps = list(_steps(file, _time(until)))
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", "name a snapshot or a history, or - for standard input") from error
    except NotAHistory as error:
        raise Failure(f"{file}: {error}", "name what /snapshot or debugging.recordHistory has written") from error
    rows = [row for step in steps for row in _rows(step, compare) if gang in (None, row["gang"])]
    if form == "json":
        click.echo(output.as_json(rows))
    else:
        click.echo(_table(rows, compare))
    differ = compare and any(step.differs for step in steps)
    ctx.exit(REFUSED if differ else OK)


def _steps(file: str, until: float) -> Iterator[Step]:
    from grove.cli import histories
    from grove.scheduler import assembly, history, lines

    rest = histories.read(file)
    first = next(rest, None)
    if first is None:
        raise lines.NotAHistory("it is empty")
    engine = assembly.engine(lines.configuration(first))
    yield from history.replay(engine, itertools.chain([first], rest), until=until)


def _time(text: str | None) -> float:
    if text is None:
        return math.inf
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise Failure(f"{text} is no time", "write seconds since 1970, or as in 2026-11-20T10:00:00Z") from error


def _rows(step: Step, compare: bool) -> Iterator[dict[str, Any]]:
    """A row a decision; of decisions that differ, the recorded one and the one that is found now."""
    if not compare:
        yield from (_row(step, one) for one in step.found)
    elif step.differs:
        before, now = set(step.recorded or ()), set(step.found)
        yield from (_row(step, one, "recorded") for one in step.recorded or () if one not in now)
        yield from (_row(step, one, "now") for one in step.found if one not in before)
        if before == now:  # in another order
            yield from (_row(step, one, "order") for one in step.found)


def _row(step: Step, choice: Choice, side: str = "") -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(choice)
    found.pop("gang")
    return {"time": _moment(step.now), **({"side": side} if side else {}), "gang": choice.gang, **found}


def _moment(now: float) -> str:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _table(rows: list[dict[str, Any]], compare: bool) -> str:
    if not rows:
        return "all decisions are as recorded" if compare else "nothing is decided"
    header = ("time", *(("side",) if compare else ()), "gang", "what", "where", "why")
    return output.as_table(
        header, [[row[name] if name in row else _cell(row, name) for name in header] for row in rows]
    )


def _cell(row: dict[str, Any], name: str) -> str:
    if name == "where":
        nodes = [node for _, node in row.get("pods", ())]
        return ", ".join(f"{node} ×{nodes.count(node)}" for node in dict.fromkeys(nodes)) or "-"
    words = [row.get("reason", ""), row.get("why", "")]
    if row.get("victims"):
        words.append(f"{len(row['victims'])} pods go for it")
    if row["what"] == "bind":
        words.append(f"score {row.get('score', 0.0):.2f}")
    return ": ".join(word for word in words if word)

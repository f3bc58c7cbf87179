"""What an engine was told, was asked and has said, line by line: histories can be kept, and lived through again. Pure.

    history.tell(engine, line)           # says the line to an engine; gives its decisions where it was asked for some

Equal histories give equal decisions: that is what the engine promises. `lines.py` has what they consist of,
`recording.py` keeps the history of an engine that runs, `snapshot.py` makes a short one which leads another engine to
the same state, `grove replay` reads both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from grove.kube.objects import PodView
from grove.scheduler.engine import Engine
from grove.scheduler.lines import (
    KINDS,
    SURROUNDING,
    Became,
    Choice,
    Decided,
    Line,
    NotAHistory,
    Refused,
    Resumed,
    Start,
    Told,
    choices,
)
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.snapshot import remind
from grove.scheduler.verdicts import Decision


def tell(engine: Engine, line: Line) -> list[Decision] | None:
    """Says a line to an engine; gives what it decides where the line asks for that. Raises NotAHistory."""
    match line:
        case Told():
            _tell(engine, line)
        case Refused():
            engine.rejected(_view(line.object, PodView))
        case Became():
            _became(engine, line)
        case Resumed():
            engine.resume(line.gang, line.puts)
        case Decided():
            return engine.decide(line.now, limit=line.limit)
        case Start():
            pass
        case _:
            remind(engine, line)
    return None


def _tell(engine: Engine, line: Told) -> None:
    if line.kind not in KINDS:
        raise NotAHistory(f"nobody knows the kind {line.kind}")
    view = _view(line.object, KINDS[line.kind])
    if line.kind == "node" and line.gone:
        engine.node_gone(view.metadata.name)
    elif line.kind in SURROUNDING:
        say = engine.surrounding_gone if line.gone else engine.surrounding
        say(SURROUNDING[line.kind], view)
    else:
        getattr(engine, f"{line.kind}_gone" if line.gone else line.kind)(view)


def _view(found: Any, type: type) -> Any:
    """As the engine is told it: an object of a line that was read is plain data still."""
    if isinstance(found, msgspec.Struct):
        return found
    try:
        return msgspec.convert(found, type)
    except msgspec.ValidationError as error:
        raise NotAHistory(f"an object cannot be read: {error}") from error


def _became(engine: Engine, line: Became) -> None:
    match line.what:
        case "bound":
            engine.bound(line.uid)
        case "bind_failed":
            engine.bind_failed(line.uid, BindFailure(line.reason or "Gone", line.message))
        case "evicted":
            engine.evicted(line.uid)
        case "evict_failed":
            engine.evict_failed(line.uid, line.message)


# Living through it again


class Step(msgspec.Struct, frozen=True):
    """A question of the history, and what an engine answers now."""

    now: float
    found: tuple[Choice, ...]
    recorded: tuple[Choice, ...] | None
    """What was answered then; None: nobody asked."""

    @property
    def differs(self) -> bool:
        return self.recorded is not None and self.recorded != self.found


def replay(engine: Engine, lines: Iterable[Line], *, until: float = math.inf) -> Iterator[Step]:
    """Says a history to a fresh engine. One in which nothing is asked, as a snapshot, ends with a question at its
    time."""
    at, was_asked = 0.0, False
    for line in lines:
        if isinstance(line, Start):
            at = line.at
        elif isinstance(line, Decided) and line.now > until:
            return
        found = tell(engine, line)
        if isinstance(line, Decided) and found is not None:
            was_asked = True
            yield Step(line.now, choices(found), line.choices)
    if not was_asked:
        yield Step(at, choices(engine.decide(at, limit=1 << 30)), None)

"""Structured logs, over the standard library: a constant event and fields, one line each, as JSON or as text.

    log = logging.getLogger(__name__)
    log.info("lease taken", extra={"lease": name, "term": 3})

Whatever is in `extra` is a field. Two levels are for people, debug and info; error is for what somebody should look at.
What libraries call a warning is shown as info. A traceback is a field. Fields that are called like secrets are hidden,
and so is what looks like a token in a text; that is a net, not a licence to log them.
"""

import datetime
import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TextIO

# What every record has; all else came in `extra`.
STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR}
SECRET_NAME = re.compile(r"token|password|secret|authorization|credential|private_?key|cookie", re.IGNORECASE)
# `Bearer …`, JSON web tokens, keys in PEM.
SECRET_TEXT = re.compile(
    r"(?i:bearer)\s+[\w.~+/=-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END[^-]*-----|$)",
    re.DOTALL,
)
HIDDEN: Final = "[hidden]"
# Names of Kubernetes objects, which say nothing of what is in them.
HARMLESS: Final = frozenset({"secret_name", "secret_namespace"})


def configure(stream: TextIO, *, form: Literal["json", "text"], level: Literal["debug", "info", "error"]) -> None:
    """Sends all logs of the process to a stream. Called once, in `main`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])


class JsonFormatter(logging.Formatter):
    """An object a line: time, level, event, logger, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": timestamp(record),
            "level": level_name(record),
            "event": hide(record.getMessage()),
            "logger": record.name,
        }
        # A field that is called like one of ours must not replace it.
        line.update((f"field_{name}" if name in line else name, value) for name, value in fields(record))
        if trace := traceback_text(self, record):
            line["traceback"] = trace
        return json.dumps(line, default=text_of, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """For people: `12:00:01.250 info  lease taken  lease=grove-system/operator term=3`; a traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        moment = timestamp(record)[11:23]
        parts = [f"{name}={quoted(value)}" for name, value in fields(record)]
        event = hide(record.getMessage()).replace("\n", "\\n")
        line = "  ".join([f"{moment} {level_name(record):5} {event}", *([" ".join(parts)] if parts else [])])
        trace = traceback_text(self, record)
        return f"{line}\n{trace}" if trace else line


def fields(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    for name, value in vars(record).items():
        if name not in STANDARD:
            yield name, hide_in(name, value)


def hide_in(name: str, value: Any) -> Any:
    """The value without what should not be seen, also within mappings and lists."""
    if name not in HARMLESS and SECRET_NAME.search(name):
        return HIDDEN
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return hide(value)
        case Mapping():
            return {str(key): hide_in(str(key), inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [hide_in("", inner) for inner in value]
        case _:
            return hide(text_of(value))


def hide(text: str) -> str:
    return SECRET_TEXT.sub(HIDDEN, text)


def text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - a log line must not fail for what it describes
        return f"<{type(value).__name__}: {type(error).__name__} when shown>"


def quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=text_of, ensure_ascii=False)
    plain = text and not re.search(r"[\s\"=]", text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def level_name(record: logging.LogRecord) -> str:
    if record.levelno >= logging.ERROR:
        return "error"
    return "info" if record.levelno >= logging.INFO else "debug"


def timestamp(record: logging.LogRecord) -> str:
    moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def traceback_text(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return hide(formatter.formatException(record.exc_info)) if record.exc_info and record.exc_info[0] else ""

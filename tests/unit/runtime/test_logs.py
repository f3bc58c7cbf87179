import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import grove
from grove.runtime.logs import JsonFormatter, TextFormatter, configure


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield logging.getLogger("grove.test")
    root.handlers[:], root.level = handlers, level


def record(message: str, levelno: int = logging.INFO, **extra: Any) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "levelno": levelno, "name": "grove.test", "created": 1900000000.25})
    vars(made).update(extra)
    return made


def test_json_lines_have_an_event_and_fields(logger: logging.Logger) -> None:
    stream = io.StringIO()
    configure(stream, form="json", level="info")
    logger.debug("not shown")
    logger.info("lease taken", extra={"lease": "ns/name", "term": 3, "parts": {"a": [1, None]}})
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "event": "lease taken",
        "logger": "grove.test",
        "lease": "ns/name",
        "term": 3,
        "parts": {"a": [1, None]},
    }


def test_a_traceback_is_a_field_and_the_line_stays_one(logger: logging.Logger) -> None:
    stream = io.StringIO()
    configure(stream, form="json", level="error")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logger.exception("reconcile failed", extra={"key": "a/b"})
    [text] = stream.getvalue().splitlines()
    line = json.loads(text)
    assert line["level"] == "error"
    assert "ValueError: two\nlines" in line["traceback"]


def test_text_lines_are_for_people() -> None:
    made = record("lease taken", lease="ns/name", note="two words", term=3, empty="")
    text = TextFormatter().format(made)
    assert text == '17:46:40.250 info  lease taken  lease=ns/name note="two words" term=3 empty=""'


def test_text_shows_a_traceback_below() -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        made = record("failed", logging.ERROR, exc_info=(KeyError, error, error.__traceback__))
    lines = TextFormatter().format(made).splitlines()
    assert lines[0] == "17:46:40.250 error failed"
    assert lines[-1] == "KeyError: 'x'"


def test_what_a_library_calls_a_warning_is_info() -> None:
    assert json.loads(JsonFormatter().format(record("slow", logging.WARNING)))["level"] == "info"


def test_a_field_does_not_replace_what_every_line_has() -> None:
    line = json.loads(JsonFormatter().format(record("event", level="x", logger="y", time="z")))
    assert (line["field_level"], line["field_logger"], line["field_time"]) == ("x", "y", "z")
    assert line["level"] == "info"


@pytest.mark.parametrize(
    "extra",
    [
        {"token": "hush"},
        {"admin_password": "hush"},
        {"headers": {"Authorization": "hush"}},
        {"error": "401 for Bearer hush.hush-hush"},
        {"list": ["eyJhush.eyJhush.hush"]},
        {"pem": "-----BEGIN EC PRIVATE KEY-----\nhush\n-----END EC PRIVATE KEY-----"},
    ],
)
def test_secrets_are_hidden(extra: dict[str, Any]) -> None:
    made = record("request", **extra)
    for formatter in (JsonFormatter(), TextFormatter()):
        text = formatter.format(made)
        assert "hush" not in text
        assert "[hidden]" in text


def test_what_is_no_secret_is_shown() -> None:
    made = record("request", secret_name="webhook-cert", lease="x", error="no bearer")
    assert json.loads(JsonFormatter().format(made))["secret_name"] == "webhook-cert"


def test_what_cannot_be_shown_does_not_break_the_line() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert "RuntimeError when shown" in JsonFormatter().format(record("event", value=Odd()))


def calls_of_loggers() -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(Path(grove.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id in ("log", "logger", "logging"):
                    yield path, node


def test_events_are_constant_and_levels_are_the_three() -> None:
    checked = 0
    for path, call in calls_of_loggers():
        assert isinstance(call.func, ast.Attribute)
        name = call.func.attr
        if name in ("getLogger", "makeLogRecord", "StreamHandler", "Formatter"):
            continue
        where = f"{path}:{call.lineno}"
        allowed = ("debug", "info", "error", "exception")
        if path.parts[-2:] != ("kube", "reader.py"):
            assert name in allowed, f"{where}: {name} is none of our levels"
        [message] = call.args
        assert isinstance(message, ast.Constant), f"{where}: the event is no constant"
        assert str(message.value)[0].islower() or str(message.value)[:3].isupper(), f"{where}: begins with a capital"
        assert not str(message.value).endswith("."), f"{where}: ends with a full stop"
        checked += 1
    assert checked > 5

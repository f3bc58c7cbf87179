"""Judges a tree by a structural schema the way an API server does: nulls, defaults, unknown fields, types, limits.

What the API server stops at, `grove validate` reports at once: every error, each with its path and a remedy.
"""

from __future__ import annotations

import difflib
import functools
import re
from datetime import datetime
from typing import Any, Final

from grove.api.errors import Path, Problems
from grove.api.fields import JSON

_INTEGER_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def normal(tree: Any, schema: JSON) -> Any:
    """The tree as an API server reads it: null fields are absent, 2.0 is 2, and text is UTF-8.

    Null stays where it is an error: in lists, and in fields that do not exist. Free-form parts stay as they are.
    """
    if isinstance(tree, dict):
        if _PRESERVE in schema:
            return tree
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            _text(name): normal(value, properties.get(name, rest or {}))
            for name, value in tree.items()
            if value is not None or (name not in properties and rest is None)
        }
    if isinstance(tree, list):
        return [normal(one, schema.get("items", {})) for one in tree]
    if isinstance(tree, float) and tree.is_integer():
        return int(tree)
    return _text(tree) if isinstance(tree, str) else tree


def _text(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which JSON can say and UTF-8 can't."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def with_defaults(tree: Any, schema: JSON) -> Any:
    """The tree with the schema's defaults filled in, inside the objects that are there."""
    if isinstance(tree, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
        filled = {name: one["default"] for name, one in properties.items() if "default" in one and name not in tree}
        for name, value in tree.items():
            known = properties.get(name, rest)
            filled[name] = value if known is None else with_defaults(value, known)
        return filled
    if isinstance(tree, list) and "items" in schema:
        return [with_defaults(one, schema["items"]) for one in tree]
    return tree


def check(tree: Any, schema: JSON, path: Path, problems: Problems) -> None:
    """Reports everything about the tree that the schema does not allow."""
    if schema.get("x-kubernetes-int-or-string"):
        _check_int_or_string(tree, schema, path, problems)
        return
    expected = schema.get("type")
    if expected is not None and not _is_of_type(tree, expected):
        problems.wrong_type(path, tree, expected, _type_remedy(tree, expected))
    elif expected == "object":
        _check_object(tree, schema, path, problems)
    elif expected == "array":
        _check_array(tree, schema, path, problems)
    elif expected in ("integer", "number"):
        _check_number(tree, schema, path, problems)
    elif expected == "string":
        _check_string(tree, schema, path, problems)


def _is_of_type(value: Any, expected: str) -> bool:
    match expected:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case _:
            return not isinstance(value, bool) and isinstance(value, int | float)


def _type_remedy(value: Any, expected: str) -> str:
    if expected == "string" and isinstance(value, bool | int | float):
        return "put the value in quotes"
    if expected in ("integer", "boolean") and isinstance(value, str):
        return "remove the quotes"
    if expected == "array" and not isinstance(value, list):
        return "write a list: start each entry with a dash"
    return ""


def _check_int_or_string(value: Any, schema: JSON, path: Path, problems: Problems) -> None:
    if isinstance(value, str):
        _check_string(value, schema, path, problems)
    elif isinstance(value, bool) or not isinstance(value, int):
        problems.wrong_type(path, value, "integer or string", "put the value in quotes")


def _check_object(tree: JSON, schema: JSON, path: Path, problems: Problems) -> None:
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in tree:
            problems.required(path.field(name), "", f"add {name}{_shape(properties.get(name, {}))}")
    for name, value in tree.items():
        if name in properties:
            check(value, properties[name], path.field(name), problems)
        elif rest is not None:
            check(value, rest, path.key(name), problems)
        elif _PRESERVE not in schema:
            problems.unknown(path.field(name), _unknown_remedy(name, properties))


def _shape(schema: JSON) -> str:
    if "enum" in schema:
        return f", one of {', '.join(schema['enum'])}"
    return f" ({schema['type']})" if "type" in schema else ""


def _unknown_remedy(name: str, properties: JSON) -> str:
    close = difflib.get_close_matches(name, properties, n=1, cutoff=0.75)
    if close:
        return f"did you mean {close[0]}?"
    for parent, schema in properties.items():
        if name in schema.get("properties", {}):
            return f"it belongs inside {parent}: move it there"
    return "remove it, or check its indentation"


def _check_array(items: list[Any], schema: JSON, path: Path, problems: Problems) -> None:
    if len(items) < schema.get("minItems", 0):
        least = schema["minItems"]
        problems.invalid(path, len(items), f"should have at least {least} items", "add an entry")
    seen: set[str] = set()
    keys = schema.get("x-kubernetes-list-map-keys")
    is_set = schema.get("x-kubernetes-list-type") == "set"
    for position, item in enumerate(items):
        check(item, schema.get("items", {}), path.index(position), problems)
        identity = {key: item.get(key) for key in keys} if keys and isinstance(item, dict) else item
        if (keys and isinstance(item, dict)) or is_set:
            if repr(identity) in seen:
                what = ", ".join(keys) if keys else "value"
                problems.duplicate(path.index(position), identity, f"every entry needs its own {what}")
            seen.add(repr(identity))


def _check_number(value: int | float, schema: JSON, path: Path, problems: Problems) -> None:
    low, high = _INTEGER_RANGES.get(schema.get("format", ""), (None, None))
    if low is not None and high is not None and not low <= value <= high:
        problems.invalid(path, value, f"must fit into an {schema['format']}", f"use at most {high}")
    if "minimum" in schema and value < schema["minimum"]:
        least = schema["minimum"]
        problems.invalid(path, value, f"should be greater than or equal to {least}", f"use {least} or more")
    if "maximum" in schema and value > schema["maximum"]:
        most = schema["maximum"]
        problems.invalid(path, value, f"should be less than or equal to {most}", f"use {most} or less")


def _check_string(value: str, schema: JSON, path: Path, problems: Problems) -> None:
    if "enum" in schema and value not in schema["enum"]:
        close = difflib.get_close_matches(value, schema["enum"], n=1)
        problems.unsupported(path, value, tuple(schema["enum"]), f"did you mean {close[0]}?" if close else "")
    if len(value) < schema.get("minLength", 0):
        least = schema["minLength"]
        problems.invalid(path, value, f"should be at least {least} chars long", "write a longer value")
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        problems.invalid(path, value, f"may not be more than {schema['maxLength']} bytes", "write a shorter value")
    if "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        problems.invalid(path, value, f"should match '{schema['pattern']}'", _pattern_remedy(schema))
    if schema.get("format") == "date-time" and not _is_time(value):
        problems.invalid(path, value, "must be a date and time", "write it as 2026-01-31T08:00:00Z")


@functools.cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # In Python, unlike RE2, `$` also matches before a final newline.
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


def _pattern_remedy(schema: JSON) -> str:
    if "h))" in schema["pattern"]:
        return "write a number with a unit, as in 30s, 15m, 4h or 1h30m"
    if schema.get("x-kubernetes-int-or-string"):
        return "write a quantity, as in 500m, 2 or 4Gi"
    return "write a value of that form"


def _is_time(value: str) -> bool:
    if not _TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True

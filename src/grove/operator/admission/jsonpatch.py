"""The operations of a JSON patch (RFC 6902) that lead from one JSON value to another. Pure.

Whoever applies them to `before` has `after`. A field is touched only if it differs; lists are compared place by place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]


def difference(before: Any, after: Any) -> list[Operation]:
    return list(_between(before, after, ""))


def _between(before: Any, after: Any, pointer: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _between_objects(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _between_lists(before, after, pointer)
    elif not _is_same(before, after):
        yield {"op": "replace", "path": pointer, "value": after}


def _between_objects(before: dict[str, Any], after: dict[str, Any], pointer: str) -> Iterator[Operation]:
    for name in before:
        if name not in after:
            yield {"op": "remove", "path": _step(pointer, name)}
    for name, value in after.items():
        if name in before:
            yield from _between(before[name], value, _step(pointer, name))
        else:
            yield {"op": "add", "path": _step(pointer, name), "value": value}


def _between_lists(before: list[Any], after: list[Any], pointer: str) -> Iterator[Operation]:
    for position, (one, other) in enumerate(zip(before, after, strict=False)):
        yield from _between(one, other, f"{pointer}/{position}")
    for position in range(len(before) - 1, len(after) - 1, -1):  # from the end: positions before it stay
        yield {"op": "remove", "path": f"{pointer}/{position}"}
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{pointer}/-", "value": value}


def _is_same(before: Any, after: Any) -> bool:
    """Equal as JSON, where true is not 1, and 1.0 is written in another way than 1."""
    return type(before) is type(after) and bool(before == after)


def _step(pointer: str, name: str) -> str:
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"

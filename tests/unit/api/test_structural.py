"""Structural schemas: what the table of manifests does not show."""

from __future__ import annotations

from typing import Any

import pytest

from grove.api import structural
from grove.api.errors import Path, Problems, Reason

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "format": "int32", "default": 1},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "either": {"x-kubernetes-int-or-string": True},
        "inner": {"type": "object", "properties": {"depth": {"type": "integer", "default": 7}}},
        "entries": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        },
        "text": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
    },
}


def found(tree: Any) -> list[tuple[str, Reason]]:
    problems = Problems()
    structural.check(tree, SCHEMA, Path(), problems)
    return [(str(error.path), error.reason) for error in problems.errors]


def remedy(tree: Any) -> str:
    problems = Problems()
    structural.check(tree, SCHEMA, Path(), problems)
    return problems.errors[0].remedy


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"count": None, "inner": {"depth": None}}, {"inner": {}}),
        ({"unknown": None}, {"unknown": None}),
        ({"map": {"a": None, "b": 1}}, {"map": {"b": 1}}),
        ({"free": {"a": None}}, {"free": {"a": None}}),
        ({"tags": [None]}, {"tags": [None]}),
        ({"count": 2.0, "share": 1.0}, {"count": 2, "share": 1}),
        ({"share": 0.5}, {"share": 0.5}),
        ({"text": "\ud800", "\udfff": 1}, {"text": "\ufffd", "\ufffd": 1}),
        ({"text": "\ud83d\ude00"}, {"text": "😀"}),
    ],
)
def test_a_tree_is_read_as_the_api_server_reads_it(tree: Any, expected: Any) -> None:
    assert structural.normal(tree, SCHEMA) == expected


def test_defaults_are_filled_into_objects_that_are_there() -> None:
    assert structural.with_defaults({}, SCHEMA) == {"count": 1}
    assert structural.with_defaults({"inner": {}}, SCHEMA) == {"count": 1, "inner": {"depth": 7}}
    assert structural.with_defaults({"inner": "text", "count": 0}, SCHEMA) == {"count": 0, "inner": "text"}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"share": 1.5}, [("share", Reason.INVALID)]),
        ({"share": -0.1}, [("share", Reason.INVALID)]),
        ({"share": True}, [("share", Reason.TYPE_INVALID)]),
        ({"tags": ["a", "b", "a"]}, [("tags[2]", Reason.DUPLICATE)]),
        ({"map": {"a": "1"}}, [("map[a]", Reason.TYPE_INVALID)]),
        ({"either": 1.5}, [("either", Reason.TYPE_INVALID)]),
        ({"either": "80%"}, []),
        ({"free": {"any": ["thing"]}}, []),
        ({"entries": [{"name": "a"}, {"name": "a"}]}, [("entries[1]", Reason.DUPLICATE)]),
        ({"entries": [{}]}, [("entries[0].name", Reason.REQUIRED)]),
        ({"entries": {}}, [("entries", Reason.TYPE_INVALID)]),
        ({"text": "ab\n"}, [("text", Reason.INVALID)]),
        ({"text": "abcd"}, [("text", Reason.INVALID)]),
        ([], [("<root>", Reason.TYPE_INVALID)]),
    ],
)
def test_what_the_schema_does_not_allow_is_reported(tree: Any, expected: Any) -> None:
    assert found(tree) == expected


def test_everything_is_reported_at_once() -> None:
    assert len(found({"count": "1", "share": 2, "x": 1, "text": 1})) == 4


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"cuont": 1}, "did you mean count?"),
        ({"depth": 1}, "it belongs inside inner: move it there"),
        ({"zzz": 1}, "remove it, or check its indentation"),
        ({"text": 1}, "put the value in quotes"),
        ({"count": "1"}, "remove the quotes"),
        ({"tags": "a"}, "write a list: start each entry with a dash"),
    ],
)
def test_a_remedy_says_what_to_do(tree: Any, expected: str) -> None:
    assert remedy(tree) == expected

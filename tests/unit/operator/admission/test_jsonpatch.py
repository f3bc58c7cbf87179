from typing import Any

import pytest

from grove.operator.admission.jsonpatch import difference


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": None}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a/b~c": {}}, [{"op": "add", "path": "/a~1b~0c", "value": {}}]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [{"op": "replace", "path": "/a/c", "value": 3}]),
        ([1, 2], [1, 2, 3], [{"op": "add", "path": "/-", "value": 3}]),
        (
            [1, 2, 3],
            [4],
            [
                {"op": "replace", "path": "/0", "value": 4},
                {"op": "remove", "path": "/2"},
                {"op": "remove", "path": "/1"},
            ],
        ),
        ({"a": [1]}, {"a": {}}, [{"op": "replace", "path": "/a", "value": {}}]),
    ],
)
def test_only_what_differs_is_touched(before: Any, after: Any, operations: list[dict[str, Any]]) -> None:
    assert difference(before, after) == operations


def test_a_whole_number_is_not_what_is_written_with_a_point() -> None:
    assert difference(1, 1.0) == [{"op": "replace", "path": "", "value": 1.0}]

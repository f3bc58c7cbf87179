"""The least that must be sent to make one tree another."""

from grove.operator import statuses


def test_changes_name_only_what_differs() -> None:
    before = {"kept": 1, "gone": 2, "list": [1, 2], "object": {"kept": 1, "gone": 2}}
    after = {"kept": 1, "list": [1], "object": {"kept": 1, "new": 3}, "added": {"x": 1}}
    assert statuses.changes(before, after) == {
        "gone": None,
        "list": [1],
        "object": {"gone": None, "new": 3},
        "added": {"x": 1},
    }


def test_equal_trees_need_no_change() -> None:
    assert statuses.changes({"a": {"b": [1]}}, {"a": {"b": [1]}}) == {}

"""Paths, problems and their texts."""

from __future__ import annotations

import pytest

from grove.api.errors import FieldError, Path, Problems, Reason, a, choices, value_text

PATH = Path.parse("spec.template")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (Path(), "<root>"),
        (PATH, "spec.template"),
        (PATH.field("cliques").index(0).field("name"), "spec.template.cliques[0].name"),
        (Path.parse("metadata.annotations").key("grove.io/a"), "metadata.annotations[grove.io/a]"),
        (Path().index(2), "[2]"),
    ],
)
def test_a_path_reads_like_one_of_kubernetes(path: Path, expected: str) -> None:
    assert str(path) == expected


def test_the_parents_of_a_path_go_outwards() -> None:
    assert [str(one) for one in PATH.parents()] == ["spec.template", "spec", "<root>"]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (Reason.INVALID, 'spec.template: Invalid value: "x": is wrong'),
        (Reason.REQUIRED, "spec.template: Required value: is wrong"),
        (Reason.DUPLICATE, 'spec.template: Duplicate value: "x": is wrong'),
        (Reason.NOT_SUPPORTED, 'spec.template: Unsupported value: "x": is wrong'),
        (Reason.NOT_FOUND, 'spec.template: Not found: "x": is wrong'),
        (Reason.FORBIDDEN, "spec.template: Forbidden: is wrong"),
        (Reason.UNKNOWN_FIELD, "spec.template: Unknown field: is wrong"),
    ],
)
def test_an_error_reads_like_one_of_kubernetes(reason: Reason, expected: str) -> None:
    assert str(FieldError(PATH, reason, "is wrong", "mend it", "x")) == expected


def test_problems_are_collected_in_order() -> None:
    problems, more = Problems(), Problems()
    problems.required(PATH, "", "add it")
    problems.warn(PATH, "is odd")
    more.unsupported(PATH, "z", ("x", "y"))
    problems.extend(more)
    assert [error.reason for error in problems.errors] == [Reason.REQUIRED, Reason.NOT_SUPPORTED]
    assert problems.errors[1].detail == 'supported values: "x", "y"'
    assert str(problems.warnings[0]) == "spec.template: is odd"


def test_a_long_value_does_not_drown_the_message() -> None:
    assert len(value_text("x" * 1000)) == 120
    assert value_text({"a": ["ü"]}) == '{"a": ["ü"]}'


def test_a_long_list_of_choices_is_cut() -> None:
    assert choices([]) == "there are none"
    assert choices(["a", "b"]) == "a, b"
    assert choices([str(number) for number in range(22)]).endswith("18, 19 and 2 more")


def test_nouns_have_their_article() -> None:
    assert (a("integer"), a("string")) == ("an integer", "a string")

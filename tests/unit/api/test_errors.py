import pytest

from grove.api.errors import FieldError, Path, Problems, Reason, a, choices


def test_a_path_reads_as_kubernetes_writes_it() -> None:
    path = Path.parse("spec.template.cliques").index(2).field("labels").key("example.com/a")
    assert str(path) == "spec.template.cliques[2].labels[example.com/a]"
    assert str(Path()) == "<root>"


def test_the_places_around_a_path_are_told_from_the_inside_out() -> None:
    assert [str(one) for one in Path.parse("a.b").parents()] == ["a.b", "a", "<root>"]


@pytest.mark.parametrize(
    ("reason", "value", "text"),
    [
        (Reason.REQUIRED, None, "a: Required value: why"),
        (Reason.INVALID, 0, "a: Invalid value: 0: why"),
        (Reason.INVALID, "x", 'a: Invalid value: "x": why'),
        (Reason.DUPLICATE, {"name": "x"}, 'a: Duplicate value: {"name": "x"}: why'),
        (Reason.NOT_FOUND, "x", 'a: Not found: "x": why'),
        (Reason.FORBIDDEN, "x", "a: Forbidden: why"),
        (Reason.UNKNOWN_FIELD, "x", "a: Unknown field: why"),
    ],
)
def test_an_error_reads_as_kubernetes_field_errors_do(reason: Reason, value: object, text: str) -> None:
    assert str(FieldError(Path.parse("a"), reason, "why", "do this", value)) == text


def test_supported_values_are_listed() -> None:
    problems = Problems()
    problems.unsupported(Path.parse("a"), "x", ("y", "z"))
    assert str(problems.errors[0]) == 'a: Unsupported value: "x": supported values: "y", "z"'


def test_a_long_value_does_not_drown_the_message() -> None:
    error = FieldError(Path.parse("a"), Reason.INVALID, "why", "", "x" * 5000)
    assert len(str(error)) < 200


def test_problems_are_collected_in_order() -> None:
    problems, more = Problems(), Problems()
    problems.required(Path.parse("spec.template"), "", "add it")
    problems.warn(Path.parse("spec.template"), "is odd")
    more.unsupported(Path.parse("spec.template"), "z", ("x", "y"))
    problems.extend(more)
    assert [error.reason for error in problems.errors] == [Reason.REQUIRED, Reason.NOT_SUPPORTED]
    assert problems.errors[1].detail == 'supported values: "x", "y"'
    assert str(problems.warnings[0]) == "spec.template: is odd"


def test_a_long_list_of_choices_is_cut() -> None:
    assert choices([]) == "there are none"
    assert choices(["a", "b"]) == "a, b"
    assert choices([str(number) for number in range(22)]).endswith("18, 19 and 2 more")


def test_nouns_have_their_article() -> None:
    assert (a("integer"), a("string")) == ("an integer", "a string")

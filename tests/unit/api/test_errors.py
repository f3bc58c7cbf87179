import pytest

from grove.api.errors import FieldError, Path, Problems, Reason


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

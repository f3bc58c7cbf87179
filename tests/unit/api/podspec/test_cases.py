import pytest

from grove.api import podspec
from grove.api.errors import Path, Problems, Reason
from tests.unit.api.podspec.cases import Case, load

CASES = load()
REASONS = {
    Reason.REQUIRED: "required",
    Reason.INVALID: "invalid",
    Reason.DUPLICATE: "duplicate",
    Reason.NOT_SUPPORTED: "unsupported",
    Reason.NOT_FOUND: "not found",
    Reason.FORBIDDEN: "forbidden",
}


def judged(case: Case, path: Path | None = None) -> Problems:
    problems = Problems()
    podspec.check(case.spec, path or Path(), problems)
    return problems


@pytest.mark.parametrize("case", CASES, ids=str)
def test_errors_and_warnings_are_those_of_the_case(case: Case) -> None:
    """Every error has the expected path and reason, and there are no others."""
    problems = judged(case)
    assert {str(error.path): REASONS[error.reason] for error in problems.errors} == case.refused
    assert [str(warning.path) for warning in problems.warnings] == case.warned


def test_names_of_cases_are_unique() -> None:
    """A failing case can be found by its name."""
    assert len({str(case) for case in CASES}) == len(CASES)


def test_every_remedy_says_what_to_do() -> None:
    """A remedy is a short phrase in lower case without a full stop."""
    for case in CASES:
        problems = judged(case)
        remedies = [error.remedy for error in problems.errors] + [warning.remedy for warning in problems.warnings]
        for remedy in remedies:
            assert 0 < len(remedy) <= 120, remedy
            assert remedy[0].islower(), remedy
            assert not remedy.endswith("."), remedy


def test_paths_start_where_the_spec_stands() -> None:
    """A spec inside another object is judged alike, and its problems are placed inside that object."""
    around = Path.parse("spec.template").field("cliques").index(1).field("spec", "podSpec")
    for case in CASES:
        here, there = judged(case), judged(case, around)
        assert [Path((*around.steps, *error.path.steps)) for error in here.errors] == [
            error.path for error in there.errors
        ]

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grove.api import podspec
from grove.api.errors import Path, Problems
from tests.unit.api.podspec.cases import load

SPECS = [case.spec for case in load()]
WRONG: tuple[Any, ...] = (None, True, 7, -1.5, "", "x", [], {}, [None, 1, "x", {}, []], {"x": None, "name": 1})

Place = tuple[str | int, ...]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Where something stands in a tree, the root left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inside:
        yield (*here, step)
        yield from places(below, (*here, step))


@st.composite
def broken_specs(draw: st.DrawFn) -> dict[str, Any]:
    """A spec in which something has a type of its own."""
    spec: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(SPECS)))
    *way, last = draw(st.sampled_from(list(places(spec))))
    parent: Any = spec
    for step in way:
        parent = parent[step]
    parent[last] = copy.deepcopy(draw(st.sampled_from(WRONG)))
    return spec


@given(broken_specs())
def test_wrong_types_are_passed_over(spec: dict[str, Any]) -> None:
    """Whatever stands in a place, the rest is judged and the spec is left as it was."""
    before = copy.deepcopy(spec)
    podspec.check(spec, Path(), Problems())
    assert spec == before


def test_an_empty_spec_lacks_containers() -> None:
    """A spec without any field has one problem."""
    problems = Problems()
    podspec.check({}, Path(), problems)
    assert [str(error.path) for error in problems.errors] == ["containers"]

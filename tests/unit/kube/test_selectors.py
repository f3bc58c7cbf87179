"""Selectors judged here as the API server judges them."""

from __future__ import annotations

import pytest

from grove.kube import selectors
from tests.unit.kube.fakes import Thing, thing


@pytest.mark.parametrize(
    ("selector", "matching", "others"),
    [
        ("", [{}, {"a": "1"}], []),
        ("a=1", [{"a": "1"}, {"a": "1", "b": "2"}], [{}, {"a": "2"}]),
        ("a==1", [{"a": "1"}], [{"a": ""}]),
        ("a=", [{"a": ""}], [{}, {"a": "1"}]),
        ("a!=1", [{}, {"a": "2"}], [{"a": "1"}]),
        ("a", [{"a": ""}], [{"b": "a"}]),
        ("!a", [{}, {"b": "1"}], [{"a": ""}]),
        ("a in (1, 2)", [{"a": "1"}, {"a": "2"}], [{}, {"a": "3"}]),
        ("a notin (1,2)", [{}, {"a": "3"}], [{"a": "2"}]),
        ("x.io/a=1, !b ,c in (3)", [{"x.io/a": "1", "c": "3"}], [{"x.io/a": "1", "b": "", "c": "3"}]),
    ],
)
def test_labels(selector: str, matching: list[dict[str, str]], others: list[dict[str, str]]) -> None:
    matches = selectors.labels(selector)
    assert all(matches(labels) for labels in matching)
    assert not any(matches(labels) for labels in others)


@pytest.mark.parametrize("selector", ["a=b=c", "a in 1", "=1", "a in (1", "a b", "(a)"])
def test_a_malformed_selector_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="not understood"):
        selectors.labels(selector)


def test_fields_are_read_by_functions() -> None:
    judge = selectors.fields("metadata.name=a,value!=3", {"value": lambda one: str(one.value)})
    found: list[Thing] = [thing("a", 1, value=1), thing("a", 1, value=3), thing("b", 1)]
    assert [judge(one.metadata, one) for one in found] == [True, False, False]


def test_a_field_that_nothing_reads_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no function given that reads 'spec\.nodeName'"):
        selectors.fields("spec.nodeName=n", {})

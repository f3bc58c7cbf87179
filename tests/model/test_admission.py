"""Defaults and rules over generated PodCliqueSets, and over anything at all."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api import admission, codec, defaults, schema, structural
from grove.api.admission import Verdict
from grove.api.errors import Path, Problems
from grove.api.kinds import catalog
from grove.api.kinds.catalog import KINDS, Kind
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from tests.model.strategies import JSON, POLICY, mutated, podcliquesets, structs, trees

SCHEMA = schema.of_kind(catalog.POD_CLIQUE_SET)


def decoded(tree: JSON) -> PodCliqueSet:
    return codec.decode(structural.with_defaults(structural.normal(tree, SCHEMA), SCHEMA), PodCliqueSet)


@given(podcliquesets())
def test_what_is_valid_is_accepted_and_every_warning_says_something(tree: JSON) -> None:
    verdict = admission.review(tree, POLICY)
    assert verdict.errors == ()
    assert all(warning.detail for warning in verdict.warnings)


@given(podcliquesets())
def test_defaults_are_filled_in_once(tree: JSON) -> None:
    once = defaults.podcliqueset(decoded(tree), POLICY, Problems())
    problems = Problems()
    assert defaults.podcliqueset(once, POLICY, problems) == once
    assert problems.errors == []
    assert defaults.podcliqueset(once, POLICY, Problems(), once) == once


@given(podcliquesets())
def test_what_was_admitted_is_admitted_unchanged(tree: JSON) -> None:
    """A second application of the stored object, which kubectl apply does every day, changes nothing."""
    admitted = admission.review(tree, POLICY).admitted
    again = admission.review(admitted, POLICY, admitted)
    assert again.errors == ()
    assert again.admitted == admitted


@given(podcliquesets())
def test_a_manifest_may_be_applied_again_over_what_it_became(tree: JSON) -> None:
    admitted = admission.review(tree, POLICY).admitted
    again = admission.review(tree, POLICY, admitted)
    assert again.errors == ()
    assert again.admitted == admitted


@given(podcliquesets())
def test_what_was_admitted_has_one_spelling_and_needs_no_correction(tree: JSON) -> None:
    admitted = admission.review(tree, POLICY).admitted
    text = json.dumps(admitted)
    assert [alias for alias in ("startupType", "networkPackGroups", "packDomain") if f'"{alias}"' in text] == []
    problems = Problems()
    defaults.podcliqueset(decoded(admitted), POLICY, problems)
    assert problems.warnings == []


@given(podcliquesets())
def test_what_was_admitted_passes_the_schema_without_further_defaults(tree: JSON) -> None:
    admitted = admission.review(tree, POLICY).admitted
    problems = Problems()
    structural.check(admitted["spec"], SCHEMA["properties"]["spec"], Path(), problems)
    assert problems.errors == []
    assert structural.with_defaults(admitted, SCHEMA) == admitted


@given(podcliquesets())
def test_what_was_admitted_is_accepted_in_strict_mode_too_when_names_are_short(tree: JSON) -> None:
    """Lenient mode puts right what strict mode refuses, so its result is right."""
    short = {**tree, "metadata": {**tree["metadata"], "name": "a"}}
    lenient = admission.review(short, POLICY)
    strict = admission.review(lenient.admitted, Policy(mode="strict", topologies=POLICY.topologies))
    assert [error for error in strict.errors if "combined resource name length" not in str(error)] == []


@given(podcliquesets())
def test_judging_changes_nothing(tree: JSON) -> None:
    before = copy.deepcopy(tree)
    admission.review(tree, POLICY, tree)
    assert tree == before


@given(trees)
def test_defaults_of_the_schema_are_filled_in_once(tree: Any) -> None:
    once = structural.with_defaults(tree, SCHEMA)
    assert repr(structural.with_defaults(once, SCHEMA)) == repr(once)


@settings(max_examples=200)
@given(mutated(podcliquesets()), st.one_of(st.none(), mutated(podcliquesets())), st.sampled_from(["lenient", "strict"]))
def test_no_podcliqueset_is_too_broken_to_be_judged(tree: JSON, old: JSON | None, mode: Any) -> None:
    policy = Policy(mode=mode, topologies=POLICY.topologies, mnnvl_enabled=True)
    verdict = admission.review(tree, policy, old)
    assert isinstance(verdict, Verdict)
    assert all(str(error) and error.remedy for error in verdict.errors)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.crd_name if kind.served else kind.name) for kind in KINDS])
@given(st.data())
def test_no_object_is_too_broken_to_be_judged(kind: Kind, data: st.DataObject) -> None:
    tree = data.draw(mutated(structs(kind.struct))) | {"apiVersion": kind.api_version, "kind": kind.name}
    verdict = admission.review(tree, POLICY, data.draw(st.one_of(st.none(), st.just(tree))))
    assert isinstance(verdict, Verdict)
    assert all(str(error) and error.remedy for error in verdict.errors)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status", "x"]), trees))
def test_no_document_is_too_strange_to_be_judged(tree: JSON) -> None:
    assert isinstance(admission.review(tree, POLICY), Verdict)
    named = {**tree, "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet"}
    assert isinstance(admission.review(named, POLICY, tree), Verdict)
    assert admission.topologies_in([tree, named]) == {}


@pytest.mark.parametrize("depth", [101, 100_000])
def test_no_document_is_too_deep_to_be_judged(depth: int) -> None:
    deep: Any = 1
    for number in range(depth):
        deep = [deep] if number % 2 else {"spec": deep}
    tree = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "a"}, "spec": deep}
    assert [str(error.path) for error in admission.review(tree, POLICY).errors] == ["<root>"]
    while isinstance(deep, dict | list):  # one level at a time: Python would free it recursively
        deep = deep["spec"] if isinstance(deep, dict) else deep[0]

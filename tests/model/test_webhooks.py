"""The webhooks over generated PodCliqueSets, and over anything at all."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grove.api import admission, structural
from grove.api.kinds import catalog
from grove.operator.admission import exchange, review
from grove.operator.admission.exchange import Unreadable
from grove.operator.admission.jsonpatch import difference
from tests.model.strategies import JSON, POLICY, mutated, podcliquesets, trees
from tests.unit.operator.admission.requests import answered, asked, patched

SETS = (catalog.POD_CLIQUE_SET,)
SCHEMA = admission._schema_of(catalog.POD_CLIQUE_SET)


def from_server(tree: JSON) -> JSON:
    """As the API server hands it to webhooks: with the defaults of the schema and a namespace."""
    named = {**tree, "metadata": {**tree["metadata"], "namespace": "default", "uid": "1"}}
    result: JSON = structural.with_defaults(structural.normal(named, SCHEMA), SCHEMA)
    return result


def sendable(value: Any) -> Any:
    """Without halves of characters and infinite numbers, which are no JSON."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"), parse_constant=lambda _: None)


def is_alike(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_alike, one, other))
    return bool(one == other)


def became(tree: JSON, old: JSON | None = None) -> JSON:
    request = asked(tree, old)
    result: JSON = patched(tree, answered(request, review.default(request, SETS, POLICY)).get("patch", []))
    return result


@given(trees, trees)
def test_a_patch_leads_from_any_value_to_any_other(before: Any, after: Any) -> None:
    before, after = sendable(before), sendable(after)
    operations = difference(before, after)
    assert is_alike(patched(before, operations), after)
    assert bool(operations) is not is_alike(before, after)


@given(podcliquesets())
def test_the_patch_makes_of_an_object_exactly_what_is_admitted(tree: JSON) -> None:
    given_ = from_server(tree)
    assert became(given_) == admission.review(given_, POLICY).admitted


@given(podcliquesets())
def test_the_patch_touches_nothing_that_it_need_not(tree: JSON) -> None:
    given_ = from_server(tree)
    request = asked(given_)
    operations = answered(request, review.default(request, SETS, POLICY)).get("patch", [])
    for one in operations:
        rest = [other for other in operations if other is not one]
        try:
            without = patched(given_, rest)
        except (AssertionError, IndexError, KeyError):
            continue  # what comes after it rests on it
        assert without != became(given_)
    assert {one["path"].split("/")[1] for one in operations} <= {"spec"}


@given(podcliquesets())
def test_what_was_defaulted_needs_no_patch_and_is_allowed(tree: JSON) -> None:
    stored = became(from_server(tree))
    for old in (None, stored):
        request = asked(stored, old)
        assert answered(request, review.default(request, SETS, POLICY)) == {"uid": "request-1", "allowed": True}
        assert answered(request, review.validate(request, SETS, POLICY))["allowed"]


@given(mutated(podcliquesets()), st.one_of(st.none(), mutated(podcliquesets())))
def test_the_two_webhooks_agree_with_the_rules_on_every_change(tree: JSON, old: JSON | None) -> None:
    """Whatever the rules refuse, and the schema has let through, the validating webhook refuses."""
    tree |= {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet"}
    tree, old = sendable(tree), sendable(old)
    request = asked(tree, old)
    assert answered(request, review.default(request, SETS, POLICY))["allowed"]
    changed = became(tree, old)
    answer = answered(asked(changed, old), review.validate(asked(changed, old), SETS, POLICY))
    verdict = admission.review(tree, POLICY, old)
    if answer["allowed"] and not verdict.allowed:
        assert old is not None
        assert changed.get("spec") == old.get("spec")  # a change of nothing that is judged
    if verdict.allowed:
        assert answer["allowed"]


@given(st.binary(max_size=200))
def test_no_body_is_too_strange(body: bytes) -> None:
    with contextlib.suppress(Unreadable):
        exchange.decode(body)


@given(st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), trees), trees)
def test_no_object_is_too_strange_to_be_answered(tree: JSON, metadata: Any) -> None:
    tree, metadata = sendable(tree), sendable(metadata)
    named = {**tree, "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet"}
    for document in (tree, named):
        for old in (None, {**named, "metadata": metadata}):
            request = exchange.decode(
                json.dumps(
                    {
                        "apiVersion": "admission.k8s.io/v1",
                        "kind": "AdmissionReview",
                        "request": {"uid": "u", "operation": "UPDATE", "object": document, "oldObject": old},
                    }
                ).encode()
            )
            for verdict in (review.default, review.validate):
                exchange.encode(request, verdict(request, SETS, POLICY))
            review.misses_topology(request, {})

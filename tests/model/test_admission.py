"""Admission of generated workloads: defaulting ends, what it makes is valid, and nothing whatever makes it raise."""

import json
from typing import Any

import pytest
from hypothesis import given

from grove.api import admission, codec, defaults, outline, rules, schema, structural
from grove.api.admission import Verdict
from grove.api.errors import Path, Problems
from grove.api.kinds import catalog
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from grove.api.validation import podcliqueset
from tests.model import strategies

POLICY = Policy(topologies=strategies.TOPOLOGIES)


def accepted(document: dict[str, Any], old: dict[str, Any] | None = None) -> Verdict:
    verdict = admission.review(document, POLICY, old)
    assert verdict.allowed, [str(error) for error in verdict.errors]
    return verdict


@given(strategies.podcliquesets())
def test_what_defaulting_made_of_a_valid_object_is_accepted(document: dict[str, Any]) -> None:
    pcs = codec.decode(accepted(document).admitted, PodCliqueSet)
    assert podcliqueset.create(pcs, POLICY).errors == []


@given(strategies.podcliquesets())
def test_defaulting_twice_is_defaulting_once(document: dict[str, Any]) -> None:
    once = accepted(document)
    again = accepted(once.admitted)
    assert again.admitted == once.admitted
    pcs = codec.decode(once.admitted, PodCliqueSet)
    assert defaults.podcliqueset(pcs, POLICY, Problems()) == pcs


@given(strategies.podcliquesets())
def test_what_is_stored_has_one_spelling_and_no_more_corrections(document: dict[str, Any]) -> None:
    once = accepted(document)
    text = json.dumps(once.admitted)
    for alias in ("startupType", "networkPackGroups", "packDomain"):
        assert f'"{alias}"' not in text
    problems = Problems()
    defaults.podcliqueset(codec.decode(once.admitted, PodCliqueSet), POLICY, problems)
    assert problems.warnings == []


@given(strategies.podcliquesets())
def test_what_is_admitted_passes_the_schema_and_its_rules(document: dict[str, Any]) -> None:
    admitted = accepted(document).admitted
    problems = Problems()
    whole = {key: value for key, value in admitted.items() if key != "metadata"}
    structural.check(whole, schema.of_kind(catalog.POD_CLIQUE_SET), Path(), problems)
    rules.check(admitted, PodCliqueSet, Path(), problems)
    assert problems.errors == []


@given(strategies.podcliquesets())
def test_applying_the_same_manifest_again_changes_nothing(document: dict[str, Any]) -> None:
    stored = accepted(document).admitted
    assert accepted(document, old=stored).admitted == stored


@given(strategies.podcliquesets())
def test_the_pods_of_all_gangs_are_those_of_the_arithmetic(document: dict[str, Any]) -> None:
    pcs = codec.decode(accepted(document).admitted, PodCliqueSet)
    template = pcs.spec.template
    copies = {name: group.replicas for group in template.pod_clique_scaling_groups for name in group.clique_names}
    expected = pcs.spec.replicas * sum(one.spec.replicas * copies.get(one.name, 1) for one in template.cliques)
    gangs = outline.gangs_of(pcs)
    assert sum(gang.pods for gang in gangs) == expected
    made = outline.totals(pcs)
    assert (made.pods, made.gangs + made.scaled_gangs) == (expected, len(gangs))


@given(strategies.broken())
def test_a_broken_object_gets_a_verdict_whose_errors_say_what_to_do(document: dict[str, Any]) -> None:
    verdict = admission.review(document, POLICY)
    for error in verdict.errors:
        assert str(error)
        assert error.remedy


@given(strategies.broken(), strategies.podcliquesets())
def test_a_change_to_or_from_a_broken_object_gets_a_verdict(broken: dict[str, Any], valid: dict[str, Any]) -> None:
    admission.review(broken, POLICY, valid)
    admission.review(valid, POLICY, broken)


@pytest.mark.parametrize("kind", catalog.KINDS, ids=lambda kind: f"{kind.name}.{kind.group}")
def test_trees_of_any_shape_get_a_verdict(kind: catalog.Kind) -> None:
    @given(strategies.trees, strategies.trees)
    def check(spec: Any, metadata: Any) -> None:
        document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}
        admission.review(document, POLICY)
        if isinstance(spec, dict):
            admission.review({**spec, "apiVersion": kind.api_version, "kind": kind.name}, POLICY)

    check()

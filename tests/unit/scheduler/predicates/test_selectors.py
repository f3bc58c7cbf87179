"""Selectors over labels and namespaces."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grove.kube.affinity import LabelSelector
from grove.kube.objects import PodSpec
from grove.scheduler.predicates.selectors import compiled, meets, spoken


def matches(selector: dict[str, Any], **labels: str) -> bool:
    found = compiled(msgspec.convert(selector, LabelSelector))
    assert found is not None
    return meets(found, labels)


def one(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "app", "operator": operator, "values": [*values]}]}


@pytest.mark.parametrize(
    ("selector", "web", "db", "none"),
    [
        ({}, True, True, True),
        ({"matchLabels": {"app": "web"}}, True, False, False),
        (one("In", "web", "api"), True, False, False),
        (one("NotIn", "web"), False, True, True),
        (one("Exists"), True, True, False),
        (one("DoesNotExist"), False, False, True),
        (one("Unheard"), False, False, False),
    ],
)
def test_selectors_match_as_in_kubernetes(selector: dict[str, Any], web: bool, db: bool, none: bool) -> None:
    assert [matches(selector, app="web"), matches(selector, app="db"), matches(selector)] == [web, db, none]


def test_selectors_that_say_the_same_are_one() -> None:
    short = msgspec.convert({"matchLabels": {"app": "web"}}, LabelSelector)
    long = msgspec.convert(one("In", "web"), LabelSelector)
    assert compiled(short) == compiled(long)
    assert compiled(None) is None


def test_all_keys_that_a_pod_speaks_of_are_told() -> None:
    def term(key: str) -> dict[str, Any]:
        selector = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
        return {"topologyKey": "zone", "labelSelector": selector}

    def side(key: str) -> dict[str, Any]:
        return {
            "requiredDuringSchedulingIgnoredDuringExecution": [term(f"{key}-must")],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term(f"{key}-should")}
            ],
        }

    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term("spread"), "matchLabelKeys": ["hash"]}
    body = {
        "affinity": {"podAffinity": side("near"), "podAntiAffinity": side("far")},
        "topologySpreadConstraints": [spread],
    }
    keys = {"near-must", "near-should", "far-must", "far-should", "spread", "hash"}
    assert spoken(msgspec.convert(body, PodSpec)) == keys
    assert spoken(PodSpec()) == frozenset()

from typing import Any

import msgspec
import pytest

from grove.kube import nodechoice
from grove.kube.affinity import Affinity

LABELS = {"zone": "z1", "rank": "7", "empty": "", "odd": "1_0"}

Json = dict[str, Any]


def wants(*terms: Json, selector: dict[str, str] | None = None) -> bool:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    affinity = msgspec.convert({"nodeAffinity": required}, Affinity) if terms else None
    return nodechoice.wants(selector, affinity, name="node-a", labels=LABELS)


def on(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, *values: str, key: str = "metadata.name") -> Json:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


def test_a_pod_that_says_nothing_wants_every_node() -> None:
    assert wants()
    assert wants(selector={})
    empty: tuple[Json, ...] = ({}, {"nodeAffinity": {}}, {"podAffinity": {}})
    for affinity in empty:
        assert nodechoice.wants(None, msgspec.convert(affinity, Affinity), name="node-a", labels={})


def test_a_selector_wants_all_its_labels() -> None:
    assert wants(selector={"zone": "z1", "rank": "7"})
    assert not wants(selector={"zone": "z1", "rank": "8"})
    assert not wants(selector={"none": ""})
    assert wants(selector={"empty": ""})


@pytest.mark.parametrize(
    ("term", "holds"),
    [
        (on("zone", "In", "z0", "z1"), True),
        (on("zone", "In", "z0"), False),
        (on("none", "In", "z1"), False),
        (on("zone", "NotIn", "z0"), True),
        (on("zone", "NotIn", "z0", "z1"), False),
        (on("none", "NotIn", "z0"), True),
        (on("empty", "Exists"), True),
        (on("none", "Exists"), False),
        (on("empty", "DoesNotExist"), False),
        (on("none", "DoesNotExist"), True),
        (on("rank", "Gt", "6"), True),
        (on("rank", "Gt", "7"), False),
        (on("rank", "Gt", "+6"), True),
        (on("rank", "Lt", "8"), True),
        (on("rank", "Lt", "7"), False),
        (on("rank", "Lt", "-7"), False),
        (on("none", "Gt", "6"), False),
        (on("zone", "Gt", "6"), False),
        (on("rank", "Lt"), False),
        (on("rank", "Lt", "8", "9"), False),
        (on("rank", "Lt", "many"), False),
        # What Python takes for a number and Kubernetes does not.
        (on("odd", "Gt", "1"), False),
        (on("rank", "Lt", " 8"), False),
        (on("rank", "Lt", "٩"), False),
        (on("rank", "Lt", str(2**63 - 1)), True),
        (on("rank", "Lt", str(2**63)), False),
        (on("rank", "Lt", "9" * 5000), False),
        (on("rank", "Resembles", "7"), False),
        (named("In", "node-a"), True),
        (named("In", "node-b"), False),
        (named("NotIn", "node-a"), False),
        (named("NotIn", "node-b"), True),
        (named("In", "node-a", key="metadata.uid"), False),
        (on("zone", "Exists") | named("In", "node-a"), True),
        (on("zone", "Exists") | named("In", "node-b"), False),
        (on("none", "Exists") | named("In", "node-a"), False),
        ({}, False),
        (
            {"matchExpressions": on("zone", "Exists")["matchExpressions"] + on("none", "Exists")["matchExpressions"]},
            False,
        ),
    ],
)
def test_a_term_holds_if_all_of_it_does(term: Json, holds: bool) -> None:
    assert wants(term) == holds
    # Of several terms one is enough; the selector counts beside them.
    assert wants({}, term) == holds
    assert wants(term, selector={"zone": "z1"}) == holds
    assert not wants(term, selector={"zone": "z2"})


def test_required_terms_of_which_there_are_none_want_no_node() -> None:
    affinity = msgspec.convert(
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}, Affinity
    )
    assert not nodechoice.wants(None, affinity, name="node-a", labels=LABELS)

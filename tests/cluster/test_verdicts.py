"""The schema's limits, judged by the API server and by `grove validate`: the verdicts are the same."""

from typing import Any

import pytest

from grove.api import schema, structural
from grove.api.errors import Path, Problems
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.testing.controlplane import ControlPlane
from tests.cluster.objects import POD_SPEC, Objects, smallest

pytestmark = pytest.mark.usefixtures("grove_crds")

DURATIONS = [
    *str.split("0 4h 4h0m0s 1.5h .5h 1.h +1h -1h 300ms 1us 1µs 1μs 1ns h 1 1H 1h30 1h- --1h 1,5h 1e3s 1d ٣h"),
    *("", " 1h", "1h ", "1h\n", "1 h", "4 hours", "\u00001h"),
]
DOMAINS = ["a", "a-", "a--b", "-a", "A", "a_b", "9a", "a9", "a.b", "é", "a\n", "", "a" * 63, "a" * 64, "rack"]
LABEL_KEYS = [
    *["a", "a/b", "example.com/a", "A/b", "a/", "/a", "a//b", "-a", "a-", "a_", "a.b/c.d_E"],
    "a" * 63,
    "a" * 64,
    f"{'a' * 253}/{'b' * 63}",
    f"{'a' * 254}/{'b' * 63}",
    "",
    "a\n",
    "é",
]
# No 1.0: what kubectl sends of it, and what the server hands to webhooks, is 1.
COUNTS: list[Any] = [0, 1, -1, 2**31 - 1, 2**31, 2**63, 1.5, True, "1", None, [], {}]
# Without the server's leniency, of which only controllers could make use: t and z, a comma, year 0, a day's offset.
TIMES = [
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05.678901234Z",
    "2026-01-02T03:04:05+02:00",
    "2026-01-02T03:04:05-23:59",
    "2026-01-02T03:04:05",
    "2026-01-02 03:04:05Z",
    "2026-01-02",
    "2026-02-30T03:04:05Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T03:04:60Z",
    "2026-01-02T03:04Z",
    "٢026-01-02T03:04:05Z",
    "",
    "now",
]
QUANTITIES: list[Any] = [
    *str.split("0 1 -1 +1 1.5 .5 1. 1k 1K 1Ki 1ki 1m 1u 1n 1p 1P 1Pi 1E 1Ei 1e3 1E3 1e 1e-3 1.5Gi 0x1 1,5 NaN inf"),
    *("", " 1", "1 ", "1\n", "1 Gi", 1, 1.5, True, None, {}),
]
ENUMS: list[Any] = ["CliqueStartupTypeInOrder", "InOrder", "inOrder", "", None, 1, "InOrder\n"]
NAMES: list[Any] = ["Ready", "example.com/Ready", "", "-", "Ready\n", "a" * 316, "a" * 317, "ü"]
REASONS = ["Why", "why", "9", "a b", "", "a:b,c", "a:", "Why\n", "a" * 1024, "a" * 1025]


def template(**fields: object) -> JSON:
    cliques = [{"name": "worker", "spec": {"replicas": 1, "podSpec": POD_SPEC}}]
    return {"template": {"cliques": cliques, **fields}}


def condition(**fields: object) -> JSON:
    whole = {
        "type": "Ready",
        "status": "True",
        "reason": "Why",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    return {"phase": "Pending", "conditions": [whole | fields]}


PLACES: dict[str, tuple[Kind, Any, list[Any]]] = {
    "a duration": (catalog.POD_CLIQUE_SET, lambda value: template(terminationDelay=value), DURATIONS),
    "a domain": (
        catalog.POD_CLIQUE_SET,
        lambda value: template(topologyConstraint={"pack": {"preferred": value}}),
        DOMAINS,
    ),
    "an enum": (catalog.POD_CLIQUE_SET, lambda value: template(cliqueStartupType=value), ENUMS),
    "a label key": (catalog.TOPOLOGY_BINDING, lambda value: {"levels": [{"domain": "a", "key": value}]}, LABEL_KEYS),
    "a count": (catalog.POD_CLIQUE_SET, lambda value: {"replicas": value, **template()}, COUNTS),
    "a count of at least one": (catalog.QUEUE, lambda value: {"weight": value}, COUNTS),
    "a quantity": (catalog.QUEUE, lambda value: {"limit": {"cpu": value}}, QUANTITIES),
    "a quantity in a container": (
        catalog.POD_CLIQUE,
        lambda value: {
            "replicas": 1,
            "podSpec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": value}}}]},
        },
        QUANTITIES,
    ),
    "a port": (
        catalog.POD_CLIQUE,
        lambda value: {
            "replicas": 1,
            "podSpec": {"containers": [{"name": "main", "livenessProbe": {"httpGet": {"port": value}}}]},
        },
        [1, "http", "1", 1.5, True, None, {}, ""],
    ),
}
STATUSES: dict[str, tuple[Any, list[Any]]] = {
    "a time": (lambda value: condition(lastTransitionTime=value), TIMES),
    "a type of condition": (lambda value: condition(type=value), NAMES),
    "a reason": (
        lambda value: condition(reason=value),
        REASONS,
    ),
    "a status of a condition": (lambda value: condition(status=value), ["True", "true", True, None, ""]),
    "a number": (lambda value: condition() | {"placementScore": value}, [0, 1, 0.5, -1e300, "1", True, None]),
}


def allowed(kind: Kind, part: str, tree: JSON) -> bool:
    """Whether the spec or the status is allowed offline, as far as the schema goes."""
    known, problems = schema.of_kind(kind)["properties"][part], Problems()
    tree = structural.with_defaults(structural.normal(tree, known), known)
    structural.check(tree, known, Path(), problems)
    return not problems.errors


@pytest.mark.parametrize("place", PLACES)
def test_a_value_in_a_spec_is_judged_alike(cluster: ControlPlane, objects: Objects, namespace: str, place: str) -> None:
    kind, spec_of, values = PLACES[place]
    verdicts = {}
    for value in values:
        tree = smallest(kind, namespace) | {"spec": spec_of(value)}
        code, answer = cluster.request("POST", f"{objects.path(kind)}?dryRun=All&fieldValidation=Strict", tree)
        assert code in (201, 400, 422), answer
        verdicts[repr(value)] = (code == 201, allowed(kind, "spec", tree["spec"]))
    assert {value: verdict for value, verdict in verdicts.items() if verdict[0] is not verdict[1]} == {}
    assert {theirs for theirs, _ in verdicts.values()} == {True, False}


@pytest.mark.parametrize("place", STATUSES)
def test_a_value_in_a_status_is_judged_alike(
    cluster: ControlPlane, objects: Objects, namespace: str, place: str
) -> None:
    status_of, values = STATUSES[place]
    stored = objects.create(catalog.POD_GANG, namespace)
    path = f"{objects.path(catalog.POD_GANG, namespace, 'status')}?dryRun=All&fieldValidation=Strict"
    verdicts = {}
    for value in values:
        tree = stored | {"status": status_of(value)}
        code, answer = cluster.request("PUT", path, tree)
        assert code in (200, 400, 422), answer
        verdicts[repr(value)] = (code == 200, allowed(catalog.POD_GANG, "status", tree["status"]))
    assert {value: verdict for value, verdict in verdicts.items() if verdict[0] is not verdict[1]} == {}
    assert {theirs for theirs, _ in verdicts.values()} == {True, False}

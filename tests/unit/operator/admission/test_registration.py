from __future__ import annotations

import base64
import copy

import pytest

from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.operator.admission import registration, webhooks
from grove.operator.admission.registration import Service, Step, Url, Wanted, configurations, steps

SERVICE = Service(namespace="grove-system")


def wanted(authorities: bytes = b"ca", *, with_authorizer: bool = True) -> list[Wanted]:
    return configurations(SERVICE, authorities, with_authorizer=with_authorizer)


def held(these: list[Wanted]) -> dict[tuple[str, str], JSON]:
    """As a server stores them, with what it adds."""
    found = {}
    for one in these:
        assert one.body is not None
        body = copy.deepcopy(one.body)
        body["metadata"] |= {"uid": one.name, "generation": 1}
        body["webhooks"][0]["matchConditions"] = []
        found[one.resource.plural, one.name] = body
    return found


TABLE = [
    (
        "/webhooks/default-podcliqueset",
        "mutatingwebhookconfigurations",
        "podcliqueset-defaulting-webhook",
        "pcs.defaulting.webhooks.grove.io",
        {"podcliquesets": ("CREATE", "UPDATE")},
    ),
    (
        "/webhooks/validate-podcliqueset",
        "validatingwebhookconfigurations",
        "podcliqueset-validating-webhook",
        "pcs.validating.webhooks.grove.io",
        {"podcliquesets": ("CREATE", "UPDATE")},
    ),
    (
        "/webhooks/validate-clustertopology",
        "validatingwebhookconfigurations",
        "clustertopology-validating-webhook",
        "clustertopology.validating.webhooks.grove.io",
        {"clustertopologybindings": ("CREATE", "UPDATE")},
    ),
    (
        "/webhooks/authorizer-webhook",
        "validatingwebhookconfigurations",
        "authorizer-webhook",
        "authorizer.webhooks.grove.io",
        {
            **dict.fromkeys(("secrets", "serviceaccounts", "services"), ("UPDATE", "DELETE")),
            **dict.fromkeys(("roles", "rolebindings", "horizontalpodautoscalers"), ("UPDATE", "DELETE")),
            "pods": ("UPDATE",),
            **dict.fromkeys(("podcliques", "podcliquescalinggroups", "podgangs"), ("CREATE", "UPDATE", "DELETE")),
        },
    ),
]


@pytest.mark.parametrize(("path", "plural", "configuration", "name", "asked"), TABLE)
def test_the_webhooks_are_called_as_in_go_grove(
    path: str, plural: str, configuration: str, name: str, asked: dict[str, tuple[str, ...]]
) -> None:
    [found] = [one for one in wanted() if one.name == configuration]
    assert found.resource.plural == plural
    assert found.body is not None
    [entry] = found.body["webhooks"]
    assert entry["name"] == name
    assert entry["clientConfig"] == {
        "service": {"namespace": "grove-system", "name": "grove-operator", "port": 443, "path": path},
        "caBundle": base64.b64encode(b"ca").decode(),
    }
    assert {key: entry[key] for key in ("failurePolicy", "matchPolicy", "sideEffects", "timeoutSeconds")} == {
        "failurePolicy": "Fail",
        "matchPolicy": "Exact",
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }
    assert entry["admissionReviewVersions"] == ["v1"]
    assert {resource: tuple(rule["operations"]) for rule in entry["rules"] for resource in rule["resources"]} == asked


def test_the_authorizer_is_asked_about_managed_objects_only() -> None:
    entries = {one.name: one.body["webhooks"][0] for one in wanted() if one.body is not None}
    selector = {"matchLabels": {"app.kubernetes.io/managed-by": "grove-operator"}}
    assert entries["authorizer-webhook"]["objectSelector"] == selector
    assert all(entry["objectSelector"] == {} for name, entry in entries.items() if name != "authorizer-webhook")


def test_every_kind_with_rules_of_its_own_is_judged() -> None:
    judged = {kind for one in webhooks.WEBHOOKS if one.purpose == "validate" for kind in one.kinds}
    assert judged == {
        catalog.POD_CLIQUE_SET,
        catalog.TOPOLOGY_BINDING,
        catalog.QUEUE,
        catalog.POD_GANG_SET,
        catalog.AFFINITY_CLIQUE,
    }


def test_a_url_stands_in_for_the_service() -> None:
    for base in ("https://127.0.0.1:9443", "https://127.0.0.1:9443/"):
        [body] = [
            one.body
            for one in configurations(Url(base), b"", with_authorizer=False, namespace_selector={"matchLabels": {}})
            if one.name == "podcliqueset-defaulting-webhook"
        ]
        assert body is not None
        entry = body["webhooks"][0]
        assert entry["clientConfig"] == {
            "url": "https://127.0.0.1:9443/webhooks/default-podcliqueset",
            "caBundle": "",
        }
        assert entry["namespaceSelector"] == {"matchLabels": {}}


def written(*found: Step) -> list[str]:
    return [one.name for one in found if one.body is not None]


@pytest.mark.parametrize("starting", [True, False])
def test_what_is_there_needs_no_step_and_what_is_missing_is_applied(starting: bool) -> None:
    assert list(steps(wanted(), held(wanted()), starting=starting)) == []
    assert written(*steps(wanted(), {}, starting=starting)) == [one.name for one in wanted()]


@pytest.mark.parametrize("starting", [True, False])
def test_other_authorities_are_applied_everywhere(starting: bool) -> None:
    found = steps(wanted(b"new"), held(wanted(b"old")), starting=starting)
    assert written(*found) == [one.name for one in wanted()]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("failurePolicy", "Ignore"),
        ("rules", []),
        ("objectSelector", {"matchLabels": {"a": "b"}}),
        ("namespaceSelector", None),
    ],
)
def test_another_difference_is_put_right_at_the_start_and_never_again(field: str, value: object) -> None:
    there = held(wanted())
    there["validatingwebhookconfigurations", "authorizer-webhook"]["webhooks"][0][field] = value
    assert written(*steps(wanted(), there, starting=True)) == ["authorizer-webhook"]
    assert list(steps(wanted(), there, starting=False)) == []


@pytest.mark.parametrize("starting", [True, False])
def test_an_authorizer_that_is_off_is_removed(starting: bool) -> None:
    there, off = held(wanted()), wanted(with_authorizer=False)
    assert list(steps(off, there, starting=starting)) == [
        Step(registration.VALIDATING, "authorizer-webhook", uid="authorizer-webhook")
    ]
    del there["validatingwebhookconfigurations", "authorizer-webhook"]
    assert list(steps(off, there, starting=starting)) == []

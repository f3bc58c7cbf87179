import copy
from typing import Any

import pytest

from grove.api import admission
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.api.policy import Policy
from grove.operator.admission import exchange, review
from grove.operator.admission.exchange import ALLOWED, Unreadable
from tests.manifests.cases import Case, cases
from tests.unit.operator.admission.requests import answered, asked, patched, topology, workload

SETS = (catalog.POD_CLIQUE_SET,)
POLICY = Policy(topologies={"gpus": ("zone", "rack")})


def defaulted(tree: JSON, old: JSON | None = None, policy: Policy = POLICY) -> JSON:
    request = asked(tree, old)
    answer = answered(request, review.default(request, SETS, policy))
    assert answer["allowed"]
    result: JSON = patched(tree, answer.get("patch", []))
    return result


def judged(tree: JSON | None, old: JSON | None = None, *kinds: Kind, policy: Policy = POLICY, **request: Any) -> JSON:
    one = asked(tree, old, **request)
    return answered(one, review.validate(one, kinds or SETS, policy))


def test_defaults_come_as_a_patch_of_nothing_else() -> None:
    tree = workload()
    request = asked(tree)
    answer = answered(request, review.default(request, SETS, POLICY))
    assert answer["patchType"] == "JSONPatch"
    clique = "/spec/template/cliques/0/spec"
    assert {(one["op"], one["path"]) for one in answer["patch"]} == {
        ("add", f"{clique}/roleName"),
        ("add", f"{clique}/minAvailable"),
        ("add", f"{clique}/podSpec/restartPolicy"),
        ("add", f"{clique}/podSpec/terminationGracePeriodSeconds"),
        ("add", "/spec/template/terminationDelay"),
        ("add", "/spec/template/headlessServiceConfig"),
    }
    assert "warnings" not in answer
    assert defaulted(tree)["spec"]["template"]["terminationDelay"] == "4h0m0s"


def test_what_has_its_defaults_gets_no_patch() -> None:
    once = defaulted(workload())
    request = asked(once)
    assert review.default(request, SETS, POLICY) == ALLOWED


def test_an_older_spelling_is_put_right_with_a_warning_that_is_given_once() -> None:
    tree = workload()
    del tree["spec"]["template"]["cliqueStartupType"]
    tree["spec"]["template"]["startupType"] = "InOrder"
    request = asked(tree)
    answer = answered(request, review.default(request, SETS, POLICY))
    assert [warning.split(":")[0] for warning in answer["warnings"]] == ["spec.template.startupType"]
    became = patched(tree, answer["patch"])
    assert became["spec"]["template"]["cliqueStartupType"] == "CliqueStartupTypeInOrder"
    assert judged(became) == {"uid": "request-1", "allowed": True}


def test_defaults_do_not_wait_for_topologies() -> None:
    tree = workload(topologyConstraint={"topologyName": "unknown", "pack": {"required": "rack"}})
    assert "terminationDelay" in defaulted(tree)["spec"]["template"]


@pytest.mark.parametrize("spec", [{"replicas": -1}, {"template": {"cliques": 1}}, {"template": {}}, {}, None])
def test_what_is_broken_gets_no_defaults_and_is_left_to_the_schema(spec: Any) -> None:
    request = asked(workload() | {"spec": spec})
    assert review.default(request, SETS, POLICY) == ALLOWED


def test_what_was_never_stated_is_taken_from_the_stored_object() -> None:
    stored = defaulted(workload())
    changed = workload()
    changed["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 5
    assert defaulted(changed, stored)["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] == 2


def test_all_errors_are_told_with_their_fields_and_what_would_help() -> None:
    tree = defaulted(workload())
    worker = tree["spec"]["template"]["cliques"][0]["spec"]
    worker["minAvailable"] = 3
    tree["spec"]["template"]["terminationDelay"] = "0s"
    answer = judged(tree)
    assert not answer["allowed"]
    status = answer["status"]
    assert (status["code"], status["reason"], status["status"]) == (422, "Invalid", "Failure")
    assert {key: status["details"][key] for key in ("name", "group", "kind")} == {
        "name": "simple",
        "group": "grove.io",
        "kind": "PodCliqueSet",
    }
    causes = {cause["field"]: cause for cause in status["details"]["causes"]}
    assert causes.keys() == {"spec.template.cliques[0].spec.minAvailable", "spec.template.terminationDelay"}
    cause = causes["spec.template.cliques[0].spec.minAvailable"]
    assert cause["reason"] == "FieldValueInvalid"
    assert cause["message"].startswith("Invalid value: 3: minAvailable must not be greater than replicas; ")
    assert status["message"].startswith('PodCliqueSet.grove.io "simple" is invalid: [')
    assert status["message"].endswith("]")
    assert cause["message"] in status["message"]


def test_a_single_error_stands_without_brackets() -> None:
    tree = defaulted(workload())
    tree["spec"]["template"]["terminationDelay"] = "0s"
    message = judged(tree)["status"]["message"]
    assert message.startswith(
        'PodCliqueSet.grove.io "simple" is invalid: spec.template.terminationDelay: Invalid value'
    )


def test_a_change_is_judged_against_the_stored_object() -> None:
    stored = defaulted(workload())
    changed = copy.deepcopy(stored)
    changed["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = 1
    assert judged(changed)["allowed"]
    answer = judged(changed, stored)
    assert "field is immutable" in answer["status"]["message"]


def test_a_change_of_nothing_that_is_judged_is_let_through_whatever_the_rules_are_by_now() -> None:
    stored = workload("x" * 80, topologyConstraint={"topologyName": "gone", "pack": {"required": "rack"}})
    stored["spec"]["template"]["terminationDelay"] = "0s"
    assert not judged(stored)["allowed"]
    changed = copy.deepcopy(stored)
    changed["metadata"] |= {"finalizers": ["grove.io/podcliqueset.grove.io"], "resourceVersion": "7"}
    assert judged(changed, stored)["allowed"]
    changed["metadata"]["annotations"] = {"grove.io/mnnvl-group": "a"}
    assert not judged(changed, stored)["allowed"]


@pytest.mark.parametrize("request_", [{"operation": "DELETE"}, {"operation": "CONNECT"}, {"subResource": "scale"}])
def test_deletions_and_subresources_are_let_through(request_: dict[str, str]) -> None:
    broken = workload() | {"spec": {}}
    tree = None if request_.get("operation") == "DELETE" else broken
    one = asked(tree, broken, **request_)
    assert review.default(one, SETS, POLICY) == ALLOWED
    assert review.validate(one, SETS, POLICY) == ALLOWED


def test_a_request_without_an_object_or_with_another_kind_is_a_bad_one() -> None:
    for tree in (None, topology("gpus", "zone")):
        for verdict in (review.default, review.validate):
            one = asked(tree, operation="CREATE")
            answer = answered(one, verdict(one, SETS, POLICY))
            assert not answer["allowed"]
            assert (answer["status"]["code"], answer["status"]["reason"]) == (400, "BadRequest")
            assert "PodCliqueSet of grove.io/v1alpha1" in answer["status"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "1"}}',
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "object": []}}',
        b'{"a":' * 100_000,
    ],
)
def test_what_is_no_review_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable, match=r"no AdmissionReview of admission\.k8s\.io/v1"):
        exchange.decode(body)


def test_a_binding_is_judged_too() -> None:
    bindings = (catalog.TOPOLOGY_BINDING,)
    assert judged(topology("gpus", "zone", "rack"), None, *bindings)["allowed"]
    twice = topology(
        "gpus", "zone", "zone", schedulerTopologyBindings=[{"schedulerName": "nobody", "topologyReference": "x"}]
    )
    fields = [cause["field"] for cause in judged(twice, None, *bindings)["status"]["details"]["causes"]]
    assert fields == ["spec.levels[1].domain", "spec.schedulerTopologyBindings[0].schedulerName"]


def test_a_name_that_no_topology_has_is_noticed() -> None:
    for name, misses in (("gpus", False), ("other", True)):
        tree = workload()
        tree["spec"]["template"]["cliques"][0]["topologyConstraint"] = {"topologyName": name}
        assert review.misses_topology(asked(tree), {"gpus": ("zone",)}) is misses
    assert not review.misses_topology(asked(workload()), {})
    assert not review.misses_topology(asked(None, operation="CREATE"), {})


SERVED = [
    case
    for case in cases()
    if (kind := admission.kind_of(case.manifest)) is not None and kind.served and case.manifest.get("metadata")
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in SERVED])
def test_the_two_webhooks_together_give_the_verdict_of_the_table(case: Case) -> None:
    kind = admission.kind_of(case.manifest)
    assert kind is not None
    policy = case.policy
    one = asked(case.manifest, case.old)
    first = answered(one, review.default(one, (kind,), policy))
    assert first["allowed"]
    became = patched(case.manifest, first.get("patch", []))
    answer = judged(became, case.old, kind, policy=policy)
    assert answer["allowed"] is case.accepted
    if not answer["allowed"]:
        found = {(cause["field"], cause["reason"]) for cause in answer["status"]["details"]["causes"]}
        assert found == {(one.path, one.cause.replace("UnknownField", "FieldValueInvalid")) for one in case.errors}

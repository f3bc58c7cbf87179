from __future__ import annotations

from typing import Any

import pytest

from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.operator.admission import authorizer
from grove.operator.admission.authorizer import Protection, Subject
from grove.operator.admission.exchange import ALLOWED, Response
from tests.unit.operator.admission.requests import asked

OPERATOR = "system:serviceaccount:grove-system:grove-operator"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
PROTECTION = Protection(operator=OPERATOR, exempt=(COLLECTOR,))
PARENT = ObjectMeta(name="simple", namespace="default")
UNPROTECTED = ObjectMeta(
    name="simple", namespace="default", annotations={"grove.io/disable-managed-resource-protection": "true"}
)
ALMOST_UNPROTECTED = ObjectMeta(
    name="simple", namespace="default", annotations={"grove.io/disable-managed-resource-protection": "yes"}
)
LABELS = {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "simple"}


def subject(operation: str = "UPDATE", kind: str = "PodClique", user: str = "ann", **rest: Any) -> Subject:
    return Subject(
        operation=operation,
        kind=kind,
        namespace="default",
        name="simple-0-worker",
        user=user,
        **{"labels": LABELS} | rest,
    )


def decided(one: Subject, parent: ObjectMeta | None = PARENT) -> Response:
    return authorizer.decide(one, parent, PROTECTION)


@pytest.mark.parametrize("kind", ["PodClique", "PodGang", "Secret", "HorizontalPodAutoscaler", "Whatever"])
@pytest.mark.parametrize(
    ("operation", "words"),
    [("CREATE", "creation/updation"), ("UPDATE", "creation/updation"), ("DELETE", "deletion")],
)
def test_nobody_but_the_operator_and_the_exempt_may(kind: str, operation: str, words: str) -> None:
    answer = decided(subject(operation, kind))
    assert not answer.allowed
    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert answer.message.startswith(
        f"admission denied, {words} of resource: default/simple-0-worker is not allowed: Grove manages it; change "
        "PodCliqueSet simple"
    )
    for user in (OPERATOR, COLLECTOR):
        assert decided(subject(operation, kind, user)) == ALLOWED


@pytest.mark.parametrize(
    ("one", "parent"),
    [
        pytest.param(subject("CONNECT", labels={}), None, id="a connection"),
        pytest.param(subject(), UNPROTECTED, id="a set that gave up its protection"),
        pytest.param(subject("DELETE", "Pod"), PARENT, id="the deletion of a pod"),
    ],
)
def test_anybody_may(one: Subject, parent: ObjectMeta | None) -> None:
    assert decided(one, parent) == ALLOWED


def test_the_annotation_must_say_true() -> None:
    assert not decided(subject(), ALMOST_UNPROTECTED).allowed


def test_a_pod_may_not_be_changed() -> None:
    assert not decided(subject("UPDATE", "Pod")).allowed


def test_what_belongs_to_nothing_is_let_through_with_a_warning() -> None:
    without = decided(subject(labels={"app.kubernetes.io/managed-by": "grove-operator"}))
    assert without.allowed
    assert without.warnings == (
        "missing required label app.kubernetes.io/part-of on PodClique default/simple-0-worker: it is not protected",
    )
    orphan = decided(subject(), None)
    assert orphan.allowed
    assert orphan.warnings == (
        "parent PodCliqueSet default/simple not found: PodClique default/simple-0-worker is not protected",
    )


def test_an_operation_that_there_is_not_is_denied_to_everyone() -> None:
    for user in ("ann", OPERATOR):
        answer = decided(subject("EVICT", user=user))
        assert (answer.allowed, answer.message) == (False, "Unhandled operation. Admission denied.")


def managed(**labels: str) -> JSON:
    metadata = {"name": "simple-0-worker", "namespace": "default", "labels": labels}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "metadata": metadata}


def read(*trees: JSON | None, **rest: Any) -> Subject:
    found = authorizer.subject_of(asked(*trees, **rest))
    assert isinstance(found, Subject)
    return found


def test_labels_are_those_that_the_object_had() -> None:
    mine, stolen = managed(**LABELS), managed(**{"app.kubernetes.io/part-of": "other"})
    assert read(mine).parent == "simple"
    assert read(stolen, mine).parent == "simple"
    assert read(None, mine, operation="DELETE").parent == "simple"
    assert read(managed()).parent == ""
    assert read(None, operation="CONNECT").parent == ""


def test_the_subject_is_who_asks_for_what() -> None:
    assert read(None, managed(**LABELS), operation="DELETE", user=OPERATOR) == subject("DELETE", user=OPERATOR)


def test_a_kind_that_nobody_knows_is_read_as_any_other() -> None:
    tree = managed(**LABELS) | {"apiVersion": "example.com/v9", "kind": "Unheard", "what": ["ever"]}
    one = read(tree)
    assert (one.kind, one.parent) == ("Unheard", "simple")


def test_a_name_that_is_yet_to_be_made_is_shown_by_its_beginning() -> None:
    tree = managed(**LABELS)
    tree["metadata"] = {"generateName": "worker-", "namespace": "default", "labels": LABELS}
    assert read(tree).name == "worker-"


@pytest.mark.parametrize(("tree", "operation"), [(None, "CREATE"), (None, "DELETE"), ({"metadata": 1}, "CREATE")])
def test_a_request_without_its_object_is_a_bad_one(tree: JSON | None, operation: str) -> None:
    body = None if tree is None else tree | {"metadata": None}
    answer = authorizer.subject_of(asked(body, operation=operation, kind="Pod"))
    assert isinstance(answer, Response)
    assert (answer.allowed, answer.code, answer.message) == (
        False,
        400,
        f"the request to {operation} a Pod holds no object",
    )

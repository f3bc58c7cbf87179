"""Grove refuses a pod spec if, and only if, a real API server refuses the pod, and for a field that it names too."""

import http
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from grove.api import podspec
from grove.api.errors import Path, Problems
from grove.testing.controlplane import ControlPlane
from tests.unit.api.podspec.cases import Case, load

SENT = [case for case in load() if not case.offline]


@pytest.fixture(scope="module")
def pods(cluster: ControlPlane) -> Iterator[str]:
    """The path of the pods of a namespace that has the service accounts of the cases. Nothing is stored there."""
    namespace = cluster.create_namespace(f"podspec-{secrets.token_hex(3)}")
    for account in {case.spec.get("serviceAccountName", "default") for case in SENT if not case.refused} - {"default"}:
        cluster.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": account}})
    yield f"/api/v1/namespaces/{namespace}/pods"
    cluster.delete_namespace(namespace)


def ask(cluster: ControlPlane, pods: str, spec: dict[str, Any]) -> tuple[int, set[str], str]:
    """The API server's answer to a pod: its status, the paths of its causes below `spec`, and its message."""
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
    status, answer = cluster.request("POST", f"{pods}?dryRun=All&fieldValidation=Strict", body)
    causes = (answer.get("details") or {}).get("causes") or []
    return status, {str(cause.get("field", "")).removeprefix("spec.") for cause in causes}, answer.get("message", "")


def test_there_are_enough_cases_of_both_kinds() -> None:
    """The comparison covers what is accepted and what is refused."""
    assert sum(case.accepted_by_server for case in SENT) >= 100
    assert sum(not case.accepted_by_server for case in SENT) >= 250


@pytest.mark.parametrize("case", SENT, ids=str)
def test_verdict_and_field_are_those_of_the_api_server(cluster: ControlPlane, pods: str, case: Case) -> None:
    """The API server accepts what we accept, and refuses what we refuse, at a field that one of our errors names."""
    problems = Problems()
    podspec.check(case.spec, Path(), problems)
    status, fields, message = ask(cluster, pods, case.spec)

    assert "strict decoding" not in message, "the case is misspelt"
    assert (status == http.HTTPStatus.CREATED) == case.accepted_by_server, message
    assert bool(problems.errors) == bool(case.refused)
    # Admission plugins and the decoder of quantities refuse without naming a field.
    if status == http.HTTPStatus.UNPROCESSABLE_ENTITY:
        ours = {str(error.path) for error in problems.errors} | {str(warning.path) for warning in problems.warnings}
        assert fields & (ours | {case.server} - {""}), f"{fields} against {ours}: {message}"
        assert not (case.server and fields & ours), "the API server names our own path: `server` is needless"

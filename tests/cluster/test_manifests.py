"""The table of `tests/manifests`, judged by a real API server with nothing but Grove's CRDs.

A case that the schema judges gets the same verdict, at one of the same fields; one that the webhooks judge gets the
opposite verdict, or it would not need them.
"""

from __future__ import annotations

import contextlib
import http
import re
from collections.abc import Iterator
from typing import Any

import pytest

from grove.api import admission
from grove.api.kinds.catalog import Kind
from grove.testing.controlplane import ControlPlane
from tests.manifests.cases import Case, cases

pytestmark = pytest.mark.usefixtures("grove_crds")

DRY_RUN = "dryRun=All&fieldValidation=Strict"
# The decoder names fields only in the message, and the check of formats does so too.
IN_MESSAGE = re.compile(r'unknown field "([^"]+)"|with format int\d\d in (\S+?)[\],]*(?:\s|$)')


def kind_of(case: Case) -> Kind | None:
    kind = admission.kind_of(case.manifest)
    return kind if kind is not None and kind.served else None


def can_be_stored(case: Case) -> bool:
    """Whether the object that the case changes can be made: one from before the rule on packDomain can't any more.
    Of those `test_cel_rules.py` makes one, in a cluster of its own."""
    return "packDomain" not in str(case.old)


SERVED = [case for case in cases() if kind_of(case) is not None and can_be_stored(case)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in SERVED])
def test_the_api_server_gives_the_verdict_of_the_schema(cluster: ControlPlane, case: Case) -> None:
    with stored(cluster, case) as version:
        status, answer = dry_run(cluster, case, version)
    accepted = status in (http.HTTPStatus.OK, http.HTTPStatus.CREATED)
    assert accepted is (case.accepted if case.judged_by == "schema" else not case.accepted), answer
    if accepted:
        return
    named = {cause.get("field", "").lstrip(".") for cause in answer.get("details", {}).get("causes", [])}
    named |= {field for pair in IN_MESSAGE.findall(answer["message"]) for field in pair if field}
    if named and case.errors:  # who can't decode what Go has a type for, or finds no such namespace, names nothing
        assert named & {spelling for error in case.errors for spelling in spellings(error.path)}


def dry_run(cluster: ControlPlane, case: Case, version: str) -> tuple[int, Any]:
    collection = collection_of(case, case.manifest)
    if case.old is None:
        return cluster.request("POST", f"{collection}?{DRY_RUN}", case.manifest)
    body = {**case.manifest, "metadata": {**case.manifest["metadata"], "resourceVersion": version}}
    return cluster.request("PUT", f"{collection}/{body['metadata']['name']}?{DRY_RUN}", body)


@contextlib.contextmanager
def stored(cluster: ControlPlane, case: Case) -> Iterator[str]:
    """Creates what the case changes, and gives its version."""
    if case.old is None:
        yield ""
        return
    collection = collection_of(case, case.old)
    status, answer = cluster.request("POST", collection, case.old)
    assert status == http.HTTPStatus.CREATED, answer
    try:
        yield answer["metadata"]["resourceVersion"]
    finally:
        cluster.request("DELETE", f"{collection}/{answer['metadata']['name']}")


def collection_of(case: Case, manifest: dict[str, Any]) -> str:
    kind = kind_of(case)
    assert kind is not None
    namespace = (manifest.get("metadata") or {}).get("namespace") or "default"
    place = f"namespaces/{namespace}/" if kind.scope == "Namespaced" else ""
    return f"/apis/{kind.api_version}/{place}{kind.plural}"


def spellings(path: str) -> set[str]:
    """Our path as the API server may write it: keys of maps after a dot or not at all, and no index of a finalizer."""
    dotted = re.sub(r"\[([^\]]*[^\]\d][^\]]*)\]", r".\1", path)
    return {dotted, re.sub(r"\[[^\]]*\]$", "", path)}

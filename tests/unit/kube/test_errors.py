"""Errors from answers: the class, and what it carries."""

import json
from typing import Any

import pytest

from grove.kube import errors
from grove.kube.errors import ApiError, from_answer

TABLE: list[tuple[int, str, type[ApiError]]] = [
    (400, "BadRequest", errors.BadRequest),
    (401, "Unauthorized", errors.Unauthorized),
    (403, "Forbidden", errors.Forbidden),
    (404, "NotFound", errors.NotFound),
    (405, "MethodNotAllowed", errors.MethodNotAllowed),
    (406, "NotAcceptable", errors.NotAcceptable),
    (409, "AlreadyExists", errors.AlreadyExists),
    (409, "Conflict", errors.Conflict),
    (410, "Expired", errors.Gone),
    (410, "Gone", errors.Gone),
    (413, "RequestEntityTooLarge", errors.RequestTooLarge),
    (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
    (422, "Invalid", errors.Invalid),
    (429, "TooManyRequests", errors.TooManyRequests),
    (500, "InternalError", errors.InternalError),
    (500, "ServerTimeout", errors.ServerTimeout),
    (502, "", errors.BadGateway),
    (503, "ServiceUnavailable", errors.Unavailable),
    (504, "Timeout", errors.ServerTimeout),
    (507, "", errors.ServerError),
    (418, "", ApiError),
    (302, "", ApiError),
]


def status(code: int, reason: str, **more: Any) -> bytes:
    return json.dumps(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason} | more
    ).encode()


@pytest.mark.parametrize(("code", "reason", "expected"), TABLE)
def test_the_class_follows_from_code_and_reason(code: int, reason: str, expected: type[ApiError]) -> None:
    error = from_answer(code, status(code, reason, message="why"), {}, context="GET /x")
    assert type(error) is expected
    assert (error.code, error.reason, str(error)) == (code, reason, "GET /x: why")


@pytest.mark.parametrize(("code", "reason", "expected"), TABLE)
@pytest.mark.parametrize("body", [b"", b"<html>\n<h1>no</h1>", b"\xff\xfe", b"null", b"[]", b'{"kind":"Pod"}'])
def test_a_body_that_is_no_status_gives_the_class_of_the_code(
    code: int, reason: str, expected: type[ApiError], body: bytes
) -> None:
    error = from_answer(code, body, {})
    assert type(error) is errors.BY_CODE.get(code, expected)
    assert str(code) in str(error)


def test_a_long_page_is_cut() -> None:
    assert len(str(from_answer(503, b"x" * 100_000, {}))) < 400


def test_an_invalid_object_names_its_fields() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.replicas"},
        {"reason": "FieldValueRequired", "message": "name it", "field": "spec.template"},
    ]
    details = {"name": "a", "group": "grove.io", "kind": "PodCliqueSet", "causes": causes}
    error = from_answer(422, status(422, "Invalid", details=details), {})
    assert isinstance(error, errors.Invalid)
    assert error.fields == ("spec.replicas", "spec.template")
    assert error.causes[0].message == "must be positive"
    assert error.details.kind == "PodCliqueSet"


def test_a_status_with_nulls_is_read() -> None:
    assert from_answer(404, status(404, "NotFound", details={"causes": None}), {}).causes == ()


@pytest.mark.parametrize(
    ("header", "in_body", "expected"),
    [("7", 0, 7.0), (None, 3, 3.0), ("7", 3, 7.0), (None, 0, None), ("Wed, 21 Oct 2026 07:28:00 GMT", 0, None)],
)
def test_when_to_come_back(header: str | None, in_body: int, expected: float | None) -> None:
    headers = {} if header is None else {"Retry-After": header}
    body = status(429, "TooManyRequests", details={"retryAfterSeconds": in_body})
    assert from_answer(429, body, headers).retry_after == expected


def test_an_expired_list_names_where_to_go_on() -> None:
    error = from_answer(410, status(410, "Expired", metadata={"continue": "abc"}), {})
    assert isinstance(error, errors.Gone)
    assert error.continuation == "abc"


def test_a_disruption_budget_is_told_from_load() -> None:
    details = {"causes": [{"reason": "DisruptionBudget", "message": "needs 2"}]}
    refused = from_answer(429, status(429, "TooManyRequests", details=details), {})
    busy = from_answer(429, status(429, "TooManyRequests"), {})
    assert isinstance(refused, errors.TooManyRequests)
    assert isinstance(busy, errors.TooManyRequests)
    assert (refused.by_disruption_budget, busy.by_disruption_budget) == (True, False)


def test_the_tree_at_the_top_names_every_class() -> None:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.KubeError)]
    assert errors.__doc__ is not None
    assert [one.__name__ for one in classes if one.__name__ not in errors.__doc__] == []

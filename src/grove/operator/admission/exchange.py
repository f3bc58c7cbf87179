"""What the API server asks a webhook and what it is answered: admission.k8s.io/v1, as far as we read and write it."""

from __future__ import annotations

import base64
from typing import Any, Final, Literal

import msgspec

from grove.api.fields import JSON
from grove.operator.admission.jsonpatch import Operation

API_VERSION: Final = "admission.k8s.io/v1"


class Unreadable(Exception):
    """The body of a request is no AdmissionReview."""


class GroupVersionKind(msgspec.Struct, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    username: str = ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """One request of a client, before it is carried out."""

    uid: str
    kind: GroupVersionKind = GroupVersionKind()
    sub_resource: str = ""
    namespace: str = ""
    name: str = ""
    operation: str = ""
    user_info: UserInfo = UserInfo()
    object: JSON | None = None
    """None for a deletion."""
    old_object: JSON | None = None
    """None for a creation."""


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: Request


class Cause(msgspec.Struct, frozen=True):
    """What is wrong with a field."""

    reason: str
    message: str
    field: str


class Response(msgspec.Struct, frozen=True):
    """The verdict of a webhook; the fields after `warnings` are those of a refusal."""

    allowed: bool
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    code: int = 403
    reason: str = "Forbidden"
    message: str = ""
    causes: tuple[Cause, ...] = ()
    subject: GroupVersionKind = GroupVersionKind()
    name: str = ""


ALLOWED: Final = Response(allowed=True)


def refused(code: int, reason: str, message: str) -> Response:
    return Response(allowed=False, code=code, reason=reason, message=message)


def bad_request(message: str) -> Response:
    return refused(400, "BadRequest", message)


def decode(body: bytes) -> Request:
    """The request in an AdmissionReview; raises Unreadable."""
    try:
        return msgspec.json.decode(body, type=_Review).request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"the body is no AdmissionReview of {API_VERSION}: {error}") from error


def encode(request: Request, response: Response) -> bytes:
    """The AdmissionReview that answers a request."""
    answer: dict[str, Any] = {"uid": request.uid, "allowed": response.allowed}
    if not response.allowed:
        answer["status"] = _status(response)
    if response.patch:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = base64.b64encode(msgspec.json.encode(response.patch)).decode()
    if response.warnings:
        answer["warnings"] = response.warnings
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": answer})


def _status(response: Response) -> JSON:
    status: JSON = {
        "status": "Failure",
        "code": response.code,
        "reason": response.reason,
        "message": response.message,
    }
    if response.causes:
        status["details"] = {
            "name": response.name,
            "group": response.subject.group,
            "kind": response.subject.kind,
            "causes": [
                {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in response.causes
            ],
        }
    return status


def failure(code: int, message: str) -> bytes:
    """The body of an answer to what could not be read or judged: the API server shows it."""
    return msgspec.json.encode(
        {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": message}
    )

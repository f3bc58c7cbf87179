"""What can go wrong between us and an API server.

    KubeError
    ├── ConnectionConfigError       no usable kubeconfig, or not inside a cluster: the user must change something
    ├── CredentialsError            credentials could not be had: exec plugin failed, token file unreadable
    ├── Unreachable                 no answer, or not all of one; says whether the request may have been carried out
    │   └── Untrusted               nobody we trust vouches for the server: the user must change something
    ├── UnexpectedAnswer            an answer that is not what was asked for
    └── ApiError                    the server said no
        ├── BadRequest              400
        ├── Unauthorized            401   who are you
        ├── Forbidden               403   you may not
        ├── NotFound                404
        ├── MethodNotAllowed        405
        ├── NotAcceptable           406
        ├── AlreadyExists           409   reason AlreadyExists
        ├── Conflict                409   resourceVersion, uid or field ownership: read again and decide again
        ├── Gone                    410   the resourceVersion or the continue token is too old: list again
        ├── RequestTooLarge         413
        ├── UnsupportedMediaType    415
        ├── Invalid                 422   `causes` name the fields
        ├── TooManyRequests         429   refused before anything was done; `retry_after` if the server said when
        └── ServerError             500…  for a write: it may have been carried out
            ├── InternalError       500
            ├── BadGateway          502
            ├── Unavailable         503
            └── ServerTimeout       504   or the reason Timeout or ServerTimeout under another code

The class follows from the code, except where the reason says more (409, ServerTimeout).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

# Of a body that is no Status, such as the page of a proxy; enough to see whose it is.
MAX_TEXT = 300


class Cause(msgspec.Struct, frozen=True):
    """One reason among several: for an invalid object, a field and what is wrong with it."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """What the server says of the object that a failure is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """metav1.Status: how an API server says that something went wrong, or that a deletion did not."""

    kind: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class KubeError(Exception):
    """Something went wrong between us and an API server."""


class ConnectionConfigError(KubeError):
    """There is no usable way to an API server; the message says where we looked and what to change."""


class CredentialsError(KubeError):
    """Credentials could not be had."""


class Unreachable(KubeError):
    """No answer, or not all of it. `may_have_acted`: the request may have reached the server, and been carried out."""

    def __init__(self, message: str, *, may_have_acted: bool) -> None:
        super().__init__(message)
        self.may_have_acted = may_have_acted


class Untrusted(Unreachable):
    """What answers is not the server that was meant, or not known to be: nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, may_have_acted=False)


class UnexpectedAnswer(KubeError):
    """The server answered something else than what was asked for: another type, not JSON, a proxy's page."""


class ApiError(KubeError):
    """The server answered that it did not do what was asked. For the classes see the head of this module."""

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: StatusDetails | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.details = details or StatusDetails()
        self.retry_after = retry_after
        """Seconds, if the server said when to come back."""

    @property
    def causes(self) -> tuple[Cause, ...]:
        return self.details.causes or ()


class BadRequest(ApiError):
    """The request itself is wrong: unknown fields under strict validation, a body that is no object."""


class Unauthorized(ApiError):
    """The credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """Who asks may not, or admission refused, or a quota is used up."""


class NotFound(ApiError):
    """The object, its namespace or the resource is not there."""


class MethodNotAllowed(ApiError):
    """The resource does not have this verb."""


class NotAcceptable(ApiError):
    """The server cannot answer in a form that we read."""


class AlreadyExists(ApiError):
    """An object of this name is there already."""


class Conflict(ApiError):
    """The object has changed since it was read, a precondition does not hold, or another manager owns a field."""


class Gone(ApiError):
    """A resourceVersion or a continue token is too old. `continuation` goes on with a list of another version."""

    continuation: str = ""


class RequestTooLarge(ApiError):
    """The body is larger than the server takes."""


class UnsupportedMediaType(ApiError):
    """The server does not know this form of a body, or of a patch for this resource."""


class Invalid(ApiError):
    """The object breaks rules; `causes` name the fields."""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(cause.field for cause in self.causes if cause.field)


class TooManyRequests(ApiError):
    """Refused before anything was done: the server has too much to do, or a disruption budget forbids an eviction."""

    @property
    def by_disruption_budget(self) -> bool:
        """Asking again soon does not help."""
        return any(cause.reason == "DisruptionBudget" for cause in self.causes)


class ServerError(ApiError):
    """The server failed; a write may have been carried out nevertheless."""


class InternalError(ServerError):
    """500."""


class BadGateway(ServerError):
    """502: something between us and the server got no answer from it."""


class Unavailable(ServerError):
    """503: the server, or something before it, does not serve now."""


class ServerTimeout(ServerError):
    """The server, or something before it, gave up waiting."""


BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    502: BadGateway,
    503: Unavailable,
    504: ServerTimeout,
}
BY_REASON: Mapping[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Timeout": ServerTimeout,
    "ServerTimeout": ServerTimeout,
    "Expired": Gone,
    "Gone": Gone,
}


def from_status(status: Status, *, code: int = 0, retry_after: float | None = None, context: str = "") -> ApiError:
    """The error that a Status stands for; `code` is that of the answer, which a Status may leave out."""
    number = status.code or code or HTTPStatus.INTERNAL_SERVER_ERROR
    kind = BY_REASON.get(status.reason) or BY_CODE.get(number) or (ServerError if number >= 500 else ApiError)
    if retry_after is None and status.details is not None and status.details.retry_after_seconds > 0:
        retry_after = float(status.details.retry_after_seconds)
    message = status.message or status.reason or f"the server answered {number}"
    return kind(
        f"{context}: {message}" if context else message,
        code=number,
        reason=status.reason,
        details=status.details,
        retry_after=retry_after,
    )


def from_answer(code: int, body: bytes, headers: Mapping[str, str], *, context: str = "") -> ApiError:
    """The error of an answer, whether its body is a Status or something else that says why."""
    retry_after = parse_retry_after(headers.get("Retry-After"))
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = Status()
    if status.kind != "Status":
        text = " ".join(body[: 4 * MAX_TEXT].decode(errors="replace").split())[:MAX_TEXT]
        status = Status(message=f"{code} {_phrase(code)}".strip() + (f": {text}" if text else ""))
    error = from_status(status, code=code, retry_after=retry_after, context=context)
    if isinstance(error, Gone):
        error.continuation = _continuation(body)
    return error


def parse_retry_after(value: str | None) -> float | None:
    """Seconds. The other form, a date, is not used by API servers and would need a clock."""
    if value is None or not value.strip().isascii() or not value.strip().isdigit():
        return None
    return float(value)


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return ""


def _continuation(body: bytes) -> str:
    """An expired list names, in the Status' metadata, a token that goes on at a newer version."""
    try:
        found: Any = msgspec.json.decode(body)["metadata"]["continue"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) else ""

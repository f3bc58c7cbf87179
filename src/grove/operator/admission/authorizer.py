"""Who may change what the operator manages: only itself, and those who are exempt. Pure.

Asked about objects with our managed-by label. What belongs to no PodCliqueSet that is there is not protected, and a set
may give up the protection of its objects with an annotation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.operator.admission.exchange import ALLOWED, Request, Response, bad_request, refused

_VERBS: Final = {"CREATE": "creation/updation", "UPDATE": "creation/updation", "DELETE": "deletion"}


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """Who may change managed objects."""

    operator: str
    """The operator's own user: `system:serviceaccount:<namespace>:<name>`."""
    exempt: Collection[str] = ()


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: who wants to do what to which object, with the labels that it has until then."""

    operation: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    user: str

    @property
    def parent(self) -> str:
        """The PodCliqueSet that the object says it is part of; empty if it names none."""
        return self.labels.get(labels.PART_OF, "")


def subject_of(request: Request) -> Subject | Response:
    """The subject of a request, of whatever kind; or its refusal, where it does not hold the object."""
    metadata: object = {}
    if request.operation in _VERBS:
        document = request.object if request.operation == "CREATE" else request.old_object
        metadata = None if document is None else document.get("metadata")
    if not isinstance(metadata, dict):
        return bad_request(f"the request to {request.operation} a {request.kind.kind} holds no object")
    found = metadata.get("labels")
    return Subject(
        operation=request.operation,
        kind=request.kind.kind,
        namespace=request.namespace,
        name=request.name or str(metadata.get("name") or metadata.get("generateName") or ""),
        labels={key: str(value) for key, value in found.items()} if isinstance(found, dict) else {},
        user=request.user_info.username,
    )


def decide(subject: Subject, parent: ObjectMeta | None, protection: Protection) -> Response:
    """The verdict; `parent` is the metadata of the PodCliqueSet that the subject names, None if it is not there."""
    if subject.operation == "CONNECT":
        return ALLOWED
    what = f"{subject.namespace}/{subject.name}"
    if not subject.parent:
        return _unprotected(f"missing required label {labels.PART_OF} on {subject.kind} {what}: it is not protected")
    if parent is None:
        return _unprotected(
            f"parent PodCliqueSet {subject.namespace}/{subject.parent} not found: "
            f"{subject.kind} {what} is not protected"
        )
    if (parent.annotations or {}).get(labels.DISABLE_PROTECTION) == "true":
        return ALLOWED
    if subject.operation == "DELETE" and subject.kind == "Pod":
        return ALLOWED
    verb = _VERBS.get(subject.operation)
    if verb is None:
        return refused(403, "Forbidden", "Unhandled operation. Admission denied.")
    if subject.user == protection.operator or subject.user in protection.exempt:
        return ALLOWED
    return refused(
        403,
        "Forbidden",
        f"admission denied, {verb} of resource: {what} is not allowed: Grove manages it; "
        f"change PodCliqueSet {subject.parent}, or annotate it with {labels.DISABLE_PROTECTION}=true",
    )


def _unprotected(warning: str) -> Response:
    return Response(allowed=True, warnings=(warning,))

"""The verdicts of the defaulting and the validating webhooks, from the rules of `grove.api.admission`. Pure.

The API server asks for defaults before its own schema has judged the object, so what is broken is passed over there:
the schema or the validating webhook says what is wrong. Defaults do not depend on the topologies that exist: an object
that is refused one moment and let through the next would otherwise be stored without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from grove.api import admission
from grove.api.admission import Verdict
from grove.api.errors import FieldError, FieldWarning, Reason
from grove.api.fields import JSON
from grove.api.kinds.catalog import Kind
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy, Topologies, domains_of
from grove.operator.admission import jsonpatch
from grove.operator.admission.exchange import ALLOWED, Cause, GroupVersionKind, Request, Response, bad_request

JUDGED: Final = frozenset({"CREATE", "UPDATE"})
_TOPOLOGY: Final = "topologyConstraint"


def default(request: Request, kinds: Sequence[Kind], policy: Policy) -> Response:
    """Allows, with the changes that fill in what was left out and put right what was written in another way."""
    if _is_passed_over(request):
        return ALLOWED
    found = _document(request, kinds)
    if isinstance(found, Response):
        return found
    unplaced = msgspec.structs.replace(policy, topologies=None)
    verdict = admission.review(found, unplaced, request.old_object)
    patch = jsonpatch.difference(found, verdict.admitted)
    if not verdict.allowed or not patch:
        return ALLOWED
    # The validating webhook sees the object as it becomes: only what was put right is for us to tell.
    later = set(admission.review(verdict.admitted, unplaced, request.old_object).warnings)
    told = [warning for warning in verdict.warnings if warning not in later]
    return Response(allowed=True, patch=tuple(patch), warnings=tuple(map(warning_text, told)))


def validate(request: Request, kinds: Sequence[Kind], policy: Policy) -> Response:
    """Allows or refuses, with everything that is wrong.

    A change that leaves alone what we judge is let through: finalizers must come off whatever the rules are by now.
    """
    if _is_passed_over(request):
        return ALLOWED
    found = _document(request, kinds)
    if isinstance(found, Response):
        return found
    if request.old_object is not None and _judged_part(request.old_object) == _judged_part(found):
        return ALLOWED
    return _answer(request, admission.review(found, policy, request.old_object))


def misses_topology(request: Request, topologies: Topologies) -> bool:
    """Whether a topology that the object names is unknown: then the newest ones should be read before it is judged."""
    return any(name not in topologies for name in _topology_names(request.object))


def topologies_of(bindings: Iterable[ClusterTopologyBinding]) -> Topologies:
    return {one.metadata.name: domains_of(one) for one in bindings}


def error_text(error: FieldError) -> str:
    """As Kubernetes writes field errors, and then what would help."""
    return f"{error}; {error.remedy}" if error.remedy else str(error)


def warning_text(warning: FieldWarning) -> str:
    return f"{warning}; {warning.remedy}" if warning.remedy else str(warning)


def _is_passed_over(request: Request) -> bool:
    return request.operation not in JUDGED or bool(request.sub_resource)


def _document(request: Request, kinds: Sequence[Kind]) -> JSON | Response:
    """The object that is to be stored, or the refusal of a request without one of these kinds."""
    document = request.object
    wanted = " or ".join(f"{kind.name} of {kind.api_version}" for kind in kinds)
    if document is None:
        return bad_request(f"the request to {request.operation} holds no object: send the {wanted}")
    if admission.kind_of(document) not in kinds:
        given = f"{document.get('kind')} of {document.get('apiVersion')}"
        return bad_request(f"the request holds a {given}, this webhook is for {wanted}: mend its rules")
    return document


def _judged_part(document: JSON) -> tuple[object, ...]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return (document.get("spec"), metadata)
    return (document.get("spec"), metadata.get("labels") or {}, metadata.get("annotations") or {})


def _topology_names(tree: object) -> Iterable[str]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == _TOPOLOGY and isinstance(value, dict) and isinstance(name := value.get("topologyName"), str):
                yield name
            else:
                yield from _topology_names(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _topology_names(value)


def _answer(request: Request, verdict: Verdict) -> Response:
    warnings = tuple(map(warning_text, verdict.warnings))
    if verdict.allowed or verdict.kind is None:
        return Response(allowed=True, warnings=warnings)
    kind = verdict.kind
    texts = list(dict.fromkeys(map(error_text, verdict.errors)))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return Response(
        allowed=False,
        warnings=warnings,
        code=422,
        reason="Invalid",
        message=f'{kind.name}.{kind.group} "{request.name}" is invalid: {joined}',
        causes=tuple(map(_cause, verdict.errors)),
        subject=GroupVersionKind(kind.group, kind.version, kind.name),
        name=request.name,
    )


def _cause(error: FieldError) -> Cause:
    path = str(error.path)
    # Kubernetes has no such cause: what it does not know it refuses before webhooks are asked.
    reason = Reason.INVALID if error.reason is Reason.UNKNOWN_FIELD else error.reason
    return Cause(str(reason), error_text(error).removeprefix(f"{path}: "), path)

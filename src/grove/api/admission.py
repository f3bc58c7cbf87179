"""What becomes of an object that a user applies: the API server's schema, then Grove's webhooks. Pure, offline.

The order is the server's: unknown fields and types, defaults of the CRD, the defaulting webhook, limits and CEL rules
of the schema, the validating webhook. A later step is skipped when an earlier one left nothing to judge.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from grove.api import codec, defaults, embedded, rules, schema, structural
from grove.api.errors import FieldError, FieldWarning, Path, Problems, Reason
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgangset import PodGangSet
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy, domains_of
from grove.api.validation import binding, configuration, metadata, podcliqueset, podgangset, queue

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

MAX_DEPTH: Final = 100
"""No manifest is nested half as deeply; without a bound, a hostile one would end the process."""

_ROOT: Final = Path()
_UNKNOWN: Final = Reason.UNKNOWN_FIELD

C = TypeVar("C", OperatorConfiguration, SchedulerConfiguration)


class Verdict(msgspec.Struct, frozen=True):
    """What admission says of one object."""

    kind: Kind | None
    """None where the object is not Grove's."""
    admitted: JSON
    """The object as it would be stored; as it was given where it is refused."""
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldWarning, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.errors


def review(document: JSON, policy: Policy, old: JSON | None = None) -> Verdict:
    """The verdict on an object, as a new one or as a change of `old`."""
    problems = Problems()
    kind = _kind_of(document, problems)
    if kind is None:
        return Verdict(None, document, tuple(problems.errors))
    if _is_too_deep(document):
        problems.invalid(_ROOT, None, f"is nested more than {MAX_DEPTH} levels deep", "write a flatter manifest")
        return Verdict(kind, document, tuple(problems.errors))
    tree = _checked(document, kind, problems)
    stored = _stored(old, kind, problems) if old is not None else None
    if _undecodable(problems):
        return Verdict(kind, document, tuple(problems.errors), tuple(problems.warnings))
    judged = Problems()
    admitted = _judge(kind, tree, policy, stored, judged)
    errors = (*problems.errors, *_not_said_yet(judged.errors, problems.errors))
    if "status" in document:
        admitted = {**admitted, "status": document["status"]}
    return Verdict(kind, document if errors else admitted, errors, (*problems.warnings, *judged.warnings))


def _not_said_yet(errors: Iterable[FieldError], said: Iterable[FieldError]) -> Iterator[FieldError]:
    """Errors about other places than those of which the schema complains, or whose entry is there twice."""
    places = {error.path for error in said}
    twice = {error.path for error in said if error.reason is Reason.DUPLICATE}
    for error in errors:
        if error.path not in places and not (error.reason is Reason.DUPLICATE and twice & set(error.path.parents())):
            yield error


def _is_too_deep(document: JSON) -> bool:
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def _checked(document: JSON, kind: Kind, problems: Problems) -> JSON:
    """The document as an API server reads it, defaults of the schema included; reports what the schema does not allow.

    Defaults come first, as in the API server: what has one is never missing.
    """
    whole = _schema_of(kind)
    tree = structural.normal(document, whole)
    if kind.served:
        tree.setdefault("metadata", {})  # so that the name is what is missing
    tree = structural.with_defaults(tree, whole)
    found = Problems()
    structural.check(tree, whole, _ROOT, found)
    if not kind.served:
        _pass_over_unknown(found)
    elif "status" in tree:
        # The API server drops the status of what users write, but not before it has seen fields that do not exist.
        del tree["status"]
        found.errors = [one for one in found.errors if not _is_of_status(one.path) or one.reason is _UNKNOWN]
    problems.extend(found)
    return dict(tree)


def _is_of_status(path: Path) -> bool:
    return path.steps[:1] == ("status",)


def _stored(old: JSON, kind: Kind, problems: Problems) -> JSON | None:
    """The stored object, readable; reports one that is not, of which no change can be judged."""
    found = Problems()
    if not _is_too_deep(old) and kind_of(old) is kind:
        tree = _checked(old, kind, found)
        if not _undecodable(found):
            return tree
    problems.wrong_type(
        _ROOT, None, f"{kind.name}, and so must be the stored object", "delete the object and create it anew"
    )
    return None


def kind_of(document: JSON) -> Kind | None:
    """The kind of a document; None where it is not Grove's."""
    return catalog.find(str(document.get("apiVersion")), str(document.get("kind")))


def operator_configuration(document: JSON, problems: Problems) -> OperatorConfiguration | None:
    """The configuration that a document holds; keys that nobody knows are passed over with a warning."""
    return _configuration(document, catalog.OPERATOR_CONFIGURATION, OperatorConfiguration, problems)


def scheduler_configuration(document: JSON, problems: Problems) -> SchedulerConfiguration | None:
    """The configuration that a document holds; keys that nobody knows are passed over with a warning."""
    return _configuration(document, catalog.SCHEDULER_CONFIGURATION, SchedulerConfiguration, problems)


def _configuration(document: JSON, kind: Kind, struct: type[C], problems: Problems) -> C | None:
    verdict = review(document, Policy())
    problems.errors.extend(verdict.errors)
    problems.warnings.extend(verdict.warnings)
    return codec.decode(verdict.admitted, struct) if verdict.allowed and verdict.kind is kind else None


def topologies_in(documents: list[JSON]) -> dict[str, tuple[str, ...]]:
    """The topologies that ClusterTopologyBindings among the documents declare; broken ones are passed over."""
    found = {}
    for document in documents:
        if kind_of(document) is not catalog.TOPOLOGY_BINDING:
            continue
        verdict = review(document, Policy())
        if verdict.allowed:
            decoded = codec.decode(verdict.admitted, ClusterTopologyBinding)
            found[decoded.metadata.name] = domains_of(decoded)
    return found


def _kind_of(document: JSON, problems: Problems) -> Kind | None:
    api_version, name = document.get("apiVersion"), document.get("kind")
    for field, value in (("apiVersion", api_version), ("kind", name)):
        if not isinstance(value, str) or not value:
            problems.required(_ROOT.field(field), "", f"every document states its {field}")
    if problems.errors:
        return None
    kind = catalog.find(str(api_version), str(name))
    if kind is None and _is_groves_group(str(api_version)):
        known = catalog.named(str(name))
        remedy = f"write apiVersion: {known.api_version}" if known else f"use one of {_kinds_text()}"
        problems.errors.append(
            FieldError(_ROOT.field("kind"), Reason.NOT_SUPPORTED, f"there is no {name} in {api_version}", remedy, name)
        )
    return kind


def _is_groves_group(api_version: str) -> bool:
    group = api_version.partition("/")[0]
    return any(kind.group == group for kind in catalog.KINDS)


def _kinds_text() -> str:
    return ", ".join(dict.fromkeys(kind.name for kind in catalog.KINDS))


@functools.cache
def _schema_of(kind: Kind) -> JSON:
    """The schema with that of the metadata, which a CRD leaves to the API server."""
    whole = schema.of_kind(kind)
    if not kind.served:
        return whole
    metadata = embedded.schema(OBJECT_META)
    # Of these the API server merges equal entries instead of refusing them.
    fields = {
        name: {key: value for key, value in field.items() if not key.startswith("x-kubernetes-list")}
        for name, field in metadata["properties"].items()
    }
    return {**whole, "properties": {**whole["properties"], "metadata": {**metadata, "properties": fields}}}


def _pass_over_unknown(problems: Problems) -> None:
    """Configuration files are read leniently: Go Grove's chart itself writes a key that nobody knows."""
    unknown = [error for error in problems.errors if error.reason is Reason.UNKNOWN_FIELD]
    problems.errors = [error for error in problems.errors if error.reason is not Reason.UNKNOWN_FIELD]
    problems.warnings += [
        FieldWarning(error.path, "is not a known key and has no effect", error.remedy) for error in unknown
    ]


def _undecodable(problems: Problems) -> bool:
    """Whether the tree is not fit to be decoded: all but unknown fields and broken limits stand in the way."""
    blocking = {Reason.TYPE_INVALID, Reason.REQUIRED, Reason.NOT_SUPPORTED}
    return any(error.reason in blocking for error in problems.errors)


def _judge(kind: Kind, tree: JSON, policy: Policy, stored: JSON | None, problems: Problems) -> JSON:
    if kind is catalog.POD_CLIQUE_SET:
        return _judge_podcliqueset(tree, policy, stored, problems)
    decoded = codec.decode(tree, kind.struct)
    if isinstance(decoded, PodGangSet):
        decoded = defaults.podgangset(decoded, policy, problems)
        tree = _merged(tree, decoded)
    rules.check(tree, kind.struct, _ROOT, problems, is_update=stored is not None)
    problems.extend(_VALIDATORS[kind.name, kind.group](decoded, policy))
    return tree


def _merged(tree: JSON, decoded: PodCliqueSet | PodGangSet) -> JSON:
    """The tree with the spec and metadata of what it was decoded to; the rest of it stays."""
    encoded = codec.encode(decoded)
    return {**tree, "spec": encoded["spec"], "metadata": {**tree["metadata"], **encoded["metadata"]}}


def _judge_podcliqueset(tree: JSON, policy: Policy, old: JSON | None, problems: Problems) -> JSON:
    stored = defaults.podcliqueset(codec.decode(old, PodCliqueSet), policy, Problems()) if old is not None else None
    pcs = defaults.podcliqueset(codec.decode(tree, PodCliqueSet), policy, problems, stored)
    admitted = _merged(tree, pcs)
    rules.check(admitted, PodCliqueSet, _ROOT, problems, is_update=stored is not None)
    judged = podcliqueset.create(pcs, policy) if stored is None else podcliqueset.update(pcs, stored, policy)
    problems.extend(judged)
    return admitted


def _metadata_only(decoded: Any, _: Policy) -> Problems:
    """For kinds without a webhook: the operator writes them, and the schema says the rest."""
    problems = Problems()
    metadata.check(decoded.metadata, problems)
    return problems


_VALIDATORS: Final[Mapping[tuple[str, str], Callable[[Any, Policy], Problems]]] = {
    ("PodClique", "grove.io"): _metadata_only,
    ("PodCliqueScalingGroup", "grove.io"): _metadata_only,
    ("ClusterTopologyBinding", "grove.io"): binding.check,
    ("PodGang", "scheduler.grove.io"): _metadata_only,
    ("Queue", "scheduler.grove.io"): lambda decoded, _: queue.check(decoded),
    ("PodGangSet", "grove.dynamo.ai"): lambda decoded, _: podgangset.check(decoded),
    ("PodClique", "grove.dynamo.ai"): lambda decoded, _: podgangset.check_clique(decoded),
    ("OperatorConfiguration", "operator.config.grove.io"): lambda decoded, _: configuration.check_operator(decoded),
    ("SchedulerConfiguration", "scheduler.config.grove.io"): lambda decoded, _: configuration.check_scheduler(decoded),
}

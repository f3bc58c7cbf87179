"""Metadata of objects: names, labels, annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api import grammar
from grove.api.errors import Path, Problems
from grove.api.kinds.meta import ObjectMeta

NAME: Final = Path.parse("metadata.name")
ANNOTATIONS_LIMIT: Final = 256 * 1024
GENERATED_SUFFIX: Final = "xxxxx"
"""Stands for the five characters that the API server appends to generateName."""


def check(metadata: ObjectMeta, problems: Problems) -> None:
    """Reports metadata that no object may have."""
    name = name_of(metadata)
    if not name:
        problems.required(NAME, "name or generateName is required", "give the object a name")
    elif not grammar.is_subdomain(name):
        problems.invalid(
            place_of_name(metadata),
            metadata.name or metadata.generate_name,
            "must be a DNS-1123 subdomain",
            "use lower case letters, digits, '-' and '.', beginning and ending with a letter or digit",
        )
    if metadata.namespace and not grammar.is_label(metadata.namespace):
        problems.invalid(
            Path.parse("metadata.namespace"),
            metadata.namespace,
            "must be a DNS-1123 label",
            "use at most 63 lower case letters, digits and '-', as namespaces are called",
        )
    check_labels(metadata.labels, Path.parse("metadata.labels"), problems)
    check_annotations(metadata.annotations, Path.parse("metadata.annotations"), problems)
    for position, finalizer in enumerate(metadata.finalizers):
        _check_key(finalizer, Path.parse("metadata.finalizers").index(position), "the name of a finalizer", problems)


def place_of_name(metadata: ObjectMeta) -> Path:
    """The field that the name comes from."""
    return NAME if metadata.name or not metadata.generate_name else Path.parse("metadata.generateName")


def name_of(metadata: ObjectMeta) -> str:
    """The name that the object has or will have."""
    if metadata.name or not metadata.generate_name:
        return metadata.name
    return metadata.generate_name + GENERATED_SUFFIX


def check_labels(labels: Mapping[str, str] | None, path: Path, problems: Problems) -> None:
    """Reports keys and values that can't be labels."""
    for key, value in (labels or {}).items():
        _check_key(key, path, "a label key", problems)
        fault = grammar.label_value(value)
        if fault is not None:
            problems.invalid(path.key(key), value, f"is not a label value: {fault.detail}", fault.remedy)


def check_annotations(annotations: Mapping[str, str] | None, path: Path, problems: Problems) -> None:
    """Reports keys that can't be annotations, and annotations that are too large in all."""
    total = 0
    for key, value in (annotations or {}).items():
        total += len(key.encode()) + len(value.encode())
        # Kubernetes judges annotation keys by their lower case.
        _check_key(key, path, "an annotation key", problems, judged=key.lower())
    if total > ANNOTATIONS_LIMIT:
        detail = f"all annotations together may have at most {ANNOTATIONS_LIMIT} bytes"
        problems.invalid(path, total, detail, "shorten them")


def _check_key(key: str, path: Path, what: str, problems: Problems, judged: str | None = None) -> None:
    fault = grammar.qualified(key if judged is None else judged)
    if fault is not None:
        problems.invalid(path, key, f"is not {what}: {fault.detail}", fault.remedy)

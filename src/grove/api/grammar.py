"""The grammar of names, labels and annotations in Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from grove.api.errors import Path, Problems

LABEL_VALUE_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253
ANNOTATIONS_LIMIT: Final = 256 * 1024

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")


def is_dns_label(text: str) -> bool:
    """DNS-1123 label: what a host name, a container or a volume may be called."""
    return len(text) <= LABEL_VALUE_LIMIT and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """DNS-1123 subdomain: what most objects may be called."""
    return len(text) <= SUBDOMAIN_LIMIT and _SUBDOMAIN.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    return not text or (len(text) <= LABEL_VALUE_LIMIT and _QUALIFIED.fullmatch(text) is not None)


def is_qualified_name(text: str) -> bool:
    """The key of a label or annotation: a name, with or without a domain and a slash before it."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= LABEL_VALUE_LIMIT and _QUALIFIED.fullmatch(name) is not None


KEY_FORM: Final = "use letters, digits, '-', '_' and '.', at most 63, with a DNS name and a slash before it if need be"


def check_labels(labels: Mapping[str, str] | None, path: Path, problems: Problems) -> None:
    """Reports keys and values that can't be labels."""
    for key, value in (labels or {}).items():
        if not is_qualified_name(key):
            problems.invalid(path, key, "is not a label key", KEY_FORM)
        if not is_label_value(value):
            problems.invalid(
                path.key(key), value, "is not a label value", "use at most 63 letters, digits, '-', '_' and '.'"
            )


def check_annotations(annotations: Mapping[str, str] | None, path: Path, problems: Problems) -> None:
    """Reports keys that can't be annotations, and annotations that are too large in all."""
    total = 0
    for key, value in (annotations or {}).items():
        total += len(key.encode()) + len(value.encode())
        # Kubernetes judges annotation keys by their lower case.
        if not is_qualified_name(key.lower()):
            problems.invalid(path, key, "is not an annotation key", KEY_FORM)
    if total > ANNOTATIONS_LIMIT:
        problems.invalid(
            path, total, f"all annotations together may have at most {ANNOTATIONS_LIMIT} bytes", "shorten them"
        )

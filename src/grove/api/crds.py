"""CustomResourceDefinitions for the served kinds."""

from __future__ import annotations

import json
from typing import Any, Final

from grove.api import embedded, schema
from grove.api.fields import JSON
from grove.api.kinds.catalog import SERVED, Kind

CLIENT_SIDE_LIMIT: Final = 256 * 1024
"""`kubectl apply` keeps a copy of the object in an annotation, and annotations may not be larger in all."""


def crd(kind: Kind) -> JSON:
    """The CRD of a kind."""
    version: JSON = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema.of_kind(kind, embedded.brief)},
        "subresources": _subresources(kind),
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
    }
    names: JSON = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "categories": ["grove"],
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": kind.crd_name,
            "labels": {"app.kubernetes.io/part-of": "grove"},
        },
        "spec": {"group": kind.group, "names": names, "scope": kind.scope, "versions": [version]},
    }


def client_side_size(crd: JSON) -> int:
    """How many bytes `kubectl apply` would keep in its annotation."""
    return len(json.dumps(crd, separators=(",", ":"), ensure_ascii=False).encode())


def all_crds() -> list[JSON]:
    """The CRDs of all served kinds, in the order of the catalog."""
    return [crd(kind) for kind in SERVED]


def _subresources(kind: Kind) -> JSON:
    subresources: JSON = {"status": {}}
    if kind.scale is not None:
        subresources["scale"] = {
            "specReplicasPath": kind.scale.spec_path,
            "statusReplicasPath": kind.scale.status_path,
            "labelSelectorPath": kind.scale.selector_path,
        }
    return subresources


def _column(column: Any) -> JSON:
    result: JSON = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        result["priority"] = column.priority
    return result

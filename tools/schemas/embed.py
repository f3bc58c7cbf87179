"""Writes src/grove/api/kubernetes/types.json: the Kubernetes types that Grove's kinds embed, as structural schemas.

They come from the OpenAPI v3 of the API server that the tests use, which this starts (`make schemas`), so that pod
specs, metrics and claim templates are judged by the very version Grove is built against. References stay references;
`grove.api.embedded` puts them in place.
"""

from __future__ import annotations

import json
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any

from grove.testing.controlplane import ControlPlane

JSON = dict[str, Any]

DOCUMENTS = ("/openapi/v3/api/v1", "/openapi/v3/apis/autoscaling/v2", "/openapi/v3/apis/resource.k8s.io/v1")
ROOTS = (
    "io.k8s.api.core.v1.PodSpec",
    "io.k8s.api.core.v1.NodeAffinity",
    "io.k8s.api.core.v1.TopologySpreadConstraint",
    "io.k8s.api.core.v1.WeightedPodAffinityTerm",
    "io.k8s.api.autoscaling.v2.MetricSpec",
    "io.k8s.api.resource.v1.ResourceClaimTemplateSpec",
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
)
KEPT = (
    "description",
    "type",
    "format",
    "enum",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
OUTPUT = Path(__file__).parents[2] / "src/grove/api/kubernetes/types.json"

# How Kubernetes' own Go types describe these two in a CRD: an integer or a string, the quantity by pattern.
SPECIAL: dict[str, JSON] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": (
            r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
        ),
        "x-kubernetes-int-or-string": True,
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
}


def reference(schema: JSON) -> str | None:
    """The type that a schema refers to, directly or as OpenAPI v3 wraps it to add a description."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    wrapped = schema.get("allOf", [])
    return reference(wrapped[0]) if len(wrapped) == 1 else None


def structural(schema: JSON) -> JSON:
    """The schema without what a CRD may not hold: unions, patch strategies, and defaults that mean only "zero"."""
    target = reference(schema)
    if target is not None:
        kept: JSON = {"$ref": target}
        if "description" in schema:
            kept["description"] = schema["description"]
        return kept
    result: JSON = {key: schema[key] for key in KEPT if key in schema}
    if schema.get("default") not in (None, "", 0, False, {}, []):
        result["default"] = schema["default"]
    if "properties" in schema:
        result["properties"] = {name: structural(one) for name, one in sorted(schema["properties"].items())}
    if "items" in schema:
        result["items"] = structural(schema["items"])
    if "additionalProperties" in schema:
        result["additionalProperties"] = structural(schema["additionalProperties"])
    if result.get("type") == "object" and not {"properties", "additionalProperties"} & result.keys():
        result["x-kubernetes-preserve-unknown-fields"] = True  # raw JSON, such as a driver's own parameters
    return result


def complete_map_keys(definitions: dict[str, JSON]) -> None:
    """A CRD's list-map keys must be required or have a default; where Kubernetes leaves one open, it is empty."""
    for definition in definitions.values():
        for field in definition.get("properties", {}).values():
            if field.get("x-kubernetes-list-type") != "map":
                continue
            entry = definitions[field["items"]["$ref"]]
            for key in field["x-kubernetes-list-map-keys"]:
                if key not in entry.get("required", ()):
                    entry["properties"][key].setdefault("default", "")


def closure(schemas: dict[str, JSON]) -> dict[str, JSON]:
    """The wanted types and all that they refer to."""
    result: dict[str, JSON] = {}
    pending = list(ROOTS)
    while pending:
        name = pending.pop()
        if name not in result:
            result[name] = SPECIAL.get(name) or structural(schemas[name])
            pending.extend(references(result[name]))
    complete_map_keys(result)
    return dict(sorted(result.items()))


def references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [name for value in node.values() for name in references(value)]
    if isinstance(node, list):
        return [name for value in node for name in references(value)]
    return []


def main() -> int:
    schemas: dict[str, JSON] = {}
    with ControlPlane.start(controller_manager=False) as server:
        for document in DOCUMENTS:
            schemas |= get(server, document)["components"]["schemas"]
        version = get(server, "/version")["gitVersion"]
    content = {"version": version, "definitions": closure(schemas)}
    OUTPUT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{OUTPUT}: {len(content['definitions'])} types of Kubernetes {version}")
    return 0


def get(server: ControlPlane, path: str) -> JSON:
    status, body = server.request("GET", path)
    if status != HTTPStatus.OK or not isinstance(body, dict):
        raise SystemExit(f"error: GET {path} answered {status}: {body}")
    return body


if __name__ == "__main__":
    sys.exit(main())

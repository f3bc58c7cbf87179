"""What is embedded from Kubernetes, and what we declare ourselves: nothing of it is lost on the way to the server."""

import itertools
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from grove.api import codec, embedded, schema
from grove.api.errors import Path, Problems
from grove.api.fields import JSON, fields_of, is_struct, unwrap
from grove.api.kinds import catalog
from grove.api.kinds.catalog import SERVED, Kind
from grove.api.structural import check
from grove.testing.controlplane import ControlPlane
from tests.cluster.objects import Objects

pytestmark = pytest.mark.usefixtures("grove_crds")

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
GROUPS = {
    "io.k8s.api.core.v1": "api/v1",
    "io.k8s.api.autoscaling.v2": "apis/autoscaling/v2",
    "io.k8s.api.resource.v1": "apis/resource.k8s.io/v1",
    "io.k8s.apimachinery.pkg.apis.meta.v1": "api/v1",
}
COMPARED = ("type", "required", "format", "enum", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")


def embedded_in(struct: Any) -> Iterator[str]:
    """The types of Kubernetes that stand somewhere in a struct."""
    for info in fields_of(struct):
        bare, declared = info.type, info.declared
        while typing.get_origin(bare) in (tuple, dict):
            bare, inner = unwrap(typing.get_args(bare)[-1 if typing.get_origin(bare) is dict else 0])
            declared = inner if inner.embeds else declared
        if declared.embeds:
            yield declared.embeds
        elif is_struct(bare):
            yield from embedded_in(bare)


EMBEDDED = sorted({name for kind in SERVED for name in embedded_in(kind.struct)} - {QUANTITY})


def differences(ours: JSON, theirs: JSON, definitions: JSON, path: str) -> Iterator[str]:
    """Where the server's own schema of a type is not ours."""
    theirs = resolved(theirs, definitions)
    if ours.get("x-kubernetes-int-or-string") or ours.get("x-kubernetes-preserve-unknown-fields"):
        return  # the server describes these in other words
    for key in COMPARED:
        if ours.get(key) != theirs.get(key):
            yield f"{path}: {key} is {theirs.get(key)}, ours {ours.get(key)}"
    our_fields, their_fields = ours.get("properties", {}), theirs.get("properties", {})
    if our_fields.keys() != their_fields.keys():
        yield f"{path}: {sorted(our_fields.keys() ^ their_fields.keys())} are on one side only"
    for name in our_fields.keys() & their_fields.keys():
        yield from differences(our_fields[name], their_fields[name], definitions, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in ours and key in theirs:
            yield from differences(ours[key], theirs[key], definitions, f"{path}[]")


def resolved(node: JSON, definitions: JSON) -> JSON:
    while "allOf" in node or "$ref" in node:
        reference = node["$ref"] if "$ref" in node else node["allOf"][0]["$ref"]
        node = definitions[reference.rpartition("/")[2]]
    return node


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_embedded_type_is_the_servers(cluster: ControlPlane, name: str) -> None:
    group = GROUPS[name.rpartition(".")[0]]
    definitions = cluster.request("GET", f"/openapi/v3/{group}")[1]["components"]["schemas"]
    assert list(differences(embedded.schema(name), definitions[name], definitions, name.rpartition(".")[2])) == []


# Every field at once

SPECIAL = {
    schema.DURATION_PATTERN: "4h",
    r"^[a-z][a-z0-9-]*$": "rack",
}


def everything(known: JSON, numbers: Iterator[int]) -> Any:
    """A value with every property of a schema, one element a list."""
    if known.get("x-kubernetes-int-or-string"):
        return f"{next(numbers)}m"
    if known.get("x-kubernetes-preserve-unknown-fields"):
        return {"free": {"form": [next(numbers)]}}
    match known["type"]:
        case "object" if "properties" in known:
            return {name: everything(one, numbers) for name, one in known["properties"].items()}
        case "object":
            return {f"key-{next(numbers)}": everything(known["additionalProperties"], numbers)}
        case "array":
            return [everything(known["items"], numbers)]
        case "boolean":
            return True
        case "integer" | "number":
            return next(numbers) % known.get("maximum", 2**31)
        case _:
            return text(known, next(numbers))


def text(known: JSON, number: int) -> str:
    if "enum" in known:
        return str(known["enum"][0])
    if known.get("format") == "date-time":
        return "2026-01-02T03:04:05Z"
    return SPECIAL.get(known.get("pattern", ""), f"example{number}")


def legal(kind: Kind, spec: JSON) -> JSON:
    """The spec without what cannot stand beside the rest."""
    if kind is catalog.POD_CLIQUE_SET:
        template = spec["template"]
        for one in (template, template["cliques"][0], template["podCliqueScalingGroups"][0]):
            del one["topologyConstraint"]["packDomain"]
    if "minAvailable" in spec:
        spec["minAvailable"] = spec["replicas"]
    return spec


@pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.plural)
def test_a_spec_with_every_field_set_is_read_back_as_it_was_written(
    objects: Objects, namespace: str, kind: Kind
) -> None:
    known = schema.of_kind(kind)["properties"]["spec"]
    spec = legal(kind, everything(known, itertools.count(1)))
    problems = Problems()
    check(spec, known, Path(), problems)
    assert problems.errors == []
    tree = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": namespace}, "spec": spec}
    stored = objects.create(kind, tree)
    assert stored["spec"] == spec
    assert codec.encode(codec.decode(stored, kind.struct))["spec"] == spec

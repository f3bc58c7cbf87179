"""The CRDs as such; a real API server judges them in tests/cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from grove.api import crds
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind

SERVED = pytest.mark.parametrize("kind", catalog.SERVED, ids=lambda kind: kind.crd_name)


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


def root(kind: Kind) -> dict[str, Any]:
    schema: dict[str, Any] = crds.crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


@SERVED
def test_a_crd_fits_under_the_limit_of_client_side_apply(kind: Kind) -> None:
    """With a tenth to spare for what the next Kubernetes adds."""
    assert crds.client_side_size(crds.crd(kind)) < 0.95 * crds.CLIENT_SIDE_LIMIT


@SERVED
def test_schemas_hold_nothing_that_crds_forbid(kind: Kind) -> None:
    for node in nodes(root(kind)):
        assert not {"$ref", "allOf", "oneOf", "x-kubernetes-patch-strategy", "x-kubernetes-unions"} & node.keys()


@SERVED
def test_keys_of_list_maps_are_required_or_have_a_default(kind: Kind) -> None:
    for node in nodes(root(kind)):
        for key in node.get("x-kubernetes-list-map-keys", ()):
            entry = node["items"]
            assert key in entry.get("required", ()) or "default" in entry["properties"][key]


@SERVED
def test_every_field_of_ours_is_described(kind: Kind) -> None:
    for name, field in root(kind)["properties"].items():
        assert name == "metadata" or field["description"]


def test_scale_paths_are_those_of_the_specification() -> None:
    paths = {
        kind.short_names[0]: crds.crd(kind)["spec"]["versions"][0]["subresources"]["scale"]
        for kind in (catalog.POD_CLIQUE_SET, catalog.POD_CLIQUE, catalog.SCALING_GROUP)
    }
    assert {name: scale["labelSelectorPath"] for name, scale in paths.items()} == {
        "pcs": ".status.hpaPodSelector",
        "pclq": ".status.hpaPodSelector",
        "pcsg": ".status.selector",
    }
    assert {scale["specReplicasPath"] for scale in paths.values()} == {".spec.replicas"}
    assert {scale["statusReplicasPath"] for scale in paths.values()} == {".status.replicas"}


def test_printer_columns_stand_in_the_order_of_the_specification() -> None:
    def columns(kind: Kind) -> list[str]:
        return [column["name"] for column in crds.crd(kind)["spec"]["versions"][0]["additionalPrinterColumns"]]

    assert columns(catalog.POD_CLIQUE_SET) == [
        "Replicas",
        "Available",
        "Updated",
        "PCLQs-Updated",
        "PCLQs-Total",
        "PCSGs-Updated",
        "PCSGs-Total",
        "Age",
    ]
    assert columns(catalog.POD_CLIQUE) == [
        "MinAvail",
        "Replicas",
        "Ready",
        "Scheduled",
        "Updated",
        "Gated",
        "MinBreached",
        "Age",
    ]
    assert columns(catalog.SCALING_GROUP) == [
        "MinAvail",
        "Replicas",
        "Available",
        "Scheduled",
        "Updated",
        "PCLQs-Updated",
        "PCLQs-Total",
        "MinBreached",
        "Age",
    ]
    assert columns(catalog.TOPOLOGY_BINDING) == ["Domains", "Age"]
    assert columns(catalog.POD_GANG) == ["Phase", "Age"]


def test_no_two_kinds_answer_to_the_same_word() -> None:
    """kubectl would pick one of them silently."""
    words = [word for kind in catalog.SERVED for word in {kind.plural, kind.singular, *kind.short_names}]
    assert len(words) == len(set(words))


def test_a_kind_is_found_by_every_name_that_users_know() -> None:
    for word in ("pcs", "podcliqueset", "PodCliqueSets", "podcliquesets.grove.io"):
        assert catalog.named(word) is catalog.POD_CLIQUE_SET
    assert catalog.named("nothing") is None

"""Claim templates inside volumes of type `ephemeral`: each pod gets a claim of its own from it."""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.podspec import selectors
from grove.api.podspec.tree import Node, quantity

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")


def check(source: Node) -> None:
    """The template of an ephemeral volume."""
    template = source.child("volumeClaimTemplate")
    if template is None:
        if not source.has("volumeClaimTemplate"):
            source.problems.required(source.at("volumeClaimTemplate"), "", "describe the claim to make for each pod")
        return
    if (metadata := template.child("metadata")) is not None:
        selectors.check_labels(metadata, "labels")
        for key in sorted(metadata.value.keys() - {"labels", "annotations", "creationTimestamp"}):
            if metadata.has(key) and metadata.value[key] not in ("", [], {}, 0):
                metadata.problems.forbidden(metadata.at(key), "cannot be set", "keep only labels and annotations")
    claim = template.child("spec")
    if claim is not None:
        _check_claim(claim)
    elif not template.has("spec"):
        template.problems.required(template.at("spec"), "", "describe the storage: accessModes and resources")


def _check_claim(claim: Node) -> None:
    modes = [mode for _, mode in claim.texts("accessModes")]
    if not modes:
        claim.problems.required(
            claim.at("accessModes"), "at least 1 access mode is required", "use ReadWriteOnce, as most storage offers"
        )
    for where, mode in claim.texts("accessModes"):
        if mode not in ACCESS_MODES:
            claim.problems.unsupported(where, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        claim.problems.forbidden(
            claim.at("accessModes"), "may not use ReadWriteOncePod with other access modes", "keep one of them"
        )
    resources = claim.child("resources")
    requests = resources.mapping("requests") if resources is not None else {}
    where = claim.at("resources", "requests").key("storage")
    size = quantity(where, requests.get("storage"), claim.problems)
    if "storage" not in requests:
        claim.problems.required(where, "", "say how much storage the claim asks for")
    elif size is not None and size <= 0:
        claim.problems.invalid(where, requests["storage"], "must be greater than zero", "use a size such as 10Gi")
    if (selector := claim.child("selector")) is not None:
        selectors.check(selector)
    claim.judge("storageClassName", grammar.subdomain)
    claim.judge("volumeAttributesClassName", grammar.subdomain)
    claim.choose("volumeMode", VOLUME_MODES, may_be_empty=False)
    for key in ("dataSource", "dataSourceRef"):
        if (source := claim.child(key)) is not None:
            _check_data_source(source)


def _check_data_source(source: Node) -> None:
    source.need("name", "name the object to fill the claim from")
    source.need("kind", "say the kind of the object, such as VolumeSnapshot")
    group = source.text("apiGroup")
    if group == "" and source.text("kind") not in ("PersistentVolumeClaim", "", None):
        source.problems.invalid(
            source.path,
            source.text("kind"),
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            "set apiGroup, such as snapshot.storage.k8s.io",
        )
    source.judge("apiGroup", grammar.subdomain)

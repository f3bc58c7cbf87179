"""Shared ResourceClaims: templates, references to them, and filters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from grove.api import grammar
from grove.api.errors import Path, Problems, choices
from grove.api.fields import as_mapping
from grove.api.kinds.podcliqueset import PodCliqueSet, ResourceClaimTemplateConfig
from grove.api.kinds.scaling import ResourceSharing
from grove.api.validation.places import CLIQUES, GROUPS

_TEMPLATES: Final = Path.parse("spec.template.resourceClaimTemplates")
_SHARING: Final = Path.parse("spec.template.resourceSharing")


def check(pcs: PodCliqueSet, problems: Problems) -> None:
    """Reports claims that could not be made or would reach nobody."""
    template = pcs.spec.template
    internal = {entry.name for entry in template.resource_claim_templates}
    cliques = dict.fromkeys(clique.name for clique in template.cliques)
    groups = dict.fromkeys(group.name for group in template.pod_clique_scaling_groups)
    _check_templates(template.resource_claim_templates, problems)

    _check_references(template.resource_sharing, internal, _SHARING, problems)
    for position, entry in enumerate(template.resource_sharing):
        if entry.filter is None:
            continue
        path = _SHARING.index(position).field("filter")
        if not entry.filter.child_clique_names and not entry.filter.child_scaling_group_names:
            problems.required(
                path,
                "filter must specify at least one childCliqueNames or childScalingGroupNames entry",
                "name a clique or scaling group, or remove the filter",
            )
        _check_known(entry.filter.child_clique_names, cliques, path.field("childCliqueNames"), problems)
        _check_known(entry.filter.child_scaling_group_names, groups, path.field("childScalingGroupNames"), problems)

    for position, group in enumerate(template.pod_clique_scaling_groups):
        path = GROUPS.index(position).field("resourceSharing")
        _check_references(group.resource_sharing, internal, path, problems)
        for number, shared in enumerate(group.resource_sharing):
            if shared.filter is None:
                continue
            where = path.index(number).field("filter")
            if not shared.filter.child_clique_names:
                problems.required(
                    where,
                    "filter must specify at least one childCliqueNames entry",
                    "name a clique of the group, or remove the filter",
                )
            names = shared.filter.child_clique_names
            _check_known(names, dict.fromkeys(group.clique_names), where.field("childCliqueNames"), problems)

    for position, clique in enumerate(template.cliques):
        path = CLIQUES.index(position).field("resourceSharing")
        _check_references(clique.resource_sharing, internal, path, problems)


def _check_templates(templates: Sequence[ResourceClaimTemplateConfig], problems: Problems) -> None:
    seen: set[str] = set()
    for position, entry in enumerate(templates):
        path = _TEMPLATES.index(position)
        if not entry.name:
            problems.required(path.field("name"), "template name is required", "give it a name")
        elif entry.name in seen:
            problems.duplicate(path.field("name"), entry.name, "give every template its own name")
        seen.add(entry.name)
        devices = as_mapping(as_mapping(entry.template_spec.get("spec")).get("devices"))
        if not devices.get("requests"):
            problems.required(
                path.field("templateSpec", "spec", "devices", "requests"),
                "at least one device request is required",
                "add a request that names a deviceClassName",
            )


def _check_references(entries: Sequence[ResourceSharing], internal: set[str], path: Path, problems: Problems) -> None:
    seen: set[str] = set()
    for position, entry in enumerate(entries):
        where = path.index(position)
        if not entry.name:
            problems.required(
                where.field("name"), "reference name is required", "name an entry of resourceClaimTemplates"
            )
        elif entry.name in seen:
            problems.duplicate(where.field("name"), entry.name, "refer to each template once")
        elif not grammar.is_label(entry.name):
            problems.invalid(
                where.field("name"),
                entry.name,
                "becomes part of the name by which pods know the claim, which is a DNS-1123 label",
                "use at most 63 lower case letters, digits and '-'",
            )
        seen.add(entry.name)
        if entry.namespace and not grammar.is_label(entry.namespace):
            problems.invalid(
                where.field("namespace"), entry.namespace, "must be a DNS-1123 label", "name an existing namespace"
            )
        if entry.namespace and entry.name in internal:
            problems.forbidden(
                where.field("namespace"),
                "namespace must be empty when name matches an internal resourceClaimTemplate",
                "remove namespace, or rename the internal template",
            )


def _check_known(names: Sequence[str], known: Collection[str], path: Path, problems: Problems) -> None:
    for position, name in enumerate(names):
        if name not in known:
            problems.not_found(path.index(position), name, f"name one of: {choices(known)}")

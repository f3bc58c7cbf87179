"""Names: that what Grove makes from them can be made, and that no two things get the same name."""

from __future__ import annotations

from collections.abc import Iterator

from grove.api import grammar, labels, names
from grove.api.errors import Path, Problems
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSet, ScalingGroupConfig
from grove.api.policy import Policy
from grove.api.validation import collisions, metadata
from grove.api.validation.places import CLIQUES, GROUPS


def check(pcs: PodCliqueSet, policy: Policy, problems: Problems) -> None:
    """Reports names that are malformed, too long or in conflict."""
    template = pcs.spec.template
    set_name = metadata.name_of(pcs.metadata)
    metadata.check(pcs.metadata, problems)
    place = metadata.place_of_name(pcs.metadata)
    if grammar.is_subdomain(set_name) and not grammar.is_label(set_name):
        problems.invalid(
            place,
            set_name,
            "cannot become a label value, the name of a Service and part of host names",
            "leave out dots, and use at most 63 characters",
        )
    elif set_name[:1].isdigit():
        problems.warn(
            place,
            "begins with a digit: clusters before Kubernetes 1.35 refuse the Service of that name",
            "begin with a letter",
        )
    for position, clique in enumerate(template.cliques):
        _check_part(clique.name, CLIQUES.index(position).field("name"), "PodCliqueTemplateSpec", problems)
    for position, group in enumerate(template.pod_clique_scaling_groups):
        _check_part(group.name, GROUPS.index(position).field("name"), "PodCliqueScalingGroupConfig", problems)
    _check_unique(pcs, problems)
    collisions.check(pcs, problems)
    if policy.strict:
        _check_sum_of_lengths(pcs, problems)
    else:
        _warn_of_shortening(pcs, problems)


def _check_part(name: str, path: Path, kind: str, problems: Problems) -> None:
    if not name:
        problems.required(path, "field cannot be empty", "give it a name")
    elif not grammar.is_subdomain(name):
        problems.invalid(
            path,
            name,
            f"invalid {kind} name, must be a valid DNS subdomain",
            "use lower case letters, digits and '-', beginning and ending with a letter or digit",
        )
    elif not grammar.is_label(name):
        problems.invalid(
            path, name, "becomes part of the host names of pods", "leave out dots, and use at most 63 characters"
        )


def _check_unique(pcs: PodCliqueSet, problems: Problems) -> None:
    template = pcs.spec.template
    roles: dict[str, str] = {}
    for position, clique in enumerate(template.cliques):
        role, path = clique.spec.role_name, CLIQUES.index(position).field("spec", "roleName")
        if role != clique.name and not grammar.is_label_value(role):
            problems.warn(
                path,
                f"is no label value, so the label {labels.ROLE} is left off the pods",
                "use at most 63 letters, digits and '-'",
            )
        # Two cliques of one name are reported by the schema; their roles are no second mistake.
        if role and roles.get(role, clique.name) != clique.name:
            problems.duplicate(path, role, "give every clique its own role")
        roles.setdefault(role, clique.name)
    seen: set[str] = set()
    for position, group in enumerate(template.pod_clique_scaling_groups):
        if group.name and group.name in seen:
            problems.duplicate(
                GROUPS.index(position).field("name"), group.name, "give every scaling group its own name"
            )
        seen.add(group.name)


def _members(pcs: PodCliqueSet) -> Iterator[tuple[int, CliqueTemplate, int | None, ScalingGroupConfig | None]]:
    """Each clique with its position, and the scaling group that it belongs to with its position."""
    groups = {
        name: (position, group)
        for position, group in enumerate(pcs.spec.template.pod_clique_scaling_groups)
        for name in group.clique_names
    }
    for position, clique in enumerate(pcs.spec.template.cliques):
        group_position, group = groups.get(clique.name, (None, None))
        yield position, clique, group_position, group


def _check_sum_of_lengths(pcs: PodCliqueSet, problems: Problems) -> None:
    set_name = metadata.name_of(pcs.metadata)
    for position, clique, group_position, group in _members(pcs):
        total = len(set_name) + len(clique.name) + (len(group.name) if group else 0)
        if total <= names.UPSTREAM_LIMIT:
            continue
        parts = f"PodCliqueSet '{set_name}'"
        parts += f", PodCliqueScalingGroup '{group.name}'" if group else ""
        detail = (
            f"combined resource name length {total} exceeds {names.UPSTREAM_LIMIT}-character limit required for pod "
            f"naming. Consider shortening: {parts} or PodClique '{clique.name}'"
        )
        remedy = f"save {total - names.UPSTREAM_LIMIT} characters, or use the lenient mode, which shortens names"
        problems.invalid(CLIQUES.index(position).field("name"), clique.name, detail, remedy)
        problems.invalid(metadata.place_of_name(pcs.metadata), set_name, detail, remedy)
        if group is not None and group_position is not None:
            problems.invalid(GROUPS.index(group_position).field("name"), group.name, detail, remedy)


def _warn_of_shortening(pcs: PodCliqueSet, problems: Problems) -> None:
    set_name = metadata.name_of(pcs.metadata)
    if not grammar.is_label(set_name):
        return  # refused, so nothing is made of it
    last = max(pcs.spec.replicas - 1, 0)
    for position, clique, _, group in _members(pcs):
        if group is None:
            full = names.standalone_clique_in_full(set_name, last, clique.name)
            short = names.standalone_clique(set_name, last, clique.name)
        else:
            config = group.scale_config
            most = max(group.replicas, config.max_replicas if config else 0) - 1
            full = names.member_clique_in_full(set_name, last, group.name, max(most, 0), clique.name)
            short = names.member_clique(set_name, last, group.name, max(most, 0), clique.name)
        if full != short:
            problems.warn(
                CLIQUES.index(position).field("name"),
                f"generated names such as {full} are too long for host names and are shortened to {short}",
                f"save {len(full) - names.CLIQUE_LIMIT} characters in the names to keep them whole",
            )

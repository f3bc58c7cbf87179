"""Scaling groups: their members and counts."""

from __future__ import annotations

from collections.abc import Collection

from grove.api.errors import Path, Problems, choices
from grove.api.kinds.podcliqueset import PodCliqueSet, ScalingGroupConfig
from grove.api.kinds.scaling import AutoScalingConfig
from grove.api.validation import metadata
from grove.api.validation.cliques import check_positive
from grove.api.validation.places import GROUPS


def check(pcs: PodCliqueSet, problems: Problems) -> None:
    """Reports what is wrong with each scaling group, and cliques that are in two."""
    known = dict.fromkeys(clique.name for clique in pcs.spec.template.cliques)
    owner: dict[str, str] = {}
    for position, group in enumerate(pcs.spec.template.pod_clique_scaling_groups):
        path = GROUPS.index(position)
        metadata.check_annotations(group.annotations, path.field("annotations"), problems)
        _check_members(group, known, owner, path.field("cliqueNames"), problems)
        _check_counts(group, path, problems)
        if group.scale_config is not None:
            _check_scale_config(group.scale_config, group, path.field("scaleConfig"), problems)


def _check_members(
    group: ScalingGroupConfig, known: Collection[str], owner: dict[str, str], path: Path, problems: Problems
) -> None:
    if not group.clique_names:
        problems.required(path, "a scaling group needs at least one clique", "name the cliques that scale together")
    for position, name in enumerate(group.clique_names):
        if name not in known:
            problems.invalid(
                path.index(position),
                name,
                "unidentified PodClique names found",
                f"name one of the cliques: {choices(known)}",
            )
        elif name in owner:
            problems.duplicate(
                path.index(position), name, f"a clique belongs to one scaling group; this one is in {owner[name]}"
            )
        owner.setdefault(name, group.name)


def _check_counts(group: ScalingGroupConfig, path: Path, problems: Problems) -> None:
    check_positive(group.replicas, path.field("replicas"), problems)
    check_positive(group.min_available, path.field("minAvailable"), problems)
    if group.replicas > 0 and group.min_available > group.replicas:
        problems.invalid(
            path.field("minAvailable"),
            group.min_available,
            "minAvailable must not be greater than replicas",
            f"lower minAvailable to {group.replicas}, or raise replicas to {group.min_available}",
        )


def _check_scale_config(config: AutoScalingConfig, group: ScalingGroupConfig, path: Path, problems: Problems) -> None:
    least = config.min_replicas
    if least is not None and least < group.min_available:
        problems.invalid(
            path.field("minReplicas"),
            least,
            "scaleConfig.minReplicas must be greater than or equal to minAvailable",
            f"use {group.min_available} or more",
        )
    if least is not None and config.max_replicas < least:
        problems.invalid(
            path.field("maxReplicas"),
            config.max_replicas,
            "must be greater than or equal to scaleConfig.minReplicas",
            f"use {least} or more",
        )
    if config.max_replicas < group.replicas:
        problems.invalid(
            path.field("maxReplicas"),
            config.max_replicas,
            "must be greater than or equal to replicas",
            f"use {group.replicas} or more, or lower replicas",
        )

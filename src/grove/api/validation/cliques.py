"""Cliques: counts, autoscaling and the pods themselves."""

from __future__ import annotations

from typing import Final

from grove.api import podspec
from grove.api.errors import Path, Problems
from grove.api.kinds.podclique import CliqueSpec
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSet
from grove.api.kinds.scaling import AutoScalingConfig
from grove.api.policy import Policy
from grove.api.validation import metadata
from grove.api.validation.places import CLIQUES

SET_BY_GROVE: Final = ("topologySpreadConstraints", "nodeName")
"""Fields of pod specs that placement decides."""


def check(pcs: PodCliqueSet, policy: Policy, problems: Problems, *, is_update: bool) -> None:
    """Reports what is wrong with each clique on its own."""
    template = pcs.spec.template
    members = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    if not template.cliques:
        problems.required(CLIQUES, "at least one PodClique must be defined", "add a clique")
    for position, clique in enumerate(template.cliques):
        path = CLIQUES.index(position)
        metadata.check_labels(clique.labels, path.field("labels"), problems)
        metadata.check_annotations(clique.annotations, path.field("annotations"), problems)
        _check_counts(clique.spec, path.field("spec"), problems)
        podspec.check(clique.spec.pod_spec, path.field("spec", "podSpec"), problems)
        _check_clique_autoscaling(clique, clique.name in members, path.field("spec"), policy, problems)
        if not is_update:
            _check_left_to_grove(clique.spec, path.field("spec", "podSpec"), problems)


def _check_counts(spec: CliqueSpec, path: Path, problems: Problems) -> None:
    check_positive(spec.replicas, path.field("replicas"), problems)
    minimum = spec.min_available
    if minimum is None:
        problems.required(path.field("minAvailable"), "field is required", f"set it to {spec.replicas}, or fewer")
        return
    check_positive(minimum, path.field("minAvailable"), problems)
    if spec.replicas > 0 and minimum > spec.replicas:
        problems.invalid(
            path.field("minAvailable"),
            minimum,
            "minAvailable must not be greater than replicas",
            f"lower minAvailable to {spec.replicas}, or raise replicas to {minimum}",
        )


def check_positive(value: int, path: Path, problems: Problems) -> None:
    """Reports a count that must be at least one and is not."""
    if value <= 0:
        problems.invalid(path, value, "must be greater than 0", "use 1 or more")


def _check_clique_autoscaling(
    clique: CliqueTemplate, is_member: bool, path: Path, policy: Policy, problems: Problems
) -> None:
    config = clique.spec.auto_scaling_config
    if config is None:
        return
    where = path.field("autoScalingConfig")
    if not is_member:
        check_autoscaling(config, clique.spec.replicas, clique.spec.min_available or 0, where, problems)
    elif policy.strict:
        problems.invalid(
            where,
            clique.name,
            "AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling group",
            "move it to the scaling group's scaleConfig",
        )
    else:
        problems.warn(
            where,
            "has no effect: the clique is in a scaling group and scales with it",
            "move it to the scaling group's scaleConfig",
        )


def check_autoscaling(
    config: AutoScalingConfig, replicas: int, min_available: int, path: Path, problems: Problems
) -> None:
    """Reports bounds that no autoscaler could keep, or that would stop the gang."""
    least, most = config.min_replicas, config.max_replicas
    if least is None:
        problems.required(path.field("minReplicas"), "field is required", f"set it to {replicas}")
        return
    if least < min_available:
        problems.invalid(
            path.field("minReplicas"),
            least,
            "must be greater than or equal to podCliqueSpec.minAvailable",
            f"use {min_available} or more",
        )
    if most < least:
        problems.invalid(
            path.field("maxReplicas"),
            most,
            "must be greater than or equal to podCliqueSpec.minReplicas",
            f"use {least} or more",
        )
    if most < replicas:
        problems.invalid(
            path.field("maxReplicas"),
            most,
            "must be greater than or equal to replicas",
            f"use {replicas} or more, or lower replicas",
        )


def _check_left_to_grove(spec: CliqueSpec, path: Path, problems: Problems) -> None:
    for field in SET_BY_GROVE:
        if spec.pod_spec.get(field):
            problems.invalid(
                path.field(field),
                spec.pod_spec[field],
                "must not be set",
                "remove it: the gang is placed as a whole; use topologyConstraint or replicaSpreadConstraints",
            )

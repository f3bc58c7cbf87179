"""What the defaulting webhooks do: older spellings put right, what was left out filled in.

Pure and idempotent. On an update, what cannot change anyway (minAvailable, roleName) is taken from the stored object
where the new one leaves it out: a manifest that never stated it may change replicas without an error.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from grove.api import aliases, durations, poddefaults
from grove.api.errors import Path, Problems
from grove.api.kinds.podclique import CliqueSpec
from grove.api.kinds.podcliqueset import CliqueTemplate, HeadlessServiceConfig, PodCliqueSet, ScalingGroupConfig
from grove.api.kinds.podgangset import PodGangSet
from grove.api.kinds.scaling import AutoScalingConfig
from grove.api.policy import Policy

TERMINATION_DELAY: Final = 4 * durations.HOUR
NAMESPACE: Final = "default"

_TEMPLATE: Final = Path.parse("spec.template")


def podcliqueset(
    pcs: PodCliqueSet, policy: Policy, problems: Problems, old: PodCliqueSet | None = None
) -> PodCliqueSet:
    """The PodCliqueSet with everything filled in; what was put right is reported as warnings."""
    pcs = aliases.resolve(pcs, policy, problems)
    template = pcs.spec.template
    stored = {clique.name: clique for clique in old.spec.template.cliques} if old else {}
    members = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    cliques = tuple(
        _clique(clique, stored.get(clique.name), _TEMPLATE.field("cliques").index(position), policy, problems)
        for position, clique in enumerate(template.cliques)
    )
    groups = tuple(_group(group) for group in template.pod_clique_scaling_groups)
    if not policy.strict:
        cliques = tuple(
            _with_raised_minimum(clique, _TEMPLATE.field("cliques").index(position), members, problems)
            for position, clique in enumerate(cliques)
        )
        groups = tuple(
            _with_raised_group_minimum(group, _TEMPLATE.field("podCliqueScalingGroups").index(position), problems)
            for position, group in enumerate(groups)
        )
    template = replace(
        template,
        cliques=cliques,
        pod_clique_scaling_groups=groups,
        termination_delay=template.termination_delay or durations.text(TERMINATION_DELAY),
        headless_service_config=template.headless_service_config or HeadlessServiceConfig(),
    )
    metadata = pcs.metadata if pcs.metadata.namespace else replace(pcs.metadata, namespace=NAMESPACE)
    return replace(pcs, metadata=metadata, spec=replace(pcs.spec, template=template))


def podgangset(gang_set: PodGangSet, policy: Policy, problems: Problems) -> PodGangSet:
    """The PodGangSet with everything filled in."""
    spec = gang_set.spec
    path = Path.parse("spec.template.spec")
    template = replace(spec.template, spec=poddefaults.filled(spec.template.spec, path, policy, problems))
    minimum = spec.min_available
    if minimum is None and spec.replicas > 0:
        minimum = spec.replicas
    return replace(gang_set, spec=replace(spec, template=template, min_available=minimum))


def _clique(
    clique: CliqueTemplate, stored: CliqueTemplate | None, path: Path, policy: Policy, problems: Problems
) -> CliqueTemplate:
    spec = clique.spec
    replicas = spec.replicas or 1
    kept: CliqueSpec | None = stored.spec if stored else None
    minimum = spec.min_available
    if minimum is None:
        minimum = replicas if kept is None or kept.min_available is None else kept.min_available
    spec = replace(
        spec,
        role_name=spec.role_name or (kept.role_name if kept else "") or clique.name,
        replicas=replicas,
        min_available=minimum,
        auto_scaling_config=_autoscaling(spec.auto_scaling_config, replicas),
        pod_spec=poddefaults.filled(spec.pod_spec, path.field("spec", "podSpec"), policy, problems),
    )
    return replace(clique, spec=spec)


def _group(group: ScalingGroupConfig) -> ScalingGroupConfig:
    return replace(group, scale_config=_autoscaling(group.scale_config, group.replicas))


def _autoscaling(config: AutoScalingConfig | None, replicas: int) -> AutoScalingConfig | None:
    if config is None or config.min_replicas is not None:
        return config
    return replace(config, min_replicas=replicas)


def _with_raised_minimum(clique: CliqueTemplate, path: Path, members: set[str], problems: Problems) -> CliqueTemplate:
    config, least = clique.spec.auto_scaling_config, clique.spec.min_available
    if clique.name in members or config is None or least is None:
        return clique
    raised = _raised(config, least, path.field("spec", "autoScalingConfig"), problems)
    return replace(clique, spec=replace(clique.spec, auto_scaling_config=raised))


def _with_raised_group_minimum(group: ScalingGroupConfig, path: Path, problems: Problems) -> ScalingGroupConfig:
    if group.scale_config is None:
        return group
    raised = _raised(group.scale_config, group.min_available, path.field("scaleConfig"), problems)
    return replace(group, scale_config=raised)


def _raised(config: AutoScalingConfig, least: int, path: Path, problems: Problems) -> AutoScalingConfig:
    if config.min_replicas is None or config.min_replicas >= least:
        return config
    problems.warn(
        path.field("minReplicas"),
        f"raised from {config.min_replicas} to minAvailable, {least}: with fewer the gang does not run",
        f"set minReplicas to {least} or more",
    )
    return replace(config, min_replicas=least)

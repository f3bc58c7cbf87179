"""What the defaulting webhook does to a PodCliqueSet: older spellings put right, what was left out filled in.

Pure and idempotent. On an update, what cannot change anyway (minAvailable, roleName) is taken from the stored object
where the new one leaves it out: a manifest that never stated it may change replicas without an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from grove.api import aliases, durations
from grove.api.errors import Path, Problems
from grove.api.fields import JSON, as_mapping
from grove.api.kinds.operatorconfig import PodDefaults
from grove.api.kinds.podclique import CliqueSpec
from grove.api.kinds.podcliqueset import CliqueTemplate, HeadlessServiceConfig, PodCliqueSet, ScalingGroupConfig
from grove.api.kinds.scaling import AutoScalingConfig
from grove.api.policy import Policy

TERMINATION_DELAY: Final = 4 * durations.HOUR
RESTART_POLICY: Final = "Always"
GRACE_PERIOD_SECONDS: Final = 30
NAMESPACE: Final = "default"

_TEMPLATE: Final = Path.parse("spec.template")

T = TypeVar("T", CliqueTemplate, ScalingGroupConfig)


def podcliqueset(
    pcs: PodCliqueSet, policy: Policy, problems: Problems, old: PodCliqueSet | None = None
) -> PodCliqueSet:
    """The PodCliqueSet with everything filled in; what was put right is reported as warnings."""
    pcs = aliases.resolve(pcs, policy, problems)
    template = pcs.spec.template
    stored = {clique.name: clique for clique in old.spec.template.cliques} if old else {}
    members = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    cliques = tuple(_clique(clique, stored.get(clique.name), policy.pod_defaults) for clique in template.cliques)
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


def _clique(clique: CliqueTemplate, stored: CliqueTemplate | None, pod_defaults: PodDefaults) -> CliqueTemplate:
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
        pod_spec=_pod_spec(spec.pod_spec, pod_defaults),
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


def _pod_spec(spec: JSON, pod_defaults: PodDefaults) -> JSON:
    filled = dict(spec)
    filled["restartPolicy"] = spec.get("restartPolicy") or RESTART_POLICY
    if spec.get("terminationGracePeriodSeconds") is None:
        filled["terminationGracePeriodSeconds"] = GRACE_PERIOD_SECONDS
    containers = spec.get("containers")
    if isinstance(containers, list) and (pod_defaults.requests or pod_defaults.port):
        filled["containers"] = _containers(containers, pod_defaults)
    return filled


def _containers(containers: list[Any], pod_defaults: PodDefaults) -> list[Any]:
    filled = []
    for container in containers:
        if pod_defaults.requests and isinstance(container, dict) and not _states_resources(container):
            container = {**container, "resources": {"requests": dict(pod_defaults.requests)}}
        filled.append(container)
    port_stated = any(as_mapping(container).get("ports") for container in containers)
    if pod_defaults.port and not port_stated and filled and isinstance(filled[0], dict):
        port = {"name": pod_defaults.port_name or "grove", "containerPort": pod_defaults.port, "protocol": "TCP"}
        filled[0] = {**filled[0], "ports": [port]}
    return filled


def _states_resources(container: Mapping[str, Any]) -> bool:
    resources = as_mapping(container.get("resources"))
    return any(resources.get(part) for part in ("requests", "limits", "claims"))

"""Older and shorter spellings, moved to the canonical fields.

An alias is declared in the schema (otherwise the API server would drop it before anyone sees it) and resolved here,
so that what is stored has one spelling. In strict mode an alias is an error instead; both spellings at once with
different values always are.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from grove.api import codec
from grove.api.errors import Path, Problems
from grove.api.kinds.podcliqueset import (
    ANY_ORDER,
    STARTUP_ALIASES,
    CliqueTemplate,
    PodCliqueSet,
    PodCliqueSetTemplate,
    ScalingGroupConfig,
    SchedulingPolicyConfig,
)
from grove.api.kinds.topology import Pack, TopologyConstraint
from grove.api.policy import Policy

V = TypeVar("V")

_TEMPLATE = Path.parse("spec.template")


def resolve(pcs: PodCliqueSet, policy: Policy, problems: Problems) -> PodCliqueSet:
    """The PodCliqueSet in canonical spelling; in strict mode unchanged, with an error for each alias."""
    return replace(pcs, spec=replace(pcs.spec, template=_Resolver(policy, problems).template(pcs.spec.template)))


class _Resolver:
    def __init__(self, policy: Policy, problems: Problems) -> None:
        self._strict = policy.strict
        self._problems = problems

    def template(self, template: PodCliqueSetTemplate) -> PodCliqueSetTemplate:
        return replace(
            self._startup(template),
            scheduling_policy_config=self._packing(template.scheduling_policy_config),
            topology_constraint=self._topology(template.topology_constraint, _TEMPLATE.field("topologyConstraint")),
            cliques=tuple(
                self._clique(clique, _TEMPLATE.field("cliques").index(position))
                for position, clique in enumerate(template.cliques)
            ),
            pod_clique_scaling_groups=tuple(
                self._group(group, _TEMPLATE.field("podCliqueScalingGroups").index(position))
                for position, group in enumerate(template.pod_clique_scaling_groups)
            ),
        )

    def _moved(self, path: Path, alias: str, canonical: str, value: V, target: V, absent: V) -> tuple[V, V]:
        """The values of the alias and of the canonical field afterwards."""
        if value == absent:
            return value, target
        if self._strict:
            self._problems.forbidden(path.field(alias), f"is another spelling of {canonical}", f"write {canonical}")
            return value, target
        if target not in (absent, value):
            self._problems.invalid(
                path.field(alias),
                codec.readable(value),
                f"{canonical} is set too, to another value",
                f"keep only {canonical}",
            )
            return value, target
        self._problems.warn(path.field(alias), f"read as {canonical}", f"write {canonical}")
        return absent, value

    def _startup(self, template: PodCliqueSetTemplate) -> PodCliqueSetTemplate:
        short = template.clique_startup_type
        own = STARTUP_ALIASES.get(short, short)
        if self._strict and own != short:
            self._problems.unsupported(_TEMPLATE.field("cliqueStartupType"), short, tuple(STARTUP_ALIASES.values()))
        other = template.startup_type and STARTUP_ALIASES.get(template.startup_type, template.startup_type)
        # The API server fills in AnyOrder before anyone could tell whether the user wrote it.
        stated = None if own == ANY_ORDER else own
        alias, target = self._moved(_TEMPLATE, "startupType", "cliqueStartupType", other, stated, None)
        return replace(template, startup_type=alias, clique_startup_type=target or ANY_ORDER)

    def _packing(self, config: SchedulingPolicyConfig | None) -> SchedulingPolicyConfig | None:
        if config is None:
            return None
        alias, target = self._moved(
            _TEMPLATE.field("schedulingPolicyConfig"),
            "networkPackGroups",
            "networkPackGroupConfigs",
            config.network_pack_groups,
            config.network_pack_group_configs,
            (),
        )
        return SchedulingPolicyConfig(network_pack_groups=alias, network_pack_group_configs=target)

    def _clique(self, clique: CliqueTemplate, path: Path) -> CliqueTemplate:
        spec = clique.spec
        alias, target = self._moved(
            path.field("spec"), "scaleConfig", "autoScalingConfig", spec.scale_config, spec.auto_scaling_config, None
        )
        return replace(
            clique,
            spec=replace(spec, scale_config=alias, auto_scaling_config=target),
            topology_constraint=self._topology(clique.topology_constraint, path.field("topologyConstraint")),
        )

    def _group(self, group: ScalingGroupConfig, path: Path) -> ScalingGroupConfig:
        alias, target = self._moved(
            path, "autoScalingConfig", "scaleConfig", group.auto_scaling_config, group.scale_config, None
        )
        return replace(
            group,
            auto_scaling_config=alias,
            scale_config=target,
            topology_constraint=self._topology(group.topology_constraint, path.field("topologyConstraint")),
        )

    def _topology(self, constraint: TopologyConstraint | None, path: Path) -> TopologyConstraint | None:
        """packDomain, moved; in strict mode it stays, and the rule of the CRD refuses it on new objects."""
        if constraint is None or constraint.pack_domain is None or self._strict:
            return constraint
        pack = constraint.pack or Pack()
        if pack.required is not None:
            return constraint  # both are set: a rule of the type says so
        self._problems.warn(path.field("packDomain"), "is deprecated; read as pack.required", "write pack.required")
        return replace(constraint, pack=replace(pack, required=constraint.pack_domain), pack_domain=None)

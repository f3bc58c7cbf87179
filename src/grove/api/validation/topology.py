"""Topology constraints: that their levels exist and that an outer one is never narrower than an inner one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grove.api.errors import Path, Problems
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.topology import TopologyConstraint
from grove.api.policy import Policy
from grove.api.validation.places import CLIQUES, GROUPS
from grove.api.validation.scheduling import constraints_of

_SET: Final = Path.parse("spec.template.topologyConstraint")


def check(pcs: PodCliqueSet, policy: Policy, problems: Problems) -> None:
    """Reports constraints that no scheduler could follow."""
    constraints = list(constraints_of(pcs))
    if not constraints:
        return
    if not policy.topology_enabled:
        for path, constraint in constraints:
            problems.invalid(
                path,
                ", ".join(constraint.domains),
                "topology constraints are not allowed when Topology Aware Scheduling is disabled",
                "remove it, or enable topologyAwareScheduling in the operator's configuration",
            )
        return
    name = _check_names(pcs, problems)
    if name is None:
        return
    if policy.topologies is None:
        problems.warn(
            constraints[0][0],
            f'not checked: ClusterTopologyBinding "{name}" is not known here',
            "pass the binding's manifest along, to have domains and their order checked",
        )
        return
    domains = policy.topologies.get(name)
    if domains is None:
        known = ", ".join(sorted(policy.topologies)) or "there are none"
        problems.not_found(
            constraints[0][0].field("topologyName"),
            name,
            f"name one of the cluster's bindings ({known}), or create it",
            f'ClusterTopologyBinding "{name}" not found',
        )
        return
    _check_domains(constraints, domains, problems)
    _check_hierarchy(pcs, domains, problems)


def _check_names(pcs: PodCliqueSet, problems: Problems) -> str | None:
    """The one topology that the constraints name; None where they do not."""
    before = len(problems.errors)
    in_force = names_in_force(pcs)
    first = next((name for name in in_force.values() if name), None)
    for path, constraint in constraints_of(pcs):
        where = path.field("topologyName")
        if not in_force[path]:
            problems.required(
                where,
                "topologyName is required when topologyConstraint is set and cannot be inherited",
                "name a ClusterTopologyBinding",
            )
        elif constraint.topology_name and constraint.topology_name != first:
            problems.invalid(
                where,
                constraint.topology_name,
                "all topologyConstraint.topologyName values within a PodCliqueSet must match in the current "
                "implementation",
                f"use {first} everywhere",
            )
    return first if len(problems.errors) == before else None


def names_in_force(pcs: PodCliqueSet) -> dict[Path, str | None]:
    """The topology of each constraint by its place: its own or an inherited one; None where it has neither."""
    template = pcs.spec.template
    found: dict[Path, str | None] = {}

    def resolve(constraint: TopologyConstraint | None, path: Path, inherited: str | None) -> str | None:
        if constraint is None:
            return inherited
        found[path] = constraint.topology_name or inherited
        return found[path]

    set_name = resolve(template.topology_constraint, _SET, None)
    inherited: dict[str, str | None] = {}
    for position, group in enumerate(template.pod_clique_scaling_groups):
        name = resolve(group.topology_constraint, GROUPS.index(position).field("topologyConstraint"), set_name)
        inherited.update(dict.fromkeys(group.clique_names, name))
    for position, clique in enumerate(template.cliques):
        path = CLIQUES.index(position).field("topologyConstraint")
        resolve(clique.topology_constraint, path, inherited.get(clique.name, set_name))
    return found


def _check_domains(
    constraints: Sequence[tuple[Path, TopologyConstraint]], domains: Sequence[str], problems: Problems
) -> None:
    for path, constraint in constraints:
        for domain in dict.fromkeys(constraint.domains):
            if domain not in domains:
                problems.invalid(
                    path,
                    domain,
                    f"topology domain '{domain}' does not exist in cluster topology [{' '.join(domains)}]",
                    "use one of its domains, or add a level to the ClusterTopologyBinding",
                )
        required, preferred = constraint.required_domain, constraint.preferred_domain
        if (
            required in domains
            and preferred in domains
            and domains.index(preferred or "") < domains.index(required or "")
        ):
            problems.warn(
                path.field("pack", "preferred"),
                f"{path}.pack.preferred is coarser than {path}.pack.required and is redundant",
                "remove preferred, or name a narrower domain",
            )


def _check_hierarchy(pcs: PodCliqueSet, domains: Sequence[str], problems: Problems) -> None:
    template = pcs.spec.template
    outer = template.topology_constraint
    members = {name: group for group in template.pod_clique_scaling_groups for name in group.clique_names}
    for position, group in enumerate(template.pod_clique_scaling_groups):
        path = GROUPS.index(position).field("topologyConstraint")
        what = f"PodCliqueScalingGroup '{group.name}'"
        _check_pair(outer, "PodCliqueSet", group.topology_constraint, what, path, domains, problems)
    for position, clique in enumerate(template.cliques):
        path = CLIQUES.index(position).field("topologyConstraint")
        what = f"PodClique '{clique.name}'"
        _check_pair(outer, "PodCliqueSet", clique.topology_constraint, what, path, domains, problems)
        parent = members.get(clique.name)
        if parent is not None:
            parent_name = f"PodCliqueScalingGroup '{parent.name}'"
            _check_pair(
                parent.topology_constraint, parent_name, clique.topology_constraint, what, path, domains, problems
            )


def _check_pair(
    outer: TopologyConstraint | None,
    outer_name: str,
    inner: TopologyConstraint | None,
    inner_name: str,
    path: Path,
    domains: Sequence[str],
    problems: Problems,
) -> None:
    if outer is None or inner is None:
        return
    pairs = ((outer.required_domain, inner.required_domain), (outer.preferred_domain, inner.preferred_domain))
    for wide, narrow in pairs:
        if wide in domains and narrow in domains and domains.index(wide or "") > domains.index(narrow or ""):
            problems.invalid(
                path,
                narrow,
                f"{outer_name} topology constraint domain '{wide}' is narrower than {inner_name} topology constraint "
                f"domain '{narrow}'",
                f"use '{wide}' or a narrower domain here, or '{narrow}' or a wider one there",
            )

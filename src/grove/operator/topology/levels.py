"""What the topology constraints of a set mean on nodes: domains (rack) as node label keys (example.com/rack). Pure.

A set uses one ClusterTopologyBinding. Where it is missing, or topology-aware scheduling is off, constraints mean
nothing: gangs are made without them, and the condition `TopologyLevelsUnavailable` of the set says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api.conditions import Status
from grove.api.kinds.podcliqueset import PodCliqueSetTemplate
from grove.api.kinds.podgang import GangTopologyConstraint, PackConstraint
from grove.api.kinds.topology import ClusterTopologyBinding, TopologyConstraint

CONDITION: Final = "TopologyLevelsUnavailable"

DISABLED: Final = "TopologyAwareSchedulingDisabled"
NAME_MISSING: Final = "TopologyNameMissing"
NOT_FOUND: Final = "ClusterTopologyNotFound"
UNAVAILABLE: Final = "ClusterTopologyLevelsUnavailable"
AVAILABLE: Final = "AllClusterTopologyLevelsAvailable"

Keys = Mapping[str, str]
"""The node label key of each domain of a topology; empty where no constraint can be followed."""


def constraints(template: PodCliqueSetTemplate) -> list[TopologyConstraint]:
    """All constraints of a set: its own, those of its scaling groups, those of its cliques."""
    stated = (
        template.topology_constraint,
        *(one.topology_constraint for one in template.pod_clique_scaling_groups),
        *(one.topology_constraint for one in template.cliques),
    )
    return [one for one in stated if one is not None]


def binding_name(template: PodCliqueSetTemplate) -> str:
    """The ClusterTopologyBinding that a set uses: the first one that is named; empty where none is."""
    return next((one.topology_name for one in constraints(template) if one.topology_name), "")


def keys(template: PodCliqueSetTemplate, bindings: Mapping[str, ClusterTopologyBinding], enabled: bool) -> Keys:
    """The node label keys by which the constraints of a set are translated."""
    binding = bindings.get(binding_name(template)) if enabled else None
    return {} if binding is None else {level.domain: level.key for level in binding.spec.levels}


def translated(constraint: TopologyConstraint | None, keys: Keys) -> GangTopologyConstraint | None:
    """A constraint in label keys. A domain that the topology does not have is left out; None if nothing is left."""
    if constraint is None:
        return None
    required = keys.get(constraint.required_domain or "")
    preferred = keys.get(constraint.preferred_domain or "")
    if required is None and preferred is None:
        return None
    return GangTopologyConstraint(pack_constraint=PackConstraint(required=required, preferred=preferred))


def condition(
    template: PodCliqueSetTemplate, bindings: Mapping[str, ClusterTopologyBinding], enabled: bool
) -> tuple[Status, str, str] | None:
    """Status, reason and message of `TopologyLevelsUnavailable`; None where a set has no such condition."""
    stated = constraints(template)
    if not enabled:
        message = "Topology constraints are defined but Topology Aware Scheduling is disabled"
        return ("Unknown", DISABLED, message) if stated else None
    if not stated:
        return "False", AVAILABLE, "No topology constraints defined"
    name = binding_name(template)
    if not name:
        return "Unknown", NAME_MISSING, "PodCliqueSet topology constraints must include topologyName"
    if name not in bindings:
        return "Unknown", NOT_FOUND, "ClusterTopologyBinding resource not found"
    known = keys(template, bindings, enabled)
    missing = sorted({domain for one in stated for domain in one.domains if domain not in known})
    if missing:
        return "True", UNAVAILABLE, f"Unavailable topology domains: [{' '.join(missing)}]"
    return "False", AVAILABLE, "All topology levels are available"

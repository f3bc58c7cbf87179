"""ClusterTopologyBinding: levels that are told apart, and schedulers that know topology."""

from __future__ import annotations

from typing import Final

from grove.api.errors import Path, Problems
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy
from grove.api.validation import metadata

_LEVELS: Final = Path.parse("spec.levels")
_BINDINGS: Final = Path.parse("spec.schedulerTopologyBindings")


def check(binding: ClusterTopologyBinding, policy: Policy) -> Problems:
    """Everything wrong with a ClusterTopologyBinding."""
    problems = Problems()
    metadata.check(binding.metadata, problems)
    for attribute in ("domain", "key"):
        seen: set[str] = set()
        for position, level in enumerate(binding.spec.levels):
            value = getattr(level, attribute)
            if value in seen:
                path = _LEVELS.index(position).field(attribute)
                problems.duplicate(path, value, f"give every level its own {attribute}")
            seen.add(value)
    _check_bindings(binding, policy, problems)
    return problems


def _check_bindings(binding: ClusterTopologyBinding, policy: Policy, problems: Problems) -> None:
    seen: set[str] = set()
    for position, entry in enumerate(binding.spec.scheduler_topology_bindings):
        path, name = _BINDINGS.index(position).field("schedulerName"), entry.scheduler_name
        if name in seen:
            problems.duplicate(path, name, "bind each scheduler once")
        elif name not in policy.schedulers:
            problems.invalid(
                path,
                name,
                "scheduler backend is not enabled in Grove",
                f"name one of {', '.join(policy.schedulers)}, or add a profile to the operator's configuration",
            )
        elif not policy.is_topology_aware(name):
            problems.invalid(
                path,
                name,
                "scheduler backend does not implement topology-aware scheduling",
                "remove the entry: this scheduler has no topology object",
            )
        seen.add(name)

"""What the validating webhook says of a PodCliqueSet: the table of contents of the rules."""

from __future__ import annotations

from grove.api.errors import Path, Problems
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from grove.api.validation import (
    accelerators,
    cliques,
    groups,
    naming,
    rollout,
    scheduling,
    sharing,
    startup,
    topology,
    updates,
)


def create(pcs: PodCliqueSet, policy: Policy) -> Problems:
    """Everything wrong with a new PodCliqueSet that defaulting has been over."""
    problems = _general(pcs, policy, is_update=False)
    topology.check(pcs, policy, problems)
    accelerators.check(pcs, policy, problems)
    return problems


def update(pcs: PodCliqueSet, old: PodCliqueSet, policy: Policy) -> Problems:
    """Everything wrong with a changed PodCliqueSet; what may not change is looked at once the rest is right."""
    problems = _general(pcs, policy, is_update=True)
    if not problems.errors:
        updates.check(pcs, old, policy, problems)
    return problems


def _general(pcs: PodCliqueSet, policy: Policy, *, is_update: bool) -> Problems:
    problems = Problems()
    _check_set(pcs, problems)
    naming.check(pcs, policy, problems)
    cliques.check(pcs, policy, problems, is_update=is_update)
    groups.check(pcs, problems)
    startup.check(pcs, problems)
    sharing.check(pcs, problems)
    rollout.check(pcs, problems)
    scheduling.check(pcs, policy, problems)
    return problems


def _check_set(pcs: PodCliqueSet, problems: Problems) -> None:
    replicas = Path.parse("spec.replicas")
    if pcs.spec.replicas < 0:
        problems.invalid(replicas, pcs.spec.replicas, "must be greater than or equal to 0", "use 0 or more")
    elif pcs.spec.replicas == 0:
        problems.warn(replicas, "is 0: nothing will run", "set replicas to 1 or more")
    delay = Path.parse("spec.template.terminationDelay")
    if pcs.spec.template.termination_delay is None:
        problems.required(delay, "terminationDelay is required", "set it, as in 4h")
    else:
        rollout.check_positive_duration(pcs.spec.template.termination_delay, delay, problems)

"""What the scheduler's parts are told, read from its configuration. Pure.

The configuration was checked when it was read (`grove.api.validation.configuration`); nothing here can fail.
"""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import Placement, Preemption, SchedulerConfiguration
from grove.runtime.settings import seconds
from grove.scheduler.engine import Rules
from grove.scheduler.placement.budget import STEPS_PER_MILLISECOND
from grove.scheduler.preemption.running import Policy


def rules(configuration: SchedulerConfiguration) -> Rules:
    """What the engine is told."""
    starvation = configuration.starvation
    return Rules(
        scheduler_names=configuration.scheduler_names,
        search_steps=search_steps(configuration.placement),
        search_budget=configuration.placement.search_budget,
        replica_affinity=configuration.placement.replica_affinity,
        preemption=policy(configuration.preemption),
        starves_after=seconds(starvation.after),
        held_percent=starvation.max_reserved_percent,
    )


def search_steps(placement: Placement) -> int:
    """The budget of a search: it is counted in steps, so that equal histories give equal decisions."""
    return max(1, round(seconds(placement.search_budget) * 1000 * STEPS_PER_MILLISECOND))


def policy(preemption: Preemption) -> Policy | None:
    """How room is made; None: never."""
    if not preemption.enabled:
        return None
    return Policy(order=preemption.policy, delay=seconds(preemption.delay), foreign_pods=preemption.foreign_pods)

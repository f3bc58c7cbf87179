"""The status of a ClusterTopologyBinding: whether the topology objects of schedulers agree with its levels. Pure.

Grove's own scheduler reads the binding itself, so it always agrees. No other scheduler's topology object is known here:
a binding to one is reported as what it is, not compared.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final

from grove.api import conditions
from grove.api.kinds.operatorconfig import Backend
from grove.api.kinds.topology import (
    ClusterTopologyBinding,
    ClusterTopologyBindingStatus,
    SchedulerTopologyBinding,
    SchedulerTopologyStatus,
)

DRIFT: Final = "SchedulerTopologyDrift"

NOT_FOUND: Final = "TopologyNotFound"
IN_SYNC: Final = "InSync"
DRIFTED: Final = "Drift"


def wanted(
    binding: ClusterTopologyBinding, schedulers: Mapping[str, Backend], now: datetime.datetime
) -> ClusterTopologyBindingStatus:
    """The status as it is to be. `schedulers`: the configured ones, by name."""
    held = () if binding.status is None else binding.status.conditions
    generation = binding.metadata.generation
    compared = [_compared(one, schedulers, generation) for one in binding.spec.scheduler_topology_bindings]
    unknown = [one.scheduler_name for one in compared if schedulers.get(one.scheduler_name) != "grove"]
    if not compared:
        found = conditions.without(held, DRIFT)
    elif unknown:
        message = f"The topologies of these schedulers cannot be compared: {', '.join(unknown)}"
        found = conditions.put(held, DRIFT, "Unknown", NOT_FOUND, message, now=now, generation=generation)
    else:
        message = "All scheduler backend topologies are in sync"
        found = conditions.put(held, DRIFT, "False", IN_SYNC, message, now=now, generation=generation)
    return ClusterTopologyBindingStatus(
        observed_generation=generation, conditions=found, scheduler_topology_statuses=tuple(compared)
    )


def came_into_sync(held: ClusterTopologyBindingStatus | None, wanted: ClusterTopologyBindingStatus) -> bool:
    """Whether the topologies agree now, and did not or were not known to before."""
    before = None if held is None else conditions.find(held.conditions, DRIFT)
    after = conditions.find(wanted.conditions, DRIFT)
    return after is not None and after.status == "False" and (before is None or before.status != "False")


def _compared(
    listed: SchedulerTopologyBinding, schedulers: Mapping[str, Backend], generation: int | None
) -> SchedulerTopologyStatus:
    name = listed.scheduler_name
    if schedulers.get(name) == "grove":
        return SchedulerTopologyStatus(
            scheduler_name=name,
            topology_reference=listed.topology_reference,
            in_sync=True,
            scheduler_backend_topology_observed_generation=generation,
        )
    return SchedulerTopologyStatus(
        scheduler_name=name,
        topology_reference=listed.topology_reference,
        in_sync=False,
        message=f'scheduler backend "{name}" is not available for topology management',
    )

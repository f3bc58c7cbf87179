"""The engine as a configuration wants it: cluster, rules and search put together. Called where a process is made."""

from __future__ import annotations

from typing import Final

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.runtime.settings import seconds
from grove.scheduler.cluster import Cluster
from grove.scheduler.engine import Engine
from grove.scheduler.placement.budget import STEPS_PER_MILLISECOND
from grove.scheduler.placement.place import place
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings

_MILLISECONDS: Final = 1000


def engine(configuration: SchedulerConfiguration) -> Engine:
    """A new one, that knows nothing yet."""
    cluster, surroundings = Cluster(), Surroundings()
    cluster.obey(rules(cluster, surroundings, configuration))
    milliseconds = seconds(configuration.placement.search_budget) * _MILLISECONDS
    return Engine(
        cluster=cluster,
        surroundings=surroundings,
        place=place,
        scheduler_names=configuration.scheduler_names,
        search_steps=round(milliseconds * STEPS_PER_MILLISECOND),
        replica_affinity=configuration.placement.replica_affinity,
    )

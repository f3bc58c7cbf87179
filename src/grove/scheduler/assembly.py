"""Puts an engine together, as the scheduler, dry runs, replay and benchmarks have it."""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.cluster import Cluster
from grove.scheduler.engine import Engine, Rules
from grove.scheduler.needs import PodNeeds
from grove.scheduler.placement.place import place
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings


def engine(configuration: SchedulerConfiguration) -> Engine:
    """An engine that has been told nothing yet."""
    surroundings = Surroundings()
    needs = PodNeeds(surroundings)
    cluster = Cluster(needs=needs, ignored_resources=configuration.nodes.ignored_resources)
    cluster.obey(rules(cluster, surroundings, configuration))
    rules_ = Rules(
        scheduler_names=configuration.scheduler_names,
        replica_affinity=configuration.placement.replica_affinity,
    )
    return Engine(rules_, cluster=cluster, surroundings=surroundings, needs=needs, place=place)

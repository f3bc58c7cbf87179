"""Puts an engine together, as the scheduler, dry runs, replay and benchmarks have it."""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler import settings
from grove.scheduler.awareness import Awareness
from grove.scheduler.cluster import Cluster
from grove.scheduler.engine import Engine
from grove.scheduler.needs import PodNeeds
from grove.scheduler.placement.solver import Solver
from grove.scheduler.placer import Placer
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings


def engine(configuration: SchedulerConfiguration) -> Engine:
    """An engine that has been told nothing yet."""
    surroundings = Surroundings()
    needs = PodNeeds(surroundings)
    cluster = Cluster(
        needs=needs,
        ignored_resources=configuration.nodes.ignored_resources,
        awareness=Awareness(configuration.nodes),
    )
    cluster.obey(rules(cluster, surroundings, configuration))
    placer = Placer(exact=Solver() if configuration.placement.exact_solver else None)
    made = Engine(settings.rules(configuration), cluster=cluster, surroundings=surroundings, needs=needs, place=placer)
    placer.topologies = made.topologies
    return made

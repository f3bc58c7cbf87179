"""All rules that the scheduler obeys, made for a cluster. Pure."""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.nodeselection import NodeSelection
from grove.scheduler.predicates.rule import Rule
from grove.scheduler.surroundings import Surroundings


def rules(cluster: Cluster, surroundings: Surroundings, settings: SchedulerConfiguration) -> tuple[Rule, ...]:
    """For `Cluster.obey`; the rules read columns of the cluster, and what surrounds it."""
    return (NodeSelection(cluster),)

"""All rules that the scheduler obeys, made for a cluster. Pure."""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.affinity import InterPodAffinity
from grove.scheduler.predicates.conditions import Conditions
from grove.scheduler.predicates.crowds import Crowds
from grove.scheduler.predicates.devices import DynamicResources
from grove.scheduler.predicates.gpus import Gpus
from grove.scheduler.predicates.nodeselection import NodeSelection
from grove.scheduler.predicates.owned import Owned
from grove.scheduler.predicates.platform import Platform
from grove.scheduler.predicates.ports import Ports
from grove.scheduler.predicates.rule import Rule
from grove.scheduler.predicates.spread import PodTopologySpread
from grove.scheduler.predicates.taints import Taints
from grove.scheduler.predicates.volumebinding import VolumeBinding
from grove.scheduler.predicates.volumelimits import NodeVolumeLimits
from grove.scheduler.predicates.volumerestrictions import VolumeRestrictions
from grove.scheduler.predicates.volumezone import VolumeZone
from grove.scheduler.surroundings import Surroundings


def rules(cluster: Cluster, surroundings: Surroundings, settings: SchedulerConfiguration) -> tuple[Rule, ...]:
    """For `Cluster.obey`; the rules read columns of the cluster, and what surrounds it."""
    taints = Taints(cluster, compares=settings.nodes.toleration_comparisons)
    chosen = NodeSelection(cluster)
    crowds = Crowds(cluster, surroundings)
    return (
        Owned(cluster, settings.nodes.owned_node_selector or {}),
        Conditions(cluster),
        taints,
        chosen,
        Gpus(cluster),
        Platform(cluster),
        Ports(cluster),
        crowds,
        PodTopologySpread(cluster, crowds, affinity=[chosen], taints=[taints]),
        InterPodAffinity(cluster, crowds),
        VolumeBinding(cluster, surroundings),
        VolumeZone(cluster),
        VolumeRestrictions(cluster),
        NodeVolumeLimits(cluster, surroundings),
        DynamicResources(cluster, surroundings),
    )

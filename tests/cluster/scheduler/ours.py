"""What Grove's rules say of a world, given the objects as the API server stores them."""

from __future__ import annotations

from typing import Any

import msgspec

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.objects import NodeView, PodView
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.predicates.all import rules
from grove.scheduler.resources import requested
from grove.scheduler.surroundings import Surroundings

JSON = dict[str, Any]


class Ours:
    """One cluster with all cases of a family."""

    def __init__(self, settings: SchedulerConfiguration | None = None) -> None:
        self.surroundings = Surroundings()
        self.cluster = Cluster()
        self.cluster.obey(rules(self.cluster, self.surroundings, settings or SchedulerConfiguration()))

    def learn(self, obj: JSON) -> None:
        """An object of a world; everything else comes before the nodes, and those before pods on them.

        Who adds a rule that reads another kind adds the kind here.
        """
        meta = obj["metadata"]
        match obj["kind"]:
            case "Namespace":
                self.surroundings.namespaces.put(meta["name"], "", meta.get("labels") or {})
            case "Node":
                self.cluster.node(msgspec.convert(obj, NodeView))
            case "Pod":
                pod = msgspec.convert(obj, PodView)
                if pod.node_name in self.cluster.slot_of and pod.status.phase not in ("Succeeded", "Failed"):
                    self.put(pod, pod.node_name)

    def put(self, pod: PodView, node: str) -> None:
        """The pod is on the node from now on."""
        meta = pod.metadata
        self.cluster.put(
            Placed(
                meta.uid or "",
                meta.namespace or "",
                meta.name,
                self.cluster.classes.of(pod),
                self.cluster.slot_of[node],
                requests=self.cluster.resources.vector(requested(pod.spec)),
                terminating=meta.deletion_timestamp is not None,
            )
        )

    def places(self, pod: PodView) -> set[str]:
        """The nodes that would take the pod."""
        capacity = self.cluster.capacity(self.cluster.classes.of(pod))
        return {self.cluster.names[slot] for slot in capacity.nonzero()[0]}

    def reasons(self, pod: PodView, node: str) -> list[str]:
        return self.cluster.reasons(self.cluster.classes.of(pod), self.cluster.slot_of[node])

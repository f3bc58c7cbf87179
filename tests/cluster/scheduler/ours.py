"""What Grove's rules say of a world, given the objects as the API server stores them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.objects import NodeView, PodView
from grove.scheduler import devices, storage
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.needs import PodNeeds
from grove.scheduler.predicates.all import rules
from grove.scheduler.predicates.selectors import spoken
from grove.scheduler.resources import used
from grove.scheduler.surroundings import Surroundings

JSON = dict[str, Any]


KEPT: Final[dict[str, tuple[str, Any]]] = {
    "PersistentVolumeClaim": ("persistent_volume_claims", storage.PersistentVolumeClaim),
    "PersistentVolume": ("persistent_volumes", storage.PersistentVolume),
    "StorageClass": ("storage_classes", storage.StorageClass),
    "CSINode": ("csi_nodes", storage.CsiNode),
    "CSIDriver": ("csi_drivers", storage.CsiDriver),
    "CSIStorageCapacity": ("csi_storage_capacities", storage.CsiStorageCapacity),
    "VolumeAttachment": ("volume_attachments", storage.VolumeAttachment),
    "ResourceClaim": ("resource_claims", devices.ResourceClaim),
    "ResourceSlice": ("resource_slices", devices.ResourceSlice),
    "DeviceClass": ("device_classes", devices.DeviceClass),
}
"""By kind where its objects are kept, and as what."""


class Ours:
    """One cluster with all cases of a family."""

    def __init__(self, settings: SchedulerConfiguration | None = None) -> None:
        self.surroundings = Surroundings()
        self.cluster = Cluster(needs=PodNeeds(self.surroundings))
        self.cluster.obey(rules(self.cluster, self.surroundings, settings or SchedulerConfiguration()))
        self._placed: dict[str, tuple[PodView, str, bool]] = {}

    def learn(self, obj: JSON) -> None:
        """An object of a world; everything else comes before the nodes, and those before pods on them.

        Who adds a rule that reads another kind adds the kind here.
        """
        meta = obj["metadata"]
        match obj["kind"]:
            case "Namespace":
                self.surroundings.namespaces.put(meta["name"], "", meta.get("labels") or {})
            case kind if kind in KEPT:
                name, view = KEPT[kind]
                kept = getattr(self.surroundings, name)
                kept.put(meta["name"], meta.get("namespace", ""), msgspec.convert(obj, view))
            case "Node":
                self.cluster.node(msgspec.convert(obj, NodeView))
            case "Pod":
                pod = msgspec.convert(obj, PodView)
                if pod.node_name in self.cluster.slot_of and pod.status.phase not in ("Succeeded", "Failed"):
                    self.put(pod, pod.node_name)
                elif pod.status.nominated_node_name in self.cluster.slot_of:
                    self.put(pod, pod.status.nominated_node_name, nominated=True)

    def put(self, pod: PodView, node: str, *, nominated: bool = False) -> None:
        """The pod is on the node from now on, or is meant to come there."""
        cls = self._class_of(pod)
        meta = pod.metadata
        self._placed[meta.uid or ""] = pod, node, nominated
        self.cluster.put(
            Placed(
                meta.uid or "",
                meta.namespace or "",
                meta.name,
                cls,
                self.cluster.slot_of[node],
                requests=self.cluster.resources.vector(used(pod)),
                terminating=meta.deletion_timestamp is not None,
                nominated=nominated,
            )
        )

    def places(self, pod: PodView) -> set[str]:
        """The nodes that would take the pod."""
        capacity = self.cluster.capacity(self._class_of(pod))
        return {self.cluster.names[slot] for slot in capacity.nonzero()[0]}

    def reasons(self, pod: PodView, node: str) -> list[str]:
        return self.cluster.reasons(self._class_of(pod), self.cluster.slot_of[node])

    def _class_of(self, pod: PodView) -> PodClass:
        """All pods are classed anew where the pod speaks of labels that none spoke of before."""
        if self.cluster.classes.speak_of(spoken(pod.spec)):
            placed, self._placed = self._placed, {}
            for uid in placed:
                self.cluster.take(uid)
            for other, node, nominated in placed.values():
                self.put(other, node, nominated=nominated)
        return self.cluster.classes.of(pod)

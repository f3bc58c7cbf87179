"""Small clusters with storage and devices."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.objects import PodView
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.devices import DeviceClass, ResourceClaim, ResourceSlice
from grove.scheduler.needs import PodNeeds
from grove.scheduler.predicates.all import rules
from grove.scheduler.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from grove.scheduler.surroundings import Kept, Surroundings
from tests.unit.scheduler.fleets import HOST, ZONE, node

JSON = dict[str, Any]
DRIVER = "csi.example.com"
GPUS = "gpu.example.com"

_versions = itertools.count(1)


class World:
    """All rules, and what they read."""

    def __init__(self, *zones: str) -> None:
        """Nodes `n0`, `n1` and so on, each in one of the zones."""
        self.surroundings = Surroundings()
        self.needs = PodNeeds(self.surroundings)
        self.cluster = Cluster(needs=self.needs)
        self.cluster.obey(rules(self.cluster, self.surroundings, SchedulerConfiguration()))
        for at, zone in enumerate(zones):
            self.cluster.node(node(f"n{at}", {ZONE: zone} if zone else {}))

    def storage_class(
        self, name: str, *, provisioner: str = DRIVER, mode: str = "WaitForFirstConsumer", zones: Sequence[str] = ()
    ) -> None:
        terms = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
        body = {"provisioner": provisioner, "volumeBindingMode": mode, "allowedTopologies": terms}
        self._keep(self.surroundings.storage_classes, StorageClass, name, "", body)

    def local_class(self, name: str = "local") -> None:
        self.storage_class(name, provisioner="kubernetes.io/no-provisioner")

    def claim(
        self,
        name: str,
        *,
        of: str = "local",
        size: str = "1Gi",
        modes: Sequence[str] = ("ReadWriteOnce",),
        bound: str = "",
        annotations: Mapping[str, str] | None = None,
        metadata: JSON | None = None,
        phase: str = "",
        **spec: Any,
    ) -> None:
        marks = dict(annotations or {})
        if bound:
            marks["pv.kubernetes.io/bind-completed"] = "yes"
        body = {
            "metadata": {"annotations": marks, **(metadata or {})},
            "spec": {
                "accessModes": list(modes),
                "resources": {"requests": {"storage": size}},
                "storageClassName": of,
                "volumeName": bound,
                **spec,
            },
            "status": {"phase": phase or ("Bound" if bound else "Pending")},
        }
        self._keep(self.surroundings.persistent_volume_claims, PersistentVolumeClaim, name, "default", body)

    def volume(
        self,
        name: str,
        *,
        of: str = "local",
        size: str = "1Gi",
        on: str = "",
        zone: str = "",
        modes: Sequence[str] = ("ReadWriteOnce",),
        labels: Mapping[str, str] | None = None,
        phase: str = "Available",
        **spec: Any,
    ) -> None:
        """`on` is the one node or the zone that it can be used on."""
        where = {HOST: on} if on else {ZONE: zone} if zone else {}
        terms = [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]} for key, value in where.items()
        ]
        body = {
            "metadata": {"labels": dict(labels or {})},
            "spec": {
                "accessModes": list(modes),
                "capacity": {"storage": size},
                "storageClassName": of,
                "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
                **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}),
                **spec,
            },
            "status": {"phase": phase},
        }
        self._keep(self.surroundings.persistent_volumes, PersistentVolume, name, "", body)

    def csi_node(self, name: str, count: int | None) -> None:
        driver = {"name": DRIVER, "allocatable": {} if count is None else {"count": count}}
        self._keep(self.surroundings.csi_nodes, CsiNode, name, "", {"spec": {"drivers": [driver]}})

    def csi_driver(self, *, tells_room: bool) -> None:
        body = {"spec": {"storageCapacity": tells_room}}
        self._keep(self.surroundings.csi_drivers, CsiDriver, DRIVER, "", body)

    def room(self, name: str, capacity: str, *, of: str, topology: JSON | None, **more: Any) -> None:
        body = {"storageClassName": of, "capacity": capacity, "nodeTopology": topology, **more}
        self._keep(self.surroundings.csi_storage_capacities, CsiStorageCapacity, name, "default", body)

    def attachment(self, volume: str, on: str) -> None:
        body = {"spec": {"attacher": DRIVER, "nodeName": on, "source": {"persistentVolumeName": volume}}}
        self._keep(self.surroundings.volume_attachments, VolumeAttachment, f"{volume}-{on}", "", body)

    def device_class(self, name: str, *expressions: str, config: Sequence[JSON] = ()) -> None:
        selectors = [{"cel": {"expression": expression}} for expression in expressions]
        body = {"spec": {"selectors": selectors, "config": list(config)}}
        self._keep(self.surroundings.device_classes, DeviceClass, name, "", body)

    def gpus(
        self, on: str, *devices: JSON, pool: str = "", slices: int = 1, generation: int = 1, name: str = ""
    ) -> None:
        """A pool of a node; devices are names with what they are."""
        pools = {"name": pool or on, "generation": generation, "resourceSliceCount": slices}
        where: JSON = {"nodeName": on} if on else {"allNodes": True}
        body = {"spec": {"driver": GPUS, "pool": pools, "devices": list(devices), **where}}
        self._keep(self.surroundings.resource_slices, ResourceSlice, name or f"slice-{on}", "", body)

    def device_claim(
        self, name: str, *requests: JSON, status: JSON | None = None, metadata: JSON | None = None, **devices: Any
    ) -> None:
        body = {
            "metadata": metadata or {},
            "spec": {"devices": {"requests": list(requests), **devices}},
            "status": status or {},
        }
        self._keep(self.surroundings.resource_claims, ResourceClaim, name, "default", body)

    def _keep(self, kept: Kept[Any], view: type[Any], name: str, namespace: str, body: JSON) -> None:
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": str(next(_versions)),
            **body.get("metadata", {}),
        }
        kept.put(name, namespace, msgspec.convert({**body, "metadata": metadata}, view))

    # What is asked

    def cls(self, wanted: PodView) -> PodClass:
        return self.cluster.classes.of(wanted)

    def room_for(self, wanted: PodView) -> list[int]:
        """By node how many more such pods it takes, up to ten."""
        return [min(10, int(count)) for count in self.cluster.capacity(self.cls(wanted))]

    def put(self, wanted: PodView, slot: int) -> Placed:
        meta = wanted.metadata
        placed = Placed(meta.uid or "", meta.namespace or "", meta.name, self.cls(wanted), slot)
        self.cluster.put(placed)
        return placed

    def why(self, wanted: PodView, slot: int = 0) -> str:
        return "; ".join(self.cluster.reasons(self.cls(wanted), slot))


def pod(
    name: str = "p",
    *claims: str,
    ephemeral: Sequence[str] = (),
    volumes: Sequence[JSON] = (),
    uses: Sequence[str] = (),
    made: Mapping[str, str] | None = None,
    **metadata: Any,
) -> PodView:
    """A pod with claims to volumes, ephemeral volumes, other volumes, and device claims: by name, or made for it."""
    body = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata},
        "spec": {
            "containers": [{"name": "c"}],
            "volumes": [
                *({"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims),
                *({"name": volume, "ephemeral": {}} for volume in ephemeral),
                *volumes,
            ],
            "resourceClaims": [
                *({"name": use, "resourceClaimName": use} for use in uses),
                *({"name": use, "resourceClaimTemplateName": "t"} for use in made or {}),
            ],
        },
        "status": {
            "resourceClaimStatuses": [
                {"name": use, "resourceClaimName": claim} for use, claim in (made or {}).items() if claim
            ]
        },
    }
    return msgspec.convert(body, PodView)


def owned_by(name: str) -> JSON:
    """Metadata of what was made for a pod."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}", "controller": True}
    return {"ownerReferences": [owner]}


def gpu(name: str, model: str = "h100", **more: Any) -> JSON:
    attributes = {"model": {"string": model}, **more.pop("attributes", {})}
    return {"name": name, "attributes": attributes, **more}


def exactly(count: int = 1, name: str = "r", of: str = "gpu", **more: Any) -> JSON:
    return {"name": name, "exactly": {"deviceClassName": of, "count": count, **more}}

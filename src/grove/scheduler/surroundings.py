"""What else there is in the cluster that decisions look at: namespaces, volumes, claims to devices, budgets. Pure.

Objects come from caches as they are and are kept by namespace and name. Whoever computes something from a kind
remembers its epoch: it grows with every change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Generic, Protocol, TypeVar

from grove.api.kinds.meta import ObjectMeta
from grove.kube import resources
from grove.kube.resources import Resource
from grove.scheduler.devices import DeviceClass, ResourceClaim, ResourceSlice
from grove.scheduler.promises import Changes, Promises
from grove.scheduler.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

T = TypeVar("T")


class Kept(Generic[T]):
    """The objects of one kind."""

    def __init__(self) -> None:
        self._changes: Changes[tuple[str, str]] = Changes()
        self._objects: dict[tuple[str, str], T] = {}

    @property
    def epoch(self) -> int:
        return self._changes.position

    def since(self, epoch: int) -> list[tuple[str, str]] | None:
        """Namespaces and names of what came, changed or went after an epoch; None: too long ago to know."""
        return self._changes.since(epoch)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get((namespace, name))

    def put(self, name: str, namespace: str, obj: T) -> None:
        if self._objects.get((namespace, name)) != obj:
            self._objects[namespace, name] = obj
            self._changes.append((namespace, name))

    def drop(self, name: str, namespace: str) -> None:
        if self._objects.pop((namespace, name), None) is not None:
            self._changes.append((namespace, name))


class Surroundings:
    """All kinds. A rule that needs one more adds it here, with the view that it reads."""

    def __init__(self) -> None:
        self.namespaces: Final[Kept[dict[str, str]]] = Kept()
        """The labels of namespaces."""
        self.persistent_volume_claims: Final[Kept[PersistentVolumeClaim]] = Kept()
        self.persistent_volumes: Final[Kept[PersistentVolume]] = Kept()
        self.storage_classes: Final[Kept[StorageClass]] = Kept()
        self.csi_nodes: Final[Kept[CsiNode]] = Kept()
        self.csi_drivers: Final[Kept[CsiDriver]] = Kept()
        self.csi_storage_capacities: Final[Kept[CsiStorageCapacity]] = Kept()
        self.volume_attachments: Final[Kept[VolumeAttachment]] = Kept()
        self.resource_claims: Final[Kept[ResourceClaim]] = Kept()
        self.resource_slices: Final[Kept[ResourceSlice]] = Kept()
        self.device_classes: Final[Kept[DeviceClass]] = Kept()
        self.promises: Final = Promises()
        """What pods were promised that nobody can see yet."""


class Surrounding(Protocol):
    """An object of any of the kinds."""

    @property
    def metadata(self) -> ObjectMeta: ...


KEPT: Final[Mapping[Resource, str]] = {
    resources.PERSISTENT_VOLUME_CLAIMS: "persistent_volume_claims",
    resources.PERSISTENT_VOLUMES: "persistent_volumes",
    resources.STORAGE_CLASSES: "storage_classes",
    resources.CSI_NODES: "csi_nodes",
    resources.CSI_DRIVERS: "csi_drivers",
    resources.CSI_STORAGE_CAPACITIES: "csi_storage_capacities",
    resources.VOLUME_ATTACHMENTS: "volume_attachments",
    resources.RESOURCE_CLAIMS: "resource_claims",
    resources.RESOURCE_SLICES: "resource_slices",
    resources.DEVICE_CLASSES: "device_classes",
}
"""By kind where `Surroundings` keeps it; namespaces are kept by their labels."""
VIEWS: Final[Mapping[Resource, type[Surrounding]]] = {
    resources.PERSISTENT_VOLUME_CLAIMS: PersistentVolumeClaim,
    resources.PERSISTENT_VOLUMES: PersistentVolume,
    resources.STORAGE_CLASSES: StorageClass,
    resources.CSI_NODES: CsiNode,
    resources.CSI_DRIVERS: CsiDriver,
    resources.CSI_STORAGE_CAPACITIES: CsiStorageCapacity,
    resources.VOLUME_ATTACHMENTS: VolumeAttachment,
    resources.RESOURCE_CLAIMS: ResourceClaim,
    resources.RESOURCE_SLICES: ResourceSlice,
    resources.DEVICE_CLASSES: DeviceClass,
}
"""By kind what is read of its objects."""

"""Volumes, claims to them, and what is known of the storage that they come from, as far as the scheduler reads it."""

from __future__ import annotations

from typing import Any, Final

from grove.api import quantities
from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta
from grove.kube.affinity import LabelSelector, NodeSelector
from grove.kube.objects import Quantities

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""On a claim: the node that a volume is to be made for."""
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""On a claim: it and its volume point at each other."""
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""On a volume: it was not its owner who promised it to a claim."""
OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
"""On a claim or volume: its class, as it was said before there was a field."""
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAITS: Final = "WaitForFirstConsumer"
ONE_POD: Final = "ReadWriteOncePod"


class ClaimResources(Struct, frozen=True, kw_only=True):
    requests: Quantities | None = None


class ClaimSpec(Struct, frozen=True, kw_only=True):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    resources: ClaimResources = ClaimResources()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_name: str = ""


class ClaimStatus(Struct, frozen=True, kw_only=True):
    phase: str = ""


class PersistentVolumeClaim(Struct, frozen=True, kw_only=True):
    """A claim to a volume."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def class_name(self) -> str:
        return _class_of(self.metadata, self.spec.storage_class_name)

    @property
    def size(self) -> int | None:
        """Bytes."""
        return _storage(self.spec.resources.requests)

    @property
    def is_bound(self) -> bool:
        """Whether claim and volume point at each other, as the controller of Kubernetes has confirmed."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in (self.metadata.annotations or {})


class VolumeAffinity(Struct, frozen=True, kw_only=True):
    required: NodeSelector | None = None


class ClaimRef(Struct, frozen=True, kw_only=True):
    """The claim that a volume is for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(Struct, frozen=True, kw_only=True):
    """A volume as its driver knows it."""

    driver: str
    volume_handle: str = ""


class VolumeSpec(Struct, frozen=True, kw_only=True):
    """What a volume is, and from where it can be reached."""

    access_modes: tuple[str, ...] = ()
    capacity: Quantities | None = None
    claim_ref: ClaimRef | None = None
    csi: CsiSource | None = None
    node_affinity: VolumeAffinity | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str = ""
    volume_mode: str = "Filesystem"


class VolumeStatus(Struct, frozen=True, kw_only=True):
    phase: str = ""


class PersistentVolume(Struct, frozen=True, kw_only=True):
    """A volume."""

    metadata: ObjectMeta
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def class_name(self) -> str:
        return _class_of(self.metadata, self.spec.storage_class_name)

    @property
    def size(self) -> int:
        """Bytes."""
        return _storage(self.spec.capacity) or 0

    @property
    def reach(self) -> NodeSelector | None:
        """The nodes that it can be used on; None: all."""
        return self.spec.node_affinity.required if self.spec.node_affinity else None

    def is_for(self, namespace: str, name: str, uid: str) -> bool:
        """Whether it was promised to this claim, by its controller or its owner."""
        ref = self.spec.claim_ref
        return ref is not None and (ref.namespace, ref.name) == (namespace, name) and ref.uid in ("", uid)


class TopologyRequirement(Struct, frozen=True, kw_only=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(Struct, frozen=True, kw_only=True):
    """Requirements on a node's labels that all hold; a term without any matches no node."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Struct, frozen=True, kw_only=True):
    """A kind of storage, and who makes volumes of it."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def provisions(self) -> bool:
        """Whether somebody makes volumes of it."""
        return self.provisioner not in ("", NO_PROVISIONER)


class DriverCount(Struct, frozen=True, kw_only=True):
    count: int | None = None


class DriverOnNode(Struct, frozen=True, kw_only=True):
    name: str
    allocatable: DriverCount = DriverCount()


class CsiNodeSpec(Struct, frozen=True, kw_only=True):
    drivers: tuple[DriverOnNode, ...] = ()


class CsiNode(Struct, frozen=True, kw_only=True):
    """What the storage drivers on a node can do; it has the node's name."""

    metadata: ObjectMeta
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Struct, frozen=True, kw_only=True):
    storage_capacity: bool = False


class CsiDriver(Struct, frozen=True, kw_only=True):
    """A storage driver; `storage_capacity`: it tells how much room there is where."""

    metadata: ObjectMeta
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(Struct, frozen=True, kw_only=True):
    """How much room there is for volumes of a class, for the nodes that a selector matches."""

    metadata: ObjectMeta
    storage_class_name: str
    node_topology: LabelSelector | None = None
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None

    @property
    def largest(self) -> int:
        """Bytes of the largest volume that can be made; -1: none."""
        stated = self.capacity if self.maximum_volume_size is None else self.maximum_volume_size
        return -1 if stated is None else quantities.whole(stated)


class AttachmentSource(Struct, frozen=True, kw_only=True):
    persistent_volume_name: str = ""


class AttachmentSpec(Struct, frozen=True, kw_only=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Struct, frozen=True, kw_only=True):
    """A volume that is attached to a node, or is to be."""

    metadata: ObjectMeta
    spec: AttachmentSpec = AttachmentSpec()


def _class_of(metadata: ObjectMeta, named: str | None) -> str:
    return (metadata.annotations or {}).get(OLD_CLASS, named or "")


def _storage(found: Quantities | None) -> int | None:
    stated: Any = (found or {}).get("storage")
    return None if stated is None else quantities.whole(stated)

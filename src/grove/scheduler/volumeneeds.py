"""What the volumes of a pod come down to. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from grove.api.kinds.meta import ObjectMeta
from grove.kube.affinity import NodeSelector, Requirement
from grove.kube.objects import PodView
from grove.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from grove.scheduler.reach import requirements
from grove.scheduler.storage import (
    ONE_POD,
    SELECTED_NODE,
    WAITS,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from grove.scheduler.surroundings import Surroundings

Looked: TypeAlias = dict[tuple[str, str, str], None]
"""Objects that the answer depends on: name of the resource, namespace, name."""

ZONES: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
"""Labels of a volume that say from where it can be used; several values are joined by two underscores."""
MANY_NODES: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
IN_TREE: Final = "kubernetes.io/"
"""Provisioners of Kubernetes itself begin with it: they are no drivers that count."""


class Bound(NamedTuple):
    """A claim that has its volume."""

    reach: NodeSelector | None
    zones: tuple[tuple[str, tuple[str, ...]], ...]


class Wanted(NamedTuple):
    """A claim that waits for the node of its pod."""

    claim: str
    """`namespace/name`; empty: that of an ephemeral volume, which is its pod's alone."""
    volume: str
    """Name of the ephemeral volume."""
    storage_class: str
    size: int | None
    modes: tuple[str, ...]
    selector: tuple[Requirement, ...] | None
    mode: str
    attributes_class: str
    selected: str
    """The node that a volume is being made for; empty: none yet."""

    @property
    def spans_nodes(self) -> bool:
        """Whether pods on several nodes may use it at once."""
        return not MANY_NODES.isdisjoint(self.modes)

    def key(self, namespace: str, pod: str) -> str:
        """`namespace/name` of the claim of a pod."""
        return self.claim or f"{namespace}/{pod}-{self.volume}"


class Volumes(NamedTuple):
    """Of one pod."""

    refusal: str = ""
    """Why it can run nowhere; empty: it may."""
    bound: tuple[Bound, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    """The smallest first."""
    handles: tuple[tuple[str, str], ...] = ()
    """Driver and name of each volume that is attached for the pod."""
    own: tuple[tuple[str, int], ...] = ()
    """By driver how many volumes are attached for each pod of the class alone."""
    claims: tuple[str, ...] = ()
    """Claims that exist beside the pod, as `namespace/name`."""
    exclusive: tuple[str, ...] = ()
    """Those of them that only one pod may use."""


NO_VOLUMES: Final = Volumes()


def volume_needs(pod: PodView, surroundings: Surroundings, looked: Looked) -> Volumes:
    """What it comes down to now."""
    reader = _Reader(pod, surroundings, looked)
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            reader.named(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            reader.ephemeral(volume.name)
    return reader.found()


class _Reader:
    """Reads one pod's volumes."""

    def __init__(self, pod: PodView, surroundings: Surroundings, looked: Looked) -> None:
        self._pod = pod
        self._namespace = pod.metadata.namespace or ""
        self._surroundings = surroundings
        self._looked = looked
        self._refusal = ""
        self._bound: list[Bound] = []
        self._wanted: dict[str, Wanted] = {}
        self._handles: dict[tuple[str, str], None] = {}
        self._own: dict[str, int] = {}
        self._claims: dict[str, None] = {}
        self._exclusive: dict[str, None] = {}

    def found(self) -> Volumes:
        claims, exclusive = tuple(self._claims), tuple(self._exclusive)
        handles, own = tuple(sorted(self._handles)), tuple(sorted(self._own.items()))
        if self._pod.node_name:  # where it is it stays: only what it takes matters
            return Volumes(handles=handles, own=own, claims=claims)
        wanted = tuple(sorted(self._wanted.values(), key=lambda one: (one.size or 0, one.claim, one.volume)))
        return Volumes(self._refusal, tuple(self._bound), wanted, handles, own, claims, exclusive)

    def named(self, name: str) -> None:
        key = f"{self._namespace}/{name}"
        self._claims[key] = None
        claim = self._claim(name)
        if claim is None:
            self._refuse(f'persistentvolumeclaim "{name}" not found')
            return
        if ONE_POD in claim.spec.access_modes:
            self._exclusive[key] = None
        self._read(claim, f'persistentvolumeclaim "{name}"', volume="")

    def ephemeral(self, volume: str) -> None:
        name = f"{self._pod.metadata.name}-{volume}"
        claim = self._claim(name)
        if claim is None:
            self._refuse(f'the claim of ephemeral volume "{volume}" does not exist yet')
        elif not _owns(self._pod.metadata, claim.metadata):
            self._refuse(f'persistentvolumeclaim "{name}" was not made for the pod: it is not owned by it')
        else:
            self._read(claim, f'the claim of ephemeral volume "{volume}"', volume=volume)

    def _read(self, claim: PersistentVolumeClaim, called: str, volume: str) -> None:
        if claim.status.phase == "Lost":
            self._refuse(f"{called} is bound to non-existent persistentvolume {claim.spec.volume_name!r}")
        elif claim.metadata.deletion_timestamp:
            self._refuse(f"{called} is being deleted")
        elif claim.is_bound:
            self._read_bound(claim, called)
        else:
            self._read_unbound(claim, called, volume)
        self._count(claim, volume)

    def _read_bound(self, claim: PersistentVolumeClaim, called: str) -> None:
        found = self._volume(claim.spec.volume_name)
        if found is None:
            self._refuse(f"{called} is bound to a persistentvolume that does not exist")
            return
        labels = found.metadata.labels or {}
        zones = tuple((key, tuple(sorted(set(labels[key].split("__"))))) for key in ZONES if labels.get(key))
        self._bound.append(Bound(found.reach, zones))

    def _read_unbound(self, claim: PersistentVolumeClaim, called: str, volume: str) -> None:
        storage_class = self._class(claim.class_name)
        if storage_class is None or storage_class.volume_binding_mode != WAITS or claim.spec.volume_name:
            self._refuse(f"pod has unbound immediate PersistentVolumeClaims: {called}")
            return
        spec = claim.spec
        self._wanted[claim.key] = Wanted(
            claim="" if volume else claim.key,
            volume=volume,
            storage_class=claim.class_name,
            size=claim.size,
            modes=tuple(sorted(spec.access_modes)),
            selector=None if spec.selector is None else requirements(spec.selector),
            mode=spec.volume_mode,
            attributes_class=spec.volume_attributes_class_name,
            selected=(claim.metadata.annotations or {}).get(SELECTED_NODE, ""),
        )

    def _count(self, claim: PersistentVolumeClaim, volume: str) -> None:
        """What is attached for it, or will be."""
        found = self._volume(claim.spec.volume_name) if claim.spec.volume_name else None
        if found is not None:
            if found.spec.csi is not None:
                self._handles[found.spec.csi.driver, found.spec.csi.volume_handle] = None
            return
        storage_class = self._class(claim.class_name)
        if storage_class is None or not storage_class.provisioner or storage_class.provisioner.startswith(IN_TREE):
            return
        if volume:
            self._own[storage_class.provisioner] = self._own.get(storage_class.provisioner, 0) + 1
        else:
            self._handles[storage_class.provisioner, f"claim {claim.key}"] = None

    def _refuse(self, reason: str) -> None:
        self._refusal = self._refusal or reason

    def _claim(self, name: str) -> PersistentVolumeClaim | None:
        self._looked[PERSISTENT_VOLUME_CLAIMS.name, self._namespace, name] = None
        return self._surroundings.persistent_volume_claims.get(name, self._namespace)

    def _volume(self, name: str) -> PersistentVolume | None:
        self._looked[PERSISTENT_VOLUMES.name, "", name] = None
        return self._surroundings.persistent_volumes.get(name)

    def _class(self, name: str) -> StorageClass | None:
        self._looked[STORAGE_CLASSES.name, "", name] = None
        return self._surroundings.storage_classes.get(name)


def _owns(pod: ObjectMeta, claim: ObjectMeta) -> bool:
    return any(one.controller and one.uid == pod.uid for one in claim.owner_references)

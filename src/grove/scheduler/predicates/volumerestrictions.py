"""VolumeRestrictions: a claim for one pod is used by one, and some disks by one pod of a node. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np

from grove.kube.objects import Volume
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.needs import volumes_of
from grove.scheduler.predicates.rule import Counts, Lenient

IN_USE: Final = "a claim that only one pod may use is in use by another"
DISK_IN_USE: Final = "a disk of the pod is in use there"


class VolumeRestrictions(Lenient):
    """See the top of the module. Claims count all over the cluster, disks on each node."""

    name = "VolumeRestrictions"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._users: dict[str, int] = {}  # by claim
        self._disks: dict[int, dict[str, tuple[Volume, ...]]] = {}  # by slot and pod

    def is_dynamic(self, cls: PodClass) -> bool:
        needs = volumes_of(cls)
        return needs is not None and (bool(needs.exclusive) or bool(_disks_in(cls)))

    def limit(self, cls: PodClass) -> Counts | None:
        needs = volumes_of(cls)
        if needs is None:
            return None
        if any(claim in self._users for claim in needs.exclusive):
            return np.zeros(self._cluster.size, np.int64)
        found = np.full(self._cluster.size, 1 if needs.exclusive else PLENTY, np.int64)
        disks = _disks_in(cls)
        if disks and _conflict(disks, disks):
            np.minimum(found, 1, out=found)
        for slot, pods in self._disks.items() if disks else ():
            if any(_conflict(disks, others) for others in pods.values()):
                found[slot] = 0
        return found

    def placed(self, pod: Placed, sign: int) -> None:
        needs = volumes_of(pod.cls)
        if needs is None:
            return
        for claim in needs.claims:
            count = self._users[claim] = self._users.get(claim, 0) + sign
            if not count:
                del self._users[claim]
        disks = _disks_in(pod.cls)
        if disks and sign > 0:
            self._disks.setdefault(pod.slot, {})[pod.uid] = disks
        elif disks:
            del self._disks[pod.slot][pod.uid]
            if not self._disks[pod.slot]:
                del self._disks[pod.slot]

    def explain(self, cls: PodClass, slot: int) -> str:
        needs = volumes_of(cls)
        if needs is None:
            return ""
        if any(claim in self._users for claim in needs.exclusive):
            return IN_USE
        disks = _disks_in(cls)
        there = self._disks.get(slot, {}).values() if disks else ()
        return DISK_IN_USE if any(_conflict(disks, others) for others in there) else ""


def _disks_in(cls: PodClass) -> tuple[Volume, ...]:
    return tuple(one for one in cls.spec.volumes if one.persistent_volume_claim is None and one.ephemeral is None)


def _conflict(some: Iterable[Volume], others: Iterable[Volume]) -> bool:
    """Whether pods with these disks cannot be on one node."""
    return any(_clash(one, other) for one, other in itertools.product(some, others))


def _clash(one: Volume, other: Volume) -> bool:
    """Most disks may be shared by those who only read."""
    gce, gce_other = one.gce_persistent_disk, other.gce_persistent_disk
    if gce and gce_other and gce.pd_name == gce_other.pd_name and not (gce.read_only and gce_other.read_only):
        return True
    aws, aws_other = one.aws_elastic_block_store, other.aws_elastic_block_store
    if aws and aws_other and aws.volume_id == aws_other.volume_id:
        return True
    iscsi, iscsi_other = one.iscsi, other.iscsi
    if iscsi and iscsi_other and iscsi.iqn == iscsi_other.iqn and not (iscsi.read_only and iscsi_other.read_only):
        return True
    rbd, rbd_other = one.rbd, other.rbd
    return bool(
        rbd
        and rbd_other
        and (rbd.pool, rbd.image) == (rbd_other.pool, rbd_other.image)
        and not set(rbd.monitors).isdisjoint(rbd_other.monitors)
        and not (rbd.read_only and rbd_other.read_only)
    )

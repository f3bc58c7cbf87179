"""What the volumes and device claims of a pod come down to, as things are now: a part of its class. Pure.

`Classes` asks for every pod; pods with equal answers are of one class. The answer changes when a claim, its volume or
its storage class does: the engine tells `stale` of every such change, and classes the pods that it names anew (a pod
that is placed is taken away with its old class and put back with its new one). It calls `forget` when a pod is gone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from grove.kube.objects import PodView
from grove.kube.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
    Resource,
)
from grove.scheduler.classes import Needs, PodClass
from grove.scheduler.deviceneeds import Devices, device_needs
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumeneeds import NO_VOLUMES, Volumes, volume_needs

LOOKED_AT: Final = (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, RESOURCE_CLAIMS)
"""The kinds whose changes `stale` must be told of."""


class Claimed(NamedTuple):
    """Of a pod that has volumes or claims."""

    volumes: Volumes
    devices: Devices


def volumes_of(cls: PodClass) -> Volumes | None:
    """None: it has none."""
    needs = cls.needs
    return needs.volumes if isinstance(needs, Claimed) else None


def devices_of(cls: PodClass) -> Devices | None:
    """None: it has none."""
    needs = cls.needs
    return needs.devices if isinstance(needs, Claimed) and (needs.devices.claims or needs.devices.refusal) else None


class PodNeeds:
    """Made once, for `Cluster(needs=…)`."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._pods: dict[tuple[str, str], tuple[tuple[str, str, str], ...]] = {}
        self._readers: dict[tuple[str, str, str], dict[tuple[str, str], None]] = {}

    def __call__(self, pod: PodView) -> Needs:
        spec = pod.spec
        if not spec.volumes and not spec.resource_claims:
            return None
        looked: dict[tuple[str, str, str], None] = {}
        volumes = volume_needs(pod, self._surroundings, looked) if spec.volumes else NO_VOLUMES
        devices = device_needs(pod, self._surroundings, looked)
        self._note((pod.metadata.namespace or "", pod.metadata.name), tuple(looked))
        return Claimed(volumes, devices)

    def stale(self, resource: Resource, namespace: str, name: str) -> tuple[tuple[str, str], ...]:
        """Namespaces and names of the pods whose answer may differ now that this object has come, changed or gone."""
        return tuple(self._readers.get((resource.name, namespace, name), ()))

    def forget(self, namespace: str, name: str) -> None:
        """The pod is gone."""
        self._note((namespace, name), ())

    def _note(self, pod: tuple[str, str], looked: tuple[tuple[str, str, str], ...]) -> None:
        before = self._pods.get(pod, ())
        if before == looked:
            return
        for one in before:
            readers = self._readers[one]
            del readers[pod]
            if not readers:
                del self._readers[one]
        for one in looked:
            self._readers.setdefault(one, {})[pod] = None
        if looked:
            self._pods[pod] = looked
        else:
            self._pods.pop(pod, None)

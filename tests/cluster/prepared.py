"""Decides for one pod as the scheduler would, and writes what must be written, on a real control plane."""

from __future__ import annotations

import http
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube import resources
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource
from grove.scheduler import devices, prebind, storage
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.needs import PodNeeds
from grove.scheduler.prebind import Step
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually

MERGE: Final = "application/merge-patch+json"
NOW: Final = 1_800_000_000.0
SCHEDULER: Final = "nobody"
"""Pods of the tests name it, so that kube-scheduler leaves them alone."""
KINDS: Final[Mapping[str, tuple[Resource, Any]]] = {
    "persistent_volume_claims": (resources.PERSISTENT_VOLUME_CLAIMS, storage.PersistentVolumeClaim),
    "persistent_volumes": (resources.PERSISTENT_VOLUMES, storage.PersistentVolume),
    "storage_classes": (resources.STORAGE_CLASSES, storage.StorageClass),
    "resource_claims": (resources.RESOURCE_CLAIMS, devices.ResourceClaim),
    "resource_slices": (resources.RESOURCE_SLICES, devices.ResourceSlice),
    "device_classes": (resources.DEVICE_CLASSES, devices.DeviceClass),
}


class Changed(Exception):
    """Somebody was faster."""


class Prepared:
    """What the scheduler knows, as of the last `look`."""

    def __init__(self, server: ControlPlane, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self.surroundings = Surroundings()
        self.cluster = Cluster(needs=PodNeeds(self.surroundings))
        self.cluster.obey(rules(self.cluster, self.surroundings, SchedulerConfiguration()))

    def create(self, resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.server.create(resource.path(self.namespace if resource.namespaced else ""), body)
        return found

    def get(self, resource: Resource, name: str) -> dict[str, Any]:
        path = resource.path(self.namespace if resource.namespaced else "", name)
        status, found = self.server.request("GET", path)
        assert status == http.HTTPStatus.OK, found
        answer: dict[str, Any] = found
        return answer

    def patch(self, resource: Resource, name: str, change: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        path = resource.path(self.namespace if resource.namespaced else "", name, subresource)
        status, found = self.server.request("PATCH", path, change, content_type=MERGE)
        assert status == http.HTTPStatus.OK, found
        answer: dict[str, Any] = found
        return answer

    def look(self) -> None:
        """Sees what there is now."""
        for kept, (resource, view) in KINDS.items():
            found = self.server.request("GET", resource.path())[1]["items"]
            for one in found:
                name, namespace = one["metadata"]["name"], one["metadata"].get("namespace", "")
                getattr(self.surroundings, kept).put(name, namespace, msgspec.convert(one, view))
        for one in self.server.request("GET", resources.NODES.path())[1]["items"]:
            self.cluster.node(msgspec.convert(one, NodeView))

    def pod(self, name: str) -> PodView:
        return msgspec.convert(self.get(resources.PODS, name), PodView)

    def put(self, pod: PodView) -> NodeView:
        """On the first node that takes it; as a pod of its new class, if it was on one before."""
        if pod.metadata.uid in self.cluster.pods:
            self.cluster.take(pod.metadata.uid)
        cls = self.cluster.classes.of(pod)
        slots = self.cluster.capacity(cls).nonzero()[0]
        assert len(slots), [self.cluster.reasons(cls, slot) for slot in range(self.cluster.size)]
        meta = pod.metadata
        self.cluster.put(Placed(meta.uid or "", meta.namespace or "", meta.name, cls, int(slots[0])))
        view = self.cluster.views[int(slots[0])]
        assert view is not None
        return view

    def written(self, *pods: PodView) -> tuple[Step, str]:
        """The one step of some pods and the version that it was written with; planned anew while controllers of
        Kubernetes change the object."""
        found: list[tuple[Step, str]] = []

        def done() -> bool:
            (step,) = self.plan(*pods)
            try:
                found.append((step, self.write(step)))
            except Changed:
                return False
            return True

        eventually(done, bool, timeout=30.0)
        return found[0]

    def plan(self, *pods: PodView) -> tuple[Step, ...]:
        self.look()
        return prebind.plan([(pod, self.put(pod)) for pod in pods], self.surroundings, now=NOW)

    def write(self, step: Step) -> str:
        """Gives the resource version that the last write answered with. Raises Changed."""
        version = step.resource_version
        for write in step.writes:
            path = step.resource.path(step.namespace, step.name, write.subresource)
            change = prebind.body(step, write, version)
            status, found = self.server.request("PATCH", path, change, content_type=MERGE)
            if status == http.HTTPStatus.CONFLICT:
                raise Changed(found["message"])
            assert status == http.HTTPStatus.OK, found
            version = found["metadata"]["resourceVersion"]
        return version

    def progress(self, step: Step, written: str) -> str:
        self.look()
        return prebind.progress(step, self.surroundings, written)

    def undo(self, step: Step) -> None:
        """Again, while controllers of Kubernetes change the object."""

        def undone() -> bool:
            self.look()
            back = prebind.undo(step, self.surroundings)
            assert back is not None, "there is something to take back"
            try:
                self.write(back)
            except Changed:
                return False
            return True

        eventually(undone, bool, timeout=30.0)
        self.look()
        assert prebind.undo(step, self.surroundings) is None, "and nothing more"

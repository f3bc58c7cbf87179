"""Pods whose volumes and devices must be had before they are bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.scheduling.gangs import PATIENCE, Gangs
from tests.cluster.scheduling.scheduler import Scheduler

JSON = dict[str, Any]
NODE = "fake-node-007"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEVICES = "/apis/resource.k8s.io/v1"
STRANGE = "example.com/by-hand"


class Storage:
    """What is in no namespace goes after the test."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._made: list[str] = []

    def make(self, path: str, body: JSON) -> str:
        name = f"{self.namespace}-{len(self._made)}"
        self.cluster.create(path, {**body, "metadata": {"name": name}})
        self._made.append(f"{path}/{name}")
        return name

    def storage_class(self, provisioner: str) -> str:
        return self.make(CLASSES, {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"})

    def volume(self, storage_class: str, node: str, claim: JSON | None = None) -> str:
        """A volume of one node; with `claim` made for it."""
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        spec: JSON = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        }
        if claim is not None:
            named = {key: claim["metadata"][key] for key in ("namespace", "name", "uid")}
            spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **named}
        return self.make(VOLUMES, {"spec": spec})

    def claim(self, name: str, storage_class: str) -> None:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        self.cluster.create(self._claims(), {"metadata": {"name": name}, "spec": spec})

    def claimed(self, name: str) -> JSON:
        found: JSON = self.cluster.request("GET", f"{self._claims()}/{name}")[1]
        return found

    def _claims(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims"

    def clear(self) -> None:
        for path in self._made:
            self.cluster.request("DELETE", path)


@pytest.fixture
def storage(cluster: ControlPlane, namespace: str) -> Iterator[Storage]:
    found = Storage(cluster, namespace)
    yield found
    found.clear()


def volume_of(claim: str) -> JSON:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def test_a_pod_goes_where_its_volume_is(gangs: Gangs, storage: Storage, scheduler: Scheduler) -> None:
    local = storage.storage_class("kubernetes.io/no-provisioner")
    volume = storage.volume(local, NODE)
    storage.claim("data", local)
    gangs.pod("reader", **volume_of("data"))
    assert gangs.placed("reader") == {"reader": NODE}
    assert storage.claimed("data")["spec"]["volumeName"] == volume


def test_a_volume_is_made_where_the_pod_is_to_go(gangs: Gangs, storage: Storage, scheduler: Scheduler) -> None:
    """We are the provisioner."""
    made = storage.storage_class(STRANGE)
    storage.claim("data", made)
    gangs.pod("writer", **volume_of("data"))

    def selected() -> str:
        annotations = storage.claimed("data")["metadata"].get("annotations", {})
        node: str = annotations.get("volume.kubernetes.io/selected-node", "")
        return node

    node = eventually(selected, timeout=PATIENCE)
    assert gangs.where() == {}
    storage.volume(made, node, storage.claimed("data"))
    assert gangs.placed("writer") == {"writer": node}


def test_a_claim_to_devices_is_given_some_and_reserved(
    cluster: ControlPlane, gangs: Gangs, storage: Storage, scheduler: Scheduler
) -> None:
    driver = "gpu.example.com"
    selector = f'device.driver == "{driver}"'
    devices = storage.make(f"{DEVICES}/deviceclasses", {"spec": {"selectors": [{"cel": {"expression": selector}}]}})
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": NODE, "pool": pool, "devices": [{"name": "gpu-0"}]}
    storage.make(f"{DEVICES}/resourceslices", {"spec": spec})
    claims = f"{DEVICES}/namespaces/{gangs.namespace}/resourceclaims"
    requests = [{"name": "gpu", "exactly": {"deviceClassName": devices}}]
    cluster.create(claims, {"metadata": {"name": "gpu"}, "spec": {"devices": {"requests": requests}}})
    pod = gangs.pod("user", gpus=0, resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    assert gangs.placed("user") == {"user": NODE}
    status = cluster.request("GET", f"{claims}/gpu")[1]["status"]
    assert [one["device"] for one in status["allocation"]["devices"]["results"]] == ["gpu-0"]
    assert [one["uid"] for one in status["reservedFor"]] == [pod["metadata"]["uid"]]

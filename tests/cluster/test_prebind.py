"""What is written before a bind makes volumes and devices ready, and can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grove.kube.resources import (
    DEVICE_CLASSES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CLASSES,
)
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.prepared import SCHEDULER, Changed, Prepared

GI = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
JSON = dict[str, Any]


@pytest.fixture
def world(cluster: ControlPlane, namespace: str) -> Iterator[Prepared]:
    """One node, called as the namespace, on which all that is made can be used."""
    world = Prepared(cluster, namespace)
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}
    ready = [{"type": "Ready", "status": "True", "reason": "r", "message": ""}]
    labels = {"kubernetes.io/hostname": namespace}
    world.create(NODES, {"metadata": {"name": namespace, "labels": labels}, "status": {**status, "conditions": ready}})
    yield world
    for resource in (RESOURCE_SLICES, PERSISTENT_VOLUMES, NODES):
        cluster.request("DELETE", resource.path("", namespace))


def claims(world: Prepared, *, provisioner: str, names: tuple[str, ...] = ("c",)) -> None:
    """Claims of a class of the test's own that waits for pods."""
    body = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    world.create(STORAGE_CLASSES, {"metadata": {"name": world.namespace}, **body})
    for name in names:
        spec = {**GI, "storageClassName": world.namespace}
        world.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": spec})


def volume(world: Prepared, **spec: Any) -> JSON:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [world.namespace]}]}
    return {
        "metadata": {"name": world.namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"},
            "storageClassName": world.namespace,
            "csi": {"driver": "csi.example.com", "volumeHandle": world.namespace},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            **spec,
        },
    }


def pod(world: Prepared, name: str = "p", *, by: str = SCHEDULER, **spec: Any) -> None:
    body = {"schedulerName": by, "containers": [{"name": "c", "image": "i"}], **spec}
    world.create(PODS, {"metadata": {"name": name}, "spec": body})


def uses(*names: str) -> JSON:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


def holds(found: Callable[[], Any], wanted: Any = "done") -> None:
    eventually(found, lambda one: one == wanted, timeout=60.0)


def available(world: Prepared) -> None:
    holds(lambda: world.get(PERSISTENT_VOLUMES, world.namespace)["status"].get("phase"), "Available")


def test_a_claim_is_bound_to_the_volume_that_it_is_given(world: Prepared) -> None:
    claims(world, provisioner="kubernetes.io/no-provisioner")
    world.create(PERSISTENT_VOLUMES, volume(world))
    available(world)
    pod(world, **uses("c"))
    step, written = world.written(world.pod("p"))
    assert (step.kind, step.name) == ("give a volume", world.namespace)
    holds(lambda: world.progress(step, written))
    claim = world.get(PERSISTENT_VOLUME_CLAIMS, "c")
    assert (claim["spec"]["volumeName"], claim["status"]["phase"]) == (world.namespace, "Bound")
    assert world.plan(world.pod("p")) == (), "a claim that has its volume needs nothing"


def test_a_volume_that_was_given_can_be_taken_back_and_given_to_another(world: Prepared) -> None:
    claims(world, provisioner="kubernetes.io/no-provisioner", names=("c", "d"))
    world.create(PERSISTENT_VOLUMES, volume(world))
    available(world)
    world.look()
    pod(world, **uses("c"))
    (step,) = world.plan(world.pod("p"))
    # So that no controller binds them before they are parted.
    world.server.request("DELETE", PERSISTENT_VOLUME_CLAIMS.path(world.namespace, "c"))
    holds(lambda: world.server.request("GET", PERSISTENT_VOLUME_CLAIMS.path(world.namespace, "c"))[0], 404)
    world.surroundings.persistent_volume_claims.drop("c", world.namespace)
    world.write(step)
    world.undo(step)
    assert "claimRef" not in world.get(PERSISTENT_VOLUMES, world.namespace)["spec"]
    pod(world, "q", by="default-scheduler", **uses("d"))
    holds(lambda: world.get(PERSISTENT_VOLUME_CLAIMS, "d")["status"]["phase"], "Bound")


def test_a_volume_is_made_for_the_node_of_the_pod(world: Prepared) -> None:
    claims(world, provisioner="made.example.com")
    pod(world, **uses("c"))
    step, written = world.written(world.pod("p"))
    assert step.kind == "make a volume"
    assert world.progress(step, written) == "waiting"
    claim = world.get(PERSISTENT_VOLUME_CLAIMS, "c")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == world.namespace
    # As a provisioner does.
    ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": world.namespace, "name": "c"}
    world.create(PERSISTENT_VOLUMES, volume(world, claimRef={**ref, "uid": claim["metadata"]["uid"]}))
    holds(lambda: world.progress(step, written))


def test_a_provisioner_that_gives_up_is_seen(world: Prepared) -> None:
    claims(world, provisioner="made.example.com")
    pod(world, **uses("c"))
    step, written = world.written(world.pod("p"))
    world.patch(
        PERSISTENT_VOLUME_CLAIMS, "c", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}}
    )
    assert "its provisioner gave the node up" in world.progress(step, written)


def test_a_node_that_a_volume_was_to_be_made_for_can_be_taken_back(world: Prepared) -> None:
    claims(world, provisioner="made.example.com")
    pod(world, **uses("c"))
    step, _ = world.written(world.pod("p"))
    world.undo(step)
    assert "selected-node" not in str(world.get(PERSISTENT_VOLUME_CLAIMS, "c")["metadata"].get("annotations"))


def test_an_ephemeral_volume_gets_its_volume(world: Prepared) -> None:
    claims(world, provisioner="kubernetes.io/no-provisioner", names=())
    world.create(PERSISTENT_VOLUMES, volume(world))
    available(world)
    template = {"spec": {**GI, "storageClassName": world.namespace}}
    pod(world, volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    path = PERSISTENT_VOLUME_CLAIMS.path(world.namespace, "p-scratch")
    holds(lambda: world.server.request("GET", path)[0], 200)
    step, written = world.written(world.pod("p"))
    holds(lambda: world.progress(step, written))


def devices(world: Prepared) -> None:
    """Three devices on the node, and a class for them."""
    driver = f"{world.namespace[-6:]}.example.com"  # a driver's name is a short one
    selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
    opaque = {"driver": driver, "parameters": {"mode": "fast"}}
    config = [{"opaque": opaque}]
    world.create(
        DEVICE_CLASSES, {"metadata": {"name": world.namespace}, "spec": {"selectors": selectors, "config": config}}
    )
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    names = [{"name": f"d{at}"} for at in range(3)]
    spec = {"driver": driver, "pool": pool, "nodeName": world.namespace, "devices": names}
    world.create(RESOURCE_SLICES, {"metadata": {"name": world.namespace}, "spec": spec})


def wishes(world: Prepared, count: int) -> JSON:
    exactly = {"deviceClassName": world.namespace, "count": count}
    config = [{"requests": ["r"], "opaque": {"driver": "other.example.com", "parameters": {}}}]
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}], "config": config}}


def claiming(name: str) -> JSON:
    resources = {"claims": [{"name": "gpus"}]}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    return {"containers": containers, "resourceClaims": [{"name": "gpus", "resourceClaimName": name}]}


def test_a_claim_that_pods_share_gets_devices_that_kube_scheduler_shares_too(world: Prepared) -> None:
    devices(world)
    world.create(RESOURCE_CLAIMS, {"metadata": {"name": "shared"}, "spec": wishes(world, 2)})
    for name in ("p", "q"):
        pod(world, name, **claiming("shared"))
    step, written = world.written(world.pod("p"), world.pod("q"))
    assert world.progress(step, written) == "done"
    status = world.get(RESOURCE_CLAIMS, "shared")["status"]
    assert [one["device"] for one in status["allocation"]["devices"]["results"]] == ["d0", "d1"]
    assert [one["source"] for one in status["allocation"]["devices"]["config"]] == ["FromClass", "FromClaim"]
    assert [one["name"] for one in status["reservedFor"]] == ["p", "q"]
    pod(world, "r", by="default-scheduler", **claiming("shared"))
    holds(lambda: world.get(PODS, "r")["spec"].get("nodeName"), world.namespace)
    assert len(world.get(RESOURCE_CLAIMS, "shared")["status"]["reservedFor"]) == 3


def test_a_claim_of_a_template_gets_devices_and_gives_them_back(world: Prepared) -> None:
    devices(world)
    world.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": "t"}, "spec": {"spec": wishes(world, 3)}})
    resources = {"claims": [{"name": "gpus"}]}
    pod(
        world,
        containers=[{"name": "c", "image": "i", "resources": resources}],
        resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": "t"}],
    )
    holds(lambda: len(world.pod("p").status.resource_claim_statuses), 1)
    waiting = world.pod("p")
    step, written = world.written(waiting)
    assert world.progress(step, written) == "done"
    world.undo(step)
    claim = world.get(RESOURCE_CLAIMS, waiting.status.resource_claim_statuses[0].resource_claim_name)
    assert "allocation" not in claim.get("status", {})
    assert "finalizers" not in claim["metadata"]
    # They are free for others.
    world.create(RESOURCE_CLAIMS, {"metadata": {"name": "all"}, "spec": wishes(world, 3)})
    pod(world, "q", by="default-scheduler", **claiming("all"))
    holds(lambda: world.get(PODS, "q")["spec"].get("nodeName"), world.namespace)


def test_a_claim_that_somebody_else_has_changed_is_not_overwritten(world: Prepared) -> None:
    devices(world)
    world.create(RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": wishes(world, 1)})
    pod(world, **claiming("c"))
    (step,) = world.plan(world.pod("p"))
    world.patch(RESOURCE_CLAIMS, "c", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Changed, match="has been modified"):
        world.write(step)

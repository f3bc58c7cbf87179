"""Equal parts become one instance, and nothing is kept alive for it. And what the views of pods and nodes read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from grove.kube.objects import NodeView, PodSpec, PodView
from grove.kube.podtext import PodText
from grove.kube.sharing import FIRST_SWEEP, Sharing
from tests.bench.pods import pages
from tests.unit.kube.fakes import thing


class Pods(msgspec.Struct):
    items: tuple[PodView, ...]


class PodTexts(msgspec.Struct):
    items: tuple[PodText, ...]


@pytest.fixture(scope="module")
def page() -> bytes:
    return next(pages(48, 48))


def decoded(page: bytes) -> tuple[PodView, ...]:
    return msgspec.json.decode(page, type=Pods).items


def test_sharing_changes_no_value(page: bytes) -> None:
    sharing = Sharing()
    assert tuple(map(sharing.share, decoded(page))) == decoded(page)


def test_siblings_share_what_they_have_in_common(page: bytes) -> None:
    sharing = Sharing()
    one, other, *_ = map(sharing.share, decoded(page))
    assert one.spec is other.spec
    assert one.metadata.owner_references is other.metadata.owner_references
    assert one.metadata.namespace is other.metadata.namespace
    assert one.status.container_statuses is other.status.container_statuses
    assert one.metadata.name != other.metadata.name


def test_pods_of_one_template_share_across_owners(page: bytes) -> None:
    sharing = Sharing()
    pods = [*map(sharing.share, decoded(page))]
    assert pods[0].metadata.owner_references != pods[24].metadata.owner_references
    assert pods[0].spec is pods[24].spec


def test_a_sibling_that_differs_keeps_what_is_its_own(page: bytes) -> None:
    sharing = Sharing()
    tree = json.loads(page)["items"][0]
    one = sharing.share(msgspec.convert(tree, PodView))
    tree["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "17"
    other = sharing.share(msgspec.convert(tree, PodView))
    assert (other.spec.containers[0].resources.requests or {})["cpu"] == "17"
    assert (one.spec.containers[0].resources.requests or {})["cpu"] == "16"


def test_what_nobody_holds_is_forgotten(page: bytes) -> None:
    sharing = Sharing()
    kept = sharing.share(decoded(page)[0])
    for pod in decoded(page):
        sharing.share(pod)
    del pod
    everything = sharing.statistics().entries
    sharing.sweep()
    some = sharing.statistics().entries
    assert sharing.share(decoded(page)[1]).spec is kept.spec, "what is held is still known"
    del kept
    sharing.sweep()
    assert sharing.statistics().entries < some < everything
    assert sharing.statistics().entries < 10, "keys that msgspec itself remembers"


def test_tables_stay_as_small_as_what_is_held() -> None:
    sharing = Sharing()
    for number in range(5 * FIRST_SWEEP):
        sharing.share(thing("t", 1, labels={"number": f"number {number}"}))
    assert sharing.statistics().entries <= FIRST_SWEEP + 2


def test_other_kinds_share_their_metadata() -> None:
    sharing = Sharing()
    one, other = (sharing.share(thing("a", 1, labels={"a": "".join(["x", "y"])}, finalizers=("f",))) for _ in "ab")
    assert (one.metadata.labels or {})["a"] is (other.metadata.labels or {})["a"]
    assert one.metadata.finalizers is other.metadata.finalizers
    plain = {"metadata": {"name": "dict"}}
    assert sharing.share(plain) is plain


def test_a_pod_is_read_as_far_as_grove_needs_it(page: bytes) -> None:
    pod = decoded(page)[0]
    assert pod.node_name == "gpu-node-00000"
    assert pod.spec.moved == ""
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.node_affinity is not None
    assert pod.spec.affinity.node_affinity.required is not None
    assert pod.status.init_container_statuses[0].state.terminated is not None
    assert [one.type for one in pod.status.conditions] == ["Ready", "PodScheduled"]


def test_a_node_is_read_as_far_as_grove_needs_it() -> None:
    raw = b"""{"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"},
      "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "providerID": "x://n", "podCIDR": "10.0.0.0/24"},
      "status": {"capacity": {"cpu": "8", "pods": 110}, "allocatable": {"cpu": "7500m"}, "images": [{"names": []}],
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-18T00:00:00Z"}]}}"""
    sharing = Sharing()
    one, other = (sharing.share(msgspec.json.decode(raw, type=NodeView)) for _ in "ab")
    assert one.status.allocatable == {"cpu": "7500m"}
    assert one.status.capacity is other.status.capacity
    assert one.spec.taints is other.spec.taints
    assert one.status.conditions[0].status == "True"


def test_a_pod_whose_spec_came_as_text_is_the_same_pod(page: bytes) -> None:
    texts = msgspec.json.decode(page, type=PodTexts).items
    assert Sharing.reads(PodView) is PodText
    assert Sharing.reads(NodeView) is NodeView
    assert tuple(Sharing().share_all(texts)) == decoded(page)


def test_every_field_of_a_spec_is_in_its_text() -> None:
    """Also those that no pod of the benchmark has, and that somebody adds to PodSpec later."""
    names = {"name": "n"}
    claim = {**names, "resourceClaimName": "c"}
    tree: dict[str, Any] = {
        "schedulerName": "s",
        "priority": 7,
        "priorityClassName": "p",
        "preemptionPolicy": "Never",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{**names, "restartPolicy": "Always", "ports": [{"containerPort": 1, "hostPort": 2}]}],
        "initContainers": [{**names, "resources": {"limits": {"cpu": 1}}, "image": "skipped"}],
        "schedulingGates": [names],
        "tolerations": [{"key": "k"}],
        "nodeSelector": {"a": "b"},
        "affinity": {"podAffinity": {}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "overhead": {"cpu": "1m"},
        "resources": {"requests": {"cpu": "2"}},
        "resourceClaims": [claim],
        "os": {"name": "linux"},
        "hostNetwork": True,
        "hostUsers": False,
        "securityContext": {"supplementalGroupsPolicy": "Strict", "runAsUser": 7},
        "schedulingGroup": {"podGroupName": "g"},
        "volumes": [
            {**names, "persistentVolumeClaim": {"claimName": "c"}},
            {**names, "ephemeral": {"volumeClaimTemplate": {}}},
            {**names, "iscsi": {"iqn": "i", "readOnly": True}},
            {**names, "emptyDir": {}},
        ],
        "nodeName": "node",
    }
    assert tree.keys() == {field.encode_name for field in msgspec.structs.fields(PodSpec)}, "name the new field here"
    body = msgspec.json.encode({"metadata": {"name": "p"}, "spec": {**tree, "hostname": "skipped"}, "status": {}})
    direct = msgspec.json.decode(body, type=PodView)
    assert Sharing().share(msgspec.json.decode(body, type=PodText)) == direct
    assert direct.node_name == "node"
    assert direct.spec != PodSpec()
    assert [volume.name for volume in direct.spec.volumes] == ["", "n", ""], "only those that placement depends on"


def test_volumes_with_random_names_do_not_tell_siblings_apart() -> None:
    sharing = Sharing()
    bodies = [
        {"metadata": {"name": "p"}, "spec": {"volumes": [{"name": f"kube-api-access-{end}", "projected": {}}]}}
        for end in ("x7", "k2")
    ]
    one, other = (sharing.share(msgspec.json.decode(msgspec.json.encode(body), type=PodText)) for body in bodies)
    assert one.spec is other.spec


def test_pods_of_a_first_list_and_of_an_event_share_their_spec(page: bytes) -> None:
    sharing = Sharing()
    first, *_ = sharing.share_all(msgspec.json.decode(page, type=PodTexts).items)
    later = sharing.share(msgspec.json.decode(page, type=PodTexts).items[1])
    written = sharing.share(decoded(page)[2])
    assert first.spec is later.spec is written.spec
    sharing.sweep()
    assert sharing.share(msgspec.json.decode(page, type=PodTexts).items[3]).spec is first.spec, "what is held is known"

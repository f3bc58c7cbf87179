"""What is written before a bind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grove.kube.objects import NodeView, PodView
from grove.scheduler import prebind
from grove.scheduler.prebind import Refused, Step
from tests.unit.scheduler.claims import GPUS, World, exactly, gpu, owned_by, pod

SELECTED = "volume.kubernetes.io/selected-node"
NOW = 1_800_000_000.0


@pytest.fixture
def world() -> World:
    world = World("a", "b")
    world.local_class()
    world.storage_class("made")
    world.device_class("gpu", f'device.driver == "{GPUS}"')
    world.gpus("n0", gpu("d0"), gpu("d1"))
    return world


def plan(world: World, *puts: tuple[PodView, int]) -> tuple[Step, ...]:
    """After the pods were put on their slots."""
    for one, slot in puts:
        world.put(one, slot)
    return prebind.plan([(one, view(world, slot)) for one, slot in puts], world.surroundings, now=NOW)


def view(world: World, slot: int) -> NodeView:
    found = world.cluster.views[slot]
    assert found is not None
    return found


def claim_uid(world: World, name: str) -> str:
    found = world.surroundings.persistent_volume_claims.get(name, "default")
    assert found is not None
    return found.metadata.uid or ""


def test_most_pods_need_nothing(world: World) -> None:
    assert prebind.steps(pod("p"), view(world, 0), world.surroundings, now=NOW) == ()


def test_a_claim_with_a_volume_needs_nothing(world: World) -> None:
    world.volume("v", phase="Bound")
    world.claim("c", bound="v")
    assert plan(world, (pod("p", "c"), 0)) == ()


def test_what_was_not_promised_is_not_written(world: World) -> None:
    world.claim("c", of="made")
    with pytest.raises(Refused, match="was promised no volume"):
        prebind.steps(pod("p", "c"), view(world, 0), world.surroundings, now=NOW)
    world.device_claim("g", exactly())
    with pytest.raises(Refused, match="was promised no devices"):
        prebind.steps(pod("p", uses=["g"]), view(world, 0), world.surroundings, now=NOW)


def test_what_cannot_be_any_more_is_refused(world: World) -> None:
    world.claim("c", of="made")
    world.put(pod("p", "c"), 0)
    world.claim("c", of="made", metadata={"deletionTimestamp": "now"})
    with pytest.raises(Refused, match="is being deleted"):
        prebind.steps(pod("p", "c"), view(world, 0), world.surroundings, now=NOW)
    world.volume("v")
    world.claim("d")
    world.put(pod("q", "d"), 0)
    world.surroundings.persistent_volumes.drop("v", "")
    with pytest.raises(Refused, match="persistentvolume v is gone"):
        prebind.steps(pod("q", "d"), view(world, 0), world.surroundings, now=NOW)


def test_pods_that_share_a_claim_have_one_step(world: World) -> None:
    world.claim("c", of="made", modes=["ReadWriteMany"])
    world.device_claim("g", exactly(2))
    pods = [pod(name, "c", uses=["g"]) for name in "pq"]
    volume, devices = plan(world, *((one, 0) for one in pods))
    for step in (volume, devices):
        assert [user.metadata.name for user, _ in step.users] == ["p", "q"]
    assert len(devices.writes[-1].patch["status"]["reservedFor"]) == 2


def test_every_write_names_the_object_and_its_version(world: World) -> None:
    world.claim("c", of="made")
    (step,) = plan(world, (pod("p", "c"), 1))
    (write,) = step.writes
    assert prebind.body(step, write, "42") == {
        "metadata": {"annotations": {SELECTED: "n1"}, "uid": "uid-c", "resourceVersion": "42"}
    }


def test_what_was_written_before_is_only_waited_for(world: World) -> None:
    world.claim("c", of="made", annotations={SELECTED: "n1"})
    (step,) = plan(world, (pod("p", "c"), 1))
    assert step.writes == ()
    assert prebind.progress(step, world.surroundings) == "waiting"
    world.claim("d")
    world.volume("v", claimRef={"namespace": "default", "name": "d", "uid": claim_uid(world, "d")})
    (step,) = plan(world, (pod("q", "d"), 0))
    assert step.writes == ()


def test_a_volume_that_its_owner_promised_is_not_marked_as_given_by_us(world: World) -> None:
    world.volume("v", claimRef={"namespace": "default", "name": "c"})
    world.claim("c")
    (step,) = plan(world, (pod("p", "c"), 0))
    assert "metadata" not in step.writes[0].patch
    world.volume("v", claimRef={"namespace": "default", "name": "c", "uid": claim_uid(world, "c")})
    assert prebind.undo(step, world.surroundings) is None


def test_the_progress_of_a_volume_is_told(world: World) -> None:
    world.volume("v", on="n0")
    world.claim("c")
    (step,) = plan(world, (pod("p", "c"), 0))

    def progress(written: str = "") -> str:
        return prebind.progress(step, world.surroundings, written)

    assert "given to another claim" in progress()
    assert progress("999999999") == "waiting", "what we wrote was not seen yet"
    world.volume("v", on="n0", claimRef={"namespace": "default", "name": "c", "uid": "uid-c"})
    assert progress() == "waiting"
    world.claim("c", bound="v")
    assert progress() == "done"
    world.volume("v", on="n1", phase="Bound")
    assert progress() == "the volume of claim default/c cannot be used on node n0"
    world.claim("c", bound="w")
    assert progress() == "waiting"
    world.claim("c", phase="Lost")
    assert progress() == "claim default/c has lost its volume"
    world.claim("c")
    world.surroundings.persistent_volumes.drop("v", "")
    assert progress() == "persistentvolume v is gone"
    world.surroundings.persistent_volume_claims.drop("c", "default")
    assert progress() == "claim default/c is gone"


def test_the_progress_of_devices_is_told(world: World) -> None:
    world.device_claim("p-g", exactly(), metadata=owned_by("p"))
    (step,) = plan(world, (pod("p", made={"g": "p-g"}), 0))
    finalizer, status = step.writes
    assert finalizer.patch == {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
    assert (status.subresource, status.patch["status"]["allocation"]["allocationTimestamp"]) == (
        "status",
        "2027-01-15T08:00:00Z",
    )

    def progress(status: Any = None, written: str = "") -> str:
        if status is not None:
            world.device_claim("p-g", exactly(), metadata=owned_by("p"), status=status)
        return prebind.progress(step, world.surroundings, written)

    written = status.patch["status"]
    assert progress(written) == "done"
    assert progress(written, "999999999") == "waiting"
    assert "is not reserved" in progress({**written, "reservedFor": []})
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    elsewhere = {**written["allocation"], "nodeSelector": {"nodeSelectorTerms": [term]}}
    assert "cannot be used on node n0" in progress({**written, "allocation": elsewhere})
    assert "has lost its devices" in progress({})
    world.surroundings.resource_claims.drop("p-g", "default")
    assert progress() == "resource claim default/p-g is gone"
    assert prebind.undo(step, world.surroundings) is None


def test_devices_that_others_use_by_now_are_not_taken_back(world: World) -> None:
    world.device_claim("g", exactly())
    (step,) = plan(world, (pod("p", uses=["g"]), 0))
    status = step.writes[-1].patch["status"]
    other = {"resource": "pods", "name": "q", "uid": "uid-q"}
    world.device_claim("g", exactly(), status={**status, "reservedFor": [*status["reservedFor"], other]})
    back = prebind.undo(step, world.surroundings)
    assert back is not None
    assert [write.patch for write in back.writes] == [{"status": {"reservedFor": [other]}}]


def test_a_claim_that_has_its_volume_keeps_it(world: World) -> None:
    world.claim("c", of="made")
    (step,) = plan(world, (pod("p", "c"), 0))
    assert prebind.undo(step, world.surroundings) is None, "nothing was written"
    world.claim("c", of="made", annotations={SELECTED: "n0"})
    back = prebind.undo(step, world.surroundings)
    assert back is not None
    assert back.writes[0].patch == {"metadata": {"annotations": {SELECTED: None}}}
    world.claim("c", of="made", bound="v", annotations={SELECTED: "n0"})
    assert prebind.undo(step, world.surroundings) is None


def test_a_volume_that_was_given_is_taken_back_from_its_claim_alone(world: World) -> None:
    ours = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
    world.volume("v")
    world.claim("c")
    (step,) = plan(world, (pod("p", "c"), 0))
    world.surroundings.persistent_volumes.put("v", "", changed(world, ours, "other"))
    assert prebind.undo(step, world.surroundings) is None
    world.surroundings.persistent_volumes.put("v", "", changed(world, ours, "c"))
    back = prebind.undo(step, world.surroundings)
    assert back is not None
    assert back.writes[0].patch["spec"] == {"claimRef": None}


def changed(world: World, metadata: dict[str, Any], claim: str) -> Any:
    """The volume with other metadata, given to a claim."""
    found = world.surroundings.persistent_volumes.get("v")
    assert found is not None
    body = msgspec.to_builtins(found)
    body["metadata"] |= metadata
    body["spec"]["claimRef"] = {"namespace": "default", "name": claim, "uid": f"uid-{claim}"}
    return msgspec.convert(body, type(found))


def test_what_drivers_are_told_comes_from_class_and_claim(world: World) -> None:
    opaque = {"driver": GPUS, "parameters": {"mode": "fast"}}
    world.device_class("gpu", "true", config=[{"opaque": opaque}])
    wishes = [{"name": "s", "deviceClassName": "gpu", "count": 2}, {"name": "t", "deviceClassName": "gpu"}]
    requests = [exactly(name="a"), {"name": "b", "firstAvailable": wishes}]
    config = [{"requests": ["a"]}, {"requests": ["b/s"]}, {"requests": ["b/t"], "opaque": opaque}, {"opaque": opaque}]
    world.device_claim("g", *requests, config=config)
    (step,) = plan(world, (pod("p", uses=["g"]), 0))
    devices = step.writes[-1].patch["status"]["allocation"]["devices"]
    assert [one["request"] for one in devices["results"]] == ["a", "b/t"]
    assert devices["config"] == [
        {"source": "FromClass", "requests": ["a", "b/t"], "opaque": opaque},
        {"source": "FromClaim", "requests": ["a"]},
        {"source": "FromClaim", "requests": ["b/t"], "opaque": opaque},
        {"source": "FromClaim", "opaque": opaque},
    ]

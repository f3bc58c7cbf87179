"""Volumes in zones, volumes and disks for one pod, and how many volumes a node can take."""

from __future__ import annotations

import pytest

from tests.unit.scheduler.claims import World, owned_by, pod


@pytest.fixture
def world() -> World:
    world = World("a", "b", "")
    world.local_class()
    world.storage_class("made")
    return world


def bound(world: World, *names: str, **more: object) -> None:
    for name in names:
        world.volume(f"v-{name}", phase="Bound", **more)  # type: ignore[arg-type]
        world.claim(name, bound=f"v-{name}")


def test_a_volume_of_a_zone_is_used_in_it_and_on_nodes_of_no_zone(world: World) -> None:
    bound(world, "new", labels={"topology.kubernetes.io/zone": "b"})
    bound(world, "old", labels={"failure-domain.beta.kubernetes.io/zone": "a__c"})
    assert world.room_for(pod("p", "new")) == [0, 10, 10]
    assert world.room_for(pod("p", "old")) == [10, 0, 10]
    assert world.why(pod("p", "new")) == "a volume of the pod is in another zone"


def test_a_claim_for_one_pod_is_used_by_one_in_the_whole_cluster(world: World) -> None:
    world.claim("c", of="made", modes=["ReadWriteOncePod"])
    assert world.room_for(pod("p", "c")) == [1, 1, 1]
    placed = world.put(pod("p", "c"), 0)
    assert world.room_for(pod("q", "c")) == [0, 0, 0]
    assert "a claim that only one pod may use is in use by another" in world.why(pod("q", "c"), 1)
    world.cluster.take(placed.uid)
    assert world.room_for(pod("q", "c")) == [1, 1, 1]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, False),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            True,
        ),
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}, True),
        ({"awsElasticBlockStore": {"volumeID": "d"}}, {"awsElasticBlockStore": {"volumeID": "d"}}, False),
        ({"iscsi": {"iqn": "i", "readOnly": True}}, {"iscsi": {"iqn": "i"}}, False),
        ({"rbd": {"monitors": ["a", "b"], "image": "i"}}, {"rbd": {"monitors": ["b"], "image": "i"}}, False),
        ({"rbd": {"monitors": ["a"], "image": "i"}}, {"rbd": {"monitors": ["b"], "image": "i"}}, True),
        ({"rbd": {"monitors": ["a"], "image": "i", "pool": "x"}}, {"rbd": {"monitors": ["a"], "image": "i"}}, True),
    ],
)
def test_a_disk_is_used_by_one_pod_of_a_node_unless_all_only_read(
    world: World, one: dict[str, object], other: dict[str, object], together: bool
) -> None:
    placed = world.put(pod("p", volumes=[{"name": "d", **one}]), 0)
    wanted = pod("q", volumes=[{"name": "d", **other}])
    assert (world.room_for(wanted)[0] > 0) == together
    assert world.room_for(wanted)[1] > 0
    assert (not together) == ("a disk of the pod is in use there" in world.why(wanted))
    world.cluster.take(placed.uid)
    assert world.room_for(wanted)[0] > 0


def test_a_disk_that_may_not_be_shared_keeps_pods_of_one_class_apart(world: World) -> None:
    assert world.room_for(pod("p", volumes=[{"name": "d", "awsElasticBlockStore": {"volumeID": "d"}}])) == [1, 1, 1]


def test_a_node_takes_as_many_volumes_as_its_driver_says(world: World) -> None:
    for name in ("n0", "n1"):
        world.csi_node(name, 3)
    pods = [pod(f"p{at}", ephemeral=["data"]) for at in range(4)]
    for one in pods:
        world.claim(f"{one.metadata.name}-data", of="made", metadata=owned_by(one.metadata.name))
    assert world.room_for(pods[0]) == [3, 3, 10]
    bound(world, "shared")
    world.put(pod("q", "shared"), 0)
    world.put(pods[0], 0)
    assert world.room_for(pods[1]) == [1, 3, 10]
    world.put(pods[1], 0)
    assert world.room_for(pods[2]) == [0, 3, 10]
    assert world.why(pods[2]) == "as many volumes are attached as the node can take"
    assert world.room_for(pod("r", "shared")) == [10, 10, 10], "what several pods use is attached once"


def test_what_is_still_attached_takes_its_place(world: World) -> None:
    world.csi_node("n0", 2)
    bound(world, "a", "b", "c")
    world.attachment("v-a", "n0")
    world.attachment("v-b", "n0")
    assert world.room_for(pod("p", "c")) == [0, 10, 10]
    world.put(pod("q", "a"), 0)
    assert world.room_for(pod("p", "c")) == [0, 10, 10], "it is not counted twice"
    world.surroundings.volume_attachments.drop("v-b-n0", "")
    assert world.room_for(pod("p", "c")) == [10, 10, 10]
    world.put(pod("p", "c"), 0)
    assert world.room_for(pod("r", "b")) == [0, 10, 10]


def test_a_driver_that_states_no_number_takes_any(world: World) -> None:
    world.csi_node("n0", None)
    bound(world, "a")
    assert world.room_for(pod("p", "a")) == [10, 10, 10]
    assert world.cluster.is_plain(world.cls(pod("p", "a")))
    world.csi_node("n0", 0)
    assert world.room_for(pod("p", "a")) == [0, 10, 10]

"""Pods run where their volumes can be used, found or made."""

from __future__ import annotations

import pytest

from tests.unit.scheduler.claims import World, owned_by, pod
from tests.unit.scheduler.fleets import HOST, ZONE

SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture
def world() -> World:
    """Three nodes, two of them in zone a; local volumes, and such as are made when they are needed."""
    world = World("a", "a", "b")
    world.local_class()
    world.storage_class("made")
    world.storage_class("now", mode="Immediate")
    return world


def test_a_pod_runs_where_its_volume_can_be_used(world: World) -> None:
    world.volume("v", zone="b", phase="Bound")
    world.claim("c", bound="v")
    assert world.room_for(pod("p", "c")) == [0, 0, 10]
    assert world.why(pod("p", "c")) == "a volume of the pod cannot be used there"
    assert world.cluster.is_plain(world.cls(pod("p", "c")))


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"of": "now"}, 'pod has unbound immediate PersistentVolumeClaims: persistentvolumeclaim "c"'),
        ({"of": "nothing"}, 'pod has unbound immediate PersistentVolumeClaims: persistentvolumeclaim "c"'),
        ({"volumeName": "v"}, 'pod has unbound immediate PersistentVolumeClaims: persistentvolumeclaim "c"'),
        ({"bound": "v"}, 'persistentvolumeclaim "c" is bound to a persistentvolume that does not exist'),
        ({"bound": "v", "phase": "Lost"}, "persistentvolumeclaim \"c\" is bound to non-existent persistentvolume 'v'"),
        ({"metadata": {"deletionTimestamp": "now"}}, 'persistentvolumeclaim "c" is being deleted'),
    ],
)
def test_a_claim_that_can_have_no_volume_keeps_its_pod_from_all_nodes(
    world: World, claim: dict[str, object], why: str
) -> None:
    world.claim("c", **claim)  # type: ignore[arg-type]
    assert world.room_for(pod("p", "c")) == [0, 0, 0]
    assert world.why(pod("p", "c")) == why


def test_a_pod_waits_for_a_claim_that_does_not_exist_and_is_classed_anew_when_it_does(world: World) -> None:
    waiting = pod("p", "c")
    assert world.why(waiting) == 'persistentvolumeclaim "c" not found'
    world.claim("c", of="made")
    assert world.room_for(waiting) == [10, 10, 10]


def test_the_claim_of_an_ephemeral_volume_must_have_been_made_for_the_pod(world: World) -> None:
    waiting = pod("p", ephemeral=["scratch"])
    assert world.why(waiting) == 'the claim of ephemeral volume "scratch" does not exist yet'
    world.claim("p-scratch", of="made")
    assert "was not made for the pod" in world.why(waiting)
    world.claim("p-scratch", of="made", metadata=owned_by("p"))
    assert world.room_for(waiting) == [10, 10, 10]


def test_pods_with_ephemeral_volumes_of_one_kind_are_of_one_class(world: World) -> None:
    for name in ("p", "q"):
        world.claim(f"{name}-scratch", of="made", metadata=owned_by(name))
    one, other = (world.cls(pod(name, ephemeral=["scratch"])) for name in ("p", "q"))
    assert one is other
    assert world.cluster.is_plain(one), "such volumes are made one for each"


def test_a_claim_finds_a_volume_that_fits_it(world: World) -> None:
    world.claim("c", size="2Gi", selector={"matchLabels": {"disk": "fast"}})
    fast = {"disk": "fast"}
    world.volume("small", on="n0", labels=fast)
    world.volume("slow", on="n1", size="2Gi")
    world.volume("shared", on="n1", size="2Gi", labels=fast, modes=["ReadWriteMany"])
    world.volume("raw", on="n1", size="2Gi", labels=fast, volumeMode="Block")
    world.volume("gone", on="n1", size="2Gi", labels=fast, phase="Released")
    world.volume("other", on="n1", size="2Gi", labels=fast, of="made")
    world.volume("hers", on="n1", size="2Gi", labels=fast, claimRef={"namespace": "default", "name": "hers"})
    assert world.room_for(pod("p", "c")) == [0, 0, 0]
    assert world.why(pod("p", "c")) == "no volume fits a claim, and none can be made"
    world.volume("fits", on="n2", size="3Gi", labels=fast)
    assert world.room_for(pod("p", "c")) == [0, 0, 10]


def test_a_pod_gets_the_smallest_volumes_that_fit(world: World) -> None:
    for name, size in (("v5", "5Gi"), ("v2", "2Gi"), ("v1", "1Gi")):
        world.volume(name, size=size, on="n0")
    world.claim("big", size="2Gi")
    world.claim("small", size="1Gi")
    world.put(pod("p", "big", "small"), 0)
    promised = {claim: promise.volume for claim, promise in world.surroundings.promises.claims.items()}
    assert promised == {"default/big": "v2", "default/small": "v1"}


def test_pods_of_a_gang_do_not_draw_on_one_volume_twice(world: World) -> None:
    for at in range(3):
        world.volume(f"v{at}", on="n0" if at < 2 else "n1")
    pods = [pod(f"p{at}", ephemeral=["data"]) for at in range(4)]
    for one in pods:
        world.claim(f"{one.metadata.name}-data", metadata=owned_by(one.metadata.name))
    assert world.room_for(pods[0]) == [2, 1, 0]
    mark = world.cluster.mark()
    world.put(pods[0], 0)
    assert world.room_for(pods[1]) == [1, 1, 0]
    world.put(pods[1], 1)
    world.put(pods[2], 0)
    assert world.room_for(pods[3]) == [0, 0, 0]
    world.cluster.rollback(mark)
    assert world.room_for(pods[3]) == [2, 1, 0]
    assert not world.surroundings.promises.claims
    assert not world.surroundings.promises.volumes


def test_pods_that_share_a_claim_share_its_volume(world: World) -> None:
    world.volume("v", zone="a")
    world.claim("c")
    world.put(pod("p", "c"), 0)
    assert world.room_for(pod("q", "c")) == [10, 10, 0]
    assert world.surroundings.promises.volumes == {"v": "default/c"}


def test_pods_that_share_a_claim_for_one_node_follow_the_first(world: World) -> None:
    world.claim("one", of="made")
    world.claim("many", of="made", modes=["ReadWriteMany"])
    world.put(pod("p", "one"), 1)
    world.put(pod("q", "many"), 1)
    assert world.room_for(pod("r", "one")) == [0, 10, 0]
    assert world.why(pod("r", "one")) == "a claim of the pod gets its volume elsewhere, for another pod"
    assert world.room_for(pod("s", "many")) == [10, 10, 10], "where the volume will be is not known yet"


def test_a_claim_for_which_a_volume_is_being_made_pins_its_pods(world: World) -> None:
    world.claim("c", of="made", modes=["ReadWriteMany"], annotations={SELECTED: "n1"})
    assert world.room_for(pod("p", "c")) == [0, 10, 0]
    assert world.why(pod("p", "c")) == "a volume is being made for a claim on another node"


def test_a_volume_that_names_a_claim_is_kept_for_it(world: World) -> None:
    world.volume("v", size="9Gi", on="n2", claimRef={"namespace": "default", "name": "c"})
    world.volume("w", on="n0")
    world.claim("c")
    world.claim("d")
    assert world.room_for(pod("p", "c")) == [0, 0, 10]
    assert world.room_for(pod("p", "d")) == [10, 0, 0]


def test_volumes_are_made_where_their_class_allows_it(world: World) -> None:
    world.storage_class("zonal", zones=["b", "c"])
    world.claim("c", of="zonal")
    assert world.room_for(pod("p", "c")) == [0, 0, 10]
    world.storage_class("zonal", zones=["a"])
    assert world.room_for(pod("p", "c")) == [10, 10, 0]


def test_volumes_are_made_where_a_driver_that_tells_has_room(world: World) -> None:
    world.claim("c", of="made", size="5Gi")
    world.csi_driver(tells_room=True)
    assert world.room_for(pod("p", "c")) == [0, 0, 0]
    assert world.why(pod("p", "c")) == "not enough storage left to make a volume for a claim"
    world.room("r0", "9Gi", of="made", topology={"matchLabels": {HOST: "n1"}})
    world.room("r1", "4Gi", of="made", topology={"matchLabels": {ZONE: "b"}})
    world.room("r2", "9Gi", of="made", topology=None)
    assert world.room_for(pod("p", "c")) == [0, 10, 0]
    world.room("r1", "9Gi", of="made", topology={"matchLabels": {ZONE: "b"}}, maximumVolumeSize="4Gi")
    assert world.room_for(pod("p", "c")) == [0, 10, 0]
    world.room(
        "r1", "9Gi", of="made", topology={"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
    )
    assert world.room_for(pod("p", "c")) == [0, 10, 10]
    world.csi_driver(tells_room=False)
    assert world.room_for(pod("p", "c")) == [10, 10, 10]


def test_other_classes_are_not_judged_anew_when_storage_changes(world: World) -> None:
    cls = world.cls(pod("p"))
    world.cluster.capacity(cls)
    before = world.cluster.allowed(cls)
    world.storage_class("more")
    assert world.cluster.allowed(cls) is before

"""Volumes and devices are given once, whatever happens in whatever order, and undone exactly."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grove.kube.objects import PodView
from grove.scheduler.cluster import Placed
from tests.unit.scheduler.claims import GPUS, World, exactly, gpu, owned_by, pod

NODES = 3
ZONES = ("a", "a", "b")
SIZES = ("1Gi", "2Gi", "3Gi")


@st.composite
def volumes(draw: st.DrawFn) -> World:
    """Free volumes of one node, one zone or all, and claims that wait: of pods, and shared."""
    world = World(*ZONES)
    world.local_class()
    if draw(st.booleans()):
        world.storage_class("local", zones=[draw(st.sampled_from("ab"))])
    for at in range(draw(st.integers(0, 6))):
        on, zone = draw(st.sampled_from([("n0", ""), ("n2", ""), ("", "a"), ("", "")]))
        modes = draw(st.sampled_from([["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"]]))
        world.volume(f"v{at}", size=draw(st.sampled_from(SIZES)), modes=modes, on=on, zone=zone)
    for name in ("c", "d"):
        modes = [draw(st.sampled_from(["ReadWriteOnce", "ReadWriteMany"]))]
        world.claim(name, size=draw(st.sampled_from(SIZES)), modes=modes)
    for name in draw(st.lists(st.sampled_from(["n0", "n1", "n2"]), unique=True)):
        world.csi_node(name, draw(st.integers(0, 4)))
    return world


@st.composite
def pods_with_volumes(draw: st.DrawFn, world: World) -> list[PodView]:
    found = []
    for at in range(draw(st.integers(1, 5))):
        scratch = draw(st.lists(st.sampled_from(["x", "y"]), unique=True, max_size=2))
        for volume in scratch:
            world.claim(f"p{at}-{volume}", size="1Gi" if volume == "x" else "2Gi", metadata=owned_by(f"p{at}"))
        shared = draw(st.lists(st.sampled_from(["c", "d"]), unique=True, max_size=1))
        found.append(pod(f"p{at}", *shared, ephemeral=scratch))
    return found


@st.composite
def devices(draw: st.DrawFn) -> World:
    """Devices of a few kinds, some of which all nodes reach, and some of which others have."""
    world = World(*ZONES)
    world.device_class("gpu", f'device.driver == "{GPUS}"')
    for name in ("n0", "n1", ""):
        models = draw(st.lists(st.sampled_from(["h100", "a100"]), max_size=4))
        rails = [{"rail": {"int": draw(st.integers(0, 1))}} for _ in models]
        made = (
            gpu(f"d{at}", model, attributes=rail) for at, (model, rail) in enumerate(zip(models, rails, strict=True))
        )
        world.gpus(name, *made, pool=name or "all")
        has_first = draw(st.booleans())
        if models and has_first:
            result = {"request": "r", "driver": GPUS, "pool": name or "all", "device": "d0"}
            status = {"allocation": {"devices": {"results": [result]}}}
            world.device_claim(f"other-{name}", exactly(), status=status)
    world.device_claim("c", exactly(draw(st.integers(1, 2))))
    return world


@st.composite
def pods_with_devices(draw: st.DrawFn, world: World) -> list[PodView]:
    found = []
    same = [{"matchAttribute": f"{GPUS}/rail"}]
    h100 = [{"cel": {"expression": f'device.attributes["{GPUS}"].model == "h100"'}}]
    for at in range(draw(st.integers(1, 5))):
        more: dict[str, Any] = {"selectors": h100} if draw(st.booleans()) else {}
        constraints = same if draw(st.booleans()) else []
        wanted = exactly(draw(st.integers(1, 3)), **more)
        world.device_claim(f"p{at}-g", wanted, metadata=owned_by(f"p{at}"), constraints=constraints)
        own = {"g": f"p{at}-g"} if draw(st.booleans()) else {}
        found.append(pod(f"p{at}", uses=["c"] if draw(st.booleans()) or not own else [], made=own))
    return found


def promises(world: World) -> Any:
    found = world.surroundings.promises
    return dict(found.claims), dict(found.volumes), dict(found.allocations), dict(found.devices), str(found.consumers)


def run(data: st.DataObject, world: World, pods: list[PodView], fresh: Any) -> None:
    """Puts and takes pods where the capacity allows it, in trials and for good; what is counted on the way is what
    a new cluster counts that has the same pods in the same order."""
    rooms = [world.room_for(one) for one in pods]
    placed: list[tuple[PodView, int]] = []
    for _ in range(data.draw(st.integers(1, 10))):
        one = data.draw(st.sampled_from(pods))
        uid = one.metadata.uid or ""
        if uid in world.cluster.pods:
            world.cluster.take(uid)
            placed = [put for put in placed if put[0] is not one]
        else:
            slots = [slot for slot, count in enumerate(world.room_for(one)) if count]
            if not slots:
                continue
            slot = data.draw(st.sampled_from(slots))
            if data.draw(st.booleans()):
                before, rooms_before = promises(world), [world.room_for(other) for other in pods]
                mark = world.cluster.mark()
                world.put(one, slot)
                _ = [world.room_for(other) for other in pods]
                world.cluster.rollback(mark)
                assert promises(world) == before
                assert [world.room_for(other) for other in pods] == rooms_before
            world.put(one, slot)
            placed.append((one, slot))
        given = world.surroundings.promises
        assert len(set(given.volumes.values())) == len(given.volumes)
        assert sum(len(promise.results) for promise in given.allocations.values()) == len(given.devices)
        fresh(placed, [world.room_for(other) for other in pods])
    for one, _ in placed:
        world.cluster.take(one.metadata.uid or "")
    assert promises(world) == ({}, {}, {}, {}, "{}")
    assert [world.room_for(one) for one in pods] == rooms


def compare(world: World, pods: list[PodView], other: World) -> Any:
    """Whether a cluster that sees all at once counts the same, if it makes the same choices."""

    def fresh(placed: list[tuple[PodView, int]], rooms: list[list[int]]) -> None:
        for uid in [*other.cluster.pods]:
            other.cluster.take(uid)
        for one, slot in placed:
            meta = one.metadata
            cls = other.cluster.classes.of(one)
            other.cluster.put(Placed(meta.uid or "", meta.namespace or "", meta.name, cls, slot))
        if promises(other)[:4] == promises(world)[:4]:
            assert [other.room_for(one) for one in pods] == rooms

    return fresh


def twin(world: World) -> World:
    """Another cluster with the same surroundings."""
    found = World(*ZONES)
    for name in vars(world.surroundings):
        kept, of = getattr(found.surroundings, name), getattr(world.surroundings, name)
        for one in of if hasattr(of, "since") else ():
            if hasattr(one, "metadata"):
                kept.put(one.metadata.name, one.metadata.namespace or "", one)
    return found


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_volumes_are_given_once_and_counted_as_anew(data: st.DataObject) -> None:
    world = data.draw(volumes())
    pods = data.draw(pods_with_volumes(world))
    run(data, world, pods, compare(world, pods, twin(world)))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_devices_are_given_once_and_counted_as_anew(data: st.DataObject) -> None:
    world = data.draw(devices())
    pods = data.draw(pods_with_devices(world))
    run(data, world, pods, compare(world, pods, twin(world)))

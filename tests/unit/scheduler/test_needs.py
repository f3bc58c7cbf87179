"""What volumes and claims come down to, and which pods are classed anew when they change."""

from __future__ import annotations

import pytest

from grove.kube.objects import PodView
from grove.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, RESOURCE_CLAIMS, STORAGE_CLASSES
from grove.scheduler.needs import Claimed
from tests.unit.scheduler.claims import World, exactly, owned_by, pod


@pytest.fixture
def world() -> World:
    world = World("a")
    world.storage_class("made")
    return world


def test_a_pod_without_volumes_and_claims_needs_nothing(world: World) -> None:
    assert world.needs(pod("p")) is None


def test_pods_are_classed_anew_when_what_they_use_changes(world: World) -> None:
    world.claim("c", of="made")
    world.claim("d", bound="v")
    world.claim("p-scratch", of="made", metadata=owned_by("p"))
    for one in (pod("p", "c", ephemeral=["scratch"]), pod("q", "c", "d", uses=["gpus"])):
        world.needs(one)
    p, q = ("default", "p"), ("default", "q")
    assert world.needs.stale(PERSISTENT_VOLUME_CLAIMS, "default", "c") == (p, q)
    assert world.needs.stale(PERSISTENT_VOLUME_CLAIMS, "default", "p-scratch") == (p,)
    assert world.needs.stale(PERSISTENT_VOLUME_CLAIMS, "elsewhere", "c") == ()
    assert world.needs.stale(PERSISTENT_VOLUMES, "", "v") == (q,)
    assert world.needs.stale(STORAGE_CLASSES, "", "made") == (p, q)
    assert world.needs.stale(RESOURCE_CLAIMS, "default", "gpus") == (q,), "also one that does not exist yet"


def test_a_pod_that_is_gone_is_forgotten(world: World) -> None:
    world.needs(pod("p", "c"))
    world.needs.forget("default", "p")
    world.needs.forget("default", "p")
    assert world.needs.stale(PERSISTENT_VOLUME_CLAIMS, "default", "c") == ()


def test_only_what_is_looked_at_now_counts(world: World) -> None:
    world.claim("c", bound="v")
    world.needs(pod("p", "c"))
    world.claim("c", bound="w")
    world.needs(pod("p", "c"))
    assert world.needs.stale(PERSISTENT_VOLUMES, "", "v") == ()
    assert world.needs.stale(PERSISTENT_VOLUMES, "", "w") == (("default", "p"),)


def test_a_pod_that_has_its_node_needs_no_more_than_it_takes(world: World) -> None:
    world.volume("v", phase="Bound")
    world.claim("c", bound="v")
    world.device_claim("gpus", exactly())
    placed = pod("p", "c", "missing", uses=["gpus"])
    bound = world.needs(PodView(metadata=placed.metadata, node_name="n0", spec=placed.spec))
    assert isinstance(bound, Claimed)
    volumes, devices = bound
    assert (volumes.refusal, volumes.bound, volumes.wanted) == ("", (), ())
    assert volumes.handles == (("csi.example.com", "handle-v"),)
    assert volumes.claims == ("default/c", "default/missing")
    assert devices.claims == ()

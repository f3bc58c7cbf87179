"""What the operator sees: sets and what is theirs, by owners and not by labels alone."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import cast

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.resources import PODS, SERVICES
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS, SCALING_GROUPS
from grove.operator.tree import GroupPlace
from grove.operator.world import Key, World, key_of, set_key_of
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.apiserver import OperatorServer
from tests.unit.operator.podcliqueset.builders import JSON

MARKS = labels.common("demo")


def owner(kind: str, name: str, uid: str) -> JSON:
    return {"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": True}


def metadata(name: str, uid: str, owned_by: JSON | None = None, **marks: str) -> JSON:
    return {
        "name": name,
        "namespace": "default",
        "uid": uid,
        "labels": MARKS | marks,
        "ownerReferences": [owned_by] if owned_by else [],
    }


SET = owner("PodCliqueSet", "demo", "set")
GROUP = owner("PodCliqueScalingGroup", "demo-0-g", "group")
SPEC: JSON = {"roleName": "a", "replicas": 1, "podSpec": {}}


class Place:
    """A world on an API server of memory."""

    def __init__(self, server: OperatorServer, world: World) -> None:
        self.server, self.world = server, world

    @property
    def pcs(self) -> PodCliqueSet:
        found = self.world.sets.get("demo", "default")
        assert found is not None
        return found


def play(story: Callable[[Place], Awaitable[None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        server = OperatorServer(clock)
        template = {
            "cliques": [{"name": "a", "spec": SPEC}, {"name": "b", "spec": SPEC}],
            "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"], "replicas": 2}],
        }
        server.put(
            POD_CLIQUE_SETS, {"metadata": metadata("demo", "set"), "spec": {"replicas": 1, "template": template}}
        )
        index = {labels.POD_CLIQUE_SET_REPLICA_INDEX: "0"}
        group = {"metadata": metadata("demo-0-g", "group", SET, **index), "spec": {"replicas": 5, "cliqueNames": ["b"]}}
        server.put(SCALING_GROUPS, group)
        alone = metadata("demo-0-a", "alone", SET, **{labels.POD_GANG: "demo-0"})
        member = metadata("demo-0-g-0-b", "member", GROUP, **{labels.POD_GANG: "demo-0"})
        stray = metadata("demo-0-x", "stray", owner("PodCliqueSet", "demo", "earlier"))
        for one in (alone, member, stray):
            server.put(POD_CLIQUES, {"metadata": one, "spec": SPEC})
        for name, uid, clique in (("p1", "pod1", "member"), ("p2", "pod2", "earlier")):
            found = metadata(name, uid, owner("PodClique", "demo-0-g-0-b", clique), **{labels.POD_GANG: "demo-0"})
            server.put(PODS, {"metadata": found, "spec": {}})
        server.put(POD_GANGS, {"metadata": metadata("demo-0", "gang", SET), "spec": {"podgroups": []}})
        server.put(SERVICES, {"metadata": metadata("demo-0", "service", SET), "spec": {}})
        server.put(SERVICES, {"metadata": metadata("theirs", "theirs") | {"labels": {}}, "spec": {}})
        caches = Caches(cast(Client, server), clock=clock, rng=random.Random(1))
        world = World(caches)
        running = asyncio.ensure_future(caches.run())
        await caches.synced()
        try:
            await story(Place(server, world))
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    run(main)


def names(found: object) -> list[str]:
    return sorted(one.metadata.name for one in found)  # type: ignore[attr-defined]


def test_what_is_a_sets_is_told_by_the_chain_of_owners() -> None:
    async def story(place: Place) -> None:
        world, pcs = place.world, place.pcs
        assert names(world.cliques_of(pcs)) == ["demo-0-a", "demo-0-g-0-b"]
        assert names(world.groups_of(pcs)) == ["demo-0-g"]
        assert names(world.gangs_of(pcs)) == ["demo-0"]
        assert names(world.services_of(pcs)) == ["demo-0"]
        assert names(world.autoscalers_of(pcs)) == []
        pod = world.pods.get("p1", "default")
        assert pod is not None
        assert world.set_of(pod.metadata) is pcs
        stray = world.cliques.get("demo-0-x", "default")
        assert stray is not None
        assert world.set_of(stray.metadata) is None

    play(story)


def test_members_and_pods_are_those_of_this_very_owner() -> None:
    async def story(place: Place) -> None:
        world = place.world
        (group,) = world.groups_of(place.pcs)
        (member,) = world.members_of(group)
        assert member.metadata.name == "demo-0-g-0-b"
        assert names(world.pods_of(member)) == ["p1"]
        assert names(world.gang_cliques("default", "demo-0")) == ["demo-0-a", "demo-0-g-0-b"]

    play(story)


def test_only_what_grove_manages_is_held_of_other_kinds() -> None:
    async def story(place: Place) -> None:
        assert names(place.world.services) == ["demo-0"]

    play(story)


def test_a_tree_has_the_copies_that_are_asked_for_now() -> None:
    async def story(place: Place) -> None:
        tree = place.world.tree(place.pcs)
        assert tree.copies(0, "g") == 5
        assert tree.copies(1, "g") == 2  # it is not there yet
        assert tree.group_name(GroupPlace(0, "g")) == "demo-0-g"

    play(story)


def test_what_is_left_is_found_also_when_its_owner_is_gone() -> None:
    async def story(place: Place) -> None:
        left = place.world.leftovers(place.pcs)
        assert {resource.plural: sorted(one.name for one in found) for resource, found in left.items()} == {
            "podcliquescalinggroups": ["demo-0-g"],
            "podcliques": ["demo-0-a", "demo-0-g-0-b", "demo-0-x"],
            "podgangs": ["demo-0"],
        }

    play(story)


def test_keys_are_read_from_metadata() -> None:
    assert str(key_of(ObjectMeta(name="a", namespace="ns"))) == "ns/a"
    assert set_key_of(ObjectMeta(name="a", namespace="ns", labels=MARKS)) == Key("ns", "demo")
    assert set_key_of(ObjectMeta(name="a")) is None

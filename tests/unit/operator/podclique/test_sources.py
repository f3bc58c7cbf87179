"""Which changes wake which PodCliques."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from grove.api import labels
from grove.api.kinds.podclique import PodCliqueStatus
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.kube.store import Change
from grove.operator.podclique import sources
from grove.operator.resources import POD_CLIQUES
from grove.operator.world import Key
from tests.unit.operator.builders import NAMESPACE, NOW, clique, crashed, gang, owned_by, pcs, pod, unschedulable
from tests.unit.operator.podclique.simulated import Simulated

GATES = (labels.SCHEDULING_GATE,)
BEHIND = {labels.BASE_POD_GANG: "demo-0"}


def keys(found: Iterable[Key]) -> list[str]:
    return sorted(key.name for key in found)


def with_pods(*pods: PodView) -> Simulated:
    """A PodClique with pods of a test's own."""
    found = Simulated(clique(replicas=len(pods)))
    for one in pods:
        tree = msgspec.to_builtins(one)
        tree["metadata"]["ownerReferences"] = [msgspec.to_builtins(owned_by(found.clique.metadata))]
        tree["spec"] = {"schedulingGates": tree["spec"]["schedulingGates"], "nodeName": one.node_name}
        found.server.put(PODS, tree)
    return found


def woken(old: PodView | None, new: PodView | None, found: Simulated | None = None) -> list[str]:
    return keys(sources.of_pod((found or Simulated()).world, Change(old, new)))


# The PodClique itself


def test_a_podclique_is_woken_by_all_but_its_status() -> None:
    held = clique()
    own = [held.metadata.name]
    assert keys(sources.of_clique(Change(None, held))) == own
    assert keys(sources.of_clique(Change(held, None))) == own
    newer = replace(held, metadata=replace(held.metadata, resource_version="7"), status=PodCliqueStatus(replicas=3))
    assert keys(sources.of_clique(Change(held, newer))) == []
    for other in (
        clique(replicas=2),
        clique(hash="other"),
        clique(metadata={"annotations": {"a": "b"}}),
        clique(metadata={"finalizers": []}),
        clique(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"}),
        clique(pod_spec={"containers": []}),
    ):
        assert keys(sources.of_clique(Change(held, other))) == own


# Pods


@pytest.mark.parametrize(
    "new",
    [
        pod(0, node="n"),
        pod(0, phase="Failed"),
        pod(0, ready=True),
        pod(0, deleted=True),
        pod(0, gates=GATES),
        pod(0, hash="other"),
        pod(0, container=crashed()),
        pod(0, container={"name": "main", "started": True}),
        pod(0, container={"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}),
        unschedulable(pod(0)),
        None,
    ],
)
def test_what_is_counted_or_decided_by_wakes_the_pods_podclique(new: PodView | None) -> None:
    assert woken(pod(0), new) == ["demo-0-worker"]


def test_what_nothing_follows_from_wakes_nobody() -> None:
    assert woken(pod(0), pod(0, annotations={"a": "b"}, since=NOW)) == []
    waiting = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    assert woken(pod(0, container={"name": "main"}), pod(0, container=waiting)) == []


def test_a_pod_that_no_podclique_controls_wakes_nobody() -> None:
    orphan = pod(0)
    assert woken(None, replace(orphan, metadata=replace(orphan.metadata, owner_references=()))) == []
    other = owned_by(clique().metadata, "ReplicaSet")
    assert woken(None, replace(orphan, metadata=replace(orphan.metadata, owner_references=(other,)))) == []


def test_a_pod_of_the_base_gang_that_is_placed_wakes_those_that_wait_behind_it() -> None:
    base = clique("demo-0-router")
    before, after = pod(0, owner=base), pod(0, owner=base, node="n")
    held = pod(1, gates=GATES, gang="demo-0-group-0", more_labels=BEHIND)
    assert woken(before, after, with_pods(held)) == ["demo-0-router", "demo-0-worker"]
    assert woken(after, pod(0, owner=base, ready=True), with_pods(held)) == ["demo-0-router"]
    free = pod(1, gang="demo-0-group-0", more_labels=BEHIND)
    assert woken(before, after, with_pods(free)) == ["demo-0-router"]
    elsewhere = pod(1, gates=GATES, gang="demo-1-group-0", more_labels={labels.BASE_POD_GANG: "demo-1"})
    assert woken(before, after, with_pods(elsewhere)) == ["demo-0-router"]


# Gangs


def test_a_gang_wakes_the_podcliques_that_have_held_pods() -> None:
    world = with_pods(pod(0, gates=GATES)).world
    whole = gang(demo_0_worker=(1, ("a",)), demo_0_router=(1, ("b",)))
    unfinished = gang(initialized=False, demo_0_worker=(1, ("a",)), demo_0_router=(1, ("b",)))
    assert keys(sources.of_gang(world, Change(None, whole))) == ["demo-0-worker"]
    assert keys(sources.of_gang(world, Change(unfinished, whole))) == ["demo-0-worker"]
    assert keys(sources.of_gang(world, Change(whole, whole))) == []
    more = gang(demo_0_worker=(1, ("a", "c")), demo_0_router=(1, ("b",)))
    assert keys(sources.of_gang(world, Change(whole, more))) == ["demo-0-worker"]
    elsewhere = gang(demo_0_worker=(1, ("a",)), demo_0_router=(1, ("b", "c")))
    assert keys(sources.of_gang(world, Change(whole, elsewhere))) == []
    assert keys(sources.of_gang(world, Change(whole, None))) == []


def test_a_gang_wakes_nobody_whose_pods_are_free() -> None:
    world = with_pods(pod(0)).world
    assert keys(sources.of_gang(world, Change(None, gang(demo_0_worker=(1, ("a",)))))) == []


def test_a_base_gang_wakes_those_that_wait_behind_it_when_it_changes() -> None:
    world = with_pods(pod(0, gates=GATES, gang="demo-0-group-0", more_labels=BEHIND)).world
    base, other = gang(demo_0_router=(1, ("b",))), gang(demo_0_router=(2, ("b",)))
    assert keys(sources.of_gang(world, Change(base, other))) == ["demo-0-worker"]
    assert keys(sources.of_gang(world, Change(base, base))) == []


# Sets


def test_a_set_wakes_its_podcliques_when_it_asks_for_something_else() -> None:
    found = Simulated()
    held = found.world.sets.get("demo", NAMESPACE)
    assert held is not None

    def changed(**metadata: Any) -> Any:
        return replace(held, metadata=replace(held.metadata, **metadata))

    own = ["demo-0-worker"]
    assert keys(sources.of_set(found.world, Change(None, held))) == own
    assert keys(sources.of_set(found.world, Change(held, changed(generation=2)))) == own
    assert keys(sources.of_set(found.world, Change(held, pcs(generation_hash="other")))) == own
    assert keys(sources.of_set(found.world, Change(held, None))) == own
    assert keys(sources.of_set(found.world, Change(held, changed(resource_version="9")))) == []


def test_a_scaling_group_that_becomes_known_wakes_its_members() -> None:
    group = msgspec.convert(
        {"metadata": {"name": "demo-0-group", "namespace": NAMESPACE, "uid": "uid-group"}, "spec": {"cliqueNames": []}},
        PodCliqueScalingGroup,
    )
    found = Simulated(clique("demo-0-group-0-worker", metadata={"labels": {labels.SCALING_GROUP: "demo-0-group"}}))
    found.tree["metadata"]["ownerReferences"] = [msgspec.to_builtins(owned_by(group.metadata, "PodCliqueScalingGroup"))]
    found.server.put(POD_CLIQUES, found.tree)
    assert keys(sources.of_group(found.world, Change(None, group))) == ["demo-0-group-0-worker"]
    assert keys(sources.of_group(found.world, Change(group, group))) == []
    assert keys(sources.of_group(found.world, Change(group, None))) == []


def test_all_caches_are_followed() -> None:
    async def scene() -> None:
        found = Simulated()
        heard: list[str] = []
        tasks = [
            asyncio.ensure_future(one.run(lambda key: heard.append(key.name))) for one in sources.sources(found.world)
        ]
        await asyncio.wait(tasks, timeout=0.0)
        await found.reconcile()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert set(heard) == {"demo-0-worker"}

    asyncio.run(scene())

"""What brings a scaling group back to its controller."""

from __future__ import annotations

from typing import Any

from grove.api.conditions import timestamp
from grove.kube.resources import PODS
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS
from grove.operator.scalinggroup import wakes
from grove.operator.world import Key
from tests.unit.operator.scalinggroup.builders import leader_and_worker
from tests.unit.operator.scalinggroup.stage import KEY, NAME, Stage, play

WORKER = "x-0-sg-0-worker"


async def awake(stage: Stage, **fields: Any) -> list[Key]:
    """A group that is up, and the keys that come in from now on."""
    stage.show(leader_and_worker(**fields))
    await stage.reconcile()
    keys: list[Key] = []

    def follow(cache: Any, of: Any) -> None:
        cache.follow(lambda change: keys.extend(of(change)))

    pods = wakes.Members(stage.world)
    follow(stage.world.groups, wakes.of_group)
    follow(stage.world.sets, lambda change: wakes.of_set(stage.world, change))
    follow(stage.world.cliques, pods.of_clique)
    follow(stage.world.pods, pods.of_pod)
    stage.come_up()
    keys.clear()
    return keys


def test_a_change_of_the_wish_wakes_and_a_status_does_not() -> None:
    async def act(stage: Stage) -> None:
        keys = await awake(stage)
        stage.change(SCALING_GROUPS, NAME, {"status": {"phase": "Running"}})
        assert keys == []
        stage.scale(3)
        assert keys == [KEY]

    play(act)


def test_a_member_wakes_when_it_changes_goes_or_breaks_and_not_when_it_counts() -> None:
    async def act(stage: Stage) -> None:
        keys = await awake(stage)
        stage.change(POD_CLIQUES, WORKER, {"status": {"readyReplicas": 1}})
        assert keys == []
        await stage.clock.sleep(5.0)
        stage.say(WORKER, breached=True)
        assert keys == [KEY]
        stage.change(POD_CLIQUES, WORKER, {"metadata": {"labels": {"theirs": "1"}}})
        stage.change(POD_CLIQUES, WORKER, {"metadata": {"deletionTimestamp": timestamp(stage.clock.wall())}})
        stage.take(POD_CLIQUES, WORKER)
        assert keys == [KEY] * 4

    play(act)


def test_pods_wake_when_their_clique_crosses_its_minimum() -> None:
    async def act(stage: Stage) -> None:
        keys = await awake(stage)
        gone = {"deletionTimestamp": timestamp(stage.clock.wall()), "deletionGracePeriodSeconds": 30}
        stage.change(PODS, f"{WORKER}-0", {"metadata": gone})
        assert keys == [], "one of two is left, and one is enough"
        stage.change(PODS, f"{WORKER}-1", {"metadata": gone})
        assert keys == [KEY]
        stage.take(PODS, f"{WORKER}-0")
        assert keys == [KEY]

    play(act)


def test_a_new_template_wakes_all_groups_of_the_set() -> None:
    async def act(stage: Stage) -> None:
        keys = await awake(stage)
        stage.show(leader_and_worker(image="server:v2"))
        assert keys == [KEY]

    play(act)


def test_a_turn_wakes_the_groups_of_its_replica_only() -> None:
    async def act(stage: Stage) -> None:
        keys = await awake(stage)
        stage.change(POD_CLIQUE_SETS, "x", {"status": {"updateProgress": {"updateStartedAt": "2030-01-01T00:00:00Z"}}})
        assert keys == [KEY]
        keys.clear()
        for index, woken in ((1, []), (0, [KEY]), (2, [KEY, KEY])):
            selected = {"updateProgress": {"currentlyUpdating": [{"replicaIndex": index}]}}
            stage.change(POD_CLIQUE_SETS, "x", {"status": selected})
            assert keys == woken
        stage.change(POD_CLIQUE_SETS, "x", {"status": {"availableReplicas": 1}})
        assert keys == [KEY, KEY]
        stage.change(POD_CLIQUE_SETS, "x", {"status": {"updateProgress": {"updateEndedAt": "2030-01-01T00:00:00Z"}}})
        assert keys == [KEY] * 3

    play(act)


def test_all_that_is_followed_is_in_the_sources() -> None:
    async def act(stage: Stage) -> None:
        assert len(wakes.sources(stage.world)) == 4

    play(act)

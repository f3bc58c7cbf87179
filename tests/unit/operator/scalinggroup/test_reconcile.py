"""What the controller of scaling groups writes, and in which order."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from grove.api import labels
from grove.api.conditions import timestamp
from grove.kube.errors import Conflict, Forbidden
from grove.kube.fence import NotLeaderError
from grove.operator.failures import StepError
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS
from grove.operator.tree import Tree
from grove.runtime.outcomes import RequeueAfter, RequeueAt, Retry
from tests.unit.operator.scalinggroup.builders import after, leader_and_worker
from tests.unit.operator.scalinggroup.stage import NAME, Stage, play

MEMBERS = [f"x-0-sg-{index}-{name}" for index in (0, 1) for name in ("leader", "worker")]


async def ready(stage: Stage, **fields: Any) -> None:
    """A group with all members up."""
    stage.show(leader_and_worker(**fields))
    await stage.reconcile()
    stage.come_up()
    await stage.rest()
    stage.forget()


def refuse(text: str, error: Exception) -> Callable[[str], Exception | None]:
    """Fails the writes that begin so."""
    return lambda write: error if write.startswith(text) else None


# Members


def test_a_new_group_gets_its_members_with_one_event_and_one_status() -> None:
    async def act(stage: Stage) -> None:
        stage.show(leader_and_worker())
        first = await stage.reconcile()
        assert isinstance(first, RequeueAt)
        assert first.time == stage.clock.wall() + datetime.timedelta(seconds=3)
        assert stage.writes == [f"create podcliques {name}" for name in MEMBERS]
        created = f"created 4 PodCliques: {', '.join(MEMBERS)}"
        assert stage.events == [("PodCliqueScalingGroup", "Normal", "PodCliqueCreateSuccessful", created)]
        stage.come_up()
        await stage.rest()
        assert stage.writes[4:] == [f"patch status podcliquescalinggroups {NAME}"]
        assert stage.group.status is not None
        assert stage.group.status.available_replicas == 2
        assert stage.group.status.phase == "Running"
        assert await stage.reconcile() is None

    play(act)


def test_what_somebody_changes_of_members_at_rest_is_put_right() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        worker = "x-0-sg-1-worker"
        changes: tuple[dict[str, Any], ...] = (
            {"metadata": {"labels": {labels.POD_GANG: None}}},
            {"metadata": {"generation": 2}, "spec": {"minAvailable": 2}},
            {"metadata": {"finalizers": []}},
        )
        for change in changes:
            assert await stage.reconcile() is None
            stage.change(POD_CLIQUES, worker, change)
            await stage.reconcile()
            assert stage.writes == [f"patch podcliques {worker}"]
            stage.forget()
            await stage.rest()
            assert stage.writes == []

    play(act)


def test_scaling_in_deletes_the_highest_copies_and_tells_the_set() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage, copies=4)
        stage.scale(2)
        await stage.reconcile()
        assert stage.names() == set(MEMBERS)
        message = f"deleted 2 replicas: 2, 3 of {NAME}: it is not wanted any more"
        assert stage.events == [("PodCliqueSet", "Normal", "PodCliqueScalingGroupReplicaDeleteSuccessful", message)]

    play(act)


def test_a_member_that_somebody_deletes_is_made_again_when_it_is_gone() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        stage.change(POD_CLIQUES, MEMBERS[0], {"metadata": {"deletionTimestamp": timestamp(stage.clock.wall())}})
        await stage.reconcile()
        assert MEMBERS[0] not in stage.names()
        stage.sweep()
        await stage.reconcile()
        assert MEMBERS[0] in stage.names()

    play(act)


def test_a_group_whose_set_is_about_to_delete_it_gets_no_members() -> None:
    async def act(stage: Stage) -> None:
        stage.show(leader_and_worker(replicas=0))
        assert await stage.reconcile() is None
        stage.show(leader_and_worker())
        gone = {"deletionTimestamp": timestamp(stage.clock.wall()), "finalizers": [labels.POD_CLIQUE_SET_FINALIZER]}
        stage.change(POD_CLIQUE_SETS, "x", {"metadata": gone})
        assert await stage.reconcile() is None
        stage.take(POD_CLIQUE_SETS, "x")
        assert await stage.reconcile() is None
        stage.take(SCALING_GROUPS, NAME)
        assert await stage.reconcile() is None
        assert stage.writes == []

    play(act)


# Updates


def test_an_update_is_noted_before_the_first_copy_goes_and_ends_when_all_are_new() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        pcs = leader_and_worker(image="server:v2")
        stage.show(pcs)
        await stage.reconcile()
        assert stage.writes == [
            f"patch status podcliquescalinggroups {NAME}",
            "delete podcliques x-0-sg-0-leader",
            "delete podcliques x-0-sg-0-worker",
        ]
        message = f"deleted replica 0 of {NAME}: it is made anew from the new templates"
        assert stage.events == [("PodCliqueSet", "Normal", "PodCliqueScalingGroupReplicaDeleteSuccessful", message)]
        for _ in range(4):
            stage.sweep()
            await stage.rest()
            stage.come_up()
        await stage.rest()
        assert [write for write in stage.writes if write.startswith(("delete", "create"))] == [
            f"{verb} podcliques x-0-sg-{index}-{name}"
            for index in (0, 1)
            for verb in ("delete", "create")
            for name in ("leader", "worker")
        ]
        held = stage.group.status
        assert held is not None
        assert held.update_progress is not None
        assert held.update_progress.update_ended_at is not None
        assert held.updated_replicas == 2
        assert held.current_pod_clique_set_generation_hash == Tree(pcs, {}).generation_hash

    play(act)


def test_nothing_goes_while_another_replica_of_the_set_is_updated() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        started = timestamp(stage.clock.wall())
        other = {"updateStartedAt": started, "currentlyUpdating": [{"replicaIndex": 1}]}
        stage.show(leader_and_worker(image="server:v2"), updateProgress=other)
        await stage.rest()
        assert stage.names() == set(MEMBERS)
        stage.show(
            leader_and_worker(image="server:v2"),
            updateProgress={"updateStartedAt": started, "currentlyUpdating": [{"replicaIndex": 0}]},
        )
        await stage.reconcile()
        assert stage.names() == set(MEMBERS[2:])

    play(act)


def test_nothing_goes_if_the_update_cannot_be_noted() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        stage.show(leader_and_worker(image="server:v2"))
        stage.fails = refuse("patch status", Conflict("changed", code=409))
        assert isinstance(await stage.reconcile(), RequeueAfter)
        assert stage.writes == []

    play(act)


def test_with_on_delete_members_are_patched_and_no_copy_goes() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage, updateStrategy={"type": "OnDelete"})
        stage.show(leader_and_worker(image="server:v2", updateStrategy={"type": "OnDelete"}))
        await stage.reconcile()
        assert stage.writes[:4] == [f"patch podcliques {name}" for name in MEMBERS]
        assert stage.group.status is not None
        assert stage.group.status.update_progress is not None
        assert stage.group.status.update_progress.update_ended_at is not None
        assert stage.events[0][2] == "PodCliqueCreateOrUpdateSuccessful"

    play(act)


def test_an_update_that_stands_still_is_looked_at_when_its_deadline_is_over() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage, rollingUpdate={"progressDeadline": "5m"})
        stage.show(leader_and_worker(image="server:v2", rollingUpdate={"progressDeadline": "5m"}))
        await stage.reconcile()
        stage.sweep()
        await stage.rest()
        due = after(60) + datetime.timedelta(minutes=5)  # since the pods of the copy that is left became ready
        assert await stage.reconcile() == RequeueAt(due)
        await stage.clock.sleep((due - stage.clock.wall()).total_seconds())
        await stage.rest()
        assert stage.group.status is not None
        reasons = {one.reason for one in stage.group.status.conditions}
        assert "ProgressDeadlineExceeded" in reasons

    play(act)


# Gang termination


def test_a_broken_copy_is_made_anew_exactly_when_its_delay_is_over() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage, terminationDelay="1h")
        broken = stage.clock.wall().replace(microsecond=0)
        stage.come_up(broken=("x-0-sg-1-worker",))
        await stage.rest()
        assert await stage.reconcile() == RequeueAt(broken + datetime.timedelta(hours=1))
        await stage.clock.sleep(3600.0)
        await stage.reconcile()
        assert stage.names() == set(MEMBERS[:2])
        assert stage.events[-1][2:] == (
            "PodCliqueScalingGroupReplicaDeleteSuccessful",
            f"deleted replica 1 of {NAME}: it was below its minimum for 1h; it is made anew",
        )
        stage.sweep()
        await stage.reconcile()
        assert stage.names() == set(MEMBERS)

    play(act)


# When it fails


def test_what_fails_is_told_in_the_status_and_in_an_event_and_tried_again() -> None:
    async def act(stage: Stage) -> None:
        stage.show(leader_and_worker())
        stage.fails = refuse("create podcliques x-0-sg-0", Forbidden("quota is used up", code=403))
        with pytest.raises(StepError, match="ERR_CREATE_PODCLIQUES"):
            await stage.reconcile()
        assert stage.group.status is not None
        (error,) = stage.group.status.last_errors
        assert error.code == "ERR_CREATE_PODCLIQUES"
        assert "x-0-sg-0-leader" in error.description
        assert "quota is used up" in error.description
        assert [event[:3] for event in stage.events] == [("PodCliqueScalingGroup", "Warning", "PodCliqueCreateFailed")]
        stage.fails = lambda _: None
        await stage.rest()
        assert stage.group.status.last_errors == ()
        assert stage.group.status.observed_generation == 1

    play(act)


def test_a_name_that_is_still_held_is_waited_for_without_an_error() -> None:
    async def act(stage: Stage) -> None:
        stage.show(leader_and_worker())
        stage.fails = refuse("create podcliques", Retry("still being deleted", after=0.5))
        found = await stage.reconcile()
        assert isinstance(found, RequeueAt)
        assert found.time == stage.clock.wall() + datetime.timedelta(seconds=0.5)
        assert stage.events == []

    play(act)


def test_who_is_no_leader_any_more_stops_at_once() -> None:
    async def act(stage: Stage) -> None:
        stage.show(leader_and_worker())
        stage.fails = refuse("create", NotLeaderError("over"))
        with pytest.raises(NotLeaderError):
            await stage.reconcile()
        assert stage.writes == []
        assert stage.events == []

    play(act)


# Deletion


def test_a_group_that_is_deleted_takes_its_members_with_it() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        gone = {"deletionTimestamp": timestamp(stage.clock.wall())}
        finalizers = ["theirs", labels.SCALING_GROUP_FINALIZER]
        stage.change(SCALING_GROUPS, NAME, {"metadata": {**gone, "finalizers": finalizers}})
        assert await stage.reconcile() is None
        assert stage.writes == [
            f"delete all podcliques grove-operator,{NAME}",
            f"patch podcliquescalinggroups {NAME}",
        ]
        assert stage.group.metadata.finalizers == ("theirs",)
        for name in MEMBERS:
            stage.change(POD_CLIQUES, name, {"metadata": gone})
        stage.forget()
        assert await stage.reconcile() is None
        assert stage.writes == []

    play(act)


def test_a_group_that_changes_while_it_is_let_go_is_looked_at_again() -> None:
    async def act(stage: Stage) -> None:
        await ready(stage)
        stage.change(SCALING_GROUPS, NAME, {"metadata": {"deletionTimestamp": timestamp(stage.clock.wall())}})
        stage.fails = refuse("patch", Conflict("changed", code=409))
        assert isinstance(await stage.reconcile(), RequeueAfter)

    play(act)

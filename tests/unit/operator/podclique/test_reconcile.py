"""The PodClique controller, from what is in the caches to what is written."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest

from grove.api import conditions, labels
from grove.kube.fence import NotLeaderError
from grove.kube.resources import PODS
from grove.operator import pods
from grove.operator.failures import StepError
from grove.operator.podclique import status
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS
from grove.operator.tree import Tree
from grove.runtime.outcomes import RequeueAfter
from tests.unit.operator.builders import NEW, clique, gang, pcs, template_clique
from tests.unit.operator.podclique.simulated import Simulated


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


def pod_names(found: Simulated) -> list[str]:
    return sorted(one.metadata.name for one in found.pods)


async def settle(found: Simulated) -> None:
    """All pods run, and the status is written."""
    await found.reconcile()
    for one in found.pods:
        found.move(one.metadata.name, node="n", ready=True)
    await quiet(found)


async def quiet(found: Simulated) -> None:
    for _ in range(3):
        await found.reconcile()
        found.clock.seconds += 1.0
    await found.reconcile()


def test_pods_are_made_and_when_all_is_well_nothing_is_written() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=3))
        await settle(found)
        assert len(found.pods) == 3
        held = found.clique.status
        assert held is not None
        assert (held.phase, held.ready_replicas, held.observed_generation) == ("Running", 3, 1)
        assert not found.events.recorded
        found.server.writes.clear()
        assert await found.reconcile() is None
        found.restart()
        assert await found.reconcile() is None
        assert not found.server.writes

    play(scene())


def test_coming_up_costs_one_status_however_many_pods_change() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=8))
        await found.reconcile()
        for name in pod_names(found):
            found.move(name, node="n")
            await found.reconcile()
            found.move(name, ready=True)
            found.clock.seconds += 0.1
            await found.reconcile()
        await quiet(found)
        assert [write for write in found.server.writes if write[0] == "patch status"] == [
            ("patch status", POD_CLIQUES.name, found.key.name)
        ]

    play(scene())


def test_an_answer_that_is_lost_makes_no_second_pod() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=1))
        found.server.faults.append("lost")
        with pytest.raises(StepError, match="ERR_CREATE_POD"):
            await found.reconcile()
        assert len(found.pods) == 1
        found.restart()
        await found.reconcile()
        assert len(found.pods) == 1
        await quiet(found)
        held = found.clique.status
        assert held is not None
        assert not held.last_errors

    play(scene())


def test_what_fails_is_told_and_when_it_goes_well_taken_back() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=4))
        found.server.faults.extend(["", "refused"])
        with pytest.raises(StepError, match="exceeded quota"):
            await found.reconcile()
        held = found.clique.status
        assert held is not None
        assert [one.code for one in held.last_errors] == ["ERR_CREATE_POD"]
        assert held.observed_generation is None
        assert held.conditions
        assert found.events.reasons == ["PodCreateFailed"]
        assert len(found.pods) == 2
        await quiet(found)
        held = found.clique.status
        assert held is not None
        assert (held.last_errors, len(found.pods)) == ((), 4)

    play(scene())


def test_a_pod_of_somebody_else_with_our_name_is_an_error_and_stays() -> None:
    async def scene() -> None:
        found = Simulated()
        await found.reconcile()
        tree = found.server.trees[PODS.name, pod_names(found)[0]]
        found.server.remove(PODS, tree["metadata"]["name"])
        tree["metadata"] |= {"ownerReferences": [], "uid": "foreign"}
        found.server.trees[PODS.name, tree["metadata"]["name"]] = tree
        with pytest.raises(StepError, match="does not belong to demo-0-worker: delete or rename it"):
            await found.reconcile()
        assert found.server.trees[PODS.name, tree["metadata"]["name"]]["metadata"]["uid"] == "foreign"

    play(scene())


def test_a_failed_pod_is_replaced_later_each_time() -> None:
    async def scene() -> None:
        found = Simulated()
        await settle(found)
        for wait in (None, 10.0, 20.0):
            found.move(pod_names(found)[0], phase="Failed", ready=None)
            outcome = await found.reconcile()
            if wait is not None:
                assert isinstance(outcome, RequeueAfter)
                assert len(found.pods) == 1
                assert found.pods[0].status.phase == "Failed"
                found.clock.seconds += wait
                await found.reconcile()
            for one in [one for one in found.pods if one.metadata.deletion_timestamp]:
                found.server.remove(PODS, one.metadata.name)
            assert [one.status.phase for one in found.pods] == ["Pending"]

    play(scene())


def test_scaling_in_is_told_in_one_event() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=9))
        await settle(found)
        found.change(replicas=1)
        await found.reconcile()
        (type, reason, message), *others = found.events.recorded
        assert (type, reason, others) == ("Normal", "PodDeleteSuccessful", [])
        assert message.startswith("deleted 8 pods: ")
        assert message.endswith(" and 3 more (scaled in)")

    play(scene())


def test_a_changed_template_replaces_one_pod_after_the_other() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=3))
        await settle(found)
        found.change(hash="newer")
        for number in range(1, 4):
            await found.reconcile()
            going = [one for one in found.pods if one.metadata.deletion_timestamp]
            assert len(going) == 1
            held = found.clique.status
            assert held is not None
            assert held.update_progress is not None
            selection = held.update_progress.ready_pods_selected_to_update
            assert selection is not None
            assert (selection.current, len(selection.completed)) == (going[0].metadata.name, number - 1)
            assert conditions.is_true(held.conditions, status.UPDATING)
            await found.reconcile()
            found.server.remove(PODS, going[0].metadata.name)
            fresh = next(one for one in found.pods if not one.node_name)
            found.move(fresh.metadata.name, node="n", ready=True)
            found.clock.seconds += 1
        await found.reconcile()
        held = found.clique.status
        assert held is not None
        assert held.update_progress is not None
        assert held.update_progress.update_ended_at is not None
        assert (held.updated_replicas, held.phase) == (3, "Running")

    play(scene())


def test_that_an_update_has_begun_is_stored_before_it_takes_a_pod_away() -> None:
    """Who is killed in between finds no old pod any more that would tell of it."""

    async def scene() -> None:
        found = Simulated(clique(replicas=1))
        await settle(found)
        found.change(hash="newer")
        found.server.faults.extend(["", "deposed"])
        with pytest.raises(NotLeaderError):
            await found.reconcile()
        held = found.clique.status
        assert held is not None
        assert held.update_progress is not None
        assert (held.update_progress.pod_template_hash, held.update_progress.update_ended_at) == ("newer", None)
        found.server.writes.clear()
        found.restart()
        await found.reconcile()
        assert [verb for verb, _, _ in found.server.writes] == ["delete", "patch status"]

    play(scene())


def test_who_deletes_pods_himself_gets_new_ones_and_keeps_the_others_also_after_a_change_of_mind() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=2), pcs(updateStrategy={"type": "OnDelete"}))
        await settle(found)
        found.change(hash="newer")
        await found.reconcile()
        assert not [one for one in found.pods if one.metadata.deletion_timestamp]
        held = found.clique.status
        assert held is not None
        assert held.update_progress is not None
        assert held.update_progress.update_started_at == held.update_progress.update_ended_at
        found.server.remove(PODS, pod_names(found)[0])
        await quiet(found)
        assert sorted(map(pods.template_hash, found.pods)) == [NEW, "newer"]
        found.server.put(POD_CLIQUE_SETS, msgspec.to_builtins(pcs(updateStrategy={"type": "RollingRecreate"})))
        await quiet(found)
        assert sorted(map(pods.template_hash, found.pods)) == [NEW, "newer"]

    play(scene())


def test_an_update_that_is_stuck_says_so_when_its_time_is_over() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=1, rollingUpdate={"progressDeadline": "10m"}))
        await settle(found)
        found.change(hash="newer")
        outcome = await found.reconcile()
        assert isinstance(outcome, RequeueAfter)
        assert outcome.seconds == pytest.approx(600.0, abs=1.0)
        found.clock.seconds += outcome.seconds
        found.server.remove(PODS, next(one.metadata.name for one in found.pods if one.metadata.deletion_timestamp))
        await found.reconcile()
        held = found.clique.status
        assert held is not None
        condition = conditions.find(held.conditions, status.UPDATING)
        assert condition is not None
        assert (condition.status, condition.reason) == ("Unknown", "ProgressDeadlineExceeded")

    play(scene())


def test_pods_wait_at_our_gate_until_their_gang_names_them() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=2), scheduler="default-scheduler")
        await found.reconcile()
        names = pod_names(found)
        assert all(one.spec.scheduling_gates for one in found.pods)
        found.server.put(POD_GANGS, msgspec.to_builtins(gang(demo_0_worker=(2, (names[0],)))))
        await found.reconcile()
        assert [one.metadata.name for one in found.pods if not one.spec.scheduling_gates] == [names[0]]

    play(scene())


def test_pods_of_a_scaled_gang_wait_until_the_base_gang_is_scheduled() -> None:
    async def scene() -> None:
        group = {"name": "group", "cliqueNames": ["worker"], "replicas": 2, "minAvailable": 1}
        template = {"podCliqueScalingGroups": [group]}
        found_set = pcs("demo", template_clique("router"), template_clique("worker"), template=template)
        base = clique("demo-0-router", metadata={"labels": {labels.CLIQUE: "router"}})
        found = Simulated(base, found_set, scheduler="default-scheduler")
        await found.reconcile()
        base_pod = pod_names(found)[0]
        found.server.put(POD_GANGS, msgspec.to_builtins(gang(demo_0_router=(1, (base_pod,)))))
        await found.reconcile()
        marks = {
            labels.BASE_POD_GANG: "demo-0",
            labels.SCALING_GROUP: "demo-0-group",
            labels.SCALING_GROUP_REPLICA_INDEX: "1",
        }
        found.add(clique("demo-0-group-1-worker", gang="demo-0-group-0", metadata={"labels": marks}))
        await found.reconcile()
        (scaled_pod,) = {*pod_names(found)} - {base_pod}
        gangs = msgspec.to_builtins(gang("demo-0-group-0", demo_0_group_1_worker=(1, (scaled_pod,))))
        found.server.put(POD_GANGS, gangs)
        await found.reconcile()
        assert [one.metadata.name for one in found.pods if one.spec.scheduling_gates] == [scaled_pod]
        found.move(base_pod, node="n")
        await found.reconcile()
        assert not [one for one in found.pods if one.spec.scheduling_gates]

    play(scene())


def test_what_cannot_be_made_does_not_hold_back_what_is_there() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=1), scheduler="default-scheduler")
        await found.reconcile()
        (name,) = pod_names(found)
        found.server.put(POD_GANGS, msgspec.to_builtins(gang(demo_0_worker=(1, (name,)))))
        found.change(replicas=2)
        found.server.faults.extend(["", "refused"])
        with pytest.raises(StepError, match="exceeded quota"):
            await found.reconcile()
        assert [one.spec.scheduling_gates for one in found.pods] == [()]

    play(scene())


def test_an_update_that_takes_the_only_pod_away_is_no_loss() -> None:
    async def scene() -> None:
        found = Simulated()
        await settle(found)
        found.change(hash="newer")
        await found.reconcile()
        await quiet(found)
        assert found.events.reasons == ["PodDeleteSuccessful", "PodCreateSuccessful"]

    play(scene())


def test_a_pod_of_another_gang_is_told_its_own() -> None:
    async def scene() -> None:
        found = Simulated()
        await found.reconcile()
        tree = found.server.trees[PODS.name, pod_names(found)[0]]
        marks = {**tree["metadata"]["labels"], labels.POD_GANG: "other", labels.BASE_POD_GANG: "base"}
        found.server.put(PODS, {**tree, "metadata": {**tree["metadata"], "labels": marks}})
        await found.reconcile()
        told = found.pods[0].metadata.labels or {}
        assert (told[labels.POD_GANG], told.get(labels.BASE_POD_GANG)) == ("demo-0", None)

    play(scene())


def test_a_pod_that_somebody_deleted_meanwhile_is_no_error() -> None:
    async def scene() -> None:
        found = Simulated(scheduler="default-scheduler")
        await found.reconcile()
        (name,) = pod_names(found)
        found.server.put(POD_GANGS, msgspec.to_builtins(gang(demo_0_worker=(1, (name,)))))
        del found.server.trees[PODS.name, name]
        await found.reconcile()
        await found.reconcile()
        assert pod_names(found) == [name]

    play(scene())


def test_a_leader_whose_term_is_over_stops_at_once() -> None:
    async def scene() -> None:
        gated = Simulated(scheduler="default-scheduler")
        await gated.reconcile()
        gated.server.put(POD_GANGS, msgspec.to_builtins(gang(demo_0_worker=(1, (*pod_names(gated),)))))
        gated.change(replicas=2)
        gated.server.writes.clear()
        gated.server.faults.append("deposed")
        with pytest.raises(NotLeaderError):
            await gated.reconcile()
        assert [verb for verb, _, _ in gated.server.writes] == ["patch"]
        found = Simulated(clique(replicas=2))
        found.server.faults.append("deposed")
        with pytest.raises(NotLeaderError):
            await found.reconcile()
        assert len(found.server.writes) == 1

    play(scene())


def test_a_podclique_that_stands_nowhere_in_its_set_says_so() -> None:
    async def scene() -> None:
        found = Simulated(clique(metadata={"labels": {labels.CLIQUE: "unheard-of"}}))
        with pytest.raises(StepError, match="has no place in PodCliqueSet demo"):
            await found.reconcile()
        assert not found.pods

    play(scene())


def test_the_loss_of_all_nodes_is_an_event() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=2))
        await settle(found)
        for one in found.pods:
            found.server.remove(PODS, one.metadata.name)
        await quiet(found)
        assert found.events.reasons == ["PodCreateSuccessful", "AllScheduledReplicasLost"]

    play(scene())


def test_a_podclique_that_goes_takes_its_pods_along_and_waits_for_nothing() -> None:
    async def scene() -> None:
        found = Simulated(clique(replicas=3))
        await settle(found)
        tree = found.tree
        found.server.put(
            POD_CLIQUES, {**tree, "metadata": {**tree["metadata"], "deletionTimestamp": "2030-01-01T12:00:00Z"}}
        )
        found.server.writes.clear()
        await found.reconcile()
        assert [verb for verb, _, _ in found.server.writes] == [
            "delete collection",
            "delete",
            "delete",
            "delete",
            "patch",
        ]
        assert not found.server.all(POD_CLIQUES)
        assert all(one.metadata.deletion_timestamp for one in found.pods)
        assert await found.reconcile() is None

    play(scene())


def test_a_podclique_that_others_still_hold_says_that_it_goes() -> None:
    async def scene() -> None:
        marks = {"finalizers": [labels.POD_CLIQUE_FINALIZER, "foregroundDeletion"]}
        found = Simulated(clique(metadata=marks | {"deletionTimestamp": "2030-01-01T12:00:00Z"}))
        await found.reconcile()
        assert found.tree["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert found.clique.status is not None
        assert found.clique.status.phase == "Terminating"

    play(scene())


def test_nothing_is_made_when_the_set_is_gone_or_another_one() -> None:
    async def scene() -> None:
        found = Simulated()
        found.tree["metadata"]["ownerReferences"][0]["uid"] = "before"
        found.server.put(POD_CLIQUES, found.tree)
        assert await found.reconcile() is None
        assert not found.server.writes

    play(scene())


def test_a_missing_finalizer_is_put_back() -> None:
    async def scene() -> None:
        found = Simulated(clique(metadata={"finalizers": ["other"]}))
        await found.reconcile()
        assert found.tree["metadata"]["finalizers"] == ["other", labels.POD_CLIQUE_FINALIZER]

    play(scene())


def test_a_podclique_without_a_gang_says_what_to_do() -> None:
    async def scene() -> None:
        found = Simulated(clique(gang=""))
        with pytest.raises(StepError, match=r"has no label grove\.io/podgang"):
            await found.reconcile()
        assert not found.pods

    play(scene())


def test_the_hashes_are_those_of_the_set_if_the_template_is() -> None:
    async def scene() -> None:
        other = Simulated()
        await settle(other)
        assert other.clique.status is not None
        assert other.clique.status.current_pod_template_hash is None
        found_set = pcs("demo", template_clique("worker"))
        hash = Tree(found_set, {}).template_hashes["worker"]
        found = Simulated(clique(hash=hash), found_set)
        await settle(found)
        held = found.clique.status
        assert held is not None
        assert (held.current_pod_template_hash, held.current_pod_clique_set_generation_hash) == (hash, "generation")
        assert held.update_progress is None
        assert hash != NEW

    play(scene())

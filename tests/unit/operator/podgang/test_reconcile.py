"""When a PodGang is written, and when its controller waits."""

import datetime
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from grove.api import labels
from grove.api.kinds.podgang import PodGang
from grove.api.policy import Policy
from grove.kube.errors import Cause, Conflict, Forbidden, Invalid, NotFound, StatusDetails
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.operator.failures import StepError
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS
from grove.operator.world import Key
from grove.runtime.outcomes import RequeueAfter, RequeueAt, Retry
from grove.testing import virtualtime
from grove.testing.virtualtime import EPOCH, VirtualClock
from tests.unit.operator.podgang.builders import Cluster, clique, merged, pcs, pod, tree_of, with_metadata
from tests.unit.operator.podgang.stage import Stage, owned

PLAIN = Policy(default_scheduler="default-scheduler")
CREATED = ["create podgangs set-0"]
TOLD = [*CREATED, "patch status podgangs set-0"]
LATER = RequeueAfter(30.0)
"""Until the scheduler has said nothing of a gang for so long."""


def play(act: Callable[[Stage, VirtualClock], Coroutine[Any, Any, None]], policy: Policy | None = None) -> None:
    async def main(clock: VirtualClock) -> None:
        await act(Stage(clock, policy), clock)

    virtualtime.run(main)


def cluster(replicas: int = 3) -> Cluster:
    """Its PodCliques were made when the clock started."""
    found = Cluster(pcs([clique("a", replicas)]))
    metadata = {"creationTimestamp": EPOCH.strftime("%Y-%m-%dT%H:%M:%SZ")}
    for name, one in found.cliques.items():
        found.cliques[name] = with_metadata(one, **metadata)
    return found


def say(stage: Stage, *conditions: str, phase: str = "Starting") -> None:
    """What a scheduler of gangs says."""
    since = {"status": "True", "reason": "Theirs", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    said = {"phase": phase, "conditions": [{"type": type, **since} for type in conditions]}
    stage.put(POD_GANGS, merged(tree_of(stage.gang), {"status": said}), PodGang)


def test_a_whole_gang_takes_two_writes_where_the_operator_reports_it() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        assert await stage.reconcile() is None
        assert stage.writes == TOLD
        assert stage.events == [("Normal", "PodGangCreateOrUpdateSuccessful", "Created a PodGang")]
        assert await stage.reconcile() is None
        assert stage.writes == TOLD

    play(act, PLAIN)


def test_a_whole_gang_takes_one_write_where_its_scheduler_reports_it() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        stage.show(cluster())
        assert await stage.reconcile() == LATER
        say(stage, "Initialized", "Scheduled")
        await clock.sleep(31.0)
        assert await stage.reconcile() is None
        assert stage.writes == CREATED

    play(act)


@pytest.mark.parametrize("said", [(), ("Scheduled",)])
def test_a_scheduler_that_does_not_say_that_a_gang_is_whole_is_helped_out_after_a_while(said: tuple[str, ...]) -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        stage.show(cluster())
        await stage.reconcile()
        if said:
            say(stage, *said)
        assert await stage.reconcile() == LATER
        await clock.sleep(30.0)
        assert await stage.reconcile() is None
        assert stage.writes == TOLD
        assert stage.gang is not None
        assert stage.gang.status is not None
        assert [one.type for one in stage.gang.status.conditions] == [*said, "Initialized"]

    play(act)


def test_a_gang_that_loses_a_pod_before_its_scheduler_has_seen_it_is_marked_as_not_whole() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        found = cluster()
        stage.show(found)
        await stage.reconcile()
        stage.take(PODS, "set-0-a-p0")
        await stage.reconcile()
        await clock.sleep(1.0)
        assert await stage.reconcile() is None
        assert stage.gang is not None
        assert [one.status for one in stage.gang.status.conditions] == ["False"]  # type: ignore[union-attr]
        stage.put(PODS, owned(pod("new"), found.cliques["set-0-a"]), PodView)
        assert await stage.reconcile() is None
        assert [one.status for one in stage.gang.status.conditions] == ["True"]  # type: ignore[union-attr]

    play(act)


def test_it_waits_five_seconds_for_pods_that_are_missing() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        found = cluster()
        last = found.pods["set-0-a"].pop()
        stage.show(found)
        assert await stage.reconcile() == RequeueAt(EPOCH + datetime.timedelta(seconds=5))
        assert stage.writes == []
        await clock.sleep(5.0)
        assert await stage.reconcile() is None
        assert stage.writes == TOLD
        assert stage.refers_to() == ["set-0-a-p0", "set-0-a-p1"]
        stage.put(PODS, owned(last, found.cliques["set-0-a"]), PodView)
        assert await stage.reconcile() is None
        assert stage.writes[2:] == ["patch podgangs set-0", "patch status podgangs set-0"]
        assert len(stage.events) == 1, "pods that come are no event"

    play(act)


def test_without_any_podclique_there_is_nothing_to_do() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        found = cluster()
        found.cliques.clear()
        stage.show(found)
        assert await stage.reconcile() is None
        assert stage.writes == []

    play(act)


def extras() -> Cluster:
    """Five pods, of which two are the minimum."""
    found = cluster(5)
    tree = Cluster(pcs([clique("a", 5, spec={"minAvailable": 2})])).tree
    found.tree = tree
    return found


def test_references_of_a_gang_that_is_being_refilled_are_written_once_a_second() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        found = extras()
        stage.show(found)
        await stage.reconcile()
        say(stage, "Initialized")
        for name in ("set-0-a-p0", "set-0-a-p1", "set-0-a-p2"):
            stage.take(PODS, name)
        stage.writes.clear()
        assert await stage.reconcile() == RequeueAfter(1.0)
        await clock.sleep(1.0)
        assert await stage.reconcile() is None
        assert stage.refers_to() == ["set-0-a-p3", "set-0-a-p4"]
        await clock.sleep(0.25)
        for number in (1, 2):
            new = pod(f"set-0-a-new{number}")
            stage.put(PODS, owned(new, found.cliques["set-0-a"]), PodView)
            assert await stage.reconcile() == RequeueAfter(0.75)
        assert stage.writes == ["patch podgangs set-0"]
        await clock.sleep(0.75)
        assert await stage.reconcile() is None
        assert len(stage.refers_to()) == 4
        stage.put(PODS, owned(pod("set-0-a-new3"), found.cliques["set-0-a"]), PodView)
        assert await stage.reconcile() is None, "a gang that is whole again is written at once"
        assert len(stage.refers_to()) == 5
        assert len(stage.writes) == 3

    play(act)


def test_a_pod_that_is_replaced_at_once_is_one_write() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        found = cluster()
        stage.show(found)
        await stage.reconcile()
        say(stage, "Initialized")
        stage.writes.clear()
        for number in range(3):
            stage.take(PODS, f"set-0-a-p{number}")
            assert await stage.reconcile() == RequeueAfter(1.0)
            await clock.sleep(0.5)
            stage.put(PODS, owned(pod(f"set-0-a-new{number}"), found.cliques["set-0-a"]), PodView)
            assert await stage.reconcile() is None
        assert stage.writes == ["patch podgangs set-0"] * 3

    play(act)


def test_a_gang_that_is_built_anew_names_no_new_pods_before_each_group_has_its_minimum() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        found = Cluster(pcs([clique("a", 2), clique("b", 3, spec={"minAvailable": 2})]))
        stage.show(found)
        await stage.reconcile()
        say(stage, "Initialized")
        for one in list(found.all_pods()):
            stage.take(PODS, one.metadata.name)
        stage.put(PODS, owned(pod("a1"), found.cliques["set-0-a"]), PodView)
        await stage.reconcile()
        await clock.sleep(1.0)
        await stage.reconcile()
        assert stage.refers_to() == []
        for name, owner in (("a2", "set-0-a"), ("b1", "set-0-b")):
            stage.put(PODS, owned(pod(name), found.cliques[owner]), PodView)
            await clock.sleep(1.0)
            assert await stage.reconcile() is None
            assert stage.refers_to() == []
        stage.put(PODS, owned(pod("b2"), found.cliques["set-0-b"]), PodView)
        await clock.sleep(1.0)
        await stage.reconcile()
        assert stage.refers_to() == ["a1", "a2", "b1", "b2"]

    play(act)


def test_other_changes_of_a_gang_are_not_held_back() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        found = cluster()
        stage.show(found)
        await stage.reconcile()
        stage.take(PODS, "set-0-a-p0")
        assert await stage.reconcile() == RequeueAfter(1.0)
        labelled = pcs([clique("a", 3)], metadata={"labels": {"team": "x"}, "generation": 2})
        stage.put(POD_CLIQUE_SETS, labelled, type(labelled))
        stage.take(PODS, "set-0-a-p1")
        await stage.reconcile()
        assert stage.refers_to() == ["set-0-a-p2"]
        assert stage.events[-1] == (
            "Normal",
            "PodGangCreateOrUpdateSuccessful",
            "Updated PodGang set-0: labels, annotations",
        )

    play(act)


def test_statuses_from_pods_are_held_back_until_they_rest() -> None:
    async def act(stage: Stage, clock: VirtualClock) -> None:
        found = cluster(2)
        stage.show(found)
        await stage.reconcile()
        assert stage.writes == TOLD
        for number in (0, 1):
            bound = pod(f"set-0-a-p{number}", node="n", phase="Running", ready=True)
            stage.put(PODS, owned(bound, found.cliques["set-0-a"]), PodView)
            assert await stage.reconcile() == RequeueAfter(1.0)
            await clock.sleep(0.5)
        assert await stage.reconcile() == RequeueAfter(0.5)
        await clock.sleep(0.5)
        assert await stage.reconcile() is None
        assert stage.writes[2:] == ["patch status podgangs set-0"]
        assert stage.gang is not None
        assert stage.gang.status is not None
        assert stage.gang.status.phase == "Running"
        broken = pod("set-0-a-p0", node="n", phase="Running")
        stage.put(PODS, owned(broken, found.cliques["set-0-a"]), PodView)
        assert await stage.reconcile() is None, "a gang that breaks is told at once"
        assert len(stage.writes) == 4

    play(act, PLAIN)


def test_a_gang_beyond_the_counts_is_deleted_and_a_foreign_one_is_not() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        await stage.reconcile()
        none = pcs([clique("a", 3)], replicas=0, metadata={"generation": 2})
        stage.put(POD_CLIQUE_SETS, none, type(none))
        foreign = {"metadata": {"name": "other", "namespace": "ns", "uid": "x"}, "spec": {"podgroups": []}}
        stage.put(POD_GANGS, foreign, PodGang)
        stage.writes.clear()
        await stage.reconcile()
        await stage.reconcile(Key("ns", "other"))
        assert stage.writes == ["delete podgangs set-0"]
        assert stage.events[-1] == ("Normal", "PodGangDeleteSuccessful", "Deleted PodGang set-0: no replica needs it")

    play(act)


@pytest.mark.parametrize("spoilt", [False, True])
def test_an_excess_gang_is_found_without_its_podcliques(spoilt: bool) -> None:
    """By its labels, and by its owner where somebody has taken them off."""

    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        await stage.reconcile()
        stage.take(POD_CLIQUES, "set-0-a")
        if spoilt:
            stage.put(POD_GANGS, with_metadata(stage.gang, labels=None), PodGang)
        none = pcs([clique("a", 3)], replicas=0, metadata={"generation": 2})
        stage.put(POD_CLIQUE_SETS, none, type(none))
        await stage.reconcile()
        assert stage.gang is None

    play(act)


def test_a_foreign_gang_of_our_name_is_left_alone_and_told() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        foreign = {"metadata": {"name": "set-0", "namespace": "ns", "uid": "x"}, "spec": {"podgroups": []}}
        stage.put(POD_GANGS, foreign, PodGang)
        with pytest.raises(StepError, match="PodGang ns/set-0 exists and does not belong to PodCliqueSet set"):
            await stage.reconcile()
        assert stage.writes == []
        assert [one[:2] for one in stage.events] == [("Warning", "PodGangCreateOrUpdateFailed")]

    play(act)


def test_strays_are_relabelled_before_the_gang_is_written() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        found = cluster(1)
        found.pods["set-0-a"] = [pod("stray", gang="another")]
        stage.show(found)
        await stage.reconcile()
        assert stage.writes == ["patch pods stray", *CREATED]
        stray = stage.world.pods.get("stray", "ns")
        assert stray is not None
        assert (stray.metadata.labels or {})[labels.POD_GANG] == "set-0"

    play(act)


ANOTHER = StatusDetails(causes=(Cause(message="field is immutable", field="metadata.uid"),))


@pytest.mark.parametrize(
    "error",
    [
        Conflict("it changed", code=409),
        NotFound("it went", code=404),
        Invalid("it is another", code=422, details=ANOTHER),
    ],
)
def test_what_has_changed_meanwhile_is_decided_anew_and_told_to_nobody(error: Exception) -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        stage.fails = error
        with pytest.raises(Retry):
            await stage.reconcile()
        assert stage.events == []

    play(act)


def test_a_write_that_is_refused_is_told() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        stage.fails = Forbidden("no", code=403)
        with pytest.raises(StepError, match="ERR_CREATE_OR_PATCH_PODGANG"):
            await stage.reconcile()
        assert stage.events == [("Warning", "PodGangCreateOrUpdateFailed", "PodGang set-0: no")]
        stage.fails = None
        assert await stage.reconcile() == LATER

    play(act)


def test_nothing_is_done_for_a_set_that_is_being_deleted_or_gone() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        found = cluster()
        stage.show(found)
        going = with_metadata(found.tree.pcs, deletionTimestamp="2026-01-02T03:04:05Z", finalizers=["x"])
        stage.put(POD_CLIQUE_SETS, going, type(going))
        assert await stage.reconcile() is None
        stage.take(POD_CLIQUE_SETS, "set")
        assert await stage.reconcile() is None
        assert await stage.reconcile(Key("ns", "nothing")) is None
        assert stage.writes == []

    play(act)


def test_a_deletion_that_fails_is_told_and_tried_again() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        await stage.reconcile()
        none = pcs([clique("a", 3)], replicas=0, metadata={"generation": 2})
        stage.put(POD_CLIQUE_SETS, none, type(none))
        stage.fails = Forbidden("no", code=403)
        with pytest.raises(StepError, match="ERR_DELETE_EXCESS_PODGANG"):
            await stage.reconcile()
        assert stage.events[-1] == ("Warning", "PodGangDeleteFailed", "PodGang set-0: no")
        stage.fails = None
        assert await stage.reconcile() is None
        assert stage.gang is None

    play(act)


def test_a_gang_that_is_being_deleted_is_left_to_go() -> None:
    async def act(stage: Stage, _: VirtualClock) -> None:
        stage.show(cluster())
        await stage.reconcile()
        going = with_metadata(stage.gang, deletionTimestamp="2026-01-02T03:04:05Z", finalizers=["x"], labels=None)
        stage.put(POD_GANGS, going, PodGang)
        assert await stage.reconcile() is None
        assert stage.writes == CREATED
        stage.take(POD_GANGS, "set-0")
        assert await stage.reconcile() == LATER
        assert stage.writes == CREATED * 2

    play(act)

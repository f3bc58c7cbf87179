"""The controller of PodCliqueSets on an API server of memory."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from grove.api import labels
from grove.kube.errors import Forbidden, InternalError, Unreachable
from grove.kube.resources import AUTOSCALERS, ROLE_BINDINGS, ROLES, SERVICES, Resource
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS, SCALING_GROUPS
from tests.unit.operator.apiserver import faults
from tests.unit.operator.podcliqueset.builders import JSON, clique, group, pcs
from tests.unit.operator.podcliqueset.scene import Scene, play

ALL = (SERVICES, ROLES, ROLE_BINDINGS, AUTOSCALERS, POD_CLIQUES, SCALING_GROUPS)


def demo(image: str = "main:v1", **rest: Any) -> Any:
    cliques = [clique("a", image=image, autoScalingConfig={"maxReplicas": 3}), clique("b", image=image)]
    rest = {"replicas": 2, "cliqueStartupType": "CliqueStartupTypeInOrder", "terminationDelay": "10m", **rest}
    return pcs(*cliques, groups=[group("g", ["b"])], **rest)


def foreign(resource: Resource, name: str) -> JSON:
    return {"metadata": {"name": name, "namespace": "default"}, "apiVersion": resource.api_version, "spec": {}}


def is_going(scene: Scene, resource: Resource, name: str) -> bool:
    return bool(scene.server.one(resource, name)["metadata"].get("deletionTimestamp"))


def written(scene: Scene) -> int:
    return len(scene.server.writes)


def test_a_new_set_gets_all_its_children_and_says_so() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        server = scene.server
        assert scene.stored["metadata"]["finalizers"] == [labels.POD_CLIQUE_SET_FINALIZER]
        assert server.names(POD_CLIQUES) == {"demo-0-a", "demo-1-a"}
        assert server.names(SCALING_GROUPS) == {"demo-0-g", "demo-1-g"}
        assert server.names(SERVICES) == {"demo-0", "demo-1"}
        assert server.names(AUTOSCALERS) == {"demo-0-a", "demo-1-a"}
        assert server.names(ROLES) == server.names(ROLE_BINDINGS) == {"grove.io:pcs:demo"}
        assert scene.status["phase"] == "Scheduling"
        assert scene.status["lastOperation"]["state"] == "Succeeded"
        assert scene.events.reasons() == [
            "Reconciling",
            "PodCliqueCreateOrUpdateSuccessful",
            "PodCliqueScalingGroupCreateSuccessful",
            "Reconciled",
        ]
        # 10 children, the finalizer, the status before and after them.
        assert written(scene) == 13

    play(story)


def test_a_set_that_is_as_it_should_be_costs_nothing() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        scene.ready()
        await scene.until(lambda: scene.condition("Available") == "True")
        assert scene.status["availableReplicas"] == 2
        before, events = written(scene), len(scene.events.all)
        await scene.wait(3600)
        scene.controller.add(("default", "demo"))  # type: ignore[arg-type]
        await scene.wait(10)
        assert (written(scene), len(scene.events.all)) == (before, events)

    play(story)


def test_a_status_that_changes_again_and_again_is_written_now_and_then() -> None:
    async def story(scene: Scene) -> None:
        cliques = [clique(f"c{number}") for number in range(20)]
        scene.apply(pcs(*cliques, replicas=1))
        await scene.settled()
        before = scene.server.count(resource="podcliquesets", subresource="status")
        for number in range(20):
            scene.ready(f"demo-0-c{number}")
            await scene.wait(0.1)
        await scene.until(lambda: scene.condition("Available") == "True")
        assert scene.server.count(resource="podcliquesets", subresource="status") - before == 1

    play(story)


def test_scaling_in_removes_everything_of_the_replicas_that_go() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        scene.apply(demo(replicas=1))
        await scene.settled()
        server = scene.server
        assert server.names(SERVICES) == {"demo-0"}
        assert server.names(AUTOSCALERS) == {"demo-0-a"}
        for resource in (POD_CLIQUES, SCALING_GROUPS):
            gone = [
                one for one in server.names(resource) if server.one(resource, one)["metadata"].get("deletionTimestamp")
            ]
            assert all(name.startswith("demo-1") for name in gone)
            assert len(gone) == 1
        assert scene.status["replicas"] == 1

    play(story)


def test_a_child_that_somebody_deletes_comes_back() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        for resource, name in ((SERVICES, "demo-0"), (AUTOSCALERS, "demo-1-a"), (ROLES, "grove.io:pcs:demo")):
            scene.server.remove(resource, name, "default")
            await scene.until(lambda resource=resource, name=name: name in scene.server.names(resource))  # type: ignore[misc]

    play(story)


@pytest.mark.parametrize(
    ("resource", "name", "code"),
    [
        (SERVICES, "demo-0", "ERR_SYNC_PODCLIQUESET_SERVICE"),
        (AUTOSCALERS, "demo-0-a", "ERR_SYNC_HPA"),
        (ROLES, "grove.io:pcs:demo", "ERR_SYNC_ROLE"),
        (ROLE_BINDINGS, "grove.io:pcs:demo", "ERR_SYNC_ROLEBINDING"),
        (POD_CLIQUES, "demo-0-a", "ERR_SYNC_PODCLIQUE"),
        (SCALING_GROUPS, "demo-0-g", "ERR_SYNC_PODCLIQUESCALINGGROUP"),
    ],
)
def test_a_foreign_object_is_left_alone_and_holds_up_no_other_child(resource: Resource, name: str, code: str) -> None:
    async def story(scene: Scene) -> None:
        body = foreign(resource, name)
        if resource is POD_CLIQUES:
            body["spec"] = {"roleName": "theirs", "replicas": 1, "podSpec": {}}
        if resource is SCALING_GROUPS:
            body["spec"] = {"replicas": 1, "minAvailable": 1, "cliqueNames": ["b"]}
        theirs = scene.server.put(resource, body)
        scene.apply(demo())
        await scene.until(lambda: scene.condition("Degraded") == "True")
        assert [one["code"] for one in scene.status["lastErrors"]] == [code]
        assert f"{resource.kind} default/{name} exists" in scene.status["lastErrors"][0]["description"]
        assert "observedGeneration" not in scene.status
        assert {len(scene.server.names(one)) for one in ALL} == {1, 2}
        await scene.wait(60)
        assert scene.server.one(resource, name) == theirs
        assert [type for type, _, _ in scene.events.all].count("Warning") == 1
        scene.server.remove(resource, name, "default")
        await scene.until(lambda: scene.condition("Degraded") == "False", within=600)
        assert "lastErrors" not in scene.status

    play(story)


def test_a_kind_that_the_server_refuses_holds_up_no_other_and_is_tried_again() -> None:
    async def story(scene: Scene) -> None:
        def no_services(verb: str, resource: Resource, name: str) -> None:
            if resource is SERVICES:
                raise Forbidden("quota", code=403)

        with faults(scene.server, no_services):
            scene.apply(demo())
            await scene.until(lambda: scene.status.get("phase") == "Failed")
            assert len(scene.server.names(POD_CLIQUES)) == len(scene.server.names(SCALING_GROUPS)) == 2
            assert {one["code"] for one in scene.status["lastErrors"]} == {"ERR_SYNC_PODCLIQUESET_SERVICE"}
        await scene.until(lambda: len(scene.server.names(SERVICES)) == 2, within=600)
        await scene.until(lambda: "lastErrors" not in scene.status)

    play(story)


def test_answers_that_are_lost_make_nothing_twice() -> None:
    async def story(scene: Scene) -> None:
        seen: set[tuple[str, str]] = set()

        def lose_each_once(verb: str, resource: Resource, name: str) -> Literal["lost"] | None:
            key = (verb, resource.plural + name)
            if key in seen:
                return None
            seen.add(key)
            return "lost"

        with faults(scene.server, lose_each_once):
            scene.apply(demo())
            await scene.until(lambda: scene.status.get("observedGeneration") == 1, within=600)
        assert scene.server.names(POD_CLIQUES) == {"demo-0-a", "demo-1-a"}
        created = [(one.resource, one.name) for one in scene.server.writes if one.verb == "create"]
        assert len(created) == len(set(created)) == 10

    play(story)


# Updates


def test_the_status_knows_of_a_new_template_before_any_child_follows() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        scene.ready()
        await scene.until(lambda: scene.condition("Available") == "True")
        before = written(scene)
        hash = scene.status["currentGenerationHash"]
        scene.apply(demo("main:v2"))
        await scene.settled()
        first, *others = scene.server.writes[before:]
        assert (first.resource, first.subresource) == ("podcliquesets", "status")
        assert [one.name for one in others if one.resource == "podcliques"] == ["demo-0-a"]
        assert scene.status["currentGenerationHash"] != hash
        assert scene.selected() == [0]
        assert scene.status["phase"] == "Updating"
        assert scene.condition("UpdateInProgress") == "True"
        images = [
            scene.server.one(POD_CLIQUES, name)["spec"]["podSpec"]["containers"][0]["image"]
            for name in ("demo-0-a", "demo-1-a")
        ]
        assert images == ["main:v2", "main:v1"]

    play(story)


def test_a_selected_replica_stays_so_when_the_template_changes_again() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        for image in ("main:v2", "main:v3", "main:v4"):
            scene.apply(demo(image))
            await scene.settled()
            assert scene.selected() == [0]
        assert scene.server.one(POD_CLIQUES, "demo-0-a")["spec"]["podSpec"]["containers"][0]["image"] == "main:v4"
        assert scene.server.one(POD_CLIQUES, "demo-1-a")["spec"]["podSpec"]["containers"][0]["image"] == "main:v1"

    play(story)


def test_on_delete_all_follow_at_once_and_the_update_is_over() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo(strategy="OnDelete"))
        await scene.settled()
        scene.apply(demo("main:v2", strategy="OnDelete"))
        await scene.settled()
        for name in ("demo-0-a", "demo-1-a"):
            assert scene.server.one(POD_CLIQUES, name)["spec"]["podSpec"]["containers"][0]["image"] == "main:v2"
        assert scene.status["updateProgress"]["updateEndedAt"] == scene.status["updateProgress"]["updateStartedAt"]

    play(story)


# Gang termination


def broken(scene: Scene, name: str) -> None:
    said = [scene.said("PodCliqueScheduled", "True"), scene.said("MinAvailableBreached", "True")]
    scene.server.tell(POD_CLIQUES, name, readyReplicas=0, conditions=said)


def test_a_broken_replica_is_started_anew_when_the_delay_is_over_and_not_before() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        scene.ready()
        await scene.wait(10)
        broken(scene, "demo-1-a")
        before = written(scene)
        await scene.wait(598)
        assert not scene.server.one(POD_CLIQUES, "demo-1-a")["metadata"].get("deletionTimestamp")
        assert written(scene) - before <= 2  # the status says that it is degraded; nobody polls
        await scene.wait(4)
        assert scene.server.one(POD_CLIQUES, "demo-1-a")["metadata"].get("deletionTimestamp")
        assert not scene.server.one(POD_CLIQUES, "demo-0-a")["metadata"].get("deletionTimestamp")
        (told,) = [
            one
            for one in scene.server.one(SCALING_GROUPS, "demo-1-g")["status"]["conditions"]
            if one["type"] == "GangTerminationInProgress"
        ]
        assert (told["status"], told["reason"]) == ("True", "GangTerminationActive")
        assert ("Normal", "PodCliqueSetReplicaDeleteSuccessful") in [event[:2] for event in scene.events.all]
        # Its controller lets it go, and it comes back.
        scene.server.remove(POD_CLIQUES, "demo-1-a", "default")
        await scene.until(lambda: "demo-1-a" in scene.server.names(POD_CLIQUES))
        await scene.wait(3600)
        assert scene.events.reasons().count("PodCliqueSetReplicaDeleteSuccessful") == 1

    play(story)


# Deletion


def test_a_deleted_set_stays_until_its_gangs_groups_and_podcliques_are_gone() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()
        marks = {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "demo"}
        gang = {"metadata": {"name": "demo-0", "namespace": "default", "labels": marks}, "spec": {"podgroups": []}}
        scene.server.put(POD_GANGS, gang)
        scene.server.ask_to_go(POD_CLIQUE_SETS, "demo")
        await scene.until(lambda: scene.status.get("phase") == "Terminating")
        assert scene.status["lastOperation"]["type"] == "Delete"
        assert not scene.server.names(POD_GANGS)
        await scene.wait(60)
        assert "demo" in scene.server.names(POD_CLIQUE_SETS)
        for resource in (SCALING_GROUPS, POD_CLIQUES):
            for name in sorted(scene.server.names(resource)):
                assert scene.server.one(resource, name)["metadata"].get("deletionTimestamp")
                scene.server.remove(resource, name, "default")
        await scene.until(lambda: "demo" not in scene.server.names(POD_CLIQUE_SETS))
        assert scene.events.reasons()[-2:] == ["Deleting", "Deleted"]
        assert scene.server.count(verb="delete_collection") == 3

    play(story)


def test_a_deletion_that_the_server_refuses_is_told_and_tried_again() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        await scene.settled()

        def refuse(verb: str, resource: Resource, name: str) -> None:
            if verb == "delete_collection":
                raise InternalError("etcd is away", code=500)

        with faults(scene.server, refuse):
            scene.server.ask_to_go(POD_CLIQUE_SETS, "demo")
            await scene.until(lambda: scene.status.get("lastErrors"))
            assert scene.status["lastOperation"]["state"] == "Error"
            assert scene.status["lastErrors"][0]["code"] == "ERR_DELETE_PODCLIQUESCALINGGROUP"
            await scene.wait(20)
            assert scene.events.reasons().count("DeleteError") == 1
        await scene.until(lambda: "lastErrors" not in scene.status, within=600)

    play(story)


# Crashes


@pytest.mark.parametrize("after", range(15))
def test_a_controller_that_is_killed_between_any_two_writes_is_made_good_by_the_next(after: int) -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo())
        count = 0

        def die(verb: str, resource: Resource, name: str) -> None:
            nonlocal count
            count += 1
            if count > after:
                raise Unreachable("the process is dead", may_have_acted=False)

        with faults(scene.server, die):
            await scene.start()
            await scene.wait(0.5)
            await scene.kill()
        await scene.start()
        await scene.settled()
        assert {len(scene.server.names(one)) for one in ALL} == {1, 2}
        created = [(one.resource, one.name) for one in scene.server.writes if one.verb == "create"]
        assert len(created) == len(set(created)) == 10
        assert scene.status["lastOperation"]["state"] == "Succeeded"

    play(story, start=False)


def test_a_set_without_replicas_is_told_once() -> None:
    async def story(scene: Scene) -> None:
        scene.apply(demo(replicas=0))
        await scene.settled()
        scene.apply(demo(replicas=1))
        await scene.settled()
        scene.apply(demo(replicas=0))
        await scene.settled()
        assert scene.events.reasons().count("NoReplicas") == 1

    play(story)

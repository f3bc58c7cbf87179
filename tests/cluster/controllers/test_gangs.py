"""The gang and topology controllers against a real API server; the test plays all others and the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from grove.api import labels
from grove.api.kinds import catalog
from grove.api.policy import Policy
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.operator.resources import POD_CLIQUE_SETS, POD_GANGS, SCALING_GROUPS, TOPOLOGY_BINDINGS
from grove.operator.tree import CliquePlace
from grove.operator.world import Key
from grove.runtime.outcomes import Retry
from grove.testing.controlplane import ControlPlane
from tests.cluster.controllers.gangs import Early, Scene, clique, play, running, spec
from tests.cluster.objects import Objects

JSON = dict[str, Any]

pytestmark = pytest.mark.usefixtures("grove_crds")

A, B = CliquePlace(0, "a"), CliquePlace(0, "b")


def test_a_gang_is_written_once_when_it_is_whole(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a", 2), clique("b")))
            await scene.make_clique(A)
            for suffix in ("x", "y"):
                await scene.make_pod(A, suffix)
            await scene.make_clique(B)
            assert scene.gang("set-0") is None
            await scene.make_pod(B, "x")
            await scene.until(lambda: scene.gang("set-0") is not None)
            found = await scene.get(POD_GANGS, "set-0")
            assert found["metadata"]["generation"] == 1
            assert [one["podReferences"] for one in found["spec"]["podgroups"]] == [
                [{"namespace": namespace, "name": "set-0-a-x"}, {"namespace": namespace, "name": "set-0-a-y"}],
                [{"namespace": namespace, "name": "set-0-b-x"}],
            ]
            assert "status" not in found, "its scheduler says first what becomes of it"
            assert await scene.until_told("PodGangCreateOrUpdateSuccessful") == "Created a PodGang"
            await scene.assert_settled("set-0")

    play(cluster, namespace, act, clock=Early())


def test_a_gang_that_stays_incomplete_is_shown_and_then_filled(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a", 2)))
            await scene.make_clique(A)
            first = await scene.make_pod(A, "x")
            await scene.until(lambda: scene.condition("set-0", "Initialized") == "False")
            assert scene.refers_to("set-0") == {first}
            second = await scene.make_pod(A, "y")
            await scene.until(lambda: scene.condition("set-0", "Initialized") == "True")
            assert scene.refers_to("set-0") == {first, second}

    play(cluster, namespace, act)


def test_a_gang_is_refilled_and_what_its_scheduler_says_survives(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a", 2)))
            await scene.make_all()
            await scene.until(lambda: scene.gang("set-0") is not None)
            said = [
                {
                    "type": type,
                    "status": "True",
                    "reason": "Placed",
                    "message": "on two nodes",
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                }
                for type in ("Initialized", "Scheduled")
            ]
            theirs = {"phase": "Running", "placementScore": 0.5, "conditions": said}
            other = {"metadata": {"labels": {"example.com/x": "y"}, "annotations": {"example.com/x": "y"}}}
            await scene.client.patch(POD_GANGS, "set-0", {"status": theirs}, namespace=namespace, subresource="status")
            await scene.client.patch(POD_GANGS, "set-0", other, namespace=namespace)
            await scene.remove_pod("set-0-a-p0")
            await scene.until(lambda: scene.refers_to("set-0") == {"set-0-a-p1"})
            await scene.make_pod(A, "new")
            await scene.until(lambda: scene.refers_to("set-0") == {"set-0-a-new", "set-0-a-p1"})
            found = await scene.get(POD_GANGS, "set-0")
            assert found["status"] == theirs
            assert found["metadata"]["labels"]["example.com/x"] == "y"
            assert found["metadata"]["annotations"]["example.com/x"] == "y"
            assert found["metadata"]["generation"] == 3

    play(cluster, namespace, act)


def test_conditions_written_before_ours_survive(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a", 2)))
            await scene.make_clique(A)
            await scene.make_pod(A, "x")
            await scene.until(lambda: scene.condition("set-0", "Initialized") == "False")
            status = (await scene.get(POD_GANGS, "set-0"))["status"]
            theirs = {
                "type": "Unhealthy",
                "status": "True",
                "reason": "Odd",
                "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }
            change = {"status": {"conditions": [*status["conditions"], theirs], "phase": "Starting"}}
            await scene.client.patch(POD_GANGS, "set-0", change, namespace=namespace, subresource="status")
            await scene.make_pod(A, "y")
            await scene.until(lambda: scene.condition("set-0", "Initialized") == "True")
            assert scene.condition("set-0", "Unhealthy") == "True"
            assert (await scene.get(POD_GANGS, "set-0"))["status"]["phase"] == "Starting"

    play(cluster, namespace, act)


def test_gangs_that_nobody_asks_for_any_more_are_deleted(cluster: ControlPlane, namespace: str) -> None:
    group = {"name": "g", "cliqueNames": ["b"], "replicas": 3, "minAvailable": 1}

    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a"), clique("b"), podCliqueScalingGroups=[group]))
            await scene.make_all()
            names = ("set-0", "set-0-g-0", "set-0-g-1")
            await scene.until(lambda: all(scene.gang(name) is not None for name in names))
            assert scene.refers_to("set-0") == {"set-0-a-p0", "set-0-g-0-b-p0"}
            assert scene.refers_to("set-0-g-1") == {"set-0-g-2-b-p0"}
            change = {"spec": {"replicas": 2}}
            await scene.client.patch(SCALING_GROUPS, "set-0-g", change, namespace=namespace)
            await scene.until(lambda: scene.gang("set-0-g-1") is None)
            assert await scene.until_told("PodGangDeleteSuccessful") == (
                "Deleted PodGang set-0-g-1: no replica needs it"
            )
            await scene.client.patch(POD_CLIQUE_SETS, "set", {"spec": {"replicas": 0}}, namespace=namespace)
            await scene.until(lambda: not scene.world.gangs.list(namespace))

    play(cluster, namespace, act)


def test_a_gang_that_somebody_deletes_comes_back(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a")))
            await scene.make_all()
            await scene.until(lambda: scene.gang("set-0") is not None)
            before = (await scene.get(POD_GANGS, "set-0"))["metadata"]["uid"]
            await scene.client.delete(POD_GANGS, "set-0", namespace=namespace)
            await scene.until(lambda: (found := scene.gang("set-0")) is not None and found.metadata.uid != before)

    play(cluster, namespace, act)


def test_a_patch_meant_for_another_gang_of_the_name_changes_nothing(cluster: ControlPlane, namespace: str) -> None:
    """As after a deletion that the caches do not know of yet."""

    async def act(scene: Scene) -> None:
        await scene.make_set(spec(clique("a")))
        await scene.make_all()
        async with running(scene):
            await scene.until(lambda: scene.gang("set-0") is not None)
        held = scene.gang("set-0")
        assert held is not None
        await scene.client.delete(POD_GANGS, "set-0", namespace=namespace)
        body = await scene.client.create(
            POD_GANGS,
            {"metadata": {"name": "set-0"}, "spec": {"podgroups": []}},
            namespace=namespace,
            type=dict[str, Any],
        )
        more = await scene.make_pod(A, "more")
        scene.world.pods.wrote(await scene.client.get(PODS, more, namespace=namespace, type=PodView))
        with pytest.raises(Retry):
            await scene.reconcile(Key(namespace, "set-0"))
        assert await scene.get(POD_GANGS, "set-0") == body

    play(cluster, namespace, act)


def test_a_foreign_gang_of_our_name_is_an_error_until_it_is_gone(
    cluster: ControlPlane, namespace: str, objects: Objects
) -> None:
    foreign = objects.create(catalog.POD_GANG, "set-0")

    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a")))
            await scene.make_all()
            message = await scene.until_told("PodGangCreateOrUpdateFailed")
            assert f"PodGang {namespace}/set-0 exists and does not belong to PodCliqueSet set" in message
            assert await scene.get(POD_GANGS, "set-0") == foreign
            await scene.client.delete(POD_GANGS, "set-0", namespace=namespace)
            theirs = foreign["metadata"]["uid"]
            await scene.until(lambda: (found := scene.gang("set-0")) is not None and found.metadata.uid != theirs)

    play(cluster, namespace, act)


def test_a_pod_with_the_name_of_another_gang_is_put_right(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a")))
            await scene.make_clique(A)
            name = await scene.make_pod(A, "x", gang="another")
            await scene.until(lambda: scene.gang("set-0") is not None)
            assert scene.refers_to("set-0") == {name}
            assert (await scene.get(PODS, name))["metadata"]["labels"][labels.POD_GANG] == "set-0"

    play(cluster, namespace, act)


def test_phase_and_conditions_are_worked_out_where_the_scheduler_knows_no_gangs(
    cluster: ControlPlane, namespace: str
) -> None:
    plain = Policy(default_scheduler="default-scheduler")

    async def act(scene: Scene) -> None:
        async with running(scene):
            await scene.make_set(spec(clique("a")))
            await scene.make_clique(A)
            name = await scene.make_pod(A, "x", node="nowhere")
            await scene.until(lambda: scene.condition("set-0", "Scheduled") == "True")
            assert scene.condition("set-0", "Ready") == "False"
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
            change = {"status": {"phase": "Running", "conditions": [ready]}}
            await scene.client.patch(PODS, name, change, namespace=namespace, subresource="status")
            await scene.until(lambda: scene.condition("set-0", "Ready") == "True")
            found = (await scene.get(POD_GANGS, "set-0"))["status"]
            assert found["phase"] == "Running"
            assert {"lastScheduled", "lastReady"} <= found.keys()
            await scene.assert_settled("set-0")

    play(cluster, namespace, act, policy=plain)


def test_constraints_follow_the_topology_and_settle(cluster: ControlPlane, namespace: str, objects: Objects) -> None:
    name = f"t-{namespace[-6:]}"
    binding = objects.create(catalog.TOPOLOGY_BINDING, name)
    levels = binding["spec"]["levels"]
    template: JSON = {
        "topologyConstraint": {"topologyName": name, "pack": {"required": "zone", "preferred": "host"}},
        "schedulingPolicyConfig": {"networkPackGroupConfigs": [{"cliqueNames": ["a", "b"]}]},
        "priorityClassName": "high",
    }
    spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}

    async def act(scene: Scene) -> None:
        def constraint() -> JSON | None:
            held = scene.gang("set-0")
            found = None if held is None else held.spec.topology_constraint
            pack = None if found is None else found.pack_constraint
            return None if pack is None else {"required": pack.required, "preferred": pack.preferred}

        async with running(scene):
            body = spec(clique("a"), clique("b"), **template) | {"replicaSpreadConstraints": [spread]}
            await scene.make_set(body, labels={"team": "x"}, annotations={"note": "y"})
            await scene.make_all()
            await scene.until(lambda: scene.gang("set-0") is not None)
            assert constraint() == {"required": "topology.kubernetes.io/zone", "preferred": "kubernetes.io/hostname"}
            found = await scene.get(POD_GANGS, "set-0")
            assert found["metadata"]["annotations"][labels.TOPOLOGY_NAME] == name
            assert found["spec"]["networkPackGroupConfigs"] == [{"podGroupNames": ["set-0-a", "set-0-b"]}]
            assert found["spec"]["spreadConstraints"][0].items() >= spread.items()
            await scene.assert_settled("set-0")
            change = {"spec": {"levels": [levels[0] | {"key": "example.com/zone"}]}}
            await scene.client.patch(TOPOLOGY_BINDINGS, name, change)
            await scene.until(lambda: constraint() == {"required": "example.com/zone", "preferred": None})
            await scene.client.delete(TOPOLOGY_BINDINGS, name)
            await scene.until(lambda: constraint() is None)
            assert labels.TOPOLOGY_NAME not in (await scene.get(POD_GANGS, "set-0"))["metadata"]["annotations"]
            taken = {"metadata": {"labels": None, "annotations": None}}
            await scene.client.patch(POD_CLIQUE_SETS, "set", taken, namespace=namespace)
            await scene.until(lambda: "team" not in (((held := scene.gang("set-0")) and held.metadata.labels) or {}))

    play(cluster, namespace, act)


def test_a_topology_says_what_became_of_its_schedulers(cluster: ControlPlane, namespace: str, objects: Objects) -> None:
    name = f"t-{namespace[-6:]}"
    levels = [{"domain": "zone", "key": "zone"}]
    ours = {"schedulerName": "grove-scheduler", "topologyReference": "x"}
    other = {"schedulerName": "default-scheduler", "topologyReference": "y"}

    async def act(scene: Scene) -> None:
        def status() -> JSON:
            held = scene.world.topologies.get(name)
            if held is None or held.status is None:
                return {}
            return {
                "generation": held.status.observed_generation,
                "conditions": [(one.status, one.reason) for one in held.status.conditions],
                "in_sync": [one.in_sync for one in held.status.scheduler_topology_statuses],
            }

        async with running(scene):
            objects.create(catalog.TOPOLOGY_BINDING, {"metadata": {"name": name}, "spec": {"levels": levels}} | KIND)
            await scene.until(lambda: status() == {"generation": 1, "conditions": [], "in_sync": []})
            for number, (bindings, conditions, in_sync) in enumerate(
                [
                    ([ours], [("False", "InSync")], [True]),
                    ([ours, other], [("Unknown", "TopologyNotFound")], [True, False]),
                    ([], [], []),
                ]
            ):
                change = {"spec": {"schedulerTopologyBindings": bindings}}
                await scene.client.patch(TOPOLOGY_BINDINGS, name, change)
                expected = {"generation": number + 2, "conditions": conditions, "in_sync": in_sync}
                await scene.until(lambda expected=expected: status() == expected)  # type: ignore[misc]

    play(cluster, namespace, act)


KIND = {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding"}

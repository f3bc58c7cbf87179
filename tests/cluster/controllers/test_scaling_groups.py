"""The controller of scaling groups against a real API server: members, scaling, updates, deletion."""

from __future__ import annotations

import pytest

from grove.api import labels
from grove.api.conditions import timestamp
from grove.operator.resources import POD_CLIQUES, SCALING_GROUPS
from grove.runtime.clock import SystemClock
from grove.testing.controlplane import ControlPlane
from tests.cluster.controllers.groups import GROUP, Scene, play

pytestmark = pytest.mark.usefixtures("grove_crds")


def members(*copies: int) -> set[str]:
    return {f"{GROUP}-{copy}-{name}" for copy in copies for name in ("leader", "worker")}


def test_a_group_comes_up_is_scaled_and_then_rests(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with scene.running():
            await scene.make_set()
            await scene.make_group()
            await scene.until(lambda: scene.available() == 2)
            assert scene.cliques().keys() == members(0, 1)
            await scene.assert_settled()
            await scene.scale(4)
            await scene.until(lambda: scene.available() == 4)
            assert scene.cliques().keys() == members(0, 1, 2, 3)
            await scene.client.delete(POD_CLIQUES, f"{GROUP}-0-leader", namespace=namespace)
            await scene.scale(2)
            await scene.until(lambda: scene.available() == 2 and scene.cliques().keys() == members(0, 1))
            await scene.assert_settled()

    play(cluster, namespace, act)


def test_an_update_replaces_one_copy_after_the_other_when_it_is_its_turn(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with scene.running():
            await scene.make_set(copies=3)
            await scene.make_group()
            await scene.until(lambda: scene.available() == 3)
            first = {name: view.metadata.uid for name, view in scene.cliques().items()}
            present: list[int] = []
            end = scene.world.cliques.follow(lambda _: present.append(len(scene.cliques())))
            await scene.change_image("server:v2")
            now = timestamp(SystemClock().wall())
            await scene.note(updateProgress={"updateStartedAt": now, "currentlyUpdating": [{"replicaIndex": 1}]})
            await scene.reconcile_until_quiet()
            assert {name: view.metadata.uid for name, view in scene.cliques().items()} == first
            await scene.note(updateProgress={"currentlyUpdating": [{"replicaIndex": 0}]})
            await scene.until(scene.is_updated)
            end()
            assert min(present) == 4, "one copy of three is missing at most"
            uids = {name: view.metadata.uid for name, view in scene.cliques().items()}
            assert uids.keys() == first.keys()
            assert not set(uids.values()) & set(first.values())
            hashes = {(view.metadata.labels or {})[labels.POD_TEMPLATE_HASH] for view in scene.cliques().values()}
            assert hashes == set(scene.tree.template_hashes.values())
            await scene.assert_settled()

    play(cluster, namespace, act)


def test_what_somebody_changed_on_a_member_is_mended(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with scene.running():
            await scene.make_set()
            await scene.make_group()
            await scene.until(lambda: scene.available() == 2)
            name = f"{GROUP}-1-worker"
            before = (await scene.get(POD_CLIQUES, name))["spec"]
            change = {
                "metadata": {"labels": {labels.SCALING_GROUP: None, "theirs": "1"}},
                "spec": {"roleName": "else", "podSpec": {"containers": [{"name": "evil", "image": "evil"}]}},
            }
            await scene.client.patch(POD_CLIQUES, name, change, namespace=namespace)

            def is_mended() -> bool:
                held = scene.cliques()[name]
                found = held.metadata.labels or {}
                return "theirs" in found and labels.SCALING_GROUP in found and held.spec.role_name == "worker"

            await scene.until(is_mended)
            found = await scene.get(POD_CLIQUES, name)
            assert found["spec"] == before
            assert found["metadata"]["labels"][labels.SCALING_GROUP] == GROUP
            assert found["metadata"]["labels"]["theirs"] == "1"
            await scene.assert_settled()

    play(cluster, namespace, act)


def test_a_group_that_is_deleted_and_made_again_gets_members_of_its_own(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        async with scene.running():
            await scene.make_set()
            await scene.make_group()
            await scene.until(lambda: scene.available() == 2)
            first = {view.metadata.uid for view in scene.cliques().values()}
            await scene.client.delete(SCALING_GROUPS, GROUP, namespace=namespace)
            await scene.until(lambda: scene.group is None)
            await scene.make_group()
            await scene.until(lambda: scene.available() == 2)
            assert not first & {view.metadata.uid for view in scene.cliques().values()}

    play(cluster, namespace, act)


def test_a_foreign_podclique_of_our_name_is_an_error_until_it_is_gone(cluster: ControlPlane, namespace: str) -> None:
    async def act(scene: Scene) -> None:
        name = f"{GROUP}-0-leader"
        body = {"metadata": {"name": name}, "spec": {"roleName": "a", "replicas": 0, "podSpec": {"containers": []}}}
        await scene.client.create(POD_CLIQUES, body, namespace=namespace)
        async with scene.running():
            await scene.make_set()
            await scene.make_group()
            await scene.until(lambda: scene.errors() == ["ERR_CREATE_PODCLIQUES"])
            assert scene.group is not None
            assert scene.group.status is not None
            assert f"{name} exists and does not belong to {GROUP}" in scene.group.status.last_errors[0].description
            await scene.client.delete(POD_CLIQUES, name, namespace=namespace)
            await scene.until(lambda: scene.available() == 2 and not scene.errors())

    play(cluster, namespace, act)

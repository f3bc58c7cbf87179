"""How the nodes of a fleet come into being, in virtual time."""

import asyncio

import pytest

from grove.kube.objects import Taint
from grove.nodes.register import ForeignNode
from tests.unit.nodes.apiserver import NODES, Simulation, settings, simulate

NAME = "fake-node-001"


def names(simulation: Simulation) -> list[str]:
    return sorted(name for plural, _, name in simulation.server.objects if plural == "nodes")


async def again(simulation: Simulation, **rest: object) -> Simulation:
    """The same cluster, some time after the process was killed, with another process."""
    await simulation.kill()
    await simulation.wait(60)
    other = Simulation(simulation.server, settings(**rest))  # type: ignore[arg-type]
    other.start()
    await other.until(lambda: other.said)
    return other


def test_every_node_is_made_by_one_write_and_its_lease_by_another() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        await simulation.until(lambda: len([one for one in server.objects if one[0] == "leases"]) == 21, within=1)
        assert len(names(simulation)) == 20
        assert server.count(resource="nodes") == 20
        assert server.count(resource="leases", verb="create") == 20 + 1  # one is the election's
        assert simulation.said == ["20 nodes ready"]

    simulate(scene, chosen=settings(20))


def test_a_process_that_is_started_again_makes_nothing_anew() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        before = {name: server.node(name)["metadata"]["uid"] for name in names(simulation)}
        creations = server.count(resource="nodes", verb="create")
        other = await again(simulation, count=3)
        assert {name: server.node(name)["metadata"]["uid"] for name in names(simulation)} == before
        assert server.count(resource="nodes", verb="create") == creations
        await other.kill()

    simulate(scene, chosen=settings(3))


def test_more_nodes_are_made_and_surplus_ones_stay_unless_they_are_to_be_pruned() -> None:
    async def scene(simulation: Simulation) -> None:
        grown = await again(simulation, count=4)
        assert len(names(simulation)) == 4
        shrunk = await again(grown, count=1)
        assert len(names(simulation)) == 4
        body = {"metadata": {"name": "theirs", "labels": {"simulate.grove.io/fleet": "default"}}, "spec": {}}
        await simulation.server.create(NODES, body)
        pruned = await again(shrunk, count=1, prune=True)
        assert names(simulation) == [NAME, "theirs"]
        await pruned.kill()

    simulate(scene, chosen=settings(2))


def test_labels_taints_and_resources_follow_what_is_asked_for_and_what_others_added_stays() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        theirs = [{"key": "example.com/theirs", "value": "", "effect": "NoExecute"}]
        server.edit(NODES, NAME, {"metadata": {"labels": {"mine": "yes"}}, "spec": {"taints": theirs}})
        taint = Taint(key="fake-node", value="true", effect="NoSchedule")
        resources = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        other = await again(simulation, count=1, labels={"team": "blue"}, taints=(taint,), resources=resources)
        await other.until(lambda: server.node(NAME)["status"]["allocatable"]["cpu"] == "4", within=5)
        node = server.node(NAME)
        assert node["metadata"]["labels"].items() >= {"mine": "yes", "team": "blue"}.items()
        assert [one["key"] for one in node["spec"]["taints"]] == ["example.com/theirs", "fake-node"]
        await other.kill()

    simulate(scene)


def test_a_node_of_somebody_else_ends_the_process_and_is_not_touched() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        theirs = await server.create(NODES, {"metadata": {"name": NAME}, "spec": {}})
        task = simulation.start()
        await asyncio.wait({task})
        assert server.node(NAME) == theirs
        with pytest.raises(ExceptionGroup) as caught:
            task.result()
        matched, rest = caught.value.split(ForeignNode)
        assert matched is not None
        assert rest is None

    simulate(scene, start=False)


def test_what_the_fleet_made_is_removed_at_the_end_and_nothing_else() -> None:
    async def scene(simulation: Simulation) -> None:
        body = {"metadata": {"name": "theirs", "labels": {"simulate.grove.io/fleet": "default"}}, "spec": {}}
        await simulation.server.create(NODES, body)
        await simulation.wait(1)
        await simulation.process.remove()
        assert names(simulation) == ["theirs"]

    simulate(scene, chosen=settings(3))


def test_a_second_process_says_that_it_waits_and_takes_over_when_the_first_is_gone() -> None:
    async def scene(simulation: Simulation) -> None:
        second = Simulation(simulation.server, settings())
        second._seed = 100
        second.start()
        await second.until(lambda: second.said)
        assert "standing by" in second.said[0]
        await simulation.wait(60)
        assert len(second.said) == 1
        assert simulation._task is not None
        simulation._task.cancel()
        await second.until(lambda: len(second.said) == 2, within=10)
        assert second.said[1] == "1 node ready"
        await second.kill()

    simulate(scene)

"""Nodes are drained as far as disruption budgets allow, in virtual time."""

from tests.unit.nodes.apiserver import NODES, PODS, Simulation, is_ready, simulate

NAME = "fake-node-001"


def test_a_drain_cordons_evicts_and_ends_when_the_annotation_goes() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("one")
        await simulation.until(lambda: is_ready(server.pod("one")))
        server.annotate(NODES, NAME, drain="true")
        await simulation.until(lambda: not server.has_pod("one"), within=5)
        assert server.node(NAME)["spec"]["unschedulable"] is True
        server.put_pod("late")  # bound before the scheduler knew
        await simulation.until(lambda: not server.has_pod("late"), within=5)
        server.annotate(NODES, NAME, drain=None)
        await simulation.until(lambda: not server.node(NAME)["spec"].get("unschedulable"), within=2)
        server.put_pod("after")
        await simulation.until(lambda: is_ready(server.pod("after")))
        await simulation.wait(60)
        assert server.has_pod("after")

    simulate(scene)


def test_what_a_budget_protects_stays_is_told_and_is_tried_again_ever_less_often() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.protected = {"kept"}
        server.put_pod("kept")
        await simulation.until(lambda: is_ready(server.pod("kept")))
        server.annotate(NODES, NAME, drain="true")
        await simulation.wait(600)
        assert is_ready(server.pod("kept"))
        tries = server.count(resource="pods", subresource="eviction")
        assert 600 / 30 <= tries <= 600 / 30 + 15
        events = [one for key, one in server.objects.items() if key[0] == "events"]
        assert {one["reason"] for one in events} == {"EvictionBlocked"}
        server.protected = set()
        await simulation.until(lambda: not server.has_pod("kept"), within=60)
        await simulation.wait(60)
        assert server.count(resource="pods", subresource="eviction") == tries + 1

    simulate(scene)


def test_daemons_and_mirrors_of_static_pods_stay() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
        for name, metadata in (
            ("daemon", {"ownerReferences": [owner]}),
            ("mirror", {"annotations": {"kubernetes.io/config.mirror": "x"}}),
        ):
            server.put_pod(name)
            server.edit(PODS, name, {"metadata": metadata}, "default")
        server.put_pod("plain")
        await simulation.until(lambda: is_ready(server.pod("plain")))
        server.annotate(NODES, NAME, drain="true")
        await simulation.until(lambda: not server.has_pod("plain"), within=5)
        await simulation.wait(60)
        assert server.has_pod("daemon")
        assert server.has_pod("mirror")

    simulate(scene)


def test_a_node_that_somebody_cordoned_stays_cordoned() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.edit(NODES, NAME, {"spec": {"unschedulable": True}})
        await simulation.wait(1)
        server.annotate(NODES, NAME, drain="true")
        await simulation.wait(1)
        server.annotate(NODES, NAME, drain=None)
        await simulation.wait(1)
        assert server.node(NAME)["spec"]["unschedulable"] is True
        assert "simulate.grove.io/cordoned" not in server.node(NAME)["metadata"]["annotations"]

    simulate(scene)


def test_a_drain_goes_on_where_a_process_that_was_killed_left_it() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.protected = {"kept"}
        server.put_pod("kept")
        await simulation.until(lambda: is_ready(server.pod("kept")))
        server.annotate(NODES, NAME, drain="true")
        await simulation.wait(5)
        await simulation.kill()
        server.protected = set()
        await simulation.wait(60)
        simulation.start()
        await simulation.until(lambda: not server.has_pod("kept"), within=60)

    simulate(scene)

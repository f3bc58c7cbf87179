"""Nodes are kept alive as by their kubelets, in virtual time."""

import collections
import itertools

from grove.nodes import nodelease
from grove.nodes.heartbeats import STATUS_SECONDS
from tests.unit.nodes.apiserver import NODES, Simulation, condition, is_ready, renewed, settings, simulate

NAME = "fake-node-001"


def test_leases_are_renewed_for_as_long_as_the_process_runs() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        await simulation.wait(600)
        for name in (NAME, "fake-node-002"):
            renewals = [one.at for one in server.writes if one.resource == "leases" and one.name == name]
            gaps = [later - earlier for earlier, later in itertools.pairwise(renewals)]
            assert max(gaps) <= nodelease.SHORTEST + 0.01
            assert 600 / nodelease.SHORTEST <= len(renewals) <= 600 / nodelease.SHORTEST + 3
        lease = server.objects["leases", "kube-node-lease", NAME]
        assert lease["spec"] | {"renewTime": ""} == {
            "holderIdentity": NAME,
            "leaseDurationSeconds": 40,
            "renewTime": "",
        }
        assert lease["metadata"]["ownerReferences"][0]["uid"] == server.node(NAME)["metadata"]["uid"]

    simulate(scene, chosen=settings(2))


def test_the_renewals_of_many_nodes_are_spread_over_the_interval() -> None:
    async def scene(simulation: Simulation) -> None:
        await simulation.wait(30)
        server = simulation.server
        before = len(server.writes)
        await simulation.wait(20)
        moments = [int(one.at) for one in server.writes[before:] if one.resource == "leases" and "fake" in one.name]
        counts = collections.Counter(moments).values()
        assert sum(counts) == 2 * 300
        assert max(counts) < 60

    simulate(scene, chosen=settings(300))


def test_a_status_that_has_not_changed_is_written_as_seldom_as_by_kubelets() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        heard = condition(server.node(NAME), "Ready")["lastHeartbeatTime"]
        await simulation.wait(3000)
        assert server.count(resource="nodes", verb="patch", subresource="status") in (
            3000 // STATUS_SECONDS,
            3000 // STATUS_SECONDS + 1,
        )
        ready = condition(server.node(NAME), "Ready")
        assert ready["lastHeartbeatTime"] > heard
        assert ready["lastTransitionTime"] == heard

    simulate(scene)


def test_a_status_that_somebody_has_changed_is_put_right_at_once() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        unknown = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
        server.edit(NODES, NAME, {"status": {"conditions": unknown}})
        await simulation.wait(0)
        await simulation.until(lambda: is_ready(server.node(NAME)), within=1)
        assert len(server.node(NAME)["status"]["conditions"]) == 4

    simulate(scene)


def test_a_dead_node_is_silent_and_is_heard_of_at_once_when_it_is_back() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.annotate(NODES, NAME, fail="dead")
        await simulation.wait(1)
        before = len(server.writes)
        await simulation.wait(600)
        assert [one for one in server.writes[before:] if one.name == NAME] == []
        server.annotate(NODES, NAME, fail=None)
        await simulation.wait(1)
        assert server.clock.monotonic() - renewed(server, NAME) <= 2
        assert is_ready(server.node(NAME))

    simulate(scene)


def test_a_node_that_is_not_ready_says_so_and_lives() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.annotate(NODES, NAME, fail="not-ready")
        await simulation.until(lambda: not is_ready(server.node(NAME)), within=1)
        assert condition(server.node(NAME), "Ready")["reason"] == "KubeletNotReady"
        await simulation.wait(60)
        assert server.clock.monotonic() - renewed(server, NAME) <= nodelease.SHORTEST + 1

    simulate(scene)


def test_a_word_that_is_no_failure_is_told_once_and_the_node_lives() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.annotate(NODES, NAME, fail="exploded")
        await simulation.wait(60)
        events = [one for key, one in server.objects.items() if key[0] == "events"]
        assert [one["count"] for one in events] == [1]
        assert "exploded" in events[0]["message"]
        assert is_ready(server.node(NAME))

    simulate(scene)


def test_a_server_that_does_not_hear_is_tried_again() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.is_away = True
        await simulation.wait(8)  # less than a leader may be without an answer
        server.is_away = False
        await simulation.wait(10)
        assert server.clock.monotonic() - renewed(server, NAME) <= nodelease.SHORTEST + 1

    simulate(scene)


def test_a_node_that_is_deleted_stays_deleted_and_its_lease_is_left() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.remove(NODES, NAME)
        await simulation.wait(1)
        before = len(server.writes)
        await simulation.wait(60)
        assert [one for one in server.writes[before:] if one.name == NAME] == []
        assert server.get_now(NODES, NAME) is None

    simulate(scene)


def test_a_lease_that_somebody_deleted_is_made_again() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        del server.objects["leases", "kube-node-lease", NAME]
        await simulation.until(lambda: renewed(server, NAME) > 0, within=nodelease.SHORTEST + 1)

    simulate(scene)


def test_a_node_of_any_origin_joins_and_has_an_address_of_its_own() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        for name in ("a", "b"):
            body = {"metadata": {"name": name, "labels": {"simulate.grove.io/fleet": "default"}}, "spec": {}}
            await server.create(NODES, body | {"status": {"allocatable": {"cpu": "3"}}})
        await simulation.until(lambda: is_ready(server.node("a")) and is_ready(server.node("b")), within=5)
        addresses = {server.node(name)["status"]["addresses"][0]["address"] for name in ("a", "b", NAME)}
        assert addresses == {"198.18.0.1", "198.18.0.2", "198.18.0.3"}
        assert server.node("a")["status"]["allocatable"] == {"cpu": "3"}
        assert renewed(server, "a") > 0

    simulate(scene)


def test_statistics_count_what_was_written() -> None:
    async def scene(simulation: Simulation) -> None:
        await simulation.wait(100)
        text = simulation.process.metrics.text().decode()
        assert "grove_nodes 2.0" in text
        assert "grove_nodes_ready 2.0" in text
        leases = simulation.server.count(resource="leases") - simulation.server.count(name="grove-nodes-default")
        assert f'grove_nodes_writes_total{{what="lease"}} {float(leases)}' in text

    simulate(scene, chosen=settings(2))

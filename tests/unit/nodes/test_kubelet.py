"""What becomes of pods on simulated nodes, in virtual time: written once, taken up again, ended in order."""

from typing import Any

from grove.nodes.behaviour import Span
from grove.nodes.plans import Defaults
from tests.unit.nodes.apiserver import NODES, PODS, ApiServer, Simulation, condition, is_ready, settings, simulate

JSON = dict[str, Any]
NAME = "fake-node-001"


def main(server: ApiServer, name: str) -> JSON:
    found: JSON = server.pod(name)["status"]["containerStatuses"][0]
    return found


def statuses(server: ApiServer, name: str) -> int:
    return server.count(resource="pods", name=name, subresource="status")


def test_a_pod_without_delays_is_ready_by_one_write() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("one")
        await simulation.until(lambda: is_ready(server.pod("one")), within=1)
        await simulation.wait(600)
        assert statuses(server, "one") == 1
        assert server.pod("one")["status"]["podIP"] == "10.128.0.1"
        assert server.pod("one")["status"]["hostIP"] == "198.18.0.1"

    simulate(scene)


def test_the_delays_of_the_fleet_are_for_pods_that_say_nothing_else() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("slow")
        server.put_pod("quick", annotations={"simulate.grove.io/start-delay": "0s"})
        began = server.clock.monotonic()
        await simulation.until(lambda: is_ready(server.pod("quick")))
        assert 3 <= server.clock.monotonic() - began < 4
        await simulation.until(lambda: is_ready(server.pod("slow")))
        assert 5 <= server.clock.monotonic() - began < 6

    delays = Defaults(start_delay=Span(2, 2), ready_delay=Span(3, 3))
    simulate(scene, chosen=settings(defaults=delays))


def test_pods_of_nodes_that_are_not_the_fleets_are_left_alone() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("elsewhere", node="real-1")
        await simulation.wait(60)
        assert server.pod("elsewhere")["status"] == {"phase": "Pending"}

    simulate(scene)


def test_a_pod_waits_for_its_node_to_be_there_and_to_say_what_it_has() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("early", node="late")
        labels = {"simulate.grove.io/fleet": "default"}
        await server.create(NODES, {"metadata": {"name": "late", "labels": labels}, "spec": {}})
        await simulation.until(lambda: is_ready(server.node("late")), within=5)
        await simulation.wait(60)
        assert server.pod("early")["status"] == {"phase": "Pending"}
        server.edit(NODES, "late", {"status": {"allocatable": {"cpu": "4", "pods": "10"}}})
        await simulation.until(lambda: is_ready(server.pod("early")), within=5)
        assert server.pod("early")["status"]["hostIP"] == "198.18.0.2"

    simulate(scene)


def test_the_range_in_a_nodes_spec_counts_more_than_ours() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.edit(NODES, NAME, {"spec": {"podCIDR": "10.7.0.0/24"}})
        await simulation.wait(1)
        server.put_pod("one")
        server.put_pod("host", hostNetwork=True)
        await simulation.until(lambda: is_ready(server.pod("one")) and is_ready(server.pod("host")))
        assert server.pod("one")["status"]["podIP"] == "10.7.0.1"
        assert server.pod("host")["status"]["podIP"] == "198.18.0.1"

    simulate(scene)


def test_addresses_of_pods_that_have_gone_are_used_again() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        for name in ("a", "b"):
            server.put_pod(name)
        await simulation.until(lambda: is_ready(server.pod("a")) and is_ready(server.pod("b")))
        freed = server.pod("a")["status"]["podIP"]
        server.stop_pod("a")
        await simulation.until(lambda: not server.has_pod("a"))
        server.put_pod("c")
        await simulation.until(lambda: is_ready(server.pod("c")))
        assert server.pod("c")["status"]["podIP"] == freed

    simulate(scene)


def test_of_two_pods_that_were_bound_at_once_the_one_that_does_not_fit_fails_and_says_why() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        container = {"name": "main", "resources": {"requests": {"cpu": "5"}}}
        for name in ("first", "second"):
            server.put_pod(name, containers=[container])
        await simulation.wait(2)
        phases = sorted(server.pod(name)["status"]["phase"] for name in ("first", "second"))
        assert phases == ["Failed", "Running"]
        failed = next(one for one in map(server.pod, ("first", "second")) if one["status"]["phase"] == "Failed")
        assert failed["status"]["reason"] == "OutOfcpu"
        assert "requested: 5000, used: 5000, capacity: 8000" in failed["status"]["message"]
        server.put_pod("third", containers=[{"name": "main", "resources": {"requests": {"cpu": "3"}}}])
        await simulation.until(lambda: is_ready(server.pod("third")))  # one that failed takes nothing

    simulate(scene)


def test_a_pod_that_is_told_to_end_is_deleted_when_it_has_ended() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("slow", annotations={"simulate.grove.io/stop-delay": "10s"})
        server.put_pod("deaf", annotations={"simulate.grove.io/stop-delay": "1h"})
        await simulation.until(lambda: is_ready(server.pod("slow")) and is_ready(server.pod("deaf")))
        began = server.clock.monotonic()
        for name in ("slow", "deaf"):
            server.stop_pod(name, 30)
        await simulation.until(lambda: not server.has_pod("slow"))
        assert 9 <= server.clock.monotonic() - began <= 12
        await simulation.until(lambda: not server.has_pod("deaf"))
        assert 29 <= server.clock.monotonic() - began <= 32

    simulate(scene)


def test_who_holds_a_pod_back_by_a_finalizer_sees_how_it_ended() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("held")
        server.edit(PODS, "held", {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
        await simulation.until(lambda: is_ready(server.pod("held")))
        server.stop_pod("held", 5)
        await simulation.until(lambda: server.count(verb="delete", name="held"))
        ended = [one for one in server.writes if one.name == "held"]
        assert [one.verb for one in ended][-2:] == ["patch", "delete"]

    simulate(scene)


def test_a_dead_node_loses_what_ran_on_it_and_an_unreachable_one_does_not() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("lost", NAME)
        server.put_pod("kept", "fake-node-002")
        await simulation.until(lambda: is_ready(server.pod("lost")) and is_ready(server.pod("kept")))
        before = main(server, "kept")
        server.annotate(NODES, NAME, fail="dead")
        server.annotate(NODES, "fake-node-002", fail="unreachable")
        await simulation.wait(60)
        for name in ("lost", "kept"):  # as the node lifecycle controller has it
            unready = [{"type": "Ready", "status": "False"}]
            server.edit(PODS, name, {"status": {"conditions": unready}}, "default")
        await simulation.wait(60)
        assert not is_ready(server.pod("lost"))
        assert not is_ready(server.pod("kept"))
        for name in (NAME, "fake-node-002"):
            server.annotate(NODES, name, fail=None)
        await simulation.until(lambda: is_ready(server.pod("lost")) and is_ready(server.pod("kept")), within=5)
        assert main(server, "lost")["restartCount"] == 1
        assert main(server, "lost")["lastState"]["terminated"]["exitCode"] == 255
        assert main(server, "kept") == before

    simulate(scene, chosen=settings(2))


def test_a_process_that_was_killed_takes_up_lives_where_they_were() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("steady")
        server.put_pod("crashing", annotations={"simulate.grove.io/crash-after": "100s"})
        await simulation.until(lambda: is_ready(server.pod("steady")) and is_ready(server.pod("crashing")))
        before = server.pod("steady")["status"]
        await simulation.kill()
        server.put_pod("new")
        await simulation.wait(150)
        assert main(server, "crashing")["restartCount"] == 0
        written = statuses(server, "steady")
        simulation.start()
        await simulation.until(lambda: is_ready(server.pod("new")))
        await simulation.wait(5)
        assert server.pod("steady")["status"] == before
        assert statuses(server, "steady") == written
        assert main(server, "crashing")["restartCount"] == 1
        assert server.pod("new")["status"]["podIP"] not in (
            before["podIP"],
            server.pod("crashing")["status"]["podIP"],
        )

    simulate(scene)


def test_a_pod_that_came_anew_under_the_same_name_begins_a_life_of_its_own() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("same", annotations={"simulate.grove.io/crash-after": "1s"})
        await simulation.until(lambda: is_ready(server.pod("same")))
        await simulation.until(lambda: main(server, "same")["restartCount"] == 2)
        server.remove(PODS, "same", "default")
        server.put_pod("same")
        await simulation.until(lambda: is_ready(server.pod("same")))
        assert main(server, "same")["restartCount"] == 0

    simulate(scene)


def test_what_somebody_else_says_of_a_pod_is_put_right_or_left_as_it_is_theirs() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("gated", readinessGates=[{"conditionType": "example.com/open"}])
        await simulation.wait(1)
        assert condition(server.pod("gated"), "Ready")["reason"] == "ReadinessGatesNotReady"
        theirs = {"type": "example.com/open", "status": "True"}
        held = server.pod("gated")["status"]["conditions"]
        server.edit(PODS, "gated", {"status": {"conditions": [*held, theirs]}}, "default")
        await simulation.until(lambda: is_ready(server.pod("gated")), within=2)
        assert condition(server.pod("gated"), "example.com/open")["status"] == "True"

    simulate(scene)


def test_words_for_all_pods_of_a_node_take_effect_when_they_are_said() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("one")
        await simulation.until(lambda: is_ready(server.pod("one")))
        server.annotate(NODES, NAME, never_ready="true")
        await simulation.until(lambda: not is_ready(server.pod("one")), within=2)
        server.annotate(NODES, NAME, never_ready=None)
        await simulation.until(lambda: is_ready(server.pod("one")), within=2)

    simulate(scene)


def test_a_server_that_was_away_hears_later_what_happened() -> None:
    async def scene(simulation: Simulation) -> None:
        server = simulation.server
        server.put_pod("late", annotations={"simulate.grove.io/ready-delay": "4s"})
        await simulation.until(lambda: server.pod("late")["status"]["phase"] == "Running")
        server.is_away = True
        await simulation.wait(8)
        assert not is_ready(server.pod("late"))
        server.is_away = False
        await simulation.until(lambda: is_ready(server.pod("late")), within=10)

    simulate(scene)

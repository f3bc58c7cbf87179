"""Statuses of Queues on an API server, and what metrics tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from prometheus_client.core import Metric

from grove.kube.errors import Unavailable
from grove.kube.resources import Resource
from grove.scheduler import metrics
from grove.scheduler.cluster import Hold
from grove.scheduler.kinds import POD_GANGS, QUEUES
from grove.scheduler.queues import Queues
from grove.scheduler.statistics import measure
from grove.scheduler.waiting import Waiting
from grove.scheduler.wakes import Wakes
from tests.unit.operator.apiserver import faults
from tests.unit.scheduler.apiserver import GPU, Scheduler, SchedulerServer, play
from tests.unit.scheduler.fleets import BLOCK, RACK, fleet, occupy, spec


def add_queue(server: SchedulerServer, name: str, **spec: Any) -> None:
    server.put(QUEUES, {"metadata": {"name": name}, "spec": spec})


def away(verb: str, resource: Resource, name: str) -> Literal["lost"] | None:
    raise Unavailable("away", code=503)


def join(server: SchedulerServer, gang: str, queue: str) -> None:
    server.edit(POD_GANGS, gang, {"metadata": {"labels": {"grove.io/queue": queue}}}, "default")


def read(families: Iterable[Metric]) -> dict[tuple[str, ...], float]:
    """By name without the prefix, and values of labels."""
    return {
        (sample.name.removeprefix("grove_scheduler_"), *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_queues_say_what_they_use_and_limit_who_starts() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a", gpus=8)
        add_queue(server, "team", limit={GPU: "4"})
        for name in ("one", "two"):
            server.add_gang(name, {"w": 3})
            join(server, name, "team")
        scheduler = Scheduler(server).start()
        await server.clock.sleep(10)
        assert len(server.where()) == 3
        waiting = next(name for name in ("one", "two") if f"{name}-w-0" not in server.where())
        assert server.condition(waiting, "Scheduled") == ("False", "QueueLimit")
        status = server.one(QUEUES, "team", "")["status"]
        assert status["usage"][GPU] == "3"
        assert (status["pendingGangs"], status["runningGangs"]) == (1, 1)
        assert [(one["type"], one["status"]) for one in status["conditions"]] == [("Accepted", "True")]
        found = read(metrics.of_term(scheduler.term))
        assert found["queue_used", "team", GPU] == 3
        assert found["queue_gangs", "team", "pending"] == 1
        assert found["asleep", "QueueLimit"] == 1
        assert found["searches_total",] >= 1
        server.edit(QUEUES, "team", {"spec": {"limit": {GPU: "6"}}})
        await server.clock.sleep(10)
        assert len(server.where()) == 6
        scheduler.check()
        await scheduler.kill()

    play(story)


def test_a_quiet_queue_is_written_once() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a", gpus=8)
        add_queue(server, "team")
        scheduler = Scheduler(server).start()
        await server.clock.sleep(60)
        assert server.count(resource="queues") == 1
        assert server.count() == 1
        scheduler.check()
        await scheduler.kill()

    play(story)


def test_a_status_that_was_not_written_is_written_with_the_next_change() -> None:
    async def story(server: SchedulerServer) -> None:
        server.add_node("a", gpus=8)
        add_queue(server, "team")
        scheduler = Scheduler(server)
        with faults(server, away):
            scheduler.start()
            await server.clock.sleep(10)
        assert scheduler.term.queues.failed >= 1
        server.add_node("b", gpus=8)
        await server.clock.sleep(10)
        assert server.one(QUEUES, "team", "")["status"]["observedGeneration"] == 1
        scheduler.check()
        await scheduler.kill()

    play(story)


def test_metrics_tell_how_scattered_devices_are() -> None:
    cluster = fleet(2, 2)
    queues = Queues(cluster.resources)
    waiting, wakes = Waiting(queues), Wakes(cluster, queues)
    occupy(cluster, 0, spec(gpus=8))
    cluster.hold(Hold("default/g", 1, ((0, 1000),), kind="head", until=0.0))
    found = read(metrics.of_engine(measure(cluster, waiting, wakes, queues, [(BLOCK, RACK)], searches=3, steps=70)))
    assert found["domain_free_units", "rack", GPU] == 16
    assert found["domains_empty", "rack", GPU] == 1
    assert found["fragmentation_ratio", "rack", GPU] == 1 - 16 / 24
    assert found["fragmentation_ratio", "block", GPU] == 0
    assert found["reservations", "head"] == 1
    assert found["search_nodes_total",] == 70

"""The scheduler's metrics: every one that it has is named in the guide, and none is there twice."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.core import Metric

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.resources import NODES
from grove.scheduler import assembly, metrics
from grove.scheduler.kinds import QUEUES, TOPOLOGY_BINDINGS
from tests.unit.scheduler.apiserver import Scheduler, SchedulerServer, play

GUIDE = Path(__file__).parents[3] / "docs/guides/scheduler.md"
RACK = "rack"


def families(scheduler: Scheduler) -> list[Metric]:
    return [*metrics.of_world(scheduler.world), *metrics.of_term(scheduler.term)]


def values(found: list[Metric]) -> dict[tuple[str, ...], float]:
    return {(one.name, *one.labels.values()): one.value for family in found for one in family.samples}


def test_every_metric_is_named_in_the_guide_and_tells_what_it_should() -> None:
    async def story(server: SchedulerServer) -> None:
        levels = [{"domain": "rack", "key": RACK}]
        server.put(TOPOLOGY_BINDINGS, {"metadata": {"name": "t"}, "spec": {"levels": levels}})
        server.put(QUEUES, {"metadata": {"name": "team"}, "spec": {"guaranteed": {"nvidia.com/gpu": 2}}})
        for number in range(4):
            server.add_node(f"n{number}", gpus=2)
            server.edit(NODES, f"n{number}", {"metadata": {"labels": {RACK: f"r{number % 2}"}}})
        scheduler = Scheduler(server, mind=assembly.engine(SchedulerConfiguration())).start()
        server.add_gang("g", {"worker": 2}, gpus=2)
        server.add_gang("large", {"worker": 9}, gpus=2)
        await server.clock.sleep(10)
        found = families(scheduler)
        names = [one.name for one in found]
        assert len(names) == len(set(names))
        guide = GUIDE.read_text()
        assert [name for name in names if f"`{name.removeprefix(metrics.PREFIX)}" not in guide] == []
        told = values(found)
        assert told["grove_scheduler_asleep", "Unschedulable"] == 1
        assert told["grove_scheduler_pods_bound_total",] == 2
        assert told["grove_scheduler_decisions_total", "placed"] == 1
        assert told["grove_scheduler_domain_free_units", RACK, "nvidia.com/gpu"] in (2, 4)
        assert ("grove_scheduler_queue_share", "team", "nvidia.com/gpu") not in told
        await scheduler.kill()

    play(story)

"""What is special about the scheduler, for Prometheus, counted when somebody asks. Named in docs/guides/scheduler.md.

What all programs have in common is in `grove.runtime.metrics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from grove.api import labels
from grove.kube.durations import DurationStatistics
from grove.runtime.metrics import add_durations
from grove.scheduler.explain import level_name
from grove.scheduler.statistics import EngineStatistics, QueueStatistics, RoomStatistics
from grove.scheduler.term import Term
from grove.scheduler.world import World

PREFIX: Final = "grove_scheduler_"
PHASES: Final = ("Pending", "Starting", "Running")


def of_world(world: World) -> Iterator[Metric]:
    """What there is."""
    gangs = GaugeMetricFamily(f"{PREFIX}gangs", "PodGangs by phase and queue.", labels=["state", "queue"])
    found = Counter(
        (
            gang.status.phase if gang.status is not None and gang.status.phase else "Pending",
            (gang.metadata.labels or {}).get(labels.QUEUE, ""),
        )
        for gang in world.gangs
        if world.is_our_gang(gang)
    )
    for key in dict.fromkeys((*((phase, "") for phase in PHASES), *sorted(found))):
        gangs.add_metric(key, found[key])
    yield gangs
    scores = [gang.status.placement_score for gang in world.gangs if gang.status is not None]
    known = [score for score in scores if score is not None]
    if known:
        text = "Mean score of the places that gangs have; 1 is the best possible."
        yield GaugeMetricFamily(f"{PREFIX}placement_score", text, value=sum(known) / len(known))
    yield GaugeMetricFamily(f"{PREFIX}nodes", "Nodes that are known.", value=len(world.nodes))
    yield GaugeMetricFamily(f"{PREFIX}pods", "Pods that are known and have not ended.", value=len(world.pods))


def of_term(term: Term) -> Iterator[Metric]:
    """What this leader has done."""
    live, binder, evictor = term.live.statistics(), term.binder.statistics(), term.evictor.statistics()
    yield _counter("changes", "Changes in the cluster that the engine was told of.", live.changes)
    yield _histogram("decision_seconds", "How long the engine worked at a time.", live.deciding)
    yield _counted("decisions", "Decisions by what they were.", "result", term.decisions)
    yield _histogram("gang_wait_seconds", "How long gangs waited for their place.", term.waits)
    yield _counter("pods_bound", "Pods that were put on nodes.", binder.bound)
    yield _gauge("pods_under_way", "Pods that are decided and not yet bound.", binder.under_way)
    yield _histogram("bind_seconds", "From a decision to its last pod.", binder.seconds)
    yield _counted("bind_conflicts", "Pods that did not come to their nodes, by why.", "reason", binder.failed)
    yield _counter("records", "Decisions that were written down before they were carried out.", binder.records)
    yield _counted(
        "foreign_conflicts", "Pods that a node refused, by the reason of its kubelet.", "reason", term.rejections.counts
    )
    yield _counter("gangs_taken_back", "Gangs that were half bound for too long.", term.takeback.gangs)
    victims = CounterMetricFamily(f"{PREFIX}preemption_victims", "What made room for others.", labels=["unit"])
    victims.add_metric(["gang"], evictor.gangs)
    victims.add_metric(["pod"], evictor.pods)
    yield victims
    yield _counter("evictions_failed", "Victims that stayed.", evictor.failed)
    yield _counter("status_conflicts", "Statuses that somebody else had changed meanwhile.", term.statuses.conflicts)
    yield _counter("queue_statuses", "Statuses of Queues that were written.", term.queues.written)
    yield from of_engine(term.engine())


def of_engine(engine: EngineStatistics) -> Iterator[Metric]:
    """What the engine knows."""
    waiting, wakes = engine.waiting, engine.wakes
    yield _gauge("starving_gangs", "Gangs for which room is gathered, or would be.", waiting.starving)
    yield _gauge("in_line", "Gangs that are to be looked at.", waiting.ready)
    yield _counter("looks", "How often a gang was looked at.", waiting.taken)
    asleep = GaugeMetricFamily(f"{PREFIX}asleep", "Gangs that wait until something happens, by why.", labels=["reason"])
    for reason, count in wakes.parked.items():
        asleep.add_metric([reason], count)
    yield asleep
    yield _counter("woken", "Gangs that were looked at again since something they lack had come.", wakes.woken)
    yield _counter("woken_in_vain", "Of these, who was refused again for want of room.", wakes.in_vain)
    yield _counter("known_verdicts", "Gangs refused without a search, as one like them had just been.", wakes.known)
    yield _counter("searches", "Searches for a place.", engine.searches)
    yield _counter("search_nodes", "Steps of all searches.", engine.steps)
    holds = GaugeMetricFamily(f"{PREFIX}reservations", "Nodes on which room is held, by why.", labels=["kind"])
    for kind in sorted(engine.holds):
        holds.add_metric([kind], engine.holds[kind])
    yield holds
    yield from _of_queues(engine.queues)
    yield from _of_room(engine.room)


def _of_queues(queues: Sequence[QueueStatistics]) -> Iterator[Metric]:
    used = GaugeMetricFamily(f"{PREFIX}queue_used", "What gangs of a queue use.", labels=["queue", "resource"])
    share = GaugeMetricFamily(f"{PREFIX}queue_share", "What is a queue's fair share.", labels=["queue", "resource"])
    gangs = GaugeMetricFamily(f"{PREFIX}queue_gangs", "Gangs in a queue and below it.", labels=["queue", "state"])
    for queue in queues:
        for family, amounts in ((used, queue.used), (share, queue.share)):
            for resource, amount in amounts.items():
                family.add_metric([queue.name, resource], amount)
        gangs.add_metric([queue.name, "pending"], queue.pending)
        gangs.add_metric([queue.name, "running"], queue.running)
    yield from (used, share, gangs)


def _of_room(room: Sequence[RoomStatistics]) -> Iterator[Metric]:
    names = ["level", "resource"]
    largest = GaugeMetricFamily(f"{PREFIX}domain_free_units", "The most that is free in one domain.", labels=names)
    empty = GaugeMetricFamily(f"{PREFIX}domains_empty", "Domains of which nothing is used.", labels=names)
    text = "What part of all that is free lies outside the domain with most of it."
    scattered = GaugeMetricFamily(f"{PREFIX}fragmentation_ratio", text, labels=names)
    for one in room:
        level = level_name(one.level)
        largest.add_metric([level, one.resource], one.largest)
        empty.add_metric([level, one.resource], one.empty)
        scattered.add_metric([level, one.resource], one.fragmentation)
    yield from (largest, empty, scattered)


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(PREFIX + name, help, value=value)


def _counter(name: str, help: str, value: float) -> Metric:
    return CounterMetricFamily(PREFIX + name, help, value=value)


def _counted(name: str, help: str, label: str, found: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(PREFIX + name, help, labels=[label])
    for value in sorted(found):
        family.add_metric([value], found[value])
    return family


def _histogram(name: str, help: str, found: DurationStatistics) -> Metric:
    family = HistogramMetricFamily(PREFIX + name, help, labels=[])
    add_durations(family, [], found)
    return family

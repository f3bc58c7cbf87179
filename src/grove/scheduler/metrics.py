"""What is special about the scheduler, for Prometheus, counted when somebody asks. Named in docs/guides/scheduler.md.

What all programs have in common is in `grove.runtime.metrics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from grove.api import labels
from grove.kube.durations import DurationStatistics
from grove.runtime.metrics import add_durations
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
    yield _gauge("waiting", "Gangs and lone pods that wait, with a reason.", len(term.sayings))
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

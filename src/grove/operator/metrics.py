"""What is special about the operator, for Prometheus: gangs by phase, pods by state, conflicts of statuses.

Counted from the caches when somebody asks; what all programs have in common is in `grove.runtime.metrics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from grove.kube.objects import PodView
from grove.operator import pods
from grove.operator.world import World
from grove.operator.writer import Writer

PREFIX: Final = "grove_operator_"
PHASES: Final = ("Pending", "Starting", "Running")
STATES: Final = ("gated", "unscheduled", "starting", "ready", "done", "lost", "terminating")


def of_world(world: World) -> Iterator[Metric]:
    """How many there are of what is managed."""
    objects = GaugeMetricFamily(f"{PREFIX}objects", "Objects of Grove's kinds.", labels=["kind"])
    for kind, cache in (
        ("PodCliqueSet", world.sets),
        ("PodClique", world.cliques),
        ("PodCliqueScalingGroup", world.groups),
        ("PodGang", world.gangs),
    ):
        objects.add_metric([kind], sum(1 for _ in cache))
    yield objects
    phases = Counter(gang.status.phase if gang.status is not None else "Pending" for gang in world.gangs)
    yield _counted(f"{PREFIX}gangs", "PodGangs by phase.", "phase", PHASES, phases)
    yield _counted(f"{PREFIX}pods", "Managed pods by state.", "state", STATES, Counter(map(state_of, world.pods)))


def of_writers(writers: Mapping[str, Writer]) -> Iterator[Metric]:
    """Which controller's statuses met another's; a write that is refused so is decided anew."""
    help = "Status writes that were refused because the object had changed."
    family = CounterMetricFamily(f"{PREFIX}status_update_conflict", help, labels=["controller", "target_kind"])
    for controller, writer in writers.items():
        for kind, count in writer.conflicts.items():
            family.add_metric([controller, kind], count)
    yield family


def state_of(pod: PodView) -> str:
    """One of STATES."""
    if pods.is_terminating(pod):
        return "terminating"
    if pods.is_lost(pod):
        return "lost"
    if pods.is_done(pod):
        return "done"
    if pods.is_gated(pod):
        return "gated"
    if not pods.is_scheduled(pod):
        return "unscheduled"
    return "ready" if pods.is_ready(pod) else "starting"


def _counted(name: str, help: str, label: str, expected: Iterable[str], found: Counter[str]) -> Metric:
    family = GaugeMetricFamily(name, help, labels=[label])
    for value in dict.fromkeys((*expected, *sorted(found))):
        family.add_metric([value], found[value])
    return family

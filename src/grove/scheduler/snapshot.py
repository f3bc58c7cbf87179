"""The state of an engine as a short history, which leads a fresh engine to the same decisions. Pure.

    for line in snapshot(engine, configuration, now):
        history.tell(another, line)

Exact are: what is free on which node, pods that are assumed on nodes, room that is kept and for how long, plans of
preemption and their accounts, gangs that starve, what was last said of whom. Not kept, since it follows from these or
from the next look: which volumes and devices an assumed pod was promised (they are drawn anew), and who is asleep. The
other engine looks at every gang that waits once more; one that slept only to spare time may get its place earlier.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.objects import NodeView
from grove.scheduler import history
from grove.scheduler.cluster import Cluster
from grove.scheduler.engine import Engine
from grove.scheduler.history import Line, Told
from grove.scheduler.starvation import Head


def snapshot(engine: Engine, configuration: SchedulerConfiguration, now: float) -> list[Line]:
    """Nothing of it changes when the engine goes on: it may be encoded elsewhere."""
    return [history.start(configuration, now, is_snapshot=True), *_lines(engine)]


def _lines(engine: Engine) -> Iterator[Line]:
    cluster = engine.cluster
    yield history.Rows(tuple(cluster.resources.names))
    yield from _nodes(cluster)
    for kind, view in engine.objects():
        if kind != "node":
            yield Told(kind, view)
    for pod in cluster.pods.values():
        view = engine.registry.pods[pod.uid]
        if not view.node_name or pod.priority != pod.cls.priority:
            yield history.Seat(pod.uid, cluster.names[pod.slot], pod.priority)
    for kept in cluster.holds.values():
        for one in kept:
            yield history.Room(
                one.owner,
                cluster.names[one.slot],
                history.amounts(cluster, one.requests),
                one.kind,
                None if one.until == math.inf else one.until,
            )
    yield from _plans(engine)
    for key, retry in engine.retries.held.items():
        yield history.Failed(key, retry.why.reason, retry.why.message, retry.failures, retry.until, retry.is_new)
    for key, head in engine.starving().items():
        yield history.Gathering(key) if head is None else _gathering(cluster, head, engine.heads.looked)
    for key, said in engine.said().items():
        yield history.Heard(key, said.reason, said.sentence, said.essence, said.at)


def _nodes(cluster: Cluster) -> Iterator[Line]:
    """Each gets its slot again: between equal nodes the slot decides."""
    empty = {slot: f"vacant-slot-{slot}" for slot in cluster.vacant}
    for slot, view in enumerate(cluster.views):
        yield Told("node", NodeView(metadata=ObjectMeta(name=empty[slot])) if view is None else view)
    for name in empty.values():
        yield history.node_gone(name)


def _plans(engine: Engine) -> Iterator[Line]:
    preempting = engine.preempting
    for key, plan in preempting.plans.items():
        yield history.Plan(key, tuple(sorted(plan.victims)), plan.until, plan.why)
    for key, until in preempting.pauses.items():
        yield history.Pause(key, until)
    ledger = preempting.ledger
    for key in dict.fromkeys((*ledger.cases, *ledger.went)):
        case = ledger.case(key)
        yield history.Account(
            key, case.plans, case.cooled, case.not_before, tuple(sorted(case.sunk)), ledger.went.get(key, ())
        )


def _gathering(cluster: Cluster, head: Head, looked: float) -> Line:
    return history.Gathering(
        head.gang,
        head.priority,
        head.kind,
        head.since,
        head.domain,
        None if head.start == math.inf else head.start,
        head.lacking,
        tuple(
            (cluster.names[slot], history.amounts(cluster, wanted))
            for slot, wanted in head.targets
            if cluster.alive[slot]
        ),
        looked,
    )

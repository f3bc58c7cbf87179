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
from collections.abc import Iterator, Mapping

from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.objects import NodeView
from grove.scheduler import lines
from grove.scheduler.cluster import Cluster, Hold, Placed
from grove.scheduler.engine import Engine
from grove.scheduler.explain import Said
from grove.scheduler.lines import (
    Account,
    Amounts,
    Failed,
    Gathering,
    Heard,
    Line,
    NotAHistory,
    Pause,
    Plan,
    Room,
    Rows,
    Seat,
    Told,
)
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.preempting import UnderWay
from grove.scheduler.preemption.ledger import Case
from grove.scheduler.registry import is_lone
from grove.scheduler.resources import Vector
from grove.scheduler.retries import Retry
from grove.scheduler.starvation import Head


def snapshot(engine: Engine, configuration: SchedulerConfiguration, now: float) -> list[Line]:
    """Nothing of it changes when the engine goes on: it may be encoded elsewhere."""
    return [lines.start(configuration, now, is_snapshot=True), *_lines(engine)]


def _lines(engine: Engine) -> Iterator[Line]:
    cluster = engine.cluster
    yield Rows(tuple(cluster.resources.names))
    yield from _nodes(cluster)
    for kind, view in engine.objects():
        if kind != "node":
            yield Told(kind, view)
    for pod in cluster.pods.values():
        view = engine.registry.pods[pod.uid]
        if not view.node_name or pod.priority != pod.cls.priority:
            yield Seat(pod.uid, cluster.names[pod.slot], pod.priority)
    for kept in cluster.holds.values():
        for one in kept:
            yield Room(
                one.owner,
                cluster.names[one.slot],
                amounts(cluster, one.requests),
                one.kind,
                None if one.until == math.inf else one.until,
            )
    yield from _plans(engine)
    for key, retry in engine.retries.held.items():
        yield Failed(key, retry.why.reason, retry.why.message, retry.failures, retry.until, retry.is_new)
    for key, head in engine.starving().items():
        yield Gathering(key) if head is None else _gathering(cluster, head, engine.heads.looked)
    for key, said in engine.said().items():
        yield Heard(key, said.reason, said.sentence, said.essence, said.at)


def _nodes(cluster: Cluster) -> Iterator[Line]:
    """Each gets its slot again: between equal nodes the slot decides."""
    empty = {slot: f"vacant-slot-{slot}" for slot in cluster.vacant}
    for slot, view in enumerate(cluster.views):
        yield Told("node", NodeView(metadata=ObjectMeta(name=empty[slot])) if view is None else view)
    for name in empty.values():
        yield lines.node_gone(name)


def _plans(engine: Engine) -> Iterator[Line]:
    preempting = engine.preempting
    for key, plan in preempting.plans.items():
        yield Plan(key, tuple(sorted(plan.victims)), plan.until, plan.why)
    for key, until in preempting.pauses.items():
        yield Pause(key, until)
    ledger = preempting.ledger
    for key in dict.fromkeys((*ledger.cases, *ledger.went)):
        case = ledger.case(key)
        yield Account(key, case.plans, case.cooled, case.not_before, tuple(sorted(case.sunk)), ledger.went.get(key, ()))


def _gathering(cluster: Cluster, head: Head, looked: float) -> Line:
    return Gathering(
        head.gang,
        head.priority,
        head.kind,
        head.since,
        head.domain,
        None if head.start == math.inf else head.start,
        head.lacking,
        tuple((cluster.names[slot], amounts(cluster, wanted)) for slot, wanted in head.targets if cluster.alive[slot]),
        looked,
    )


# Saying it to another engine


def remind(engine: Engine, line: Line) -> None:
    """Says a line of a snapshot to an engine, after all objects. Raises NotAHistory."""
    cluster = engine.cluster
    match line:
        case Rows():
            for name in line.names:
                cluster.resources.row(name)
        case Seat():
            _seat(engine, line)
        case Room():
            slot, until = _slot(cluster, line.node), math.inf if line.until is None else line.until
            cluster.hold(Hold(line.gang, slot, vector(cluster, line.amounts), kind=line.kind, until=until))
        case Plan():
            engine.preempting.remember(line.gang, UnderWay(frozenset(line.victims), line.until, line.why))
        case Pause():
            engine.preempting.pause(line.gang, line.until)
        case Failed():
            why = BindFailure(line.reason, line.message)
            engine.retries.remember(line.gang, Retry(why, line.failures, line.until, line.is_new))
        case Account():
            case = Case(line.plans, line.cooled, line.not_before, frozenset(line.sunk))
            engine.preempting.ledger.remember(line.gang, case, line.went)
        case Gathering():
            engine.remember_starving(line.gang, _head(cluster, line), line.looked)
        case Heard():
            engine.remember_said(line.gang, Said(line.reason, line.sentence, line.essence, line.at))


def _seat(engine: Engine, line: Seat) -> None:
    engine.seats.tell_apart()
    pod = engine.registry.pods.get(line.uid)
    if pod is None:
        raise NotAHistory(f"nothing was told of the pod {line.uid}, which is to be on {line.node}")
    engine.seats.take(line.uid)
    meta, gang = pod.metadata, engine.registry.gang_of(line.uid)
    engine.seats.put(
        Placed(
            line.uid,
            meta.namespace or "",
            meta.name,
            engine.cluster.classes.of(pod),
            _slot(engine.cluster, line.node),
            gang="" if is_lone(gang) else gang,
            priority=line.priority,
            terminating=bool(meta.deletion_timestamp),
        )
    )


def _head(cluster: Cluster, line: Gathering) -> Head | None:
    if not line.targets:
        return None
    targets = tuple((_slot(cluster, node), vector(cluster, amounts)) for node, amounts in line.targets)
    begin = math.inf if line.start is None else line.start
    return Head(line.gang, line.priority, line.kind, line.since, line.domain, begin, line.lacking, targets)


def _slot(cluster: Cluster, node: str) -> int:
    slot = cluster.slot_of.get(node)
    if slot is None:
        raise NotAHistory(f"nothing was told of the node {node}")
    return slot


def vector(cluster: Cluster, amounts: Mapping[str, int]) -> Vector:
    return tuple(sorted((cluster.resources.row(name), amount) for name, amount in amounts.items()))


def amounts(cluster: Cluster, vector: Vector) -> Amounts:
    return {cluster.resources.names[row]: amount for row, amount in vector}

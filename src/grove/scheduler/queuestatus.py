"""The statuses of Queues: what they use, what is their share, how many gangs run and wait, what is wrong. Pure.

`queuewriter.py` asks for the differences now and then, and writes them: a status is a picture for people; decisions are
made on `queues.py`, which is exact at every moment.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from grove.api import conditions, quantities
from grove.api.kinds.meta import Condition
from grove.api.kinds.queue import Queue, QueueStatus
from grove.scheduler.queues import Queues
from grove.scheduler.queuetree import TOP
from grove.scheduler.resources import Resources

ACCEPTED: Final = "Accepted"
"""Whether gangs may start in the queue: its place in the tree is clear."""
BACKED: Final = "GuaranteeBacked"
"""Whether what it is guaranteed is there; only on queues with a guarantee."""
PARENT_BROKEN: Final = "ParentNotAccepted"
ENOUGH: Final = "Enough"
TOO_MUCH: Final = "TooMuchGuaranteed"

_GIBI: Final = 1 << 30
_MEBI: Final = 1 << 20
_IN_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def differences(queues: Queues, objects: Iterable[Queue], now: datetime.datetime) -> list[tuple[Queue, QueueStatus]]:
    """The statuses that are to be written: those that say something else than what is there. `objects`: the Queues as
    they are stored; those that nobody has been told of yet are left out."""
    rows = queues.rows()
    known = [queue for queue in objects if queue.metadata.name in queues.tree.queues]
    found = [(queue, wanted(queues, queue, rows, now)) for queue in known]
    return [(queue, status) for queue, status in found if status != queue.status]


def wanted(queues: Queues, queue: Queue, rows: frozenset[int], now: datetime.datetime) -> QueueStatus:
    """The status as it is to be. `rows`: the resources that any queue has to do with."""
    name = queue.metadata.name
    resources = queues.resources
    share = {row: amount for row, amount in queues.share(name).items() if row in rows}
    counts = queues.counts(name)
    held = QueueStatus() if queue.status is None else queue.status
    return replace(
        held,
        observed_generation=queue.metadata.generation,
        usage=_written(resources, queues.used(name)),
        share=_written(resources, share),
        pending_gangs=counts.pending,
        running_gangs=counts.running,
        conditions=_conditions(queues, queue, held, now),
    )


def _conditions(queues: Queues, queue: Queue, held: QueueStatus, now: datetime.datetime) -> tuple[Condition, ...]:
    name, generation = queue.metadata.name, queue.metadata.generation
    fault, node = queues.tree.faults.get(name), queues.tree.nodes[queues.tree.node_of[name]]
    found = held.conditions
    if not node.broken:
        found = conditions.put(
            found, ACCEPTED, "True", ACCEPTED, "gangs may start in it", now=now, generation=generation
        )
    else:
        reason = PARENT_BROKEN if fault is None else fault.reason
        found = conditions.put(found, ACCEPTED, "False", reason, node.broken, now=now, generation=generation)
    if not any(node.guaranteed.values()):
        return conditions.without(found, BACKED)
    lacking = _unbacked(queues, name)
    if lacking:
        return conditions.put(found, BACKED, "False", TOO_MUCH, lacking, now=now, generation=generation)
    message = "what it is guaranteed is there, free or lent to others"
    return conditions.put(found, BACKED, "True", ENOUGH, message, now=now, generation=generation)


def _unbacked(queues: Queues, name: str) -> str:
    """Why the guarantee cannot be kept; empty: it can. From the queue upwards: the first reason counts."""
    nodes = queues.tree.nodes
    for at in nodes[queues.tree.node_of[name]].path:
        parent = nodes[at].parent
        for row in sorted(nodes[at].guaranteed):
            together = sum(nodes[child].guaranteed.get(row, 0) for child in nodes[parent].children)
            there = queues.capacity(row) if parent == TOP else nodes[parent].guaranteed.get(row, 0)
            if nodes[at].guaranteed[row] and together > there:
                who = "the cluster has" if parent == TOP else f"queue {nodes[parent].name} allows"
                what = queues.resources.names[row]
                most, all_ = (_text(what, amount) for amount in (there, together))
                return (
                    f"{all_} {what} are guaranteed to it and its siblings together, and {who} {most}: "
                    "what there is is divided in proportion; lower spec.guaranteed of some"
                )
    return ""


def _written(resources: Resources, amounts: Mapping[int, int | float]) -> dict[str, str | int] | None:
    found: dict[str, str | int] = {
        resources.names[row]: _text(resources.names[row], amount) for row, amount in sorted(amounts.items())
    }
    return found or None


def _text(resource: str, amount: int | float) -> str:
    """An amount as people write it; fractions to a thousandth, of bytes to a mebibyte, rounded down."""
    if resource.startswith(_IN_BYTES):
        if isinstance(amount, float):
            amount = int(amount) // _MEBI * _MEBI
        for unit, size in (("Gi", _GIBI), ("Mi", _MEBI)):
            if amount and amount % size == 0:
                return f"{amount // size}{unit}"
        return str(amount)
    thousandths = amount if resource == "cpu" else amount * 1000
    return quantities.canonical(f"{int(thousandths + 1e-6)}m")

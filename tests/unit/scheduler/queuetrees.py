"""Queues to divide clusters among."""

from __future__ import annotations

from collections.abc import Mapping

from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.queue import Queue, QueueSpec
from grove.scheduler.queues import Queues
from grove.scheduler.resources import Resources, Vector, amounts

GPU = "nvidia.com/gpu"


def queue(
    name: str,
    parent: str | None = None,
    *,
    guaranteed: int | None = None,
    limit: int | None = None,
    weight: int = 1,
    priority: int = 0,
) -> Queue:
    """Guarantee and limit are of GPUs."""
    spec = QueueSpec(
        parent=parent,
        weight=weight,
        priority=priority,
        guaranteed=None if guaranteed is None else {GPU: str(guaranteed)},
        limit=None if limit is None else {GPU: str(limit)},
    )
    return Queue(metadata=ObjectMeta(name=name, generation=1), spec=spec)


class Shared:
    """Queues that share some GPUs."""

    def __init__(self, gpus: int, *queues: Queue, **more: str) -> None:
        self.resources = Resources()
        self.queues = Queues(self.resources)
        self.gpu = self.resources.row(GPU)
        self.queues.put(queues)
        self.queues.set_capacity(self.vector({GPU: str(gpus), **more}))

    def vector(self, quantities: Mapping[str, str]) -> Vector:
        return self.resources.vector(amounts(dict(quantities)))

    def gpus(self, count: int) -> Vector:
        return ((self.gpu, count),)

    def use(self, queue: str, gpus: int) -> None:
        self.queues.use(queue, self.gpus(abs(gpus)), 1 if gpus > 0 else -1)

    def wait(self, queue: str, gpus: int) -> None:
        self.queues.wait(queue, self.gpus(abs(gpus)), 1 if gpus > 0 else -1)

    def share(self, queue: str) -> float:
        return round(self.queues.share(queue).get(self.gpu, 0.0), 6)

    def shares(self, *queues: str) -> list[float]:
        return [self.share(one) for one in queues]

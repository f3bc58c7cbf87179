"""What the engine knows of itself, for metrics and debugging; counted when somebody asks. Data, and how it is counted.

Called by `engine.statistics`, which the loop that owns the engine asks between two decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.queues import Queues
from grove.scheduler.resources import CPU, is_device
from grove.scheduler.waiting import Waiting, WaitingStatistics
from grove.scheduler.wakes import Wakes, WakesStatistics


class QueueStatistics(msgspec.Struct, frozen=True):
    """A Queue; amounts by resource, CPU in cores."""

    name: str
    pending: int
    running: int
    used: dict[str, float]
    share: dict[str, float]


class RoomStatistics(msgspec.Struct, frozen=True):
    """What is free of a kind of device, seen from one level of a topology."""

    level: str
    """Its label key."""
    resource: str
    free: int
    largest: int
    """The most that is free in one domain."""
    empty: int
    """Domains of which nothing is used."""

    @property
    def fragmentation(self) -> float:
        """0: all that is free is in one domain; nearly 1: it is scattered."""
        return 1.0 - self.largest / self.free if self.free else 0.0


class EngineStatistics(msgspec.Struct, frozen=True):
    """The engine."""

    waiting: WaitingStatistics
    wakes: WakesStatistics
    queues: tuple[QueueStatistics, ...]
    holds: dict[str, int]
    """Nodes on which room is held, by the kind of hold."""
    room: tuple[RoomStatistics, ...]
    searches: int
    steps: int
    """Of all searches."""


def measure(
    cluster: Cluster,
    waiting: Waiting,
    wakes: Wakes,
    queues: Queues,
    topologies: Iterable[tuple[str, ...]],
    *,
    searches: int,
    steps: int,
) -> EngineStatistics:
    """`topologies`: the label keys of those that are declared."""
    return EngineStatistics(
        waiting=waiting.statistics(),
        wakes=wakes.statistics(),
        queues=tuple(_of_queues(queues)),
        holds=dict(Counter(hold.kind for kept in cluster.holds.values() for hold in kept)),
        room=tuple(_room(cluster, topologies)),
        searches=searches,
        steps=steps,
    )


def _of_queues(queues: Queues) -> Iterator[QueueStatistics]:
    rows = queues.rows() if not queues.is_flat else frozenset()
    names = queues.resources.names
    for name in queues.tree.queues:
        counts = queues.counts(name)
        used, share = (
            {names[row]: _plain(row, amount) for row, amount in sorted(amounts.items()) if row in rows}
            for amounts in (queues.used(name), queues.share(name))
        )
        yield QueueStatistics(name, counts.pending, counts.running, used, share)


def _plain(row: int, amount: float) -> float:
    return amount / 1000 if row == CPU else float(amount)


def _room(cluster: Cluster, topologies: Iterable[tuple[str, ...]]) -> Iterator[RoomStatistics]:
    size = cluster.size
    rows = [row for row, name in enumerate(cluster.resources.names) if is_device(name) and row < len(cluster.free)]
    seen = set()
    for keys in topologies:
        tree = cluster.tree(keys)
        for row in rows:
            free = np.maximum(cluster.free[row, :size], 0)
            have = cluster.allocatable[row, :size]
            for level, sums, all_ in zip(tree.levels, tree.sums(free), tree.sums(have), strict=True):
                if (level.key, row) in seen or not len(sums):
                    continue
                seen.add((level.key, row))
                yield RoomStatistics(
                    level.key,
                    cluster.resources.names[row],
                    int(sums.sum()),
                    int(sums.max()),
                    int(((sums == all_) & (all_ > 0)).sum()),
                )

"""Ports: two pods on a node do not take the same port of it. Pure.

Only ports that a class waiting for a place has asked for are counted by slot; of all others it is known who has them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from grove.kube.hostports import HostPort, host_ports
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.columns import grown
from grove.scheduler.predicates.rule import Counts, Lenient

_MOST_KNOWN: Final = 65536
Taken: TypeAlias = dict[HostPort, dict[int, int]]
"""By slot how many pods have a port."""


class Ports(Lenient):
    """What `hostPort`, `hostIP` and `protocol` of containers say; of pods in the host's network, `containerPort`."""

    name = "Ports"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ports: dict[int, tuple[HostPort, ...]] = {}
        self._taken: dict[tuple[str, int], Taken] = defaultdict(dict)
        self._asked: dict[tuple[str, int], dict[HostPort, Counts]] = defaultdict(dict)
        """How many pods on each slot are in the way of a port."""

    def is_dynamic(self, cls: PodClass) -> bool:
        return bool(self._of(cls))

    def limit(self, cls: PodClass) -> Counts | None:
        """One pod of a class takes all its ports from the next."""
        found = np.ones(self._cluster.size, np.int64)
        for port in self._of(cls):
            found[self._in_the_way(port)[: len(found)] > 0] = 0
        return found

    def interacts(self, classes: Sequence[PodClass]) -> bool:
        asked = [self._of(cls) for cls in classes]
        return any(
            one.is_in_the_way_of(other)
            for first, second in itertools.combinations(asked, 2)
            for one in first
            for other in second
            if one[1:] == other[1:]
        )

    def only_shrinks(self, cls: PodClass) -> bool:
        return True

    def placed(self, pod: Placed, sign: int) -> None:
        slot = pod.slot
        for port in self._of(pod.cls):
            place = port[1:]
            slots = self._taken[place].setdefault(port, {})
            slots[slot] = slots.get(slot, 0) + sign
            if not slots[slot]:
                del slots[slot]
                if not slots:
                    del self._taken[place][port]
            for asked, counts in self._asked.get(place, {}).items():
                if asked.is_in_the_way_of(port):
                    if slot >= len(counts):
                        counts = self._asked[place][asked] = grown(counts, 2 * slot)
                    counts[slot] += sign

    def explain(self, cls: PodClass, slot: int) -> str:
        for port in self._of(cls):
            counts = self._in_the_way(port)
            if counts[slot]:
                return f"host port {port.number}/{port.protocol} is taken"
        return ""

    def _of(self, cls: PodClass) -> tuple[HostPort, ...]:
        found = self._ports.get(cls.number)
        if found is None:
            if len(self._ports) >= _MOST_KNOWN:
                self._ports.clear()
            found = self._ports[cls.number] = tuple(dict.fromkeys(host_ports(cls.spec)))
        return found

    def _in_the_way(self, port: HostPort) -> Counts:
        place, size = port[1:], self._cluster.size
        counts = self._asked[place].get(port)
        if counts is None:
            counts = self._asked[place][port] = np.zeros(size, np.int64)
            for other, slots in self._taken[place].items():
                if port.is_in_the_way_of(other):
                    for slot, pods in slots.items():
                        counts[slot] += pods
        elif len(counts) < size:
            counts = self._asked[place][port] = grown(counts, 2 * size)
        return counts

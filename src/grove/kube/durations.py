"""How long things took: counted in buckets, as a histogram of Prometheus wants them."""

from bisect import bisect_left
from dataclasses import dataclass

# Seconds. From a reconcile that finds nothing to do, to one that waits for a slow API server; requests are alike.
BOUNDS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True)
class DurationStatistics:
    """`buckets` are counts of durations up to each of `bounds`, each including those before it; the last is all."""

    bounds: tuple[float, ...]
    buckets: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        return self.buckets[-1]


class Durations:
    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._total += seconds

    def statistics(self) -> DurationStatistics:
        buckets = tuple(sum(self._counts[: index + 1]) for index in range(len(self._counts)))
        return DurationStatistics(self._bounds, buckets, self._total)

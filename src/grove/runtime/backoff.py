"""How long to wait before trying again: longer each time, up to a bound, and never all at the same moment."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """`first`, then `factor` times as long each time, at most `longest` seconds; less up to the share `jitter`.

    Jitter shortens, so that `longest` is a bound. After an outage everything fails at the same moment, and without it
    would come back at the same moment too.
    """

    first: float = 0.05
    factor: float = 2.0
    longest: float = 60.0
    jitter: float = 0.2

    def delay(self, failures: int, rng: random.Random) -> float:
        """Seconds to wait after so many failures in a row, counted from 1."""
        # Bounded before it is raised to a power: a key may fail for months.
        exponent = min(failures - 1, 64)
        return min(self.first * self.factor**exponent, self.longest) * (1.0 - self.jitter * rng.random())

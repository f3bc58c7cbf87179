"""The search as the engine calls it: with the topologies that are declared, and the exact solver if it is wanted."""

from __future__ import annotations

from typing import Final

from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.exact import Exact
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.place import place
from grove.scheduler.topologies import Topologies
from grove.scheduler.verdicts import Answer


class Placer:
    """Gangs that state no level are kept together in the first topology, and its clean domains are spared."""

    def __init__(self, *, exact: Exact | None = None) -> None:
        self.topologies = Topologies()
        """Those of the engine that calls it."""
        self._exact: Final = exact

    def __call__(self, cluster: Cluster, gang: Gang, budget: Budget) -> Answer:
        declared = self.topologies.all()
        options = Options(keys=declared[0] if declared else (), exact=self._exact)
        return place(cluster, gang, budget, options=options)

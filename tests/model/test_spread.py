"""Replicas that are placed one after the other, and leave in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grove.kube.affinity import TopologySpreadConstraint
from grove.scheduler.spread import Replica, spread
from tests.unit.scheduler.fleets import RACK, fleet


@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_replicas_that_only_come_never_differ_by_more_than_the_skew(racks: int, skew: int, data: st.DataObject) -> None:
    cluster = fleet(racks, 2)
    constraint = TopologySpreadConstraint(max_skew=skew, topology_key=RACK, when_unsatisfiable="DoNotSchedule")
    placed: list[Replica] = []
    for at in range(data.draw(st.integers(0, 12))):
        gang = Replica(f"default/s-{at}", {}, "default/s", ())
        found = spread(cluster, gang, [constraint], placed)
        assert found.within is not None
        assert found.within.any()
        slot = data.draw(st.sampled_from(np.flatnonzero(found.within).tolist()))
        placed.append(gang._replace(slots=(slot,)))
        counts = np.bincount([one.slots[0] // 2 for one in placed], minlength=racks)
        assert counts.max() - counts.min() <= skew

"""Replicas in different domains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from grove.kube.affinity import LabelSelector, TopologySpreadConstraint
from grove.scheduler.cluster import Cluster
from grove.scheduler.spread import InvalidConstraint, Replica, Spread, read, spread
from tests.unit.scheduler.fleets import BLOCK, RACK, fleet, node


def replica(index: int, *slots: int, of: str = "default/set", **labels: str) -> Replica:
    return Replica(f"default/set-{index}", labels, of, slots)


def must(skew: int = 1, key: str = RACK, **more: object) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew=skew, topology_key=key, when_unsatisfiable="DoNotSchedule", **more)  # type: ignore[arg-type]


def should(key: str = RACK) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew=1, topology_key=key, when_unsatisfiable="ScheduleAnyway")


def racks(cluster: Cluster, found: Spread) -> list[str]:
    assert found.within is not None
    views = [cluster.views[slot] for slot in np.flatnonzero(found.within)]
    return sorted({(view.metadata.labels or {})[RACK] for view in views if view is not None})


def over(
    cluster: Cluster, constraint: TopologySpreadConstraint, others: Sequence[Replica], gang: Replica | None = None
) -> list[str]:
    return racks(cluster, spread(cluster, gang or replica(9), [constraint], others))


def test_the_first_replica_goes_anywhere_and_the_next_one_elsewhere() -> None:
    cluster = fleet(3, 2)
    assert over(cluster, must(), []) == ["r000", "r001", "r002"]
    assert over(cluster, must(), [replica(0, 0, 1)]) == ["r001", "r002"]
    assert over(cluster, must(), [replica(0, 0), replica(1, 2), replica(2, 5)]) == ["r000", "r001", "r002"]
    assert over(cluster, must(2), [replica(0, 0), replica(1, 2)]) == ["r000", "r001", "r002"]


def test_a_replica_counts_in_every_domain_that_it_is_in() -> None:
    cluster = fleet(3, 2)
    assert over(cluster, must(), [replica(0, 0, 2, 3)]) == ["r002"]


def test_with_too_few_domains_none_counts_as_empty() -> None:
    cluster = fleet(2, 2)
    others = [replica(0, 0), replica(1, 2)]
    assert over(cluster, must(min_domains=3), others) == []
    assert over(cluster, must(min_domains=2), others) == ["r000", "r001"]


def test_domains_where_the_pods_can_never_run_do_not_count() -> None:
    cluster = fleet(3, 2)
    allowed = np.array([True, True, True, True, False, False])
    found = spread(cluster, replica(9), [must()], [replica(0, 0), replica(1, 2)], allowed)
    assert racks(cluster, found) == ["r000", "r001"]


def test_nodes_without_the_label_are_left_out() -> None:
    cluster = fleet(1, 1)
    cluster.node(node("bare"))
    found = spread(cluster, replica(9), [must()], [])
    assert found.within is not None
    assert found.within.tolist() == [True, False]


def test_where_a_gang_runs_it_may_have_more_pods() -> None:
    cluster = fleet(3, 2)
    gang = replica(0, 1)
    assert over(cluster, must(), [replica(1, 0)], gang) == ["r000", "r001", "r002"]


def test_other_sets_count_only_where_a_selector_says_so() -> None:
    cluster = fleet(2, 2)
    stranger = replica(0, 0, of="default/other", app="x")
    assert over(cluster, must(), [stranger]) == ["r000", "r001"]
    selector = LabelSelector(match_labels={"app": "x"})
    assert over(cluster, must(label_selector=selector), [stranger, replica(1, 2)]) == ["r001"]
    assert over(cluster, must(), [stranger], replica(9, of="")) == ["r000", "r001"]


def test_a_wish_is_a_matter_of_taste() -> None:
    cluster = fleet(2, 1)
    cluster.node(node("bare"))
    found = spread(cluster, replica(9), [should()], [replica(0, 0), replica(1, 0)])
    assert found.within is None
    assert found.taste is not None
    assert found.taste.tolist() == [200, 0, 300]


def test_constraints_hold_together_and_say_what_they_leave() -> None:
    cluster = fleet(4, 1, blocks=2)
    found = spread(cluster, replica(9), [must(key=BLOCK), must(), should()], [replica(0, 0), replica(1, 1)])
    assert racks(cluster, found) == ["r002", "r003"]
    assert found.taste is not None
    assert found.why == (
        "replicas are spread over blocks with a skew of at most 1: that leaves block b1; "
        "replicas are spread over racks with a skew of at most 1: that leaves rack r002, r003"
    )


def test_constraints_are_read_or_refused_by_name() -> None:
    (found,) = read([{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}])
    assert found == must(key="rack")
    with pytest.raises(InvalidConstraint, match=r"spec\.spreadConstraints\[0\].*maxSkew"):
        read([{"topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}])
    with pytest.raises(InvalidConstraint, match=r"spec\.spreadConstraints\[0\]\.maxSkew: 0: use 1 or more"):
        read([{"maxSkew": 0, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}])

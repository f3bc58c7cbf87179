"""Nodes that are ill or about to go take no new pods."""

from __future__ import annotations

import pytest

from grove.scheduler.predicates.conditions import Conditions
from tests.unit.scheduler.predicates.worlds import READY, a_class, node, places, under, why


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([READY], ""),
        ([], "not ready"),
        ([{"type": "Ready", "status": "False"}], "not ready"),
        ([{"type": "Ready", "status": "Unknown"}], "unreachable"),
        ([READY, {"type": "MemoryPressure", "status": "True"}], "short of memory"),
        ([READY, {"type": "MemoryPressure", "status": "False"}], ""),
        ([READY, {"type": "DiskPressure", "status": "True"}], "short of disk space"),
        ([READY, {"type": "PIDPressure", "status": "True"}], "short of process ids"),
        ([READY, {"type": "NetworkUnavailable", "status": "True"}], "without network"),
    ],
)
def test_a_node_that_is_ill_takes_no_pods(conditions: list[dict[str, str]], said: str) -> None:
    cluster = under(Conditions, node("a", status={"conditions": conditions}), node("b"))
    cls = a_class(cluster)
    assert places(cluster, cls) == (["b"] if said else ["a", "b"])
    assert why(cluster, cls) == [said, ""]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("ToBeDeletedByClusterAutoscaler", "about to be deleted"),
        ("karpenter.sh/disrupted", "about to be replaced"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "not initialized yet"),
    ],
)
def test_a_node_that_is_about_to_go_takes_only_pods_that_tolerate_that_by_name(key: str, said: str) -> None:
    cluster = under(Conditions, node("a", taints=[{"key": key, "effect": "NoSchedule"}]))
    everything = a_class(cluster, tolerations=[{"operator": "Exists"}])
    assert places(cluster, everything) == []
    assert why(cluster, everything) == [said]
    assert places(cluster, a_class(cluster, tolerations=[{"key": key, "operator": "Exists"}])) == ["a"]


def test_a_pod_that_waits_for_an_ill_node_to_recover_is_not_put_there() -> None:
    cluster = under(Conditions, node("a", status={"conditions": [{"type": "Ready", "status": "False"}]}))
    key = "node.kubernetes.io/not-ready"
    late = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    assert places(cluster, a_class(cluster, tolerations=[late])) == []
    assert places(cluster, a_class(cluster, tolerations=[{"key": key, "operator": "Exists"}])) == ["a"]


def test_nothing_tolerates_that_the_node_is_deleted() -> None:
    cluster = under(Conditions, node("a", meta={"deletionTimestamp": "2026-11-20T00:00:00Z"}))
    cls = a_class(cluster, tolerations=[{"operator": "Exists"}])
    assert places(cluster, cls) == []
    assert why(cluster, cls) == ["being deleted"]


def test_a_node_that_recovers_takes_pods_again() -> None:
    cluster = under(Conditions, node("a", status={"conditions": []}))
    cls = a_class(cluster)
    assert places(cluster, cls) == []
    cluster.node(node("a"))
    assert places(cluster, cls) == ["a"]
    cluster.node_gone("a")
    assert not cluster.rules[0].explain(cls, 0)

"""Which pods of other schedulers may go at all."""

from __future__ import annotations

import msgspec
import pytest

from grove.kube.objects import PodView
from grove.scheduler.preemption.running import may_go


@pytest.mark.parametrize(
    ("metadata", "spec", "may"),
    [
        ({}, {}, True),
        ({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}]}, {}, True),
        ({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}]}, {}, False),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]}, {}, False),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, {}, False),
        ({"annotations": {"grove.io/preemption": "never"}}, {}, False),
        ({}, {"priorityClassName": "system-cluster-critical", "priority": 2_000_000_000}, False),
        ({}, {"priority": 1_999_999_999}, True),
    ],
)
def test_pods_that_belong_to_a_node_or_to_the_cluster_itself_stay(metadata: object, spec: object, may: bool) -> None:
    pod = msgspec.convert({"metadata": metadata, "spec": spec}, PodView)
    assert may_go(pod) == may

"""Pods that other schedulers mean to place soon."""

from __future__ import annotations

from typing import Any

import msgspec

from grove.kube.objects import PodView
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.nominated import Nominated
from tests.unit.scheduler.predicates.worlds import node


def a_pod(name: str, *, priority: int = 0, on: str = "a", **more: Any) -> PodView:
    body: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"priority": priority, "containers": [{"name": "c"}]},
        "status": {"nominatedNodeName": on},
    }
    for part, fields in more.items():
        body[part] |= fields
    return msgspec.convert(body, PodView)


def test_those_that_are_at_least_as_important_come_first() -> None:
    cluster = Cluster()
    slot = cluster.node(node("a"))
    nominated = Nominated(cluster)
    nominated.see(a_pod("low", priority=1))
    nominated.see(a_pod("same", priority=5))
    nominated.see(a_pod("high", priority=9))
    nominated.see(a_pod("lost", priority=9, on="gone"))
    found = [*nominated.before(5)]
    assert [(one.name, one.slot, one.nominated) for one in found] == [("same", slot, True), ("high", slot, True)]


def test_who_is_bound_ended_or_going_does_not_count() -> None:
    cluster = Cluster()
    cluster.node(node("a"))
    nominated = Nominated(cluster)
    changes: tuple[dict[str, Any], ...] = (
        {"spec": {"nodeName": "a"}},
        {"status": {"phase": "Failed"}},
        {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}},
        {"status": {"nominatedNodeName": ""}},
    )
    for change in changes:
        nominated.see(a_pod("p"))
        assert len(nominated) == 1
        nominated.see(a_pod("p", **change))
        assert not nominated
    nominated.see(a_pod("p"))
    nominated.gone("p")
    assert [*nominated.before(0)] == []


def test_who_came_meanwhile_is_not_counted_twice() -> None:
    cluster = Cluster()
    cluster.node(node("a"))
    nominated = Nominated(cluster)
    nominated.see(a_pod("p"))
    (placed,) = nominated.before(0)
    cluster.put(placed)
    assert [*nominated.before(0)] == []

"""An engine that has read a small cluster: two racks of two nodes with eight GPUs each."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import msgspec

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodSpec, PodView
from grove.scheduler import assembly
from grove.scheduler.engine import Engine
from grove.scheduler.reading import Leader
from grove.scheduler.views import PriorityClassView
from tests.unit.scheduler.fleets import HOST, RACK, node, pod, spec

NOW = datetime.datetime(2026, 11, 20, 10, tzinfo=datetime.UTC)
SETTINGS = SchedulerConfiguration()
LEADS = Leader("leads", "grove-system/grove-scheduler-leader-election", "scheduler-1", "2026-11-20T09:59:59Z")
TOPOLOGY = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"domain": "rack", "key": RACK}, {"domain": "host", "key": HOST}]},
}


def engine(settings: SchedulerConfiguration = SETTINGS) -> Engine:
    found = assembly.engine(settings)
    for number in range(4):
        found.node(node(f"n{number}", {RACK: f"r{number // 2}"}))
    found.topology(msgspec.convert(TOPOLOGY, ClusterTopologyBinding))
    found.priority_class(PriorityClassView(metadata=ObjectMeta(name="high"), value=100))
    return found


def gang(
    engine: Engine,
    name: str,
    pods: Mapping[str, str],
    *,
    wanted: PodSpec | None = None,
    required: str = RACK,
    status: Mapping[str, Any] | None = None,
    found: Mapping[str, str] | None = None,
    minimum: int | None = None,
) -> None:
    """A PodGang and its pods; of those that have a node its name."""
    for member, on in pods.items():
        engine.pod(placed(pod(member, wanted or spec(gpus=8), labels={labels.POD_GANG: name}), on))
    body = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": dict(found or {}),
            "creationTimestamp": "2026-11-20T09:58:00Z",
        },
        "spec": {
            "podgroups": [
                {
                    "name": "workers",
                    "minReplicas": len(pods) if minimum is None else minimum,
                    "podReferences": [{"namespace": "default", "name": member} for member in pods],
                }
            ],
            "topologyConstraint": {"packConstraint": {"required": required}},
        },
        "status": status,
    }
    engine.gang(msgspec.convert(body, PodGang))


def placed(view: PodView, on: str) -> PodView:
    return msgspec.structs.replace(view, node_name=on)


def condition(status: str, reason: str, message: str = "") -> dict[str, str]:
    return {
        "type": "Scheduled",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-20T09:59:00Z",
    }

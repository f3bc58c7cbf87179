"""Fleets and gangs for the engine alone: what an API server would tell it, made at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from grove.api import labels
from grove.api.kinds.meta import NamespacedName, ObjectMeta
from grove.api.kinds.podgang import GangTopologyConstraint, PackConstraint, PodGang, PodGangSpec, PodGroup
from grove.api.kinds.topology import ClusterTopologyBinding, ClusterTopologyBindingSpec, TopologyLevel
from grove.kube.objects import Condition, Container, NodeStatus, NodeView, PodSpec, PodView, Quantities, Requirements

GPU = "nvidia.com/gpu"
BLOCK, RACK, HOST = "topology.grove.io/block", "topology.grove.io/rack", "kubernetes.io/hostname"
NAMESPACE = "bench"
RACKS_A_BLOCK = 16

TOPOLOGY = ClusterTopologyBinding(
    metadata=ObjectMeta(name="bench"),
    spec=ClusterTopologyBindingSpec(
        levels=tuple(
            TopologyLevel(domain=domain, key=key) for domain, key in (("block", BLOCK), ("rack", RACK), ("host", HOST))
        )
    ),
)
_READY = (Condition(type="Ready", status="True"),)
_numbers = itertools.count()


def nodes(count: int, *, in_rack: int = 16, gpus: int = 8) -> Iterator[NodeView]:
    """Racks of equal nodes."""
    allocatable: Quantities = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: gpus}
    for index in range(count):
        rack = index // in_rack
        name = f"node-{index:06}"
        found = {HOST: name, RACK: f"rack-{rack:05}", BLOCK: f"block-{rack // RACKS_A_BLOCK:04}"}
        yield NodeView(
            metadata=ObjectMeta(name=name, uid=name, labels=found),
            status=NodeStatus(allocatable=allocatable, conditions=_READY),
        )


def spec(gpus: int, *, cpu: str = "1", priority: int = 0) -> PodSpec:
    requests: Quantities = {"cpu": cpu, "memory": "4Gi"}
    if gpus:
        requests[GPU] = gpus
    container = Container(name="main", resources=Requirements(requests=requests))
    return PodSpec(scheduler_name="grove-scheduler", priority=priority, containers=(container,))


def pod(name: str, wanted: PodSpec, *, gang: str = "", node: str = "") -> PodView:
    found = {labels.POD_GANG: gang} if gang else None
    metadata = ObjectMeta(
        name=name, namespace=NAMESPACE, uid=name, labels=found, creation_timestamp="2026-11-19T00:00:00Z"
    )
    return PodView(metadata=metadata, spec=wanted, node_name=node)


def gang(
    wanted: PodSpec, size: int, *, required: str | None = None, preferred: str | None = None, on: Sequence[str] = ()
) -> tuple[PodGang, list[PodView]]:
    """A gang of one group with its pods, which run where `on` says."""
    name = f"gang-{next(_numbers):06}"
    pods = [pod(f"{name}-{at}", wanted, gang=name, node=on[at] if on else "") for at in range(size)]
    group = PodGroup(
        name=name,
        min_replicas=size,
        pod_references=tuple(NamespacedName(namespace=NAMESPACE, name=one.metadata.name) for one in pods),
    )
    packed = PackConstraint(required=required, preferred=preferred) if required or preferred else None
    view = PodGang(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=name, creation_timestamp="2026-11-19T00:00:00Z"),
        spec=PodGangSpec(
            podgroups=(group,), topology_constraint=GangTopologyConstraint(pack_constraint=packed) if packed else None
        ),
    )
    return view, pods

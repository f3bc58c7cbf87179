"""Rules about a node and a pod look at distinct labels and taints; that is the same as looking at every node."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube import nodechoice
from grove.kube.hostports import host_ports
from grove.kube.objects import NodeView, PodSpec
from grove.kube.taints import tolerates
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.predicates.all import rules
from grove.scheduler.predicates.conditions import LEAVING
from grove.scheduler.surroundings import Surroundings
from tests.unit.scheduler.fleets import pod

Body = dict[str, Any]

NAMES = [f"n{number}" for number in range(5)]
KEYS, VALUES = ("a", "b", "rank"), ("", "1", "7", "x")
TAINTS = ("spot", "node.kubernetes.io/unschedulable", LEAVING[0])
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
taints = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(TAINTS), "effect": st.sampled_from(EFFECTS), "value": st.sampled_from(VALUES)}
    ),
    max_size=2,
)
conditions = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(("Ready", "DiskPressure")), "status": st.sampled_from(("True", "False"))}
    ),
    max_size=2,
)
nodes = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": st.sampled_from(NAMES), "labels": labels}),
        "spec": st.fixed_dictionaries({"taints": taints, "unschedulable": st.booleans()}),
        "status": conditions.map(lambda found: {"allocatable": {"pods": "9"}, "conditions": found}),
    }
)
expressions = st.fixed_dictionaries(
    {
        "key": st.sampled_from((*KEYS, "none")),
        "operator": st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Else")),
        "values": st.lists(st.sampled_from(VALUES), max_size=2, unique=True),
    }
)
fields = st.fixed_dictionaries(
    {
        "key": st.sampled_from(("metadata.name", "metadata.uid")),
        "operator": st.sampled_from(("In", "NotIn")),
        "values": st.lists(st.sampled_from(NAMES), min_size=1, max_size=1),
    }
)
terms = st.fixed_dictionaries(
    {"matchExpressions": st.lists(expressions, max_size=2), "matchFields": st.lists(fields, max_size=1)}
)
tolerations = st.fixed_dictionaries(
    {
        "key": st.sampled_from((*TAINTS, "")),
        "operator": st.sampled_from(("Exists", "Equal", "")),
        "effect": st.sampled_from((*EFFECTS, "")),
        "value": st.sampled_from(VALUES),
    }
)
ports = st.fixed_dictionaries(
    {
        "containerPort": st.just(1),
        "hostPort": st.sampled_from((0, 80, 81)),
        "hostIP": st.sampled_from(("", "0.0.0.0", "10.0.0.1", "10.0.0.2")),
        "protocol": st.sampled_from(("TCP", "UDP")),
    }
)
listeners = st.lists(ports, max_size=2).map(lambda found: {"containers": [{"name": "c", "ports": found}]})


def choosy(found: tuple[Body, dict[str, str], list[Body] | None, list[Body]]) -> PodSpec:
    body, selector, required, tolerated = found
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": required}}
    node_affinity = {} if required is None else {"nodeAffinity": affinity}
    whole = {**body, "nodeSelector": selector, "affinity": node_affinity, "tolerations": tolerated}
    return msgspec.convert(whole, PodSpec)


specs = st.tuples(
    listeners,
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1),
    st.none() | st.lists(terms, min_size=1, max_size=2),
    st.lists(tolerations, max_size=2),
).map(choosy)

steps = st.lists(
    st.tuples(st.just("node"), nodes)
    | st.tuples(st.just("gone"), st.sampled_from(NAMES))
    | st.tuples(st.just("put"), st.tuples(st.sampled_from(NAMES), listeners))
    | st.tuples(st.just("take"), st.integers(0, 3)),
    max_size=14,
)


def is_allowed(cluster: Cluster, node: NodeView, spec: PodSpec) -> bool:
    """One node, one pod, and nothing remembered."""
    found = node.metadata.labels or {}
    if not nodechoice.wants(spec.node_selector, spec.affinity, name=node.metadata.name, labels=found):
        return False
    refusing = [one for one in node.spec.taints if one.effect != "PreferNoSchedule"]
    if any(not any(tolerates(one, taint) for one in spec.tolerations) for taint in refusing):
        return False
    if node.spec.unschedulable and not _tolerates_key(spec, "node.kubernetes.io/unschedulable", blanket=True):
        return False
    ailing = [one.key for one in node.spec.taints if one.key in LEAVING]
    for one in node.status.conditions:
        if one.type == "DiskPressure" and one.status == "True":
            ailing.append("node.kubernetes.io/disk-pressure")
    if not any(one.type == "Ready" for one in node.status.conditions):
        ailing.append("node.kubernetes.io/not-ready")
    if any(one.type == "Ready" and one.status == "False" for one in node.status.conditions):
        ailing.append("node.kubernetes.io/not-ready")
    if not all(_tolerates_key(spec, key, blanket=False) for key in ailing):
        return False
    here = cluster.on[cluster.slot_of[node.metadata.name]].values()
    taken = [port for other in here for port in host_ports(other.cls.spec)]
    return not any(one.is_in_the_way_of(other) for one in host_ports(spec) for other in taken)


def _tolerates_key(spec: PodSpec, key: str, *, blanket: bool) -> bool:
    return any(
        (one.operator == "Exists" if not blanket else one.operator == "Exists" or one.value == "")
        and one.effect in ("", "NoSchedule")
        and (one.key == key or (blanket and not one.key))
        for one in spec.tolerations
    )


def step(cluster: Cluster, what: str, detail: Any, number: int) -> None:
    match what:
        case "node":
            cluster.node(msgspec.convert(detail, NodeView))
        case "gone" if detail in cluster.slot_of:
            cluster.node_gone(detail)
        case "put" if detail[0] in cluster.slot_of:
            cls = cluster.classes.of(pod("other", msgspec.convert(detail[1], PodSpec)))
            cluster.put(Placed(f"p{number}", "default", f"p{number}", cls, cluster.slot_of[detail[0]]))
        case "take" if detail < len(cluster.pods):
            cluster.take([*cluster.pods][detail])


@given(st.lists(specs, min_size=1, max_size=3), steps)
@settings(max_examples=300, deadline=None)
def test_what_is_remembered_of_classes_is_what_every_node_says(
    wanted: list[PodSpec], done: list[tuple[str, Any]]
) -> None:
    cluster = Cluster()
    cluster.obey(rules(cluster, Surroundings(), SchedulerConfiguration()))
    for number, (what, detail) in enumerate(done):
        step(cluster, what, detail, number)
        for spec in wanted:
            cls = cluster.classes.of(pod("p", spec))
            capacity = cluster.capacity(cls)
            for slot, view in enumerate(cluster.views):
                expected = view is not None and is_allowed(cluster, view, spec)
                assert (capacity[slot] > 0) == expected, (cluster.names[slot], cluster.reasons(cls, slot))
                assert view is None or bool(cluster.reasons(cls, slot)) != expected

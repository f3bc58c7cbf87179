"""What a kubelet says of its node: at registration, when something has changed, and that it is still there. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from grove import __version__
from grove.api import quantities
from grove.nodes import marks
from grove.nodes.marks import Failure
from grove.nodes.moments import stamp
from grove.nodes.objects import NodeRecord
from grove.nodes.shape import ARCHITECTURE, OPERATING_SYSTEM, NodePlan

_NAMESPACE: Final = uuid.UUID("0b9f2a3e-6d7c-4f0e-8f38-0e5f6f3f2a11")
"""Of the ids that are made of a node's name."""


class Observation(NamedTuple):
    """A condition, as far as it is decided anew each time."""

    type: str
    status: str
    reason: str
    message: str


PRESSURES: Final = (
    Observation("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    Observation("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    Observation("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
READY: Final = Observation("Ready", "True", "KubeletReady", "kubelet is posting ready status")
NOT_READY: Final = Observation(
    "Ready", "False", "KubeletNotReady", f"simulated: the annotation {marks.FAIL} says not-ready"
)


def observed(failing: Failure | None) -> tuple[Observation, ...]:
    return (*PRESSURES, NOT_READY if failing == "not-ready" else READY)


def new_node(plan: NodePlan, now: float) -> dict[str, Any]:
    """A node as a kubelet registers itself: with what it has, and ready."""
    moment = stamp(now)
    return {
        "metadata": {
            "name": plan.name,
            "labels": dict(plan.labels),
            "annotations": {marks.CREATED: "true", marks.POD_RANGE: plan.pods},
        },
        "spec": {"taints": [_taint(one) for one in plan.taints]} if plan.taints else {},
        "status": {
            "capacity": plan.resources,
            "allocatable": plan.resources,
            "addresses": _addresses(plan.name, plan.address),
            "conditions": [_condition(one, moment, moment) for one in observed(None)],
            "nodeInfo": node_info(plan.name),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        },
    }


def declared(node: NodeRecord, plan: NodePlan) -> dict[str, Any] | None:
    """The merge patch of labels, annotations and taints that a node lacks; None if it lacks nothing.

    What others have put on the node stays. The patch holds all taints, so it is for this version of the node alone.
    """
    change: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    if missing := _missing(node.metadata.labels, plan.labels):
        metadata["labels"] = missing
    if missing := _missing(node.metadata.annotations, {marks.POD_RANGE: plan.pods}):
        metadata["annotations"] = missing
    known = {(one.key, one.effect): one.value for one in node.spec.taints}
    if any(known.get((one.key, one.effect)) != one.value for one in plan.taints):
        ours = {(one.key, one.effect) for one in plan.taints}
        kept = [one for one in node.spec.taints if (one.key, one.effect) not in ours]
        change["spec"] = {"taints": [_taint(one) for one in (*kept, *plan.taints)]}
        metadata["resourceVersion"] = node.metadata.resource_version
    if metadata:
        change["metadata"] = metadata
    return change or None


def difference(
    node: NodeRecord, plan: NodePlan | None, failing: Failure | None, *, address: str, now: float, is_due: bool
) -> dict[str, Any] | None:
    """The strategic merge patch of a node's status; None if there is nothing to say.

    `address` is for a node that has none. `is_due` says that nothing was said for long.
    """
    status: dict[str, Any] = {}
    if plan is not None and not _has(node.status.allocatable or {}, plan.resources):
        status |= {"capacity": plan.resources, "allocatable": plan.resources}
    wanted_address = node.host_ip if plan is None else plan.address
    if node.host_ip != wanted_address or not wanted_address:
        status["addresses"] = _addresses(node.metadata.name, wanted_address or address)
    held = {one.type: one for one in node.status.conditions}
    has_changed = False
    conditions = []
    for one in observed(failing):
        known = held.get(one.type)
        is_same = known is not None and known.status == one.status
        has_changed = has_changed or known is None or not is_same or known.reason != one.reason
        since = known.last_transition_time if known is not None and is_same else None
        conditions.append(_condition(one, stamp(now), since or stamp(now)))
    if not (status or has_changed or is_due):
        return None
    return {"status": status | {"conditions": conditions}}


def is_ready(node: NodeRecord) -> bool:
    """Whether the API has the node as ready."""
    return any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)


def node_info(name: str) -> dict[str, str]:
    """Every field is required, and none means anything here."""
    identity = str(uuid.uuid5(_NAMESPACE, name))
    return {
        "machineID": identity.replace("-", ""),
        "systemUUID": identity,
        "bootID": str(uuid.uuid5(_NAMESPACE, f"{name}/boot")),
        "kernelVersion": "simulated",
        "osImage": "simulated",
        "containerRuntimeVersion": f"simulated://{__version__}",
        "kubeletVersion": f"grove-v{__version__}",
        "kubeProxyVersion": "",
        "operatingSystem": OPERATING_SYSTEM,
        "architecture": ARCHITECTURE,
    }


def _missing(held: Mapping[str, str] | None, wanted: Mapping[str, str]) -> dict[str, str]:
    known = held or {}
    return {key: value for key, value in wanted.items() if known.get(key) != value}


def _has(held: Mapping[str, str | int], wanted: Mapping[str, str | int]) -> bool:
    return all(
        name in held and quantities.nano(held[name]) == quantities.nano(amount) for name, amount in wanted.items()
    )


def _addresses(name: str, address: str) -> list[dict[str, str]]:
    return [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]


def _taint(one: Any) -> dict[str, str]:
    made = {"key": one.key, "value": one.value, "effect": one.effect}
    if one.time_added:
        made["timeAdded"] = one.time_added
    return made


def _condition(one: Observation, heard: str, since: str) -> dict[str, str]:
    return {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastHeartbeatTime": heard,
        "lastTransitionTime": since,
    }

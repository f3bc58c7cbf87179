"""Pods and nodes as far as Grove reads them; what is not declared here is skipped by the decoder and costs nothing.

These are views: they are never sent back. A write of a pod or node is a patch, or starts from a plain dict. Absent
texts and lists are empty here: nothing that Grove decides depends on the difference. What is left out (addresses, host
names, most times) is so because it differs from pod to pod and Grove decides nothing by it; a program that needs more
decodes a struct of its own.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta
from grove.kube.affinity import Affinity, TopologySpreadConstraint

Quantities: TypeAlias = dict[str, str | int]
"""Amounts by resource name, as written: `"500m"`, `"1Gi"`, `2`."""


class Requirements(Struct, frozen=True, kw_only=True):
    """What a container or pod asks for."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class ContainerPort(Struct, frozen=True, kw_only=True):
    """A port of a container; only host ports matter to placement."""

    container_port: int
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class RestartRule(Struct, frozen=True, kw_only=True):
    """What happens when the container ends in a certain way."""

    action: str


class Container(Struct, frozen=True, kw_only=True):
    """A container of a pod's spec."""

    name: str
    resources: Requirements = Requirements()
    restart_policy: str = ""
    """`Always` on an init container makes it a sidecar."""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    ports: tuple[ContainerPort, ...] = ()


class SchedulingGate(Struct, frozen=True, kw_only=True):
    """Holds the pod back from being scheduled."""

    name: str


class Toleration(Struct, frozen=True, kw_only=True):
    """Lets the pod onto nodes with a taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodResourceClaim(Struct, frozen=True, kw_only=True):
    """A claim to devices that the pod uses."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodOS(Struct, frozen=True, kw_only=True):
    """The operating system that the pod is made for."""

    name: str


class PodSecurityContext(Struct, frozen=True, kw_only=True):
    """As far as not every node can do it."""

    supplemental_groups_policy: str = ""


class SchedulingGroup(Struct, frozen=True, kw_only=True):
    """The group of pods that kube-scheduler itself is to place together."""

    pod_group_name: str = ""


class PodSpec(Struct, frozen=True, kw_only=True):
    """What a pod asks for: the same for all pods of a template."""

    scheduler_name: str = ""
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = ""
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    overhead: Quantities | None = None
    resources: Requirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    os: PodOS | None = None
    host_network: bool = False
    host_users: bool | None = None
    security_context: PodSecurityContext | None = None
    scheduling_group: SchedulingGroup | None = None
    moved: str = msgspec.field(name="nodeName", default="")
    """Always empty: a pod holds it as `node_name`."""


class Condition(Struct, frozen=True, kw_only=True):
    """An observation about a pod or node, with fewer fields than metav1.Condition promises."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Waiting(Struct, frozen=True, kw_only=True):
    """Why a container has not started."""

    reason: str = ""


class Running(Struct, frozen=True, kw_only=True):
    """A container runs."""


class Terminated(Struct, frozen=True, kw_only=True):
    """How a container ended."""

    exit_code: int
    reason: str = ""


class ContainerState(Struct, frozen=True, kw_only=True):
    """One of the three, or none: waiting."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class Actual(Struct, frozen=True, kw_only=True):
    """What a container or pod has now; differs from what its spec asks for while it is resized. Limits are left out."""

    requests: Quantities | None = None


class ContainerStatus(Struct, frozen=True, kw_only=True):
    """How a container fares."""

    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    resources: Actual | None = None
    allocated_resources: Quantities | None = None


STEPS: Final = frozenset({"PodReadyToStartContainers", "Initialized", "ContainersReady"})
"""Conditions of a pod on its way to `Ready`, which every pod has and nothing is decided by."""


class PodStatus(Struct, frozen=True, kw_only=True):
    """How a pod fares. Its conditions are those that are no mere STEPS."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: Actual | None = None
    allocated_resources: Quantities | None = None

    def __post_init__(self) -> None:
        if self.conditions:
            kept = tuple([one for one in self.conditions if one.type not in STEPS])
            msgspec.structs.force_setattr(self, "conditions", kept)


class PodView(Struct, frozen=True, kw_only=True):
    """A pod. Where it was put is taken out of the spec, so that siblings on different nodes can share theirs."""

    metadata: ObjectMeta
    node_name: str = ""
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def __post_init__(self) -> None:
        if self.spec.moved:
            msgspec.structs.force_setattr(self, "node_name", self.spec.moved)
            msgspec.structs.force_setattr(self.spec, "moved", "")


class Taint(Struct, frozen=True, kw_only=True):
    """Keeps pods off a node unless they tolerate it."""

    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Struct, frozen=True, kw_only=True):
    """What was decided about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(name="providerID", default="")


class NodeFeatures(Struct, frozen=True, kw_only=True):
    """What the node's container runtime can do."""

    supplemental_groups_policy: bool = False


class NodeStatus(Struct, frozen=True, kw_only=True):
    """What a node has and how it fares. Addresses, images and heartbeats are left out."""

    capacity: Quantities | None = None
    allocatable: Quantities | None = None
    conditions: tuple[Condition, ...] = ()
    features: NodeFeatures | None = None
    declared_features: tuple[str, ...] = ()


class NodeView(Struct, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

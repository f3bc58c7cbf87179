"""Pods and nodes as far as Grove reads them; what is not declared here is skipped by the decoder and costs nothing.

These are views: they are never sent back. A write of a pod or node is a patch, or starts from a plain dict. Absent
texts and lists are empty here: nothing that Grove decides depends on the difference. What is left out (addresses, host
names, most times) is so because it differs from pod to pod and Grove decides nothing by it; a program that needs more
decodes a struct of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

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
    toleration_seconds: int | None = None
    """Of `NoExecute`: how long; None: for ever."""


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


class ClaimSource(Struct, frozen=True, kw_only=True):
    """A claim to a volume that exists beside the pod."""

    claim_name: str


class EphemeralSource(Struct, frozen=True, kw_only=True):
    """A claim to a volume that is made for the pod; its name is made of the pod's and the volume's."""


class GceDisk(Struct, frozen=True, kw_only=True):
    """A disk of Google's, named in the pod."""

    pd_name: str
    read_only: bool = False


class AwsDisk(Struct, frozen=True, kw_only=True):
    """A disk of Amazon's, named in the pod."""

    volume_id: str = msgspec.field(name="volumeID")


class IscsiDisk(Struct, frozen=True, kw_only=True):
    """A disk behind iSCSI, named in the pod."""

    iqn: str
    read_only: bool = False


class RbdImage(Struct, frozen=True, kw_only=True):
    """An image in Ceph, named in the pod."""

    monitors: tuple[str, ...] = ()
    image: str
    pool: str = "rbd"
    read_only: bool = False


class Volume(Struct, frozen=True, kw_only=True):
    """A volume of a pod, of the kinds that placement depends on; others are not kept."""

    name: str = ""
    """Only of ephemeral volumes: others may have a random one, and pods of one template would differ by it."""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdImage | None = None


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
    volumes: tuple[Volume, ...] = ()
    moved: str = msgspec.field(name="nodeName", default="")
    """Always empty: a pod holds it as `node_name`."""

    def __post_init__(self) -> None:
        if self.volumes:
            msgspec.structs.force_setattr(self, "volumes", tuple(kept_volumes(self.volumes)))


def kept_volumes(volumes: Iterable[Any]) -> Iterator[Any]:
    """The volumes that placement depends on, without names that say nothing; also of those that are still text."""
    for volume in volumes:
        if volume.ephemeral:
            yield volume
        elif (
            volume.persistent_volume_claim
            or volume.gce_persistent_disk
            or volume.aws_elastic_block_store
            or volume.iscsi
            or volume.rbd
        ):
            msgspec.structs.force_setattr(volume, "name", "")
            yield volume


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


class ResourceClaimStatus(Struct, frozen=True, kw_only=True):
    """The claim to devices that was made for the pod from a template."""

    name: str
    """As the pod's spec calls it."""
    resource_claim_name: str = ""
    """Empty: none was needed."""


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
    resource_claim_statuses: tuple[ResourceClaimStatus, ...] = ()

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

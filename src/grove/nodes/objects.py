"""Nodes and pods as far as a kubelet reads them; what is not declared here is skipped by the decoder.

Views, as those of `grove.kube.objects`: never sent back. A kubelet needs more of a pod than a scheduler does: its
status, from which a simulator that was started again takes up the pod's life, and what its waiter is given.
"""

from __future__ import annotations

from typing import Any

import msgspec

from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta
from grove.kube.affinity import Affinity
from grove.kube.objects import Condition, ContainerPort, Quantities, Requirements, Taint, Toleration


class Probe(Struct, frozen=True, kw_only=True):
    """A probe: simulated ones succeed at the first try."""

    initial_delay_seconds: int = 0


class VolumeMount(Struct, frozen=True, kw_only=True):
    """Where a container sees a volume."""

    name: str
    mount_path: str
    sub_path: str = ""


class ExitCodes(Struct, frozen=True, kw_only=True):
    """Exit codes, or all but these."""

    operator: str
    values: tuple[int, ...] = ()


class RestartRule(Struct, frozen=True, kw_only=True):
    """After which exit codes the container runs again whatever its policy is."""

    action: str
    exit_codes: ExitCodes | None = None


class ContainerSpec(Struct, frozen=True, kw_only=True):
    """A container, an init container or, among those with restartPolicy Always, a sidecar."""

    name: str
    image: str = ""
    args: tuple[str, ...] = ()
    resources: Requirements = Requirements()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    volume_mounts: tuple[VolumeMount, ...] = ()
    termination_message_policy: str = ""


class Volume(Struct, frozen=True, kw_only=True):
    """A volume by name; what it holds is read only for the waiter (`volumes.py`)."""

    name: str
    secret: dict[str, Any] | None = None
    config_map: dict[str, Any] | None = None
    downward_api: dict[str, Any] | None = msgspec.field(name="downwardAPI", default=None)
    projected: dict[str, Any] | None = None


class ReadinessGate(Struct, frozen=True, kw_only=True):
    """A condition that must hold, beside ready containers, for the pod to be ready."""

    condition_type: str


class PodSpec(Struct, frozen=True, kw_only=True):
    """What a kubelet is told to run."""

    node_name: str = ""
    containers: tuple[ContainerSpec, ...] = ()
    init_containers: tuple[ContainerSpec, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    readiness_gates: tuple[ReadinessGate, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    overhead: Quantities | None = None
    resources: Requirements | None = None
    service_account_name: str = "default"
    active_deadline_seconds: int | None = None
    host_network: bool = False


class Waiting(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class Running(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Since when a container runs."""

    started_at: str | None = None


class Terminated(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a container ended."""

    exit_code: int = msgspec.field(default_factory=int)  # from a factory: never omitted
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = msgspec.field(name="containerID", default="")


class ContainerState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a container fares."""

    name: str
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    ready: bool = msgspec.field(default_factory=bool)
    restart_count: int = msgspec.field(default_factory=int)
    image: str = msgspec.field(default_factory=str)
    image_id: str = msgspec.field(name="imageID", default_factory=str)
    container_id: str = msgspec.field(name="containerID", default="")
    started: bool | None = None


class PodStatus(Struct, frozen=True, kw_only=True):
    """How the pod fares, as the API has it."""

    observed_generation: int = 0
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    host_ip: str = msgspec.field(name="hostIP", default="")
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class PodRecord(Struct, frozen=True, kw_only=True):
    """A pod as its kubelet sees it."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(Struct, frozen=True, kw_only=True):
    """What was decided about a node."""

    pod_cidr: str = msgspec.field(name="podCIDR", default="")
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeAddress(Struct, frozen=True, kw_only=True):
    """An address or a name of a node."""

    type: str
    address: str


class NodeStatus(Struct, frozen=True, kw_only=True):
    """What a node has and says of itself."""

    allocatable: Quantities | None = None
    addresses: tuple[NodeAddress, ...] = ()
    conditions: tuple[Condition, ...] = ()


class NodeRecord(Struct, frozen=True, kw_only=True):
    """A node as its own kubelet sees it."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def host_ip(self) -> str:
        return next((one.address for one in self.status.addresses if one.type == "InternalIP"), "")

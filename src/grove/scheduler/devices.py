"""Devices, and claims to them, as far as the scheduler reads `resource.k8s.io/v1`.

What Grove does not know how to allocate is read too, as far as it takes to see that it is there.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta
from grove.kube.affinity import NodeSelector

JSON: TypeAlias = dict[str, Any]

EXACT: Final = "ExactCount"
ALL: Final = "All"
MOST_DEVICES: Final = 32
"""A claim cannot get more."""
MOST_CONSUMERS: Final = 256
"""A claim cannot be used by more."""
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""A claim has it while it is allocated."""


class DeviceId(NamedTuple):
    """A device of the cluster."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class Attribute(Struct, frozen=True, kw_only=True):
    """One of these; lists are not known here, and have none."""

    int_: int | None = msgspec.field(name="int", default=None)
    bool_: bool | None = msgspec.field(name="bool", default=None)
    string: str | None = None
    version: str | None = None


_UNKNOWN: Final = Attribute()


class Capacity(Struct, frozen=True, kw_only=True):
    value: str | int


class DeviceTaint(Struct, frozen=True, kw_only=True):
    key: str
    effect: str
    value: str = ""


class Device(Struct, frozen=True, kw_only=True):
    """A device of a slice."""

    name: str
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    taints: tuple[DeviceTaint, ...] = ()
    consumes_counters: tuple[JSON, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False
    node_allocatable_resource_mappings: JSON | None = None

    @property
    def strange(self) -> str:
        """What the device needs that Grove does not know; empty: nothing."""
        if self.consumes_counters:
            return "devices that share counters"
        if self.binding_conditions:
            return "devices with binding conditions"
        if self.allow_multiple_allocations:
            return "devices that are allocated in parts"
        if self.node_allocatable_resource_mappings:
            return "devices that take resources of their node"
        return "devices with attributes of a new kind" if _UNKNOWN in (self.attributes or {}).values() else ""


class Pool(Struct, frozen=True, kw_only=True):
    """The pool that a slice is of; it is whole when it has so many slices of its newest generation."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Struct, frozen=True, kw_only=True):
    driver: str
    pool: Pool
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    shared_counters: tuple[JSON, ...] = ()
    devices: tuple[Device, ...] = ()


class ResourceSlice(Struct, frozen=True, kw_only=True):
    """Some of the devices of a pool, and the nodes that they can be used on."""

    metadata: ObjectMeta
    spec: SliceSpec


class Cel(Struct, frozen=True, kw_only=True):
    expression: str


class DeviceSelector(Struct, frozen=True, kw_only=True):
    """An expression that is true for the devices that are wanted."""

    cel: Cel | None = None


class DeviceToleration(Struct, frozen=True, kw_only=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Configuration(Struct, frozen=True, kw_only=True):
    """What a driver is told of the devices that it prepares; passed on as it is."""

    requests: tuple[str, ...] = ()
    opaque: JSON | None = None


class DeviceClassSpec(Struct, frozen=True, kw_only=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[Configuration, ...] = ()


class DeviceClass(Struct, frozen=True, kw_only=True):
    """A kind of devices."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


class Request(Struct, frozen=True, kw_only=True):
    """Devices of a class: the one wish of a request, or one of several that would do."""

    name: str = ""
    """Only of one of several."""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: JSON | None = None


class DeviceRequest(Struct, frozen=True, kw_only=True):
    """Devices that a claim asks for, in one of two ways."""

    name: str
    exactly: Request | None = None
    first_available: tuple[Request, ...] = ()


class Constraint(Struct, frozen=True, kw_only=True):
    """What the devices of several requests have in common; `requests` empty: all of them."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class Wishes(Struct, frozen=True, kw_only=True):
    """What a claim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[Configuration, ...] = ()


class ClaimSpec(Struct, frozen=True, kw_only=True):
    devices: Wishes = Wishes()


class Result(Struct, frozen=True, kw_only=True):
    """A device that was allocated for a request."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    share_id: str = msgspec.field(name="shareID", default="")

    @property
    def id(self) -> DeviceId:
        return DeviceId(self.driver, self.pool, self.device)


class Results(Struct, frozen=True, kw_only=True):
    results: tuple[Result, ...] = ()


class Allocation(Struct, frozen=True, kw_only=True):
    """What a claim has got, and the nodes that it can be used on; None: all."""

    devices: Results = Results()
    node_selector: NodeSelector | None = None


class Consumer(Struct, frozen=True, kw_only=True):
    """Who may use a claim: pods."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


class ClaimStatus(Struct, frozen=True, kw_only=True):
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()


class ResourceClaim(Struct, frozen=True, kw_only=True):
    """A claim to devices."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

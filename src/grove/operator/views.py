"""What the operator holds of the objects that there are many of: typed, small, and never sent back."""

from __future__ import annotations

import functools

import msgspec

from grove.api import hashes
from grove.api.fields import JSON, Struct
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podclique import PodCliqueStatus
from grove.api.kinds.scaling import AutoScalingConfig, RollingUpdate


class PodCliqueSpecView(Struct, frozen=True, kw_only=True):
    """The spec of a PodClique. Its pod spec stays text until a pod is made: dicts are large."""

    role_name: str = ""
    replicas: int = 0
    min_available: int | None = None
    starts_after: tuple[str, ...] = ()
    auto_scaling_config: AutoScalingConfig | None = None
    rolling_update: RollingUpdate | None = None
    pod_spec: msgspec.Raw = msgspec.Raw(b"{}")

    def __post_init__(self) -> None:
        # It would keep the whole answer of the server alive that it was read from.
        msgspec.structs.force_setattr(self, "pod_spec", self.pod_spec.copy())

    @property
    def least(self) -> int:
        """How many pods must be ready; the webhook fills it in, and where it did not run, it is all of them."""
        return self.replicas if self.min_available is None else self.min_available


class PodCliqueView(Struct, frozen=True, kw_only=True):
    """A PodClique."""

    metadata: ObjectMeta
    spec: PodCliqueSpecView
    status: PodCliqueStatus | None = None


class ServiceSpecView(Struct, frozen=True, kw_only=True):
    """What Grove says of a headless Service."""

    selector: dict[str, str] | None = None
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    publish_not_ready_addresses: bool = False


class ServiceView(Struct, frozen=True, kw_only=True):
    """A Service."""

    metadata: ObjectMeta
    spec: ServiceSpecView = ServiceSpecView()


class ScaleTarget(Struct, frozen=True, kw_only=True):
    """What an autoscaler scales."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class AutoscalerSpecView(Struct, frozen=True, kw_only=True):
    """What Grove says of a HorizontalPodAutoscaler."""

    scale_target_ref: ScaleTarget = ScaleTarget()
    min_replicas: int | None = None
    max_replicas: int = 0
    metrics: tuple[JSON, ...] = ()


class AutoscalerView(Struct, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler."""

    metadata: ObjectMeta
    spec: AutoscalerSpecView = AutoscalerSpecView()


class RoleView(Struct, frozen=True, kw_only=True):
    """A Role."""

    metadata: ObjectMeta
    rules: tuple[JSON, ...] | None = None
    """None where there are none: the API server writes null."""


class RoleBindingView(Struct, frozen=True, kw_only=True):
    """A RoleBinding."""

    metadata: ObjectMeta
    role_ref: JSON | None = None
    subjects: tuple[JSON, ...] | None = None


@functools.lru_cache(maxsize=4096)
def fingerprint(pod_spec: bytes) -> str:
    """The same for pod specs in JSON that mean the same: what the API server fills in does not count."""
    return hashes.digest(msgspec.json.decode(pod_spec, type=JSON))

"""What is written so that device claims get their devices, and are reserved for their pods. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from grove.kube.objects import PodView
from grove.kube.resources import RESOURCE_CLAIMS
from grove.scheduler.allocationstatus import allocated, consumer
from grove.scheduler.deviceneeds import claims_of, device_needs, own_key
from grove.scheduler.devices import FINALIZER, Consumer, ResourceClaim
from grove.scheduler.reach import reaches
from grove.scheduler.step import JSON, STATUS, Progress, Refused, Step, User, Write, has_seen
from grove.scheduler.surroundings import Surroundings


class Used(NamedTuple):
    """A claim that a pod uses."""

    key: str
    """`namespace/name`."""
    promise: str
    """How promises call it."""


def device_claims(pod: PodView, surroundings: Surroundings) -> Iterable[Used]:
    """The claims of a pod."""
    if not pod.spec.resource_claims:
        return
    refusal = device_needs(pod, surroundings, {}).refusal
    if refusal:
        raise Refused(refusal)
    namespace = pod.metadata.namespace or ""
    found: dict[str, str] = {}
    for use, own, name in claims_of(pod):
        if name:
            key = f"{namespace}/{name}"
            found.setdefault(key, own_key(namespace, pod.metadata.name, use) if own else key)
    for key, promise in found.items():
        yield Used(key, promise)


def device_step(used: Used, users: tuple[User, ...], surroundings: Surroundings, now: float) -> Step:
    """Gives a claim its devices, if it has none, and reserves it for its users."""
    key = used.key
    claim = _device_claim(key, surroundings)
    if claim is None:
        raise Refused(f"resource claim {key} is gone")
    meta, status = claim.metadata, claim.status
    known = {one.uid for one in status.reserved_for}
    new = [consumer(pod) for pod, _ in users if pod.metadata.uid not in known]
    changes: JSON = {}
    writes: list[Write] = []
    if status.allocation is None:
        promise = surroundings.promises.allocations.get(used.promise)
        if promise is None:
            raise Refused(f"resource claim {key} was promised no devices: the pod must be put on its node first")
        if FINALIZER not in meta.finalizers:
            writes.append(Write({"metadata": {"finalizers": [*meta.finalizers, FINALIZER]}}))
        changes["allocation"] = allocated(claim, promise, surroundings, now)
    if new:
        changes["reservedFor"] = [*map(_as_json, status.reserved_for), *new]
    if changes:
        writes.append(Write({"status": changes}, STATUS))
    return Step(
        kind="give devices",
        resource=RESOURCE_CLAIMS,
        namespace=meta.namespace or "",
        name=meta.name,
        uid=meta.uid or "",
        resource_version=meta.resource_version or "",
        writes=tuple(writes),
        claim=key,
        users=users,
    )


def _device_claim(key: str, surroundings: Surroundings) -> ResourceClaim | None:
    namespace, _, name = key.partition("/")
    return surroundings.resource_claims.get(name, namespace)


def devices_progress(step: Step, surroundings: Surroundings, written: str) -> Progress | str:
    """See `prebind.progress`."""
    claim = _device_claim(step.claim, surroundings)
    if claim is None or claim.metadata.deletion_timestamp:
        return f"resource claim {step.claim} is gone"
    if not has_seen(claim.metadata.resource_version, written):
        return "waiting"
    allocation = claim.status.allocation
    if allocation is None:
        return f"resource claim {step.claim} has lost its devices"
    strangers = [node.metadata.name for _, node in step.users if not reaches(allocation.node_selector, node)]
    if strangers:
        return f"the devices of resource claim {step.claim} cannot be used on node {strangers[0]}"
    known = {one.uid for one in claim.status.reserved_for}
    if any(pod.metadata.uid not in known for pod, _ in step.users):
        return f"resource claim {step.claim} is not reserved for the pod any more"
    return "done"


def undo_devices(step: Step, surroundings: Surroundings) -> Step | None:
    """See `prebind.undo`."""
    claim = _device_claim(step.claim, surroundings)
    if claim is None or claim.metadata.uid != step.uid:
        return None
    ours = {pod.metadata.uid for pod, _ in step.users}
    others = [one for one in claim.status.reserved_for if one.uid not in ours]
    gave = any("allocation" in write.patch.get("status", {}) for write in step.writes)
    writes: list[Write] = []
    if len(others) < len(claim.status.reserved_for):
        changes: JSON = {"reservedFor": [_as_json(one) for one in others] or None}
        if gave and not others:
            changes["allocation"] = None
        writes.append(Write({"status": changes}, STATUS))
    if gave and not others and FINALIZER in claim.metadata.finalizers:
        left = [one for one in claim.metadata.finalizers if one != FINALIZER]
        writes.append(Write({"metadata": {"finalizers": left or None}}))
    if not writes:
        return None
    return step._replace(resource_version=claim.metadata.resource_version or "", writes=tuple(writes))


def _as_json(one: Consumer) -> Mapping[str, str]:
    found = {"resource": one.resource, "name": one.name, "uid": one.uid}
    return {"apiGroup": one.api_group, **found} if one.api_group else found

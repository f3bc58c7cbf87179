"""What the device claims of a pod come down to. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from grove.kube.affinity import NodeSelector
from grove.kube.objects import PodView
from grove.kube.resources import RESOURCE_CLAIMS
from grove.scheduler.devices import ALL, EXACT, Constraint, DeviceRequest, Request, ResourceClaim, Wishes
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumeneeds import Looked


class ClaimNeed(NamedTuple):
    """One claim of a pod."""

    claim: str
    """`namespace/name`; empty: one that was made for the pod alone."""
    use: str
    """As the pod's spec calls it."""
    allocated: bool
    reach: NodeSelector | None = None
    """Where it can be used, if it is allocated; None: everywhere."""
    requests: tuple[DeviceRequest, ...] = ()
    """If it is not allocated."""
    constraints: tuple[Constraint, ...] = ()

    def key(self, namespace: str, pod: str) -> str:
        """How promises for a pod call it: a claim of its own by the pod, and by how that calls it."""
        return self.claim or own_key(namespace, pod, self.use)


class Devices(NamedTuple):
    """Of one pod."""

    refusal: str = ""
    claims: tuple[ClaimNeed, ...] = ()


NO_DEVICES: Final = Devices()


def own_key(namespace: str, pod: str, use: str) -> str:
    return f"{namespace}/pod:{pod}:{use}"


def device_needs(pod: PodView, surroundings: Surroundings, looked: Looked) -> Devices:
    """What it comes down to now."""
    if not pod.spec.resource_claims or pod.node_name:  # its claims say themselves what they have
        return NO_DEVICES
    found: dict[str, ClaimNeed] = {}
    for use, own, name in claims_of(pod):
        if name is None:
            return Devices(f'the resource claim "{use}" was not made of its template yet')
        if not name:
            continue  # none was needed
        looked[RESOURCE_CLAIMS.name, pod.metadata.namespace or "", name] = None
        claim = surroundings.resource_claims.get(name, pod.metadata.namespace or "")
        refusal = _refusal(pod, claim, use, own)
        if refusal or claim is None:
            return Devices(refusal)
        found.setdefault(claim.key, _need(claim, use, own))
    return Devices(claims=tuple(found.values()))


def claims_of(pod: PodView) -> list[tuple[str, bool, str | None]]:
    """How the pod calls each claim, whether it is its own, and its name: empty if there is none, None if not yet."""
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    return [
        (one.name, False, one.resource_claim_name) if one.resource_claim_name else (one.name, True, made.get(one.name))
        for one in pod.spec.resource_claims
    ]


def _refusal(pod: PodView, claim: ResourceClaim | None, use: str, own: bool) -> str:
    called = f'the resource claim "{use}"'
    if claim is None:
        return f"{called} does not exist"
    meta = claim.metadata
    if meta.deletion_timestamp:
        return f"{called} is being deleted"
    if own and not any(one.controller and one.uid == pod.metadata.uid for one in meta.owner_references):
        return f"{called} was not made for the pod: it is not owned by it"
    if claim.status.allocation is not None:
        waits = any(one.binding_conditions for one in claim.status.allocation.devices.results)
        return f"{called} has devices with binding conditions, which Grove does not know" if waits else ""
    unknown = _unknown(claim.spec.devices)
    return f"{called} asks for {unknown}, which Grove does not know" if unknown else ""


def _unknown(wishes: Wishes) -> str:
    """What of it Grove cannot allocate; empty: nothing."""
    for one in wishes.constraints:
        if not one.match_attribute:
            return "devices with distinct attributes" if one.distinct_attribute else "a constraint of a new kind"
    for request in wishes.requests:
        if request.exactly is None and not request.first_available:
            return "devices in a new way"
        for wish in (request.exactly, *request.first_available):
            if wish is not None and (unknown := _unknown_wish(wish)):
                return unknown
    return ""


def _unknown_wish(wish: Request) -> str:
    if wish.admin_access:
        return "administrative access"
    if wish.capacity is not None:
        return "a part of a device's capacity"
    if wish.allocation_mode not in (EXACT, ALL):
        return f"devices in mode {wish.allocation_mode}"
    if any(one.cel is None for one in wish.selectors):
        return "devices by a selector of a new kind"
    return "" if wish.device_class_name else "devices without a class"


def _need(claim: ResourceClaim, use: str, own: bool) -> ClaimNeed:
    key = "" if own else claim.key
    if claim.status.allocation is not None:
        return ClaimNeed(key, use, True, claim.status.allocation.node_selector)
    wishes = claim.spec.devices
    return ClaimNeed(key, use, False, None, wishes.requests, wishes.constraints)

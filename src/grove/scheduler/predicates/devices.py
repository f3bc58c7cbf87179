"""DynamicResources: a pod runs where the devices that its claims have can be used, or where they can get some. Pure.

Devices that claims of other pods have are taken, also those that pods on their way were promised; of the pods of a
gang, each sees what those before it were promised. Where an expression fails for a device of a node, that node is
refused; kube-scheduler would give up on the pod.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.kube.affinity import NodeSelector, NodeSelectorTerm, Requirement
from grove.scheduler.allocator import Given
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.devicedraw import DeviceDraw
from grove.scheduler.devicematch import Matches
from grove.scheduler.deviceneeds import ClaimNeed, Devices
from grove.scheduler.devicepools import Offer, Pools
from grove.scheduler.devices import MOST_CONSUMERS, Result
from grove.scheduler.devicestaken import Taken
from grove.scheduler.needs import devices_of
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots
from grove.scheduler.promises import DevicePromise
from grove.scheduler.reach import Reach, named
from grove.scheduler.surroundings import Surroundings

ELSEWHERE: Final = 'the devices of claim "{}" cannot be used there'
CROWDED: Final = f"a device claim of the pod has {MOST_CONSUMERS} users, and can have no more"
_MOST_KNOWN: Final = 256


class DynamicResources(Lenient):
    """See the top of the module."""

    name = "DynamicResources"

    def __init__(self, cluster: Cluster, surroundings: Surroundings) -> None:
        self._cluster = cluster
        self._claims = surroundings.resource_claims
        self._classes = surroundings.device_classes
        self._promises = surroundings.promises
        self._reach = Reach(cluster)
        self._pools = Pools(cluster, surroundings, self._reach)
        self._taken = Taken(surroundings)
        self._age = -1
        self._matches = Matches(self._classes)
        self._draws: dict[tuple[ClaimNeed, ...], DeviceDraw] = {}

    # What depends on nodes alone

    def is_static(self, cls: PodClass) -> bool:
        needs = devices_of(cls)
        return needs is not None and bool(needs.refusal or any(one.reach is not None for one in needs.claims))

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        needs = devices_of(cls)
        if needs is None:
            return None
        found = np.full(len(slots), not needs.refusal)
        for claim in needs.claims:
            if claim.reach is not None:
                found &= self._reach.mask(claim.reach, slots)
        return found

    # What depends on devices that are free

    def is_dynamic(self, cls: PodClass) -> bool:
        needs = devices_of(cls)
        return needs is not None and any(one.claim or not one.allocated for one in needs.claims)

    def limit(self, cls: PodClass) -> Counts | None:
        needs = devices_of(cls)
        if needs is None:
            return None
        found = np.full(self._cluster.size, self._users_left(needs), np.int64)
        for claim in needs.claims:
            promise = None if claim.allocated else self._promises.allocations.get(claim.claim)
            if promise is not None and promise.reach is not None:
                found[~self._reach.mask(promise.reach, np.arange(self._cluster.size))] = 0
        draw = self._draw(needs)
        return found if draw is None else np.minimum(found, draw.counts())

    def _users_left(self, needs: Devices) -> int:
        """How many more pods may use the claims that the class shares."""
        left = PLENTY
        for one in needs.claims:
            if one.claim:
                left = min(left, MOST_CONSUMERS - len(self._users(one.claim)))
        return max(0, left)

    def _users(self, key: str) -> set[str]:
        namespace, _, name = key.partition("/")
        claim = self._claims.get(name, namespace)
        known = {one.uid for one in claim.status.reserved_for} if claim is not None else set()
        return known.union(self._promises.consumers.get(key, ()))

    def _draw(self, needs: Devices) -> DeviceDraw | None:
        """For the claims that nobody was promised devices for; None: there are none."""
        claims = tuple(one for one in needs.claims if not one.allocated and one.claim not in self._promises.allocations)
        if not claims:
            return None
        if self._classes.epoch != self._age:
            self._age = self._classes.epoch
            self._draws.clear()
            self._matches = Matches(self._classes)
        found = self._draws.get(claims)
        if found is None:
            if len(self._draws) >= _MOST_KNOWN:
                self._draws.clear()
            found = self._draws[claims] = DeviceDraw(claims, self._cluster, self._pools, self._taken, self._matches)
        return found

    # Promises

    def placed(self, pod: Placed, sign: int) -> None:
        needs = devices_of(pod.cls)
        if needs is None or needs.refusal:
            return
        keys = {one: one.key(pod.namespace, pod.name) for one in needs.claims if one.claim or not one.allocated}
        if sign < 0:
            for key in keys.values():
                self._promises.no_consumer(key, pod.uid)
            return
        draw = self._draw(needs)
        chosen = draw.choose(pod.slot) if draw is not None else None
        if draw is not None and chosen is not None:
            given, offers = chosen
            for at, claim in enumerate(draw.claims):
                own = [(one, offers[one.device]) for one in given if one.claim == at]
                self._promises.allocation(keys[claim], _promise(own))
        for key in keys.values():
            self._promises.consumer(key, pod.uid)

    def explain(self, cls: PodClass, slot: int) -> str:
        needs = devices_of(cls)
        if needs is None:
            return ""
        if needs.refusal:
            return needs.refusal
        if not self._users_left(needs):
            return CROWDED
        for claim in needs.claims:
            promise = None if claim.allocated else self._promises.allocations.get(claim.claim)
            reach = promise.reach if promise is not None else claim.reach
            if not self._reach.reaches(reach, slot):
                return ELSEWHERE.format(claim.use)
        draw = self._draw(needs)
        return "" if draw is None else draw.reason(slot)


def _promise(given: list[tuple[Given, Offer]]) -> DevicePromise:
    results = tuple(
        Result(
            request=one.request,
            driver=offer.id.driver,
            pool=offer.id.pool,
            device=offer.id.name,
            tolerations=one.tolerations,
        )
        for one, offer in given
    )
    return DevicePromise(results, _reach([offer for _, offer in given]))


def _reach(offers: list[Offer]) -> NodeSelector | None:
    """Where all of them can be used."""
    for offer in offers:
        if offer.node:
            return named(offer.node)
    expressions: dict[Requirement, None] = {}
    fields: dict[Requirement, None] = {}
    for offer in offers:
        for term in offer.reach.node_selector_terms if offer.reach is not None else ():
            expressions.update(dict.fromkeys(term.match_expressions))
            fields.update(dict.fromkeys(term.match_fields))
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))

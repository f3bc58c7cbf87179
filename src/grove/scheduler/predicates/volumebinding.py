"""VolumeBinding: a pod runs where its volumes can be used, found or made. Pure.

A claim that waits for its pod's node gets the smallest volume that fits it and can be used there; else one is made for
it, if its storage class does that and has room there. Volumes that are promised to pods on their way are taken; of the
pods of a gang, each sees what those before it were promised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.needs import volumes_of
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots
from grove.scheduler.promises import VolumePromise
from grove.scheduler.provisioning import Provisioning
from grove.scheduler.reach import Reach
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumedraw import Draw
from grove.scheduler.volumematch import Offers
from grove.scheduler.volumeneeds import Volumes, Wanted

NO_VOLUME: Final = "no volume fits a claim, and none can be made"
NO_ROOM: Final = "not enough storage left to make a volume for a claim"
PROMISED_ELSEWHERE: Final = "a claim of the pod gets its volume elsewhere, for another pod"
ELSEWHERE: Final = "a volume of the pod cannot be used there"
_MOST_KNOWN: Final = 1024


class VolumeBinding(Lenient):
    """See the top of the module."""

    name = "VolumeBinding"

    def __init__(self, cluster: Cluster, surroundings: Surroundings) -> None:
        self._cluster = cluster
        self._surroundings = surroundings
        self._promises = surroundings.promises
        self._reach = Reach(cluster)
        self._offers = Offers(surroundings)
        self._provisioning = Provisioning(cluster, surroundings, self._reach)
        self._draws: dict[PodClass, Draw] = {}

    @property
    def epoch(self) -> int:  # type: ignore[override]
        return self._provisioning.epoch + self._offers.epoch

    # What depends on nodes alone

    def is_static(self, cls: PodClass) -> bool:
        needs = volumes_of(cls)
        return needs is not None and bool(needs.refusal or needs.bound or needs.wanted)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        needs = volumes_of(cls)
        if needs is None:
            return None
        found = np.full(len(slots), not needs.refusal)
        for bound in needs.bound:
            if bound.reach is not None:
                found &= self._reach.mask(bound.reach, slots)
        for wanted in needs.wanted:
            if wanted.selected:
                found &= slots == self._cluster.slot_of.get(wanted.selected, -1)
            if wanted.selected or not self._offers.may_have(wanted):
                found &= self._provisioning.mask(wanted)[slots]
        return found

    # What depends on volumes that are free

    def is_dynamic(self, cls: PodClass) -> bool:
        needs = volumes_of(cls)
        return needs is not None and any(
            (one.claim and not one.spans_nodes) or self._offers.may_have(one)
            for one in needs.wanted
            if not one.selected
        )

    def limit(self, cls: PodClass) -> Counts | None:
        needs = volumes_of(cls)
        if needs is None:
            return None
        found: Counts | None = None
        free = []
        for wanted in needs.wanted:
            if wanted.selected:
                continue
            promise = self._promises.claims.get(wanted.claim) if wanted.claim else None
            if promise is None:
                free.append(wanted)
            else:
                mask = np.where(self._kept(wanted, promise), PLENTY, 0)
                found = mask if found is None else np.minimum(found, mask)
        if free:
            drawn = self._draw(cls, tuple(free)).counts()
            found = drawn if found is None else np.minimum(found, drawn)
        return found

    def _kept(self, wanted: Wanted, promise: VolumePromise) -> Mask:
        """Where a claim can be used that a pod before was promised."""
        size = self._cluster.size
        found = np.zeros(size, np.bool_)
        if promise.volume:
            volume = self._surroundings.persistent_volumes.get(promise.volume)
            if volume is not None:
                found[self._reach.slots(volume.reach) if volume.reach else slice(None)] = True
        elif wanted.spans_nodes:
            # Where it will be made is known when it has been: pods that turn out to be elsewhere are placed anew.
            found[:] = self._provisioning.mask(wanted)
        else:
            slot = self._cluster.slot_of.get(promise.node)
            if slot is not None:
                found[slot] = True
        return found

    def _draw(self, cls: PodClass, wanted: tuple[Wanted, ...]) -> Draw:
        age = (self._offers.epoch, self._provisioning.epoch, self._cluster.reshaped.position, self._cluster.size)
        known = self._draws.get(cls)
        if known is None or known.age != age or known.wanted != wanted:
            if len(self._draws) >= _MOST_KNOWN:
                self._draws.clear()
            known = self._draws[cls] = Draw(
                age,
                wanted,
                offers=[self._offers.of(one) for one in wanted],
                makes=[self._provisioning.mask(one) for one in wanted],
                reach=self._reach,
                promises=self._promises,
            )
        return known

    # Promises

    def placed(self, pod: Placed, sign: int) -> None:
        needs = volumes_of(pod.cls)
        if needs is None or not needs.wanted:
            return
        keys = {one: one.key(pod.namespace, pod.name) for one in needs.wanted}
        if sign < 0:
            for key in keys.values():
                self._promises.no_volume(key, pod.uid)
            return
        new = tuple(one for one in needs.wanted if keys[one] not in self._promises.claims)
        volumes = self._choose(pod, new, keys)
        for wanted, key in keys.items():
            if wanted in volumes:
                self._promises.volume(key, VolumePromise(volumes[wanted], self._cluster.names[pod.slot]), pod.uid)
            else:
                self._promises.volume_user(key, pod.uid)

    def _choose(self, pod: Placed, new: tuple[Wanted, ...], keys: Mapping[Wanted, str]) -> dict[Wanted, str]:
        """The volumes that claims get which were promised none; empty: one is made."""
        found = dict.fromkeys(new, "")
        free = tuple(one for one in new if not one.selected)
        if free:
            found.update(zip(free, self._draw(pod.cls, free).pick(pod.slot), strict=True))
        for one in free:
            # The class does not know the claim of an ephemeral volume; a volume may name it all the same.
            named = self._offers.promised_to(keys[one], one)
            if named is not None and self._reach.reaches(named.reach, pod.slot):
                found[one] = named.name
        return found

    def explain(self, cls: PodClass, slot: int) -> str:
        needs = volumes_of(cls)
        if needs is None:
            return ""
        if needs.refusal:
            return needs.refusal
        if any(not self._reach.reaches(bound.reach, slot) for bound in needs.bound):
            return ELSEWHERE
        for wanted in needs.wanted:
            if wanted.selected and wanted.selected != self._cluster.names[slot]:
                return "a volume is being made for a claim on another node"
        return self._explain_wanted(cls, needs, slot)

    def _explain_wanted(self, cls: PodClass, needs: Volumes, slot: int) -> str:
        static = self.static(cls, np.array([slot]))
        limit = self.limit(cls) if self.is_dynamic(cls) else None
        if (static is None or static[0]) and (limit is None or limit[slot]):
            return ""
        for wanted in needs.wanted:
            promise = self._promises.claims.get(wanted.claim) if wanted.claim else None
            if promise is not None and not self._kept(wanted, promise)[slot]:
                return PROMISED_ELSEWHERE
            if self._provisioning.lacks_room(wanted, slot):
                return NO_ROOM
        return NO_VOLUME

"""VolumeBinding: a pod runs where its volumes can be used, found or made. Pure.

A claim that waits for its pod's node gets the smallest volume that fits it and can be used there; else one is made for
it, if its storage class does that and has room there. Volumes that are promised to pods on their way are taken; of the
pods of a gang, each sees what those before it were promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.needs import volumes_of
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots
from grove.scheduler.promises import Changes, VolumePromise
from grove.scheduler.provisioning import Provisioning
from grove.scheduler.reach import Reach
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumematch import Offers, Volume
from grove.scheduler.volumeneeds import Volumes, Wanted

NO_VOLUME: Final = "no volume fits a claim, and none can be made"
NO_ROOM: Final = "not enough storage left to make a volume for a claim"
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
        self._draws: dict[PodClass, _Draw] = {}

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

    def _draw(self, cls: PodClass, wanted: tuple[Wanted, ...]) -> _Draw:
        age = (self._offers.epoch, self._provisioning.epoch, self._cluster.reshaped.position, self._cluster.size)
        known = self._draws.get(cls)
        if known is None or known.age != age or known.wanted != wanted:
            if len(self._draws) >= _MOST_KNOWN:
                self._draws.clear()
            known = self._draws[cls] = _Draw(age, wanted, self)
        return known

    def offers(self, wanted: Wanted) -> Sequence[Volume]:
        """The volumes that fit a claim, the smallest first, promised ones included."""
        return self._offers.of(wanted)

    def slots_of(self, volume: Volume) -> Slots | None:
        """Where it can be used; None: everywhere."""
        return None if volume.reach is None else self._reach.slots(volume.reach)

    def makes(self, wanted: Wanted) -> Mask:
        """Where one can be made for it."""
        return self._provisioning.mask(wanted)

    @property
    def promised(self) -> dict[str, str]:
        return self._promises.volumes

    @property
    def volume_log(self) -> Changes[str]:
        return self._promises.volume_log

    # Promises

    def placed(self, pod: Placed, sign: int) -> None:
        needs = volumes_of(pod.cls)
        if needs is None or not needs.wanted:
            return
        keys = [one.key(pod.namespace, pod.name) for one in needs.wanted]
        if sign < 0:
            for key in keys:
                self._promises.no_volume(key, pod.uid)
            return
        for wanted, key in zip(needs.wanted, keys, strict=True):
            if key in self._promises.claims:
                self._promises.volume_user(key, pod.uid)
            else:
                volume = "" if wanted.selected else self._choose(wanted, key, pod.slot)
                self._promises.volume(key, VolumePromise(volume, self._cluster.names[pod.slot]), pod.uid)

    def _choose(self, wanted: Wanted, claim: str, slot: int) -> str:
        """The volume that a claim gets on a slot; empty: one is made."""
        named = self._offers.promised_to(claim, wanted)
        if named is not None:
            return named.name if self._reach.reaches(named.reach, slot) else ""
        for volume in self._offers.of(wanted):
            if volume.name not in self._promises.volumes and self._reach.reaches(volume.reach, slot):
                return volume.name
        return ""

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
            if self._provisioning.lacks_room(wanted, slot):
                return NO_ROOM
        return NO_VOLUME


class _Kind(NamedTuple):
    """Slots that are alike: the same volumes can be used there, and volumes made for the same claims."""

    volumes: tuple[int, ...]
    makes: tuple[bool, ...]


class _Draw:
    """How many pods of a class find volumes, by slot. Slots are counted by their kind."""

    def __init__(self, age: tuple[int, ...], wanted: tuple[Wanted, ...], rule: VolumeBinding) -> None:
        self.age: Final = age
        self.wanted: Final = wanted
        self._rule = rule
        self._volumes: list[Volume] = []
        self._fits: list[tuple[bool, ...]] = []
        self._number: dict[str, int] = {}
        self._gather()
        self._kinds: list[_Kind] = []
        self._kind_of: Counts = np.zeros(age[-1], np.int64)
        self._kinds_with: list[list[int]] = [[] for _ in self._volumes]
        self._sort_slots(age[-1])
        self._counts: Counts = np.array([self._count(kind) for kind in self._kinds], np.int64)
        self._position = rule.volume_log.position

    def _gather(self) -> None:
        offers = [self._rule.offers(one) for one in self.wanted]
        fits: dict[Volume, list[bool]] = {}
        for at, found in enumerate(offers):
            for volume in found:
                fits.setdefault(volume, [False] * len(offers))[at] = True
        for volume in sorted(fits, key=lambda one: (one.size, one.name)):
            self._number[volume.name] = len(self._volumes)
            self._volumes.append(volume)
            self._fits.append(tuple(fits[volume]))

    def _sort_slots(self, size: int) -> None:
        everywhere: list[int] = []
        some: dict[int, list[int]] = {}
        for number, volume in enumerate(self._volumes):
            slots = self._rule.slots_of(volume)
            if slots is None:
                everywhere.append(number)
            else:
                for slot in slots.tolist():
                    some.setdefault(slot, []).append(number)
        makes = np.stack([self._rule.makes(one) for one in self.wanted], axis=1).tolist()
        numbers: dict[_Kind, int] = {}
        usual = tuple(everywhere)
        for slot in range(size):
            own = some.get(slot)
            kind = _Kind(tuple(sorted(everywhere + own)) if own else usual, tuple(makes[slot]))
            number = numbers.get(kind)
            if number is None:
                number = numbers[kind] = len(self._kinds)
                self._kinds.append(kind)
                for volume in kind.volumes:
                    self._kinds_with[volume].append(number)
            self._kind_of[slot] = number

    def counts(self) -> Counts:
        log = self._rule.volume_log
        if self._position != log.position:
            names = log.since(self._position)
            changed = range(len(self._volumes)) if names is None else self._numbers(names)
            for kind in {kind for volume in changed for kind in self._kinds_with[volume]}:
                self._counts[kind] = self._count(self._kinds[kind])
            self._position = log.position
        return self._counts[self._kind_of]

    def _numbers(self, names: Iterable[str]) -> set[int]:
        return {self._number[name] for name in names if name in self._number}

    def _count(self, kind: _Kind) -> int:
        """How many pods one after the other find what they need."""
        if all(kind.makes):
            return PLENTY
        promised = self._rule.promised
        free = [number for number in kind.volumes if self._volumes[number].name not in promised]
        wanted = [*range(len(self.wanted))]
        for turn in range(len(free) + 1):
            for drawn in self._drawn(wanted, kind, free):
                if drawn is None:
                    return turn
                free.remove(drawn)
            # A claim that pods share is drawn for once.
            wanted = [at for at in wanted if not self.wanted[at].claim]
            if not wanted:
                return PLENTY
        return PLENTY

    def _drawn(self, wanted: Sequence[int], kind: _Kind, free: Sequence[int]) -> Iterator[int | None]:
        """The volume for each claim of one pod; None: there is none."""
        left = [*free]
        for at in wanted:
            found = next((number for number in left if self._fits[number][at]), None)
            if found is not None:
                left.remove(found)
                yield found
            elif not kind.makes[at]:
                yield None
                return

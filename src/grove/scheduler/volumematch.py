"""Which volumes that exist fit a claim that waits for its pod's node. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from grove.kube import nodechoice
from grove.kube.affinity import NodeSelector
from grove.scheduler.storage import PersistentVolume
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumeneeds import Wanted

AVAILABLE: Final = "Available"
_MOST_KNOWN: Final = 4096


class Volume(NamedTuple):
    """A volume that a claim could get."""

    size: int
    name: str
    reach: NodeSelector | None


class Offers:
    """All volumes, by what they are for."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._volumes = surroundings.persistent_volumes
        self._claims = surroundings.persistent_volume_claims
        self._read = -1
        self._by_class: dict[str, list[PersistentVolume]] = {}
        self._by_claim: dict[str, list[PersistentVolume]] = {}
        self._found: dict[Wanted, tuple[Volume, ...]] = {}

    @property
    def epoch(self) -> int:
        return self._volumes.epoch

    def may_have(self, wanted: Wanted) -> bool:
        """Whether any volume fits the claim, wherever it can be used."""
        return bool(self.of(wanted)) or self.promised_to(wanted.claim, wanted) is not None

    def of(self, wanted: Wanted) -> Sequence[Volume]:
        """Those that fit it, the smallest first, promised or not; the one that it was promised in writing alone."""
        self._refresh()
        found = self._found.get(wanted)
        if found is None:
            if len(self._found) >= _MOST_KNOWN:
                self._found.clear()
            named = self.promised_to(wanted.claim, wanted)
            fitting = (one for one in self._by_class.get(wanted.storage_class, ()) if _suits(one, wanted))
            found = (named,) if named is not None else tuple(sorted(map(_volume, fitting)))
            self._found[wanted] = found
        return found

    def promised_to(self, claim: str, wanted: Wanted) -> Volume | None:
        """The volume that names the claim as the one that it is for."""
        self._refresh()
        candidates = self._by_claim.get(claim, ()) if claim else ()
        if not candidates:
            return None
        namespace, _, name = claim.partition("/")
        found = self._claims.get(name, namespace)
        uid = found.metadata.uid or "" if found is not None else ""
        for one in candidates:
            if one.is_for(namespace, name, uid) and _could_be(one, wanted):
                return _volume(one)
        return None

    def _refresh(self) -> None:
        if self._read == self._volumes.epoch:
            return
        self._read = self._volumes.epoch
        self._by_class, self._by_claim, self._found = {}, {}, {}
        for volume in self._volumes:
            ref = volume.spec.claim_ref
            if ref is not None:
                self._by_claim.setdefault(f"{ref.namespace}/{ref.name}", []).append(volume)
            elif volume.status.phase == AVAILABLE:
                self._by_class.setdefault(volume.class_name, []).append(volume)


def _volume(found: PersistentVolume) -> Volume:
    return Volume(found.size, found.metadata.name, found.reach)


def _could_be(volume: PersistentVolume, wanted: Wanted) -> bool:
    """What must hold even of a volume that was promised to the claim."""
    return (
        volume.size >= (wanted.size or 0)
        and volume.spec.volume_mode == wanted.mode
        and volume.spec.volume_attributes_class_name == wanted.attributes_class
        and not volume.metadata.deletion_timestamp
    )


def _suits(volume: PersistentVolume, wanted: Wanted) -> bool:
    """Whether a volume of the claim's class, which is for nobody yet, fits the claim."""
    labels = volume.metadata.labels or {}
    return (
        _could_be(volume, wanted)
        and set(wanted.modes) <= set(volume.spec.access_modes)
        and all(nodechoice.holds(one, labels.get(one.key)) for one in wanted.selector or ())
    )

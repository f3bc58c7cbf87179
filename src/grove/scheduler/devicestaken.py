"""Which devices are free no more: claims have them, or were promised them. Pure."""

from __future__ import annotations

from grove.scheduler.devices import DeviceId
from grove.scheduler.promises import Changes
from grove.scheduler.surroundings import Surroundings


class Taken:
    """The devices that claims have, or were promised."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._claims = surroundings.resource_claims
        self._promises = surroundings.promises
        self._read = 0
        self._holders: dict[DeviceId, set[str]] = {}
        self._of: dict[str, tuple[DeviceId, ...]] = {}
        self._log: Changes[DeviceId] = Changes()

    def __contains__(self, device: DeviceId) -> bool:
        """As of the last `position`."""
        return device in self._holders or device in self._promises.devices

    @property
    def position(self) -> tuple[int, int]:
        """Of the logs of what changed."""
        self._refresh()
        return self._log.position, self._promises.device_log.position

    def since(self, position: tuple[int, int]) -> list[DeviceId] | None:
        """The devices that were taken or given back after a position; None: too long ago to know."""
        self._refresh()
        claimed, promised = self._log.since(position[0]), self._promises.device_log.since(position[1])
        return None if claimed is None or promised is None else claimed + promised

    def _refresh(self) -> None:
        epoch = self._claims.epoch
        if self._read == epoch:
            return
        changed = self._claims.since(self._read)
        self._read = epoch
        if changed is None:
            changed = [(one.metadata.namespace or "", one.metadata.name) for one in self._claims]
            changed += [(namespace, name) for namespace, _, name in (key.partition("/") for key in self._of)]
        for namespace, name in dict.fromkeys(changed):
            self._set(f"{namespace}/{name}", self._has(namespace, name))

    def _has(self, namespace: str, name: str) -> tuple[DeviceId, ...]:
        claim = self._claims.get(name, namespace)
        allocation = claim.status.allocation if claim is not None else None
        return tuple(one.id for one in allocation.devices.results if not one.admin_access) if allocation else ()

    def _set(self, claim: str, devices: tuple[DeviceId, ...]) -> None:
        before = self._of.get(claim, ())
        if before == devices:
            return
        for device in before:
            holders = self._holders[device]
            holders.discard(claim)
            if not holders:
                del self._holders[device]
        for device in devices:
            self._holders.setdefault(device, set()).add(claim)
        if devices:
            self._of[claim] = devices
        else:
            self._of.pop(claim, None)
        for device in (*before, *devices):
            self._log.append(device)

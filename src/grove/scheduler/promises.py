"""What pods were promised that nobody else can see yet: volumes for their claims, devices for theirs. Data.

The rules note it when a pod is put on a node, also for a trial, and take it back when it leaves; `prebind.py` reads
from here what is to be written. A claim that several pods share is promised once, and to the end of the last of them.
What was written and seen is no promise any more: the pods are of another class then (`needs.py`).
"""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

from grove.kube.affinity import NodeSelector
from grove.scheduler.devices import DeviceId, Result

T = TypeVar("T")
_LONGEST: Final = 1 << 16


class VolumePromise(NamedTuple):
    """What a claim to a volume is to get."""

    volume: str
    """Empty: one is made for it."""
    node: str
    """The node of the first pod that uses it."""


class DevicePromise(NamedTuple):
    """What a claim to devices is to get."""

    results: tuple[Result, ...]
    reach: NodeSelector | None
    """The nodes that it can be used on then; None: all."""


class Changes(Generic[T]):
    """What was promised or taken back, in order. Who reads it keeps a position, and asks for what came after it."""

    def __init__(self) -> None:
        self._items: list[T] = []
        self._start = 0

    @property
    def position(self) -> int:
        return self._start + len(self._items)

    def append(self, item: T) -> None:
        if len(self._items) >= _LONGEST:
            half = _LONGEST // 2
            del self._items[:half]
            self._start += half
        self._items.append(item)

    def since(self, position: int) -> list[T] | None:
        """None: too long ago to know."""
        return None if position < self._start else self._items[position - self._start :]


class Promises:
    """Claims are named by `namespace/name`."""

    def __init__(self) -> None:
        self.claims: Final[dict[str, VolumePromise]] = {}
        self.volumes: Final[dict[str, str]] = {}
        """By volume its claim."""
        self.volume_log: Final[Changes[str]] = Changes()
        self.allocations: Final[dict[str, DevicePromise]] = {}
        self.devices: Final[dict[DeviceId, str]] = {}
        """By device its claim."""
        self.device_log: Final[Changes[DeviceId]] = Changes()
        self.consumers: Final[dict[str, dict[str, None]]] = {}
        """By claim to devices the pods that are to use it, by uid."""
        self._users: dict[str, dict[str, None]] = {}

    def volume(self, claim: str, promise: VolumePromise, user: str) -> None:
        """A claim gets a volume, for a pod."""
        self.claims[claim] = promise
        if promise.volume:
            self.volumes[promise.volume] = claim
            self.volume_log.append(promise.volume)
        self._users[claim] = {user: None}

    def volume_user(self, claim: str, user: str) -> None:
        """One more pod uses a claim that was promised a volume."""
        self._users[claim][user] = None

    def no_volume(self, claim: str, user: str) -> None:
        """A pod does not use the claim any more."""
        users = self._users.get(claim)
        if users is None or user not in users:
            return
        del users[user]
        if not users:
            del self._users[claim]
            volume = self.claims.pop(claim).volume
            if volume:
                del self.volumes[volume]
                self.volume_log.append(volume)

    def allocation(self, claim: str, promise: DevicePromise) -> None:
        """A claim gets devices."""
        self.allocations[claim] = promise
        for one in promise.results:
            self.devices[one.id] = claim
            self.device_log.append(one.id)

    def consumer(self, claim: str, user: str) -> None:
        """A pod is to use a claim to devices."""
        self.consumers.setdefault(claim, {})[user] = None

    def no_consumer(self, claim: str, user: str) -> None:
        """A pod does not use it any more; after the last one its devices are free again."""
        users = self.consumers.get(claim)
        if users is None or user not in users:
            return
        del users[user]
        if not users:
            del self.consumers[claim]
            promise = self.allocations.pop(claim, None)
            for one in promise.results if promise else ():
                del self.devices[one.id]
                self.device_log.append(one.id)

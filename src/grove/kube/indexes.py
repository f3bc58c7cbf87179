"""Finding objects by something other than their name: an index is a pure function from an object to its keys.

Groups are dicts from uid to object: kept in the order of arrival, and small, since keys and objects are shared with the
store. An object must not change while it is held, else its old keys could not be found again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from grove.api.kinds.meta import ObjectMeta

T = TypeVar("T")
KeysOf: TypeAlias = Callable[[ObjectMeta, T], Iterable[Hashable]]
"""The keys of an object in an index; any number of them."""

_NONE: Mapping[str, Any] = {}


def by_owner(metadata: ObjectMeta, _: object) -> Iterable[Hashable]:
    """By the uid of every owner, controller or not."""
    return [owner.uid for owner in metadata.owner_references]


def by_label(key: str) -> KeysOf[Any]:
    """By the value of a label; objects without it are in no group."""

    def keys(metadata: ObjectMeta, _: object) -> Iterable[Hashable]:
        value = None if metadata.labels is None else metadata.labels.get(key)
        return () if value is None else ((metadata.namespace or "", value),)

    return keys


class Index(Generic[T]):
    """One index of a store, told of every change."""

    def __init__(self, keys_of: KeysOf[T]) -> None:
        self._keys_of = keys_of
        self._groups: dict[Hashable, dict[str, T]] = {}

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._groups)

    def keys(self) -> Collection[Hashable]:
        return self._groups.keys()

    def get(self, key: Hashable) -> tuple[T, ...]:
        """The objects with this key."""
        return tuple(self._groups.get(key, _NONE).values())

    def add(self, metadata: ObjectMeta, obj: T) -> None:
        self.fill((metadata,), (obj,))

    def fill(self, metadatas: Iterable[ObjectMeta], objects: Iterable[T]) -> None:
        """Adds many."""
        groups, keys_of = self._groups, self._keys_of
        for metadata, obj in zip(metadatas, objects, strict=True):
            for key in keys_of(metadata, obj):
                group = groups.get(key)
                if group is None:
                    group = groups[key] = {}
                group[metadata.uid or ""] = obj

    def remove(self, metadata: ObjectMeta, obj: T) -> None:
        for key in self._keys_of(metadata, obj):
            group = self._groups.get(key)
            if group is not None:
                group.pop(metadata.uid or "", None)  # a function may name a key twice
                if not group:
                    del self._groups[key]

    def replace(self, old_metadata: ObjectMeta, old: T, metadata: ObjectMeta, obj: T) -> None:
        """The same object in a newer version: it keeps its place in the groups that it stays in."""
        left = set(self._keys_of(old_metadata, old)).difference(self._keys_of(metadata, obj))
        self.add(metadata, obj)
        for key in left:
            group = self._groups[key]
            del group[metadata.uid or ""]
            if not group:
                del self._groups[key]

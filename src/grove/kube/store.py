"""The objects of one resource as this process knows them: pure, synchronous, without a clock.

Four things feed it, in any order: lists, watch events, what our own writes returned, and our own deletions. Whatever
the order: an object never goes back in version; what was deleted stays deleted; what a write returned is held until
something newer arrives. Each call returns what really changed, so that whoever follows can rebuild the content.
`cache.py` drives it; `history.py` judges what is news.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.history import History, Opaque, Ordered, are_numbers, number
from grove.kube.indexes import Index, KeysOf

T = TypeVar("T")
Kind: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class Change(NamedTuple, Generic[T]):
    """An object was added (no old), updated (both, of one uid) or deleted (no new)."""

    old: T | None
    new: T | None


class Statistics(msgspec.Struct, frozen=True):
    """What a store holds and has seen."""

    objects: int
    graves: int
    """Deletions that are remembered."""
    revision: str
    """The newest revision that a list, event or bookmark has told; empty before the first."""
    applied: int
    """Objects added, updated or deleted."""
    echoes: int
    """What arrived and was no news."""
    comparable: bool
    """Whether resource versions are numbers here."""
    keys: Mapping[str, int]
    """How many keys each index has."""


def metadata_of(obj: Any) -> ObjectMeta:
    """The metadata of a struct with a field `metadata`, or of an object as a plain dict."""
    if isinstance(obj, dict):
        return msgspec.convert(obj.get("metadata") or {}, ObjectMeta)
    metadata: ObjectMeta = obj.metadata
    return metadata


def is_final(metadata: ObjectMeta) -> bool:
    """Whether this is the last state of an object: its deletion was asked for, and nothing holds it any more.

    The API server does not store such an object, it deletes it; who removes the last finalizer gets it as the answer.
    """
    return (
        metadata.deletion_timestamp is not None
        and not metadata.finalizers
        and not metadata.deletion_grace_period_seconds
    )


_NOTHING: Final[Mapping[str, Any]] = {}


class Store(Generic[T]):
    """Objects by namespace and name, by uid, and by the keys of indexes. Reads return the objects held, not copies."""

    def __init__(
        self,
        *,
        indexes: Mapping[str, KeysOf[T]] = _NOTHING,
        matches: Callable[[ObjectMeta, T], bool] | None = None,
        metadata_of: Callable[[T], ObjectMeta] = metadata_of,
    ) -> None:
        """`matches` tells whether an object belongs here at all: the server chooses for lists and watches, and this for
        what our own writes return."""
        self._metadata_of = metadata_of
        self._matches = matches
        self._indexes = {name: Index(keys_of) for name, keys_of in indexes.items()}
        self._namespaces: dict[str, dict[str, T]] = {}
        self._uids: dict[str, T] = {}
        self._history: History = Ordered(selects=matches is not None)
        self._is_ordered = True
        self._revision = ""
        self._reached = 0  # the same as a number
        self._applied = 0
        self._echoes = 0

    # Reading

    def __len__(self) -> int:
        return len(self._uids)

    def __iter__(self) -> Iterator[T]:
        return iter(self._uids.values())

    def get(self, namespace: str, name: str) -> T | None:
        """The object of that name; the namespace is empty for what is in none."""
        return self._namespaces.get(namespace, _NOTHING).get(name)

    def by_uid(self, uid: str) -> T | None:
        return self._uids.get(uid)

    def list(self, namespace: str | None = None) -> tuple[T, ...]:
        """All objects, or those of a namespace."""
        held = self._uids if namespace is None else self._namespaces.get(namespace, _NOTHING)
        return tuple(held.values())

    def find(self, index: str, key: Hashable) -> tuple[T, ...]:
        """The objects that an index has under a key."""
        return self._indexes[index].get(key)

    def keys(self, index: str) -> tuple[Hashable, ...]:
        """All keys of an index."""
        return tuple(self._indexes[index].keys())

    @property
    def revision(self) -> str:
        """The newest revision heard of: of a list, an event, or a bookmark. Not of our own writes."""
        return self._revision

    def has_reached(self, revision: str) -> bool:
        """Whether lists and watches have come to a revision. Only where versions are numbers."""
        wanted, reached = number(revision), number(self._revision)
        if wanted is None or (self._revision and reached is None):
            raise ValueError(f"resource version {revision!r} cannot be compared with {self._revision!r}")
        return reached is not None and reached >= wanted

    def statistics(self) -> Statistics:
        return Statistics(
            objects=len(self._uids),
            graves=self._history.graves,
            revision=self._revision,
            applied=self._applied,
            echoes=self._echoes,
            comparable=self._is_ordered,
            keys={name: len(index) for name, index in self._indexes.items()},
        )

    # Feeding

    def apply_event(self, kind: Kind, obj: T) -> tuple[Change[T], ...]:
        """Takes over an event of a watch."""
        metadata = self._metadata_of(obj)
        uid, version = self._identity(metadata)
        held, held_version = self._held(metadata)
        changes: tuple[Change[T], ...]
        if kind == "DELETED":
            changes = ()
            if held is not None and held_version is not None:
                held_uid = self._metadata_of(held).uid or ""
                if self._history.is_gone(uid, version, held_version, held_uid):
                    self._history.bury(held_uid, version)
                    changes = (self._remove(held),)
            self._history.bury(uid, version)
        elif self._history.is_news(uid, version, held_version):
            changes = self._put(held, metadata, obj)
        else:
            changes = ()
        self._hear(version)
        return self._told(changes)

    def apply_bookmark(self, revision: str) -> None:
        """Takes over the promise that everything up to a revision has been delivered."""
        self._check(revision)
        self._history.completed(revision)
        self._hear(revision)

    def apply_write(self, obj: T) -> tuple[Change[T], ...]:
        """Takes over what a create, an update or a patch of ours returned; also one that was the object's last."""
        metadata = self._metadata_of(obj)
        if is_final(metadata):
            return self.apply_delete(obj)
        uid, version = self._identity(metadata)
        held, held_version = self._held(metadata)
        if not self._history.is_news_written(uid, version, held_version):
            return self._told(())
        if self._matches is not None and not self._matches(metadata, obj):
            # It is elsewhere now. Older news of it would bring it back; newer ones are for the server to choose.
            self._history.bury(uid, version)
            if held is not None:  # perhaps an incarnation before
                self._history.bury(self._metadata_of(held).uid or "", version)
            return self._told(() if held is None else (self._remove(held),))
        self._history.wrote(uid, version)
        return self._told(self._put(held, metadata, obj))

    def apply_delete(self, obj: T) -> tuple[Change[T], ...]:
        """Takes over that a delete of ours succeeded and the object is gone: not merely asked to go.

        The object is any version of it, the last one that was known or what the server returned.
        """
        metadata = self._metadata_of(obj)
        uid, version = self._identity(metadata)
        held = self._uids.get(uid)
        self._history.bury_unseen(uid, version, held is not None)
        return self._told(() if held is None else (self._remove(held),))

    def replace(self, objects: Sequence[T], revision: str) -> tuple[Change[T], ...]:
        """Takes over a complete list of that revision, as the difference to what is held; it may be an old one."""
        self._check(revision)
        metadatas = [self._metadata_of(obj) for obj in objects]
        if not self._uids and self._history.is_blank and self._fill(metadatas, objects):
            self._history.listed(self._uids.keys(), revision)
            self._hear(revision)
            self._applied += len(objects)
            return tuple(changes_to(objects))
        uids = {self._identity(metadata)[0] for metadata in metadatas}
        changes: list[Change[T]] = []
        for uid, held in list(self._uids.items()):
            if uid not in uids and self._history.is_gone_from_list(self._version(held), revision):
                changes.append(self._remove(held))
        for metadata, obj in zip(metadatas, objects, strict=True):
            uid, version = self._identity(metadata)
            held_, held_version = self._held(metadata)
            if self._history.is_news_listed(uid, version, held_version, revision):
                changes.extend(self._put(held_, metadata, obj))
            else:
                self._echoes += 1
        self._history.listed(uids, revision)
        self._hear(revision)
        self._applied += len(changes)
        return tuple(changes)

    def _fill(self, metadatas: Sequence[ObjectMeta], objects: Sequence[T]) -> bool:
        """Takes over a first list, where nothing can be older or dead; False, and nothing done, if it is an odd one."""
        uids: dict[str, T] = {}
        names: dict[str, dict[str, T]] = {}
        for metadata, obj in zip(metadatas, objects, strict=True):
            uids[metadata.uid or ""] = obj
            names.setdefault(metadata.namespace or "", {})[metadata.name] = obj
        if "" in uids or not len(uids) == sum(map(len, names.values())) == len(objects):
            return False
        if not (self._is_ordered and are_numbers([metadata.resource_version or "" for metadata in metadatas])):
            return False
        self._uids, self._namespaces = uids, names
        for index in self._indexes.values():
            index.fill(metadatas, objects)
        return True

    # Holding

    def _held(self, metadata: ObjectMeta) -> tuple[T | None, str | None]:
        held = self._namespaces.get(metadata.namespace or "", _NOTHING).get(metadata.name)
        return held, None if held is None else self._version(held)

    def _version(self, obj: T) -> str:
        return self._metadata_of(obj).resource_version or ""

    def _put(self, held: T | None, metadata: ObjectMeta, obj: T) -> tuple[Change[T], ...]:
        changes: tuple[Change[T], ...] = (Change(held, obj),)
        held_metadata = None if held is None else self._metadata_of(held)
        if held is not None and held_metadata is not None and held_metadata.uid != metadata.uid:
            # Deleted and created again under the same name, and nobody told of the deletion.
            self._history.bury(held_metadata.uid or "", metadata.resource_version or "")
            changes = (self._remove(held), Change(None, obj))
            held = held_metadata = None
        self._namespaces.setdefault(metadata.namespace or "", {})[metadata.name] = obj
        self._uids[metadata.uid or ""] = obj
        for index in self._indexes.values():
            if held is None or held_metadata is None:
                index.add(metadata, obj)
            else:
                index.replace(held_metadata, held, metadata, obj)
        return changes

    def _remove(self, held: T) -> Change[T]:
        metadata = self._metadata_of(held)
        namespace = metadata.namespace or ""
        objects = self._namespaces[namespace]
        del objects[metadata.name]
        if not objects:
            del self._namespaces[namespace]
        del self._uids[metadata.uid or ""]
        for index in self._indexes.values():
            index.remove(metadata, held)
        return Change(held, None)

    # Versions

    def _identity(self, metadata: ObjectMeta) -> tuple[str, str]:
        uid, version = metadata.uid, metadata.resource_version
        if not uid or not version:
            raise ValueError(f"{metadata.namespace or ''}/{metadata.name}: without uid or resource version")
        self._check(version)
        return uid, version

    def _check(self, version: str) -> None:
        if self._is_ordered and number(version) is None:
            self._is_ordered = False
            self._history = Opaque()

    def _hear(self, revision: str) -> None:
        if not self._is_ordered:
            self._revision = revision
        elif (number := int(revision)) > self._reached:
            self._revision, self._reached = revision, number

    def _told(self, changes: tuple[Change[T], ...]) -> tuple[Change[T], ...]:
        if changes:
            self._applied += len(changes)
        else:
            self._echoes += 1
        return changes


def changes_to(objects: Iterable[T]) -> Iterator[Change[T]]:
    """The changes that lead from nothing to these objects: what a late follower begins with."""
    return (Change(None, obj) for obj in objects)

"""One instance for equal parts: most pods of a cluster come from a few templates, and differ in a name and a node.

After an object was decoded, `Sharing` puts the instance that is already known in place of every part that is equal to
it. That is safe since structs are frozen, and since nobody changes the dicts of a cached object. The objects that are
held keep their parts alive, the tables do not: whenever they have doubled, entries that nobody else refers to go.

Parts that seldom repeat (conditions with their times) are not looked up whole, only their texts: an entry of a table
costs more than it saves where it is used once.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from itertools import zip_longest
from typing import Any, Final, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.objects import Condition, NodeView, PodView

T = TypeVar("T")

_set: Final = msgspec.structs.force_setattr
_encode: Final = msgspec.msgpack.Encoder().encode

FIRST_SWEEP: Final = 4096


class Statistics(msgspec.Struct, frozen=True):
    """How well parts repeat."""

    entries: int
    hits: int
    misses: int


class Sharing:
    """Tables of known texts and parts. One per process will do."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._parts: dict[Hashable, Any] = {}
        self._lately: dict[str, PodView] = {}
        self._sweep_at = FIRST_SWEEP
        self._hits = 0
        self._misses = 0

    def share(self, obj: T) -> T:
        """The object itself, its parts shared. It must be fresh from the decoder: nobody else has seen it."""
        if isinstance(obj, PodView):
            self._pod(obj)
        elif isinstance(obj, NodeView):
            self._node(obj)
        elif isinstance(obj, msgspec.Struct) and isinstance(metadata := getattr(obj, "metadata", None), ObjectMeta):
            self._metadata(metadata, metadata)
        if self._size() > self._sweep_at:
            self.sweep()
        return obj

    def sweep(self) -> None:
        """Forgets what nobody refers to any more."""
        self._lately = _referred(self._lately, _ALONE_PART)
        self._texts = _referred(self._texts, _ALONE_TEXT)
        self._parts = _referred(self._parts, _ALONE_PART)
        self._sweep_at = max(FIRST_SWEEP, 2 * self._size())

    def statistics(self) -> Statistics:
        return Statistics(entries=self._size(), hits=self._hits, misses=self._misses)

    def _size(self) -> int:
        return len(self._texts) + len(self._parts) + len(self._lately)

    def _pod(self, pod: PodView) -> None:
        """Written out where 100,000 pods come at once: a call costs as much as what it does."""
        metadata, status, texts = pod.metadata, pod.status, self._texts.setdefault
        # The sibling that came last: comparing with it is cheaper than looking parts up.
        owner = metadata.owner_references[0].uid if metadata.owner_references else ""
        sibling = self._lately.get(owner, pod)
        self._metadata(metadata, sibling.metadata)
        self._field(pod, "spec", sibling)
        if status.container_statuses:
            self._field(status, "container_statuses", sibling.status)
        if status.init_container_statuses:
            self._field(status, "init_container_statuses", sibling.status)
        if node_name := pod.node_name:
            _set(pod, "node_name", texts(node_name, node_name))
        if phase := status.phase:
            _set(status, "phase", texts(phase, phase))
        if start_time := status.start_time:
            _set(status, "start_time", texts(start_time, start_time))
        if status.conditions:
            _set(status, "conditions", self._conditions(status.conditions, sibling.status.conditions))
        if owner:
            self._lately[owner] = pod

    def _node(self, node: NodeView) -> None:
        self._metadata(node.metadata, node.metadata)
        for part, name in ((node.spec, "taints"), (node.status, "capacity"), (node.status, "allocatable")):
            self._field(part, name, part)
        _set(node.status, "conditions", self._conditions(node.status.conditions, ()))

    def _metadata(self, metadata: ObjectMeta, like: ObjectMeta) -> None:
        texts = self._texts.setdefault
        if namespace := metadata.namespace:
            _set(metadata, "namespace", texts(namespace, namespace))
        if generate_name := metadata.generate_name:
            _set(metadata, "generate_name", texts(generate_name, generate_name))
        if created := metadata.creation_timestamp:
            _set(metadata, "creation_timestamp", texts(created, created))
        if metadata.labels:
            _set(metadata, "labels", {texts(key, key): texts(value, value) for key, value in metadata.labels.items()})
        if metadata.annotations:
            self._field(metadata, "annotations", like)
        # No entry for owners: only siblings would use it, and they have found each other already.
        if metadata.owner_references and like.owner_references == metadata.owner_references:
            _set(metadata, "owner_references", like.owner_references)
        if metadata.finalizers:
            self._field(metadata, "finalizers", like)

    def _conditions(self, conditions: tuple[Condition, ...], siblings: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Times seldom repeat: only with a sibling, and within the object."""
        texts = self._texts.setdefault
        shared, time = [], None
        for one, known in zip_longest(conditions, siblings[: len(conditions)]):
            if one == known and one is not known:
                shared.append(known)
                continue
            shared.append(one)
            _set(one, "type", texts(one.type, one.type))
            _set(one, "status", texts(one.status, one.status))
            if one.reason:
                _set(one, "reason", texts(one.reason, one.reason))
            if one.message:
                _set(one, "message", texts(one.message, one.message))
            if one.last_transition_time == time:
                _set(one, "last_transition_time", time)
            time = one.last_transition_time
        return tuple(shared)

    def _field(self, struct: Any, name: str, like: Any) -> None:
        """Shares one field: with what `like` has there, if that is equal, else with any that was seen."""
        value = getattr(struct, name)
        if not value:
            return
        known = getattr(like, name)
        if known is value or known != value:
            known = self._parts.setdefault((name, _encode(value)), value)
            if known is value:
                self._misses += 1
                return
        self._hits += 1
        _set(struct, name, known)


def _referred(table: Mapping[Any, T], alone: int) -> dict[Any, T]:
    """The entries whose value somebody beside the table refers to."""
    return {key: value for key, value in table.items() if sys.getrefcount(value) > alone}


def _count_alone(is_text: bool) -> int:
    """How many references the loop above sees to a value that only the table holds; differs between Pythons."""
    value = "".join(("al", "one")) if is_text else (object(),)
    table: dict[Any, Any] = {value if is_text else 0: value}
    del value
    alone = 0
    while _referred(table, alone):
        alone += 1
    return alone


_ALONE_TEXT: Final = _count_alone(is_text=True)
_ALONE_PART: Final = _count_alone(is_text=False)

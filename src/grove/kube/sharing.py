"""One instance for equal parts: most pods of a cluster come from a few templates, and differ in a name and a node.

After an object was decoded, `Sharing` puts the instance that is already known in place of every part that is equal to
it. That is safe since structs are frozen, and since nobody changes the dicts of a cached object. The objects that are
held keep their parts alive, the tables do not: whenever they have doubled, entries that nobody else refers to go.

Parts that seldom repeat (conditions with their times) are not looked up whole, only their texts: an entry of a table
costs more than it saves where it is used once.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping
from itertools import zip_longest
from typing import Any, Final, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.objects import Condition, NodeView, PodSpec, PodStatus, PodView
from grove.kube.podtext import PodText, decode_spec, taken_apart

T = TypeVar("T")
K = TypeVar("K")

_set: Final = msgspec.structs.force_setattr
_encode: Final = msgspec.msgpack.Encoder().encode

FIRST_SWEEP: Final = 4096

_NO_METADATA: Final = ObjectMeta()
_NO_POD: Final = PodView(metadata=_NO_METADATA)


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
        self._specs: dict[bytes, PodSpec] = {}
        self._lately: dict[str, PodView] = {}  # by owner
        self._last = _NO_POD
        self._sweep_at = FIRST_SWEEP
        self._hits = 0
        self._misses = 0

    @staticmethod
    def reads(wanted: Any) -> Any:
        """The type that objects are best decoded as if they are to be shared: `share` makes the wanted one of it."""
        return PodText if wanted is PodView else wanted

    def share(self, obj: Any) -> Any:
        """The object, its parts shared. It must be fresh from the decoder: nobody else has seen it."""
        shared = self._share(obj)
        if self._size() > self._sweep_at:
            self.sweep()
        return shared

    def share_all(self, objects: Iterable[Any]) -> list[Any]:
        """The same for many."""
        shared = [self._share(obj) for obj in objects]
        if self._size() > self._sweep_at:
            self.sweep()
        return shared

    def sweep(self) -> None:
        """Forgets what nobody refers to any more."""
        self._last = _NO_POD
        self._lately = _referred(self._lately, _ALONE_PART)
        self._texts = _referred(self._texts, _ALONE_TEXT)
        self._parts = _referred(self._parts, _ALONE_PART)
        self._specs = _referred(self._specs, _ALONE_PART)
        self._sweep_at = max(FIRST_SWEEP, 2 * self._size())

    def statistics(self) -> Statistics:
        return Statistics(entries=self._size(), hits=self._hits, misses=self._misses)

    def _size(self) -> int:
        return len(self._texts) + len(self._parts) + len(self._specs) + len(self._lately)

    def _share(self, obj: Any) -> Any:
        if isinstance(obj, PodText):
            return self._pod(obj.metadata, obj.status, *taken_apart(obj.spec))
        if isinstance(obj, PodView):
            return self._pod(obj.metadata, obj.status, obj.node_name, obj.spec)
        if isinstance(obj, NodeView):
            self._node(obj)
        elif isinstance(obj, msgspec.Struct) and isinstance(metadata := getattr(obj, "metadata", None), ObjectMeta):
            self._metadata(metadata, _NO_METADATA)
        return obj

    def _pod(self, metadata: ObjectMeta, status: PodStatus, node_name: str, spec: PodSpec | bytes) -> PodView:
        """Each part is compared first with that of the pod that came last, of the same owner or at all.

        In most cases they are equal, and that is cheaper than to look it up. Written out where 100,000 pods come at
        once: a call costs as much as what it does.
        """
        texts, owners = self._texts.setdefault, metadata.owner_references
        owner = owners[0].uid if owners else ""
        like = self._lately.get(owner, self._last)
        shared = self._spec(spec) if isinstance(spec, bytes) else self._equal("spec", spec, like.spec)
        if node_name:
            node_name = known if node_name == (known := like.node_name) else texts(node_name, node_name)
        self._metadata(metadata, like.metadata)
        last = like.status
        if phase := status.phase:
            _set(status, "phase", known if phase == (known := last.phase) else texts(phase, phase))
        if time := status.start_time:
            _set(status, "start_time", known_time if time == (known_time := last.start_time) else texts(time, time))
        if status.conditions:
            _set(status, "conditions", self._conditions(status.conditions, last.conditions))
        if containers := status.container_statuses:
            _set(status, "container_statuses", self._equal("container_statuses", containers, last.container_statuses))
        if containers := status.init_container_statuses:
            equal = self._equal("container_statuses", containers, last.init_container_statuses)
            _set(status, "init_container_statuses", equal)
        pod = PodView(metadata=metadata, node_name=node_name, spec=shared, status=status)
        self._last = pod
        if owner:
            self._lately[owner] = pod
        return pod

    def _spec(self, text: bytes) -> PodSpec:
        known = self._specs.get(text)
        if known is not None:
            self._hits += 1
            return known
        self._misses += 1
        known = self._specs[text] = decode_spec(text)
        return known

    def _node(self, node: NodeView) -> None:
        self._metadata(node.metadata, _NO_METADATA)
        for part, name in ((node.spec, "taints"), (node.status, "capacity"), (node.status, "allocatable")):
            if value := getattr(part, name):
                _set(part, name, self._equal(name, value, None))
        _set(node.status, "conditions", self._conditions(node.status.conditions, ()))

    def _metadata(self, metadata: ObjectMeta, like: ObjectMeta) -> None:
        texts = self._texts.setdefault
        if text := metadata.namespace:
            _set(metadata, "namespace", known if text == (known := like.namespace) else texts(text, text))
        if text := metadata.generate_name:
            _set(metadata, "generate_name", known if text == (known := like.generate_name) else texts(text, text))
        if text := metadata.creation_timestamp:
            known = like.creation_timestamp
            _set(metadata, "creation_timestamp", known if text == known else texts(text, text))
        if labels := metadata.labels:
            _set(metadata, "labels", self._labels(labels, like.labels or {}))
        if annotations := metadata.annotations:
            _set(metadata, "annotations", self._equal("annotations", annotations, like.annotations))
        # No entry for owners: only siblings would use it, and they have found each other already.
        if metadata.owner_references and like.owner_references == metadata.owner_references:
            _set(metadata, "owner_references", like.owner_references)
        if finalizers := metadata.finalizers:
            _set(metadata, "finalizers", self._equal("finalizers", finalizers, like.finalizers))

    def _labels(self, labels: dict[str, str], like: dict[str, str]) -> dict[str, str]:
        texts = self._texts.setdefault
        if len(labels) != len(like):
            return {texts(key, key): texts(value, value) for key, value in labels.items()}
        # The server sends them in order, so that those of siblings lie side by side.
        return {
            known_key if key == known_key else texts(key, key): known if value == known else texts(value, value)
            for (key, value), (known_key, known) in zip(labels.items(), like.items(), strict=True)
        }

    def _conditions(self, conditions: tuple[Condition, ...], like: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Times seldom repeat: only with a sibling, and within the object."""
        texts = self._texts.setdefault
        shared, time = [], None
        for one, known in zip_longest(conditions, like[: len(conditions)]):
            if one == known:
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

    def _equal(self, name: str, value: Any, known: Any) -> Any:
        """What is known and equal: `known`, or any that was seen; else the value itself, which is known from now on."""
        if known is value or known != value:
            known = self._parts.setdefault((name, _encode(value)), value)
        if known is value:
            self._misses += 1
        else:
            self._hits += 1
        return known


def _referred(table: Mapping[K, T], alone: int) -> dict[K, T]:
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

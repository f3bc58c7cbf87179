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
from typing import Any, Final, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.objects import Condition, NodeView, PodView

T = TypeVar("T")

_set: Final = msgspec.structs.force_setattr
_encode: Final = msgspec.msgpack.Encoder().encode

FIRST_SWEEP: Final = 4096

# Fields that pods of one template have in common.
_SPEC: Final = (
    "containers",
    "init_containers",
    "tolerations",
    "node_selector",
    "affinity",
    "topology_spread_constraints",
    "scheduling_gates",
    "resource_claims",
    "overhead",
    "resources",
)
_SPEC_TEXTS: Final = (
    "node_name",
    "scheduler_name",
    "priority_class_name",
    "preemption_policy",
    "restart_policy",
    "subdomain",
)
_STATUS: Final = ("container_statuses", "init_container_statuses")


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
            self._metadata(metadata)
        if len(self._parts) + len(self._texts) > self._sweep_at:
            self.sweep()
        return obj

    def sweep(self) -> None:
        """Forgets what nobody refers to any more."""
        self._lately.clear()
        self._texts = _referred(self._texts, _ALONE_TEXT)
        self._parts = _referred(self._parts, _ALONE_PART)
        self._sweep_at = max(FIRST_SWEEP, 2 * (len(self._parts) + len(self._texts)))

    def statistics(self) -> Statistics:
        return Statistics(entries=len(self._texts) + len(self._parts), hits=self._hits, misses=self._misses)

    def _pod(self, pod: PodView) -> None:
        metadata, spec, status = pod.metadata, pod.spec, pod.status
        self._metadata(metadata)
        # The sibling that came last: comparing with it is cheaper than looking each part up.
        owner = metadata.owner_references[0].uid if metadata.owner_references else ""
        sibling = self._lately.get(owner, pod)
        for name in _SPEC:
            self._field(spec, name, sibling.spec)
        for name in _STATUS:
            self._field(status, name, sibling.status)
        texts = self._texts.setdefault
        for name in _SPEC_TEXTS:
            text = getattr(spec, name)
            _set(spec, name, texts(text, text))
        _set(status, "phase", texts(status.phase, status.phase))
        _set(status, "host_ip", texts(status.host_ip, status.host_ip))
        if status.start_time is not None:
            _set(status, "start_time", texts(status.start_time, status.start_time))
        self._conditions(status.conditions)
        if owner:
            self._lately[owner] = pod

    def _node(self, node: NodeView) -> None:
        self._metadata(node.metadata)
        for part, name in ((node.spec, "taints"), (node.status, "capacity"), (node.status, "allocatable")):
            self._field(part, name, part)
        self._conditions(node.status.conditions)

    def _metadata(self, metadata: ObjectMeta) -> None:
        texts = self._texts.setdefault
        if metadata.namespace is not None:
            _set(metadata, "namespace", texts(metadata.namespace, metadata.namespace))
        if metadata.generate_name is not None:
            _set(metadata, "generate_name", texts(metadata.generate_name, metadata.generate_name))
        if metadata.creation_timestamp is not None:
            _set(metadata, "creation_timestamp", texts(metadata.creation_timestamp, metadata.creation_timestamp))
        if metadata.labels:
            labels = metadata.labels
            for key, value in labels.items():
                labels[key] = texts(value, value)
        if metadata.annotations:
            self._field(metadata, "annotations", metadata)
        if metadata.owner_references:
            self._field(metadata, "owner_references", metadata)
        if metadata.finalizers:
            self._field(metadata, "finalizers", metadata)

    def _conditions(self, conditions: tuple[Condition, ...]) -> None:
        texts = self._texts.setdefault
        for condition in conditions:
            _set(condition, "type", texts(condition.type, condition.type))
            _set(condition, "status", texts(condition.status, condition.status))
            if condition.reason:
                _set(condition, "reason", texts(condition.reason, condition.reason))
            if condition.message:
                _set(condition, "message", texts(condition.message, condition.message))
            if condition.last_transition_time is not None:
                time = condition.last_transition_time
                _set(condition, "last_transition_time", texts(time, time))

    def _field(self, struct: Any, name: str, like: Any) -> None:
        """Shares one field, if it can with what `like` has there."""
        value = getattr(struct, name)
        if not value:
            return
        known = getattr(like, name)
        if known is value or known != value:
            key = (name, _encode(value))
            known = self._parts.setdefault(key, value)
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

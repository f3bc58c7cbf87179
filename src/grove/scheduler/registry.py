"""PodGangs and pods as they were last seen, and which belongs to which. Called by the engine.

A pod belongs to the gang that its label names, else to the one that refers to it. A gang is a key: `namespace/name` of
a PodGang, `namespace/pod:name` of a pod that is ours and belongs to none: a gang of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import PodView

ENDED: Final = ("Succeeded", "Failed")


def key_of(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def lone_key(namespace: str, name: str) -> str:
    return f"{namespace}/pod:{name}"


def is_lone(key: str) -> bool:
    """Whether a gang is a pod without a PodGang."""
    return "/pod:" in key


class Registry:
    """See the top of the module."""

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self._ours: Final = frozenset(scheduler_names)
        self.gangs: dict[str, PodGang] = {}
        self.pods: dict[str, PodView] = {}
        """By uid: all that have not ended."""
        self._by_name: dict[tuple[str, str], str] = {}
        self._gang_of: dict[str, str] = {}
        """By uid the gang of pods of ours."""
        self._members: dict[str, dict[str, None]] = {}
        """By gang the uids of its pods that exist, in the order in which they came."""
        self._referred: dict[tuple[str, str], str] = {}
        """By namespace and name of a pod the gang that refers to it."""
        self._scaled: dict[str, dict[str, None]] = {}
        """By base gang its scaled ones."""

    # What is there

    def pod(self, namespace: str, name: str) -> PodView | None:
        uid = self._by_name.get((namespace, name))
        return None if uid is None else self.pods[uid]

    def gang_of(self, uid: str) -> str:
        """The gang of a pod of ours; empty: it is none of ours."""
        return self._gang_of.get(uid, "")

    def members(self, key: str) -> Iterator[PodView]:
        for uid in self._members.get(key, ()):
            yield self.pods[uid]

    def has(self, key: str) -> bool:
        """Whether there are pods of a gang."""
        return key in self._members

    def scaled(self, base: str) -> tuple[str, ...]:
        """The gangs that wait for a base gang."""
        return tuple(self._scaled.get(base, ()))

    def all_keys(self) -> Iterator[str]:
        """All gangs there are, or pods of."""
        yield from self.gangs
        yield from (key for key in self._members if key not in self.gangs)

    def is_ours(self, pod: PodView) -> bool:
        return pod.spec.scheduler_name in self._ours

    def is_waiting(self, pod: PodView) -> bool:
        """Whether a pod of ours could be put on a node."""
        return not (
            pod.node_name or pod.metadata.deletion_timestamp or pod.spec.scheduling_gates or pod.status.phase in ENDED
        )

    # What happened; each gives the gangs that it is about

    def put_pod(self, pod: PodView) -> set[str]:
        meta = pod.metadata
        uid, name = meta.uid or "", (meta.namespace or "", meta.name)
        former = self._by_name.get(name)
        changed = set() if former is None or former == uid else self.drop_pod(self.pods[former])
        if pod.status.phase in ENDED:
            return changed | self.drop_pod(pod)
        self.pods[uid] = pod
        self._by_name[name] = uid
        if self.is_ours(pod):
            changed |= self._assign(uid, self._belongs(pod))
        return changed

    def drop_pod(self, pod: PodView) -> set[str]:
        meta = pod.metadata
        uid, name = meta.uid or "", (meta.namespace or "", meta.name)
        if self.pods.pop(uid, None) is None:
            return set()
        if self._by_name.get(name) == uid:
            del self._by_name[name]
        return self._assign(uid, "")

    def put_gang(self, gang: PodGang) -> set[str]:
        key = _key(gang.metadata)
        changed = {key}
        old = self.gangs.get(key)
        before, after = _references(old), _references(gang)
        if old is not None:
            self._unlink(old)
        self.gangs[key] = gang
        base = _base(gang)
        if base:
            self._scaled.setdefault(base, {})[key] = None
        for name in after:
            self._referred[name] = key
        if before != after:
            changed |= self._reassign({*before, *after})
        return changed

    def drop_gang(self, gang: PodGang) -> set[str]:
        key = _key(gang.metadata)
        old = self.gangs.pop(key, None)
        if old is None:
            return set()
        self._unlink(old)
        return {key} | self._reassign(_references(old))

    def _unlink(self, gang: PodGang) -> None:
        key, base = _key(gang.metadata), _base(gang)
        for name in _references(gang):
            if self._referred.get(name) == key:
                del self._referred[name]
        if base and key in self._scaled.get(base, ()):
            del self._scaled[base][key]
            if not self._scaled[base]:
                del self._scaled[base]

    def _reassign(self, names: Iterable[tuple[str, str]]) -> set[str]:
        changed: set[str] = set()
        for name in names:
            uid = self._by_name.get(name)
            if uid is not None and self.is_ours(self.pods[uid]):
                changed |= self._assign(uid, self._belongs(self.pods[uid]))
        return changed

    def _belongs(self, pod: PodView) -> str:
        meta = pod.metadata
        namespace = meta.namespace or ""
        label = (meta.labels or {}).get(labels.POD_GANG)
        if label:
            return key_of(namespace, label)
        return self._referred.get((namespace, meta.name)) or lone_key(namespace, meta.name)

    def _assign(self, uid: str, key: str) -> set[str]:
        old = self._gang_of.get(uid, "")
        if old != key and old:
            members = self._members[old]
            del members[uid]
            if not members:
                del self._members[old]
        if key:
            self._gang_of[uid] = key
            self._members.setdefault(key, {})[uid] = None
        else:
            self._gang_of.pop(uid, None)
        return {one for one in (old, key) if one}


def _key(meta: ObjectMeta) -> str:
    return key_of(meta.namespace or "", meta.name)


def _references(gang: PodGang | None) -> set[tuple[str, str]]:
    if gang is None:
        return set()
    return {(one.namespace, one.name) for group in gang.spec.podgroups for one in group.pod_references}


def _base(gang: PodGang) -> str:
    meta = gang.metadata
    name = (meta.labels or {}).get(labels.BASE_POD_GANG, "")
    return key_of(meta.namespace or "", name) if name else ""

"""From a PodGang and its pods to the gang that the search places. Pure. Called by the engine."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from grove.api import labels
from grove.api.kinds.podgang import GangTopologyConstraint, PodGang, PodGroup
from grove.kube.objects import PodView
from grove.scheduler.cluster import Placed
from grove.scheduler.gangs import Gang, Group, Pack, Pending, Scope
from grove.scheduler.registry import lone_key
from grove.scheduler.topologies import Topologies

NEVER: Final = "Never"
State: TypeAlias = Placed | Pending | None
"""A pod on a node, one that waits for one, or one that does neither: gated, terminating, gone."""
Affinity: TypeAlias = Literal["none", "preferred", "required"]


def seconds(time: str | None) -> float:
    """A time as the API writes it, in seconds since 1970."""
    return 0.0 if not time else datetime.datetime.fromisoformat(time).timestamp()


def of_pod(pod: PodView, state: State) -> Gang:
    """The gang of one that a pod without a PodGang is."""
    meta = pod.metadata
    namespace = meta.namespace or ""
    key = lone_key(namespace, meta.name)
    return Gang(
        key=key,
        uid=meta.uid or "",
        root=Scope(meta.name, groups=(_group(meta.name, 1, [state]),)),
        priority=pod.spec.priority,
        preempts=pod.spec.preemption_policy != NEVER,
        created=seconds(meta.creation_timestamp),
    )


def of_gang(
    gang: PodGang,
    *,
    member: Callable[[str, str], PodView | None],
    state: Callable[[PodView], State],
    priorities: Mapping[str, tuple[int, str]],
    topologies: Topologies,
    base: PodGang | None = None,
    base_slots: Sequence[int] = (),
    replica_affinity: Affinity = "preferred",
) -> Gang:
    """The gang of a PodGang.

    `member` finds a pod by namespace and name, `state` says what it is to us; `priorities` are value and policy of
    PriorityClasses. `base` is the gang that a scaled one belongs to, `base_slots` where its pods are.
    """
    meta, spec = gang.metadata, gang.spec
    namespace = meta.namespace or ""
    topology = (meta.annotations or {}).get(labels.TOPOLOGY_NAME, "")
    pods = [pod for group in spec.podgroups for pod in _members(group, member)]
    priority, preempts = _priority(gang, pods, priorities)
    groups = {
        group.name: _group(group.name, group.min_replicas, _states(group, member, state)) for group in spec.podgroups
    }
    packer = _Packer(topologies, topology)
    root = _nested(gang, groups, packer)
    if base is not None and base_slots and replica_affinity != "none":
        root = _near(root, base, base_slots, replica_affinity, packer)
    reuse = spec.reuse_reservation_ref
    return Gang(
        key=f"{namespace}/{meta.name}",
        uid=meta.uid or "",
        root=root,
        priority=priority,
        preempts=preempts,
        created=seconds(meta.creation_timestamp),
        base=base_key(gang),
        set_replica=set_replica(gang),
        reuses=f"{reuse.namespace}/{reuse.name}" if reuse else "",
    )


def base_key(gang: PodGang) -> str:
    """The key of the gang that comes first; empty: it is no scaled gang."""
    meta = gang.metadata
    name = (meta.labels or {}).get(labels.BASE_POD_GANG, "")
    return f"{meta.namespace or ''}/{name}" if name else ""


def set_replica(gang: PodGang) -> tuple[str, str, int] | None:
    """Namespace and name of the PodCliqueSet that a gang is part of, and the number of its replica."""
    meta = gang.metadata
    owner = (meta.labels or {}).get(labels.PART_OF, "")
    index = (meta.labels or {}).get(labels.POD_CLIQUE_SET_REPLICA_INDEX, "")
    return (meta.namespace or "", owner, int(index)) if owner and index.isdecimal() else None


def _priority(gang: PodGang, pods: Sequence[PodView], priorities: Mapping[str, tuple[int, str]]) -> tuple[int, bool]:
    """Of the gang's own class where it names one that exists, else the highest of its pods."""
    named = priorities.get(gang.spec.priority_class_name or "")
    may = all(pod.spec.preemption_policy != NEVER for pod in pods)
    if named is not None:
        return named[0], may and named[1] != NEVER
    return max((pod.spec.priority for pod in pods), default=0), may


def _members(group: PodGroup, member: Callable[[str, str], PodView | None]) -> Iterable[PodView]:
    for reference in group.pod_references:
        pod = member(reference.namespace, reference.name)
        if pod is not None:
            yield pod


def _states(
    group: PodGroup, member: Callable[[str, str], PodView | None], state: Callable[[PodView], State]
) -> list[State]:
    pods = sorted(_members(group, member), key=_index)
    return [state(pod) for pod in pods]


def _index(pod: PodView) -> tuple[int, str]:
    """Pods with low indices make up the minimum."""
    text = (pod.metadata.labels or {}).get(labels.POD_CLIQUE_POD_INDEX, "")
    return (int(text) if text.isdecimal() else 1 << 31, pod.metadata.name)


def _group(name: str, minimum: int, states: Iterable[State]) -> Group:
    placed, waiting = [], []
    for one in states:
        if isinstance(one, Placed):
            if not one.terminating:
                placed.append(one)
        elif one is not None:
            waiting.append(one)
    return Group(name, minimum, tuple(placed), tuple(waiting))


class _Packer:
    """Finds the topology of constraints."""

    def __init__(self, topologies: Topologies, name: str) -> None:
        self._topologies = topologies
        self._name = name

    def pack(self, constraint: GangTopologyConstraint | None) -> tuple[Pack, tuple[str, ...]]:
        found = constraint.pack_constraint if constraint else None
        if found is None or not (found.required or found.preferred):
            return Pack(), ()
        wanted = [key for key in (found.required, found.preferred) if key]
        return Pack(found.required, found.preferred), self._topologies.levels(wanted, self._name)

    def close(self) -> tuple[Pack, tuple[str, ...]]:
        """As close as a network makes a difference, where that is possible."""
        key, keys = self._topologies.closest(self._name)
        return (Pack(preferred=key), keys) if key else (Pack(), ())


def _nested(gang: PodGang, groups: Mapping[str, Group], packer: _Packer) -> Scope:
    """The gang's scope with those of its parts and groups in it.

    Parts that are stated do not overlap. Groups that are to be close on the network may lie across them: such a wish
    holds as far as it can be nested: for whole parts, or within one.
    """
    spec = gang.spec
    left = dict(groups)
    scopes: list[Scope] = []
    constraints = {group.name: packer.pack(group.topology_constraint) for group in spec.podgroups}

    def inside(names: Iterable[str]) -> tuple[tuple[Scope, ...], tuple[Group, ...]]:
        packed, plain = [], []
        for name in names:
            group = left.pop(name, None)
            if group is None:
                continue
            pack, keys = constraints[name]
            if keys:
                packed.append(Scope(name, pack, keys, groups=(group,)))
            else:
                plain.append(group)
        return tuple(packed), tuple(plain)

    for config in spec.topology_constraint_group_configs:
        pack, keys = packer.pack(config.topology_constraint)
        parts, plain = inside(config.pod_group_names)
        if parts or plain:
            scopes.append(Scope(config.name, pack, keys, parts, plain))
    for wish in spec.network_pack_group_configs:
        pack, keys = packer.close()
        wanted = set(wish.pod_group_names)
        whole = [scope for scope in scopes if {group.name for group in scope.all_groups()} <= wanted]
        parts, plain = inside(wish.pod_group_names)
        if len(whole) + len(parts) + len(plain) > 1 or any(len(group.waiting) > 1 for group in plain):
            scopes = [scope for scope in scopes if scope not in whole]
            name = "+".join(wish.pod_group_names)
            scopes.append(Scope(name, pack, keys, (*whole, *parts), plain))
        else:
            left.update((group.name, group) for group in plain)
            scopes.extend(parts)
    parts, plain = inside([group.name for group in spec.podgroups])
    pack, keys = packer.pack(spec.topology_constraint)
    return Scope(gang.metadata.name, pack, keys, (*scopes, *parts), plain)


def _near(root: Scope, base: PodGang, slots: Sequence[int], affinity: Affinity, packer: _Packer) -> Scope:
    """The scaled gang within the scope of its replica: where its base gang is packed, it goes there too."""
    pack, keys = packer.pack(base.spec.topology_constraint)
    if not keys:
        return root
    if affinity == "preferred":
        pack = Pack(preferred=pack.preferred or pack.required)
    return Scope(f"replica of {base.metadata.name}", pack, keys, scopes=(root,), anchors=tuple(slots))

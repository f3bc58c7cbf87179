"""What else is of a gang's PodCliqueSet: other replicas, which it keeps away from, and gangs that will come near it.

Pure. Called by the engine.
"""

from __future__ import annotations

from grove.api.kinds.podgang import PodGang
from grove.scheduler import model
from grove.scheduler.gangs import Gang, Group
from grove.scheduler.knowledge import Knowledge
from grove.scheduler.registry import key_of
from grove.scheduler.spread import Replica, read, spread
from grove.scheduler.verdicts import Found


def spread_of(known: Knowledge, gang: Gang) -> tuple[Gang, str]:
    """The gang with where the replicas of its set leave it room, and that in words. Raises InvalidConstraint."""
    view = known.registry.gangs.get(gang.key)
    if view is None or not view.spec.spread_constraints or gang.base:
        return gang, ""
    constraints = read(view.spec.spread_constraints)
    found = spread(known.cluster, _replica(known, view), constraints, _others(known, view))
    return gang._replace(within=found.within, taste=found.taste), found.why


def _others(known: Knowledge, view: PodGang) -> list[Replica]:
    """The other base gangs of a namespace."""
    namespace = view.metadata.namespace
    return [
        _replica(known, other)
        for other in known.registry.gangs.values()
        if other is not view and other.metadata.namespace == namespace and not model.base_key(other)
    ]


def _replica(known: Knowledge, view: PodGang) -> Replica:
    key = key_of(view.metadata.namespace or "", view.metadata.name)
    own = model.set_replica(view)
    return Replica(key, view.metadata.labels or {}, key_of(*own[:2]) if own else "", known.slots(key))


def with_scaled(known: Knowledge, gang: Gang) -> Gang:
    """A base gang with the pods of its scaled gangs as pods that it would like to have room for beside it.

    They come to their own places later, near it where that is possible; so it goes where they will find room too.
    """
    if not gang.missing or not gang.root.keys:
        return gang
    wished = []
    for key in known.registry.scaled(gang.key):
        scaled = known.find(key)
        groups = () if scaled is None else scaled.groups()
        wished += [Group(f"{key} {group.name}", 0, (), group.waiting) for group in groups if group.waiting]
    root = gang.root
    return gang._replace(root=root._replace(groups=(*root.groups, *wished))) if wished else gang


def without_scaled(gang: Gang, found: Found) -> Found:
    """What was found for a gang, without the pods of its scaled gangs."""
    own = {pod.uid for group in gang.groups() for pod in group.waiting}
    puts = tuple(put for put in found.puts if put.pod.uid in own)
    return found._replace(puts=puts, left=tuple(pod for pod in found.left if pod.uid in own))

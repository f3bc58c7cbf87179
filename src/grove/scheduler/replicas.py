"""Where the other replicas of a gang's PodCliqueSet are, and what that leaves it. Pure. Called by the engine."""

from __future__ import annotations

from grove.api.kinds.podgang import PodGang
from grove.scheduler import model
from grove.scheduler.gangs import Gang
from grove.scheduler.knowledge import Knowledge
from grove.scheduler.registry import key_of
from grove.scheduler.spread import Replica, read, spread


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

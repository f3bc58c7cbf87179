"""Whether there is any use in looking for a place for a gang. Pure. Called by the engine before every search."""

from __future__ import annotations

from typing import Final

from grove.scheduler import explain
from grove.scheduler.explain import Said
from grove.scheduler.gangs import Gang
from grove.scheduler.knowledge import Knowledge
from grove.scheduler.predicates.unsupported import unsupported
from grove.scheduler.registry import is_lone

INITIALIZED: Final = "Initialized"


def waits(known: Knowledge, gang: Gang) -> Said | None:
    """What the gang waits for, beside room; None: nothing."""
    for group in gang.groups():
        for cls in dict.fromkeys(pod.cls for pod in group.waiting):
            why = unsupported(cls.spec)
            if why:
                return explain.unsupported(f"{group.name}: {why}")
    view = known.registry.gangs.get(gang.key)
    if view is None:
        return None if is_lone(gang.key) else explain.no_gang(gang.key)
    conditions = () if view.status is None else view.status.conditions
    if any(one.type == INITIALIZED and one.status == "False" for one in conditions):
        return explain.not_initialized()
    if any(len(group.placed) + len(group.waiting) < group.minimum for group in gang.groups()):
        return explain.waits_for_pods(gang)
    if gang.base:
        base = known.find(gang.base)
        if base is None or not base.is_placed:
            return explain.waits_for_base(gang.base)
    return None

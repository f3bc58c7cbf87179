"""What small change would let a gang in that waits. Pure; for who asks, not for every refusal: it tries placements.

`grove why` and `/debug` call it through the engine. What was tried was found a place for; the rest follows from what
the nearest domain lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.explain import Suggestion, level_name
from grove.scheduler.gangs import Gang, Group, Pack, Scope
from grove.scheduler.verdicts import Answer, Found, NotFound, Shortfall

Try = Callable[[Gang], Answer]

_TRIES: Final = 8
"""How often the minimum of a group is tried to be lowered: by halving, so that this is enough for large groups too."""


def suggestions(
    cluster: Cluster, gang: Gang, verdict: NotFound, tries: Try, *, evictable: Sequence[str] = ()
) -> list[Suggestion]:
    """`tries` places a gang and leaves the cluster as it was. `evictable` are gangs whose going would make room."""
    found = [*_relaxed(gang, verdict, tries), *_fewer(gang, verdict, tries), *_nodes(cluster, gang, verdict)]
    if evictable:
        named = ", ".join(evictable[:3]) + (f" and {len(evictable) - 3} more" if len(evictable) > 3 else "")
        found.append(Suggestion("evict", f"the room of these would do: {named}"))
    return found


def _relaxed(gang: Gang, verdict: NotFound, tries: Try) -> Iterator[Suggestion]:
    """Prefers what the scope requires, or requires the next broader level at which there is a place."""
    if not verdict.key:
        return
    scope = next((one for one in _scopes(gang.root) if one.name == verdict.scope), None)
    if scope is None or scope.pack.required not in scope.keys:
        return
    narrow = scope.pack.required
    broader: list[str | None] = [None, *scope.keys[: scope.keys.index(narrow)]]
    for key in reversed(broader):
        pack = Pack(key, scope.pack.preferred or narrow)
        if isinstance(tries(gang._replace(root=_with_scope(gang.root, scope.name, pack))), Found):
            instead = f"require {level_name(key)} and prefer" if key else "prefer"
            where = "" if scope.name == gang.root.name else f" of {scope.name}"
            yield Suggestion("relax", f"{instead} {level_name(narrow)}{where} instead of requiring it", is_tried=True)
            return


def _fewer(gang: Gang, verdict: NotFound, tries: Try) -> Iterator[Suggestion]:
    """The greatest minimum of the group that lacks most with which there is a place."""
    lacking = verdict.shortfalls[0].group if verdict.shortfalls else ""
    group = next((one for one in gang.groups() if one.name == lacking), None)
    if group is None or group.minimum <= max(1, len(group.placed)):
        return
    least, most = max(1, len(group.placed)), group.minimum  # there is no place with the most
    if not _fits_with(gang, group, least, tries):
        return
    for _ in range(_TRIES):
        if most - least <= 1:
            break
        middle = (least + most) // 2
        if _fits_with(gang, group, middle, tries):
            least = middle
        else:
            most = middle
    yield Suggestion("fewer", f"lower the minimum of {group.name} from {group.minimum} to {least}", is_tried=True)


def _fits_with(gang: Gang, group: Group, minimum: int, tries: Try) -> bool:
    return isinstance(tries(gang._replace(root=_with_minimum(gang.root, group.name, minimum))), Found)


def _nodes(cluster: Cluster, gang: Gang, verdict: NotFound) -> Iterator[Suggestion]:
    """So many nodes of the kind that takes most pods, in the nearest domain."""
    if not verdict.shortfalls:
        return
    nearest: Shortfall = verdict.shortfalls[0]
    group = next((one for one in gang.groups() if one.name == nearest.group), None)
    if group is None or not group.waiting or nearest.fits >= nearest.needs:
        return
    cls = group.waiting[0].cls
    allowed = cluster.allowed(cls)
    if not allowed.any():
        return
    takes = np.full(cluster.size, np.iinfo(np.int64).max)
    for row, amount in cls.requests:
        have = cluster.allocatable[row, : cluster.size] if row < len(cluster.allocatable) else np.zeros_like(takes)
        takes = np.minimum(takes, have // amount)
    takes = np.where(allowed, takes, 0)
    best = int(np.argmax(takes))
    if takes[best]:
        count = -(-(nearest.needs - nearest.fits) // int(takes[best]))
        where = f" in {level_name(verdict.key)} {nearest.domain}" if verdict.key and nearest.domain else ""
        more = "1 more node" if count == 1 else f"{count} more nodes"
        yield Suggestion("nodes", f"add {more} like {cluster.names[best]}{where}")


def _scopes(scope: Scope) -> Iterator[Scope]:
    yield scope
    for inner in scope.scopes:
        yield from _scopes(inner)


def _with_scope(scope: Scope, name: str, pack: Pack) -> Scope:
    if scope.name == name:
        return scope._replace(pack=pack)
    return scope._replace(scopes=tuple(_with_scope(inner, name, pack) for inner in scope.scopes))


def _with_minimum(scope: Scope, name: str, minimum: int) -> Scope:
    groups = tuple(one._replace(minimum=minimum) if one.name == name else one for one in scope.groups)
    return scope._replace(groups=groups, scopes=tuple(_with_minimum(inner, name, minimum) for inner in scope.scopes))

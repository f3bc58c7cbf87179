"""How each copy of a scaling group fares, from its PodCliques and their pods. Pure; everything here decides by it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence

import msgspec

from grove.api import conditions
from grove.kube.objects import PodView
from grove.operator import cliquesync, pods, progress
from grove.operator.tree import CliquePlace, GroupPlace, Tree
from grove.operator.views import PodCliqueView

PodsOf = Callable[[PodCliqueView], Sequence[PodView]]


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy that is to exist."""

    index: int
    members: tuple[PodCliqueView, ...] = ()
    """Those that are there, also the ones that are being deleted."""
    is_old: bool = False
    """Whether a member that is to stay has another template than its set."""
    has_old_pods: bool = False
    """Whether a pod of another template is left, as OnDelete leaves them."""
    is_scheduled: bool = False
    is_available: bool = False
    """Whether every member is there and has its minimum of pods ready."""
    is_updated: bool = False
    """Whether it is available and all its pods are of the newest templates."""
    is_healthy: bool = False
    """Whether every member is there and has its minimum of pods ready, or still on their way there."""
    updated_members: int = 0
    breached_since: datetime.datetime | None = None
    """Since when a member that has once been scheduled is below its minimum."""
    progressed: datetime.datetime | None = None
    """When something last came about in it: a member was made, or a pod became ready."""


def look(tree: Tree, place: GroupPlace, replicas: int, members: Iterable[PodCliqueView], pods_of: PodsOf) -> list[Copy]:
    """The copies of a scaling group that are to exist, by their indices."""
    held = {one.metadata.name: one for one in members}
    return [
        _look(tree, tree.member_places(place.replica, place.group, index), held, pods_of) for index in range(replicas)
    ]


def _look(tree: Tree, places: Sequence[CliquePlace], held: dict[str, PodCliqueView], pods_of: PodsOf) -> Copy:
    found = [(place, held[name]) for place in places if (name := tree.clique_name(place)) in held]
    staying = [(place, view, pods_of(view)) for place, view in found if not cliquesync.is_going(view)]
    is_whole = len(staying) == len(places)
    updated = sum(progress.clique_updated(view, of, tree.template_hashes[place.clique]) for place, view, of in staying)
    return Copy(
        index=places[0].copy,
        members=tuple(view for _, view in found),
        is_old=any(not cliquesync.follows_template(tree, place, view) for place, view, _ in staying),
        has_old_pods=any(
            pods.made_from(of, tree.template_hashes[place.clique]) < pods.count(of).active for place, _, of in staying
        ),
        is_scheduled=is_whole and all(progress.clique_scheduled(view, of) for _, view, of in staying),
        is_available=is_whole and all(progress.clique_available(view, of) for _, view, of in staying),
        is_updated=is_whole and updated == len(places),
        is_healthy=is_whole and all(_is_healthy(view, of) for _, view, of in staying),
        updated_members=updated,
        breached_since=min(filter(None, (_breached_since(view, of) for _, view, of in staying)), default=None),
        progressed=max(filter(None, (_progressed(view, of) for _, view, of in staying)), default=None),
    )


def _is_healthy(view: PodCliqueView, of: Sequence[PodView]) -> bool:
    return pods.count(of).healthy >= progress.required(view)


def _breached_since(view: PodCliqueView, of: Sequence[PodView]) -> datetime.datetime | None:
    """A status that says so after its pods have recovered is late, and must not stop them."""
    since = progress.breached_since(view)
    if since is None or not progress.ever_scheduled(view):
        return None
    return None if _is_healthy(view, of) else since


def _progressed(view: PodCliqueView, of: Sequence[PodView]) -> datetime.datetime | None:
    made = view.metadata.creation_timestamp
    times = [] if made is None else [made]
    for pod in of:
        times += [
            one.last_transition_time
            for one in pod.status.conditions
            if one.type == "Ready" and one.status == "True" and one.last_transition_time
        ]
    return conditions.moment(max(times)) if times else None  # they are all written alike

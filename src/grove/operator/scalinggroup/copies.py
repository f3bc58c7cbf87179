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


class _Member(msgspec.Struct, frozen=True):
    """How a member fares that is to stay. Its pods are gone through once: there are many, and this is asked often."""

    view: PodCliqueView
    is_old: bool
    has_old_pods: bool
    is_scheduled: bool
    is_available: bool
    is_healthy: bool
    progressed: str
    """A time as it is written; empty if nothing has come about."""

    @property
    def is_updated(self) -> bool:
        return self.is_available and not (self.is_old or self.has_old_pods)

    @property
    def breached_since(self) -> datetime.datetime | None:
        """A status that says so after its pods have recovered is late, and must not stop them."""
        since = progress.breached_since(self.view)
        return since if since is not None and progress.ever_scheduled(self.view) and not self.is_healthy else None


def _look(tree: Tree, places: Sequence[CliquePlace], held: dict[str, PodCliqueView], pods_of: PodsOf) -> Copy:
    found = [(place, held[name]) for place in places if (name := tree.clique_name(place)) in held]
    staying = [_member(tree, place, view, pods_of(view)) for place, view in found if not cliquesync.is_going(view)]
    is_whole = len(staying) == len(places)
    times = max([one.progressed for one in staying], default="")  # they are all written alike
    return Copy(
        index=places[0].copy,
        members=tuple([view for _, view in found]),
        is_old=any(one.is_old for one in staying),
        has_old_pods=any(one.has_old_pods for one in staying),
        is_scheduled=is_whole and all(one.is_scheduled for one in staying),
        is_available=is_whole and all(one.is_available for one in staying),
        is_updated=is_whole and all(one.is_updated for one in staying),
        is_healthy=is_whole and all(one.is_healthy for one in staying),
        updated_members=sum([one.is_updated for one in staying]),
        breached_since=min(filter(None, [one.breached_since for one in staying]), default=None),
        progressed=conditions.moment(times) if times else None,
    )


def _member(tree: Tree, place: CliquePlace, view: PodCliqueView, of: Sequence[PodView]) -> _Member:
    counts, needed = pods.count(of), progress.required(view)
    return _Member(
        view=view,
        is_old=not cliquesync.follows_template(tree, place, view),
        has_old_pods=pods.made_from(of, tree.template_hashes[place.clique]) < counts.active,
        is_scheduled=counts.scheduled >= needed,
        is_available=counts.serving >= needed,
        is_healthy=counts.healthy >= needed,
        progressed=max(view.metadata.creation_timestamp or "", *[_ready_since(pod) for pod in of], ""),
    )


def _ready_since(pod: PodView) -> str:
    for one in pod.status.conditions:
        if one.type == "Ready":
            return (one.last_transition_time or "") if one.status == "True" else ""
    return ""

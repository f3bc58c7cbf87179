"""The cliques of a gang and their pods, as they are. Pure.

A pod belongs to the gang of its PodClique, whatever its labels say, so that each active pod is referenced once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from grove.api import labels
from grove.api.conditions import moment
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import PodView
from grove.operator import pods
from grove.operator.tree import CliquePlace, GangPlace, Tree, least
from grove.operator.views import PodCliqueView

PATIENCE: Final = datetime.timedelta(seconds=5)
"""A gang that is not whole so long after its first PodClique came is written all the same, to be seen and explained."""
A_CROWD: Final = datetime.timedelta(seconds=0.1)
"""So much later for each other gang that is awaited: all their pods are being made, which takes its time."""
LONGEST: Final = datetime.timedelta(seconds=30)

Held = Callable[[str], tuple[PodCliqueView, Sequence[PodView]] | None]
"""The PodClique of a name with its pods, if there is one and it is the set's."""


class Member(msgspec.Struct, frozen=True):
    """A clique of the gang as it is."""

    place: CliquePlace
    name: str
    minimum: int
    """How many of its pods must be placed with the gang: none while it is scaled to zero."""
    clique: PodCliqueView | None
    pods: tuple[PodView, ...]
    """The active ones."""

    @property
    def is_whole(self) -> bool:
        """Whether the PodClique is there and has its pods."""
        clique = self.clique
        if clique is None or clique.metadata.deletion_timestamp is not None:
            return False
        return len(self.pods) >= clique.spec.replicas


def members(tree: Tree, place: GangPlace, held: Held) -> list[Member]:
    """The cliques of the gang in the order of its pod groups."""
    return [_member(tree, one, held) for one in tree.gang_cliques(place)]


def all_whole(tree: Tree, place: GangPlace, held: Held) -> bool:
    """Whether `members` would be whole. Looks at the last ones first, which come last: mostly at one."""
    return all(_member(tree, one, held).is_whole for one in reversed(tree.gang_cliques(place)))


def _member(tree: Tree, place: CliquePlace, held: Held) -> Member:
    template = tree.cliques[place.clique].spec
    name = tree.clique_name(place)
    found = held(name)
    if found is None:
        return Member(place, name, least(template) if template.replicas else 0, None, ())
    clique, all_pods = found
    minimum = least(template) if clique.spec.replicas else 0
    return Member(place, name, minimum, clique, tuple([pod for pod in all_pods if pods.is_active(pod)]))


def is_whole(members: Iterable[Member]) -> bool:
    """Whether all pods of the gang are there: a scheduler that sees fewer would place a part of it."""
    return all(member.is_whole for member in members)


def has_minimum(members: Iterable[Member]) -> bool:
    """Whether each group has as many pods as must be placed together."""
    return all(len(member.pods) >= member.minimum for member in members)


def only_named(members: Iterable[Member], gang: PodGang) -> list[Member]:
    """The members with those pods only that the stored gang names already."""
    named = {reference.name for group in gang.spec.podgroups for reference in group.pod_references}
    return [replace(one, pods=tuple([pod for pod in one.pods if pod.metadata.name in named])) for one in members]


def due(cliques: Iterable[PodCliqueView], others: int = 0) -> datetime.datetime | None:
    """When the gang is written even if it is not whole; None while it has no PodClique. `others` are awaited too."""
    made = min((one.metadata.creation_timestamp or "" for one in cliques), default=None)  # they are all written alike
    return None if made is None else moment(made) + min(PATIENCE + others * A_CROWD, LONGEST)


def strays(members: Iterable[Member], gang: str) -> list[PodView]:
    """Pods of the gang that carry the name of another one, or none: whoever looks by label would miss them."""
    return [
        pod for member in members for pod in member.pods if (pod.metadata.labels or {}).get(labels.POD_GANG) != gang
    ]

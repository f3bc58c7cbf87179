"""What a manifest would become: gangs, cliques and pods, by name and number."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from grove.api import codec, names
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgangset import PodGangSet


class CliqueOutline(msgspec.Struct, frozen=True):
    """A PodClique of a gang."""

    name: str
    pods: int
    least: int
    """How many of the pods must be placed with the gang."""


class GangOutline(msgspec.Struct, frozen=True):
    """A PodGang."""

    name: str
    cliques: tuple[CliqueOutline, ...]
    scaled: bool = False
    """Whether it is a copy of a scaling group beyond the minimum, which waits for the base gang."""

    @property
    def pods(self) -> int:
        return sum(clique.pods for clique in self.cliques)


class Totals(msgspec.Struct, frozen=True):
    """How much a PodCliqueSet becomes."""

    gangs: int
    scaled_gangs: int
    pods: int


def totals(pcs: PodCliqueSet) -> Totals:
    """The numbers of `gangs_of`, without making them one by one: there may be billions."""
    template, replicas = pcs.spec.template, pcs.spec.replicas
    pods_of = {clique.name: clique.spec.replicas for clique in template.cliques}
    groups = template.pod_clique_scaling_groups
    members = {name for group in groups for name in group.clique_names}
    pods = sum(count for name, count in pods_of.items() if name not in members)
    pods += sum(group.replicas * sum(pods_of[name] for name in group.clique_names) for group in groups)
    scaled = sum(max(group.replicas - group.min_available, 0) for group in groups)
    return Totals(replicas, replicas * scaled, replicas * pods)


def gangs_of(pcs: PodCliqueSet) -> list[GangOutline]:
    """The gangs of a new PodCliqueSet that defaulting has been over: base gangs with their scaled gangs."""
    return [gang for replica in range(pcs.spec.replicas) for gang in _gangs_of_replica(pcs, replica)]


def _gangs_of_replica(pcs: PodCliqueSet, replica: int) -> Iterator[GangOutline]:
    set_name, template = pcs.metadata.name, pcs.spec.template
    by_name = {clique.name: clique.spec for clique in template.cliques}
    members = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}

    def outline(name: str, clique: str) -> CliqueOutline:
        spec = by_name[clique]
        return CliqueOutline(name, spec.replicas, spec.min_available or spec.replicas)

    base = [
        outline(names.standalone_clique(set_name, replica, clique.name), clique.name)
        for clique in template.cliques
        if clique.name not in members
    ]
    scaled: list[GangOutline] = []
    for group in template.pod_clique_scaling_groups:
        for copy in range(group.replicas):
            made = [
                outline(names.member_clique(set_name, replica, group.name, copy, clique), clique)
                for clique in group.clique_names
            ]
            if copy < group.min_available:
                base.extend(made)
            else:
                gang = names.scaled_gang(set_name, replica, group.name, copy - group.min_available)
                scaled.append(GangOutline(gang, tuple(made), scaled=True))
    yield GangOutline(names.base_gang(set_name, replica), tuple(base))
    yield from scaled


def sentence(tree: JSON) -> str:
    """In a few words, what an admitted object becomes; empty for kinds that become nothing."""
    kind = catalog.find(str(tree.get("apiVersion")), str(tree.get("kind")))
    if kind is catalog.POD_CLIQUE_SET:
        made = totals(codec.decode(tree, PodCliqueSet))
        text = f"{_count(made.pods, 'pod')} in {_count(made.gangs, 'gang')}"
        return f"{text} and {_count(made.scaled_gangs, 'scaled gang')}" if made.scaled_gangs else text
    if kind is catalog.POD_GANG_SET:
        return f"{_count(codec.decode(tree, PodGangSet).spec.replicas, 'pod')} in 1 gang"
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

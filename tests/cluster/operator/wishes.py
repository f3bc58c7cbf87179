"""What a user wants of a PodCliqueSet, kept by the test beside the cluster: his template, and what he has scaled.

Written from the specification, not from the operator: what must be there is said here in other words. A count that
somebody has scaled is his; others follow the template. What is made anew begins with the template again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.operator import manifests

JSON = dict[str, Any]

GROUP = "PodCliqueScalingGroup"


@dataclass
class Clique:
    """A clique of the template."""

    name: str
    replicas: int
    least: int
    image: str = "main:v1"
    budget: int = 1
    """How many pods may be unavailable in an update."""
    most: int | None = None
    """What its autoscaler may raise it to; None where it has none. One that is not in a scaling group."""


@dataclass
class Group:
    """A scaling group of the template."""

    name: str
    cliques: list[str]
    replicas: int
    least: int
    budget: int = 1
    most: int | None = None


@dataclass
class Count:
    """The replicas of an object that can be scaled, and what the template said when it was last followed."""

    live: int
    told: int

    def follow(self, template: int, least: int, *, is_autoscaled: bool) -> None:
        """What an autoscaler scales is left to it, though it may not have done so yet."""
        if self.live == self.told and not is_autoscaled:
            self.live = template
        self.told = template
        if self.live:
            self.live = max(self.live, least)


@dataclass(frozen=True)
class Place:
    """A PodClique that there is to be."""

    name: str
    clique: str
    replica: int
    group: str = ""
    """Full name of the scaling group."""
    copy: int = -1
    gang: str = ""
    base: str = ""
    """The base gang, if the PodClique belongs to a scaled one."""


@dataclass
class Wish:
    """One PodCliqueSet."""

    name: str
    cliques: list[Clique]
    groups: list[Group] = field(default_factory=list)
    replicas: int = 1
    in_order: bool = False
    on_delete: bool = False
    counts: dict[str, Count] = field(default_factory=dict)
    """By the names of PodCliques and scaling groups."""

    def __post_init__(self) -> None:
        self._remake()

    # What the user does

    def scale_set(self, replicas: int) -> None:
        self.replicas = replicas
        self._remake()

    def scale(self, name: str, replicas: int) -> None:
        """A PodClique or scaling group."""
        self.counts[name].live = replicas
        self._remake()

    def edit_image(self, name: str, image: str) -> None:
        """Copies of scaling groups are made anew, and what was scaled inside them is as the template says again."""
        self.clique(name).image = image
        if self.on_delete:
            return
        for one in self.groups:
            if name in one.cliques:
                for place in self.places():
                    if place.clique in one.cliques:
                        del self.counts[place.name]
        self._remake()

    def edit_replicas(self, name: str, replicas: int) -> None:
        """Of a clique, or of a scaling group, in the template."""
        if name in [one.name for one in self.groups]:
            group = self.group(name)
            group.replicas = replicas
            for replica in range(self.replicas):
                self.counts[self.group_name(replica, name)].follow(
                    replicas, group.least, is_autoscaled=group.most is not None
                )
        else:
            clique = self.clique(name)
            clique.replicas = replicas
            for place in self.places():
                if place.clique == name:
                    self.counts[place.name].follow(replicas, clique.least, is_autoscaled=clique.most is not None)
        self._remake()

    def manifest(self) -> JSON:
        """With everything that the webhook would fill in, so that none is needed."""
        cliques = []
        for one in self.cliques:
            made = manifests.clique(one.name, one.replicas, least=one.least, image=one.image)
            made["spec"]["roleName"] = one.name
            if not self.group_of(one.name) and not self.on_delete:
                made["rollingUpdate"] = _pace(one.budget)
            if one.most is not None:
                made["spec"]["autoScalingConfig"] = _bounds(one)
            cliques.append(made)
        groups = [
            manifests.group(
                one.name,
                one.cliques,
                one.replicas,
                least=one.least,
                rollingUpdate=_pace(one.budget),
                **({} if one.most is None else {"scaleConfig": _bounds(one)}),
            )
            for one in self.groups
        ]
        template = {
            "cliqueStartupType": "CliqueStartupTypeInOrder" if self.in_order else "CliqueStartupTypeAnyOrder",
            "terminationDelay": "4h0m0s",
            "headlessServiceConfig": {"publishNotReadyAddresses": True},
        }
        strategy = {"type": "OnDelete" if self.on_delete else "RollingRecreate"}
        return manifests.workload(
            self.name, cliques, replicas=self.replicas, groups=groups, template=template, updateStrategy=strategy
        )

    # What it comes to

    def clique(self, name: str) -> Clique:
        return next(one for one in self.cliques if one.name == name)

    def group(self, name: str) -> Group:
        return next(one for one in self.groups if one.name == name)

    def group_of(self, clique: str) -> Group | None:
        return next((one for one in self.groups if clique in one.cliques), None)

    def group_name(self, replica: int, group: str) -> str:
        return f"{self.name}-{replica}-{group}"

    def copies(self, replica: int, group: str) -> int:
        return self.counts[self.group_name(replica, group)].live

    def pods(self, clique_name: str) -> int:
        return self.counts[clique_name].live

    def autoscalers(self) -> dict[str, tuple[str, Clique | Group]]:
        """By name, which is that of what it scales: the kind of that, and its part of the template."""
        found: dict[str, tuple[str, Clique | Group]] = {}
        for replica in range(self.replicas):
            base = f"{self.name}-{replica}"
            found |= {f"{base}-{one.name}": ("PodClique", one) for one in self.cliques if one.most is not None}
            found |= {f"{base}-{one.name}": (GROUP, one) for one in self.groups if one.most is not None}
        return found

    def places(self) -> Iterator[Place]:
        for replica in range(self.replicas):
            yield from self.places_of(replica)

    def places_of(self, replica: int) -> Iterator[Place]:
        base = f"{self.name}-{replica}"
        for one in self.cliques:
            if not self.group_of(one.name):
                yield Place(f"{base}-{one.name}", one.name, replica, gang=base)
        for group in self.groups:
            name = self.group_name(replica, group.name)
            for copy in range(self.copies(replica, group.name)):
                is_scaled = copy >= group.least
                gang = f"{name}-{copy - group.least}" if is_scaled else base
                for member in group.cliques:
                    place = f"{name}-{copy}-{member}"
                    yield Place(place, member, replica, name, copy, gang, base if is_scaled else "")

    def gangs(self) -> dict[str, list[Place]]:
        """The PodCliques of each gang, in the order of its pod groups."""
        found: dict[str, list[Place]] = {f"{self.name}-{replica}": [] for replica in range(self.replicas)}
        for place in self.places():
            found.setdefault(place.gang, []).append(place)
        return found

    def parents(self, place: Place) -> list[str]:
        """The PodCliques that must be ready before this one starts."""
        position = [one.name for one in self.cliques].index(place.clique)
        if not self.in_order or position == 0:
            return []
        before = self.cliques[position - 1].name
        return [
            one.name
            for one in self.places_of(place.replica)
            if one.clique == before and one.gang == place.gang and (one.copy == place.copy or not place.base)
        ]

    def _remake(self) -> None:
        """Keeps the counts of what there is to be, forgets those of the rest, and begins new ones."""
        kept: dict[str, Count] = {}
        for replica in range(self.replicas):
            for group in self.groups:
                name = self.group_name(replica, group.name)
                kept[name] = self.counts.get(name) or Count(group.replicas, group.replicas)
        before, self.counts = self.counts, kept
        for place in self.places():
            template = self.clique(place.clique).replicas
            kept[place.name] = before.get(place.name) or Count(template, template)


def _bounds(part: Clique | Group) -> JSON:
    """Nobody serves metrics: it never scales by itself as long as the count is within them."""
    return {"minReplicas": part.least, "maxReplicas": part.most}


def _pace(budget: int) -> JSON:
    return {"maxUnavailable": budget}

"""Whether the rules held at every instant of what an observer has written down. Pure.

A rule is asked after each change, with all pods as they were then. A pod serves from the moment when it first was ready
until it is asked to go: that it is unready in between, because its node was silent on a busy machine, is nobody's fault
here; what is judged is whom the operator takes away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from tests.cluster.operator.wishes import Place, Wish
from tests.cluster.operator.workloads import controller, image_of, is_active, is_ready, label

JSON = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """What the rules ask of a pod."""

    uid: str
    name: str
    clique: str
    owner: str
    index: str
    image: str
    is_active: bool
    """Not asked to go, and not over."""
    has_served: bool
    """Ready, now or before."""

    @classmethod
    def of(cls, pod: JSON) -> Self:
        return cls(
            uid=pod["metadata"]["uid"],
            name=pod["metadata"]["name"],
            clique=label(pod, "grove.io/podclique"),
            owner=controller(pod),
            index=label(pod, "grove.io/podclique-pod-index"),
            image=image_of(pod),
            is_active=is_active(pod),
            has_served=is_ready(pod),
        )

    @property
    def serves(self) -> bool:
        return self.is_active and self.has_served


@dataclass(frozen=True)
class Seen:
    """A state of a pod that was written down; the last one if it is gone."""

    pod: Pod
    is_gone: bool


class Now:
    """All pods at an instant."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._cliques: dict[str, dict[str, Pod]] = {}

    def take(self, seen: Seen) -> Pod:
        pod = seen.pod
        before = self._pods.get(pod.uid)
        if before is not None and before.has_served:
            pod = replace(pod, has_served=True)
        siblings = self._cliques.setdefault(pod.clique, {})
        if seen.is_gone:
            self._pods.pop(pod.uid, None)
            siblings.pop(pod.uid, None)
        else:
            self._pods[pod.uid] = siblings[pod.uid] = pod
        return pod

    def of(self, clique: str) -> Sequence[Pod]:
        return tuple(self._cliques.get(clique, {}).values())

    def serving(self, clique: str) -> int:
        return sum(pod.serves for pod in self.of(clique))


Rule = Callable[[Now, Pod], str]
"""Is told all pods and the one that has just changed; what is wrong, or nothing."""


class History:
    """The states from a point on."""

    def __init__(self, written: Sequence[Seen], since: int = 0) -> None:
        self._written = tuple(written)
        self._since = since

    def broken(self, *rules: Rule) -> list[str]:
        """What was wrong at any instant, in order and each text once."""
        found: dict[str, None] = {}
        for now, pod in self._instants():
            found |= dict.fromkeys(problem for rule in rules if (problem := rule(now, pod)))
        return list(found)

    def asked_to_go(self) -> list[Pod]:
        """The pods that were active and then no more, each once."""
        active, found = set(), {}
        for number, seen in enumerate(self._written):
            if seen.pod.is_active and not seen.is_gone:
                active.add(seen.pod.uid)
            elif seen.pod.uid in active:
                active.discard(seen.pod.uid)
                if number >= self._since:
                    found[seen.pod.uid] = seen.pod
        return list(found.values())

    def made(self) -> list[Pod]:
        """The pods that were not there before, each once."""
        before = {seen.pod.uid for seen in self._written[: self._since]}
        found = {seen.pod.uid: seen.pod for seen in self._written[self._since :]}
        return [pod for uid, pod in found.items() if uid not in before]

    def _instants(self) -> Iterator[tuple[Now, Pod]]:
        now = Now()
        for number, seen in enumerate(self._written):
            pod = now.take(seen)
            if number >= self._since:
                yield now, pod


# Rules


def no_index_twice(now: Now, changed: Pod) -> str:
    """Among the active pods of a PodClique, also if it was made anew under the same name."""
    if not changed.is_active:
        return ""
    same = sorted(pod.name for pod in now.of(changed.clique) if pod.is_active and pod.index == changed.index)
    return f"{changed.clique} has the index {changed.index} in {', '.join(same)}" if len(same) > 1 else ""


def within_budget(wishes: Mapping[str, Wish]) -> Rule:
    """During an update whose wishes do not change otherwise: of no PodClique or scaling group is more missing than its
    budget, and of no set more than one replica is below its minimum."""
    judges = {place.name: _Judge(wish) for wish in wishes.values() for place in wish.places()}

    def rule(now: Now, changed: Pod) -> str:
        judge = judges.get(changed.clique)
        return judge(now, changed.clique) if judge else ""

    return rule


class _Judge:
    """Of one set."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._places = {place.name: place for place in wish.places()}

    def __call__(self, now: Now, clique: str) -> str:
        place = self._places[clique]
        group = self._wish.group_of(place.clique)
        if group is None:
            wanted = self._wish.pods(clique)
            missing = wanted - now.serving(clique)
            if missing > self._wish.clique(place.clique).budget:
                return f"{clique} misses {missing} of {wanted} pods"
        else:
            broken = self._broken(now, place.group)
            if len(broken) > group.budget:
                return f"{place.group} misses the copies {sorted(broken)}"
        below = [replica for replica in range(self._wish.replicas) if self._is_below(now, replica)]
        return f"{self._wish.name} is below its minimum in the replicas {below}" if len(below) > 1 else ""

    def _broken(self, now: Now, group: str) -> set[int]:
        """The copies of which some member is below its minimum; one that is scaled to nothing needs nothing."""
        members = [place for place in self._places.values() if place.group == group]
        return {place.copy for place in members if self._lacks(now, place)}

    def _lacks(self, now: Now, place: Place) -> bool:
        return now.serving(place.name) < min(self._wish.clique(place.clique).least, self._wish.pods(place.name))

    def _is_below(self, now: Now, replica: int) -> bool:
        places = [place for place in self._places.values() if place.replica == replica]
        if any(self._lacks(now, place) for place in places if not place.group):
            return True
        return any(
            self._wish.copies(replica, group.name) - len(self._broken(now, self._wish.group_name(replica, group.name)))
            < min(group.least, self._wish.copies(replica, group.name))
            for group in self._wish.groups
        )

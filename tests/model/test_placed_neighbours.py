"""Gangs whose pods want one another near or far are placed exactly where Kubernetes would let them, pod by pod."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.objects import NodeView, PodView
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Group, Pack, Pending, Scope
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.place import place
from grove.scheduler.predicates.all import rules
from grove.scheduler.predicates.selectors import spoken
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Found
from tests.model import neighbours
from tests.model.neighbours import JSON, RACK, SPACES, ZONE, World

KEYS = (ZONE, RACK)


def uid(one: JSON) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"


def view(one: JSON) -> PodView:
    return msgspec.convert({**one, "metadata": {**one["metadata"], "uid": uid(one)}}, PodView)


class Try:
    """A world and a gang of few pods that comes to it."""

    def __init__(self, random: Random) -> None:
        self.world = World(neighbours.nodes(random))
        nodes = [*self.world.nodes.values()]
        spreads = random.random() < 0.4
        self.groups = [self._group(random, number, spreads=spreads) for number in range(random.choice([1, 2, 2]))]
        self.pods = {uid(one): one for group in self.groups for one in group}
        self.required = random.choice([None, None, RACK, ZONE])
        for number in range(random.randint(0, 8)):
            space = random.choice(["$", "$", "$-b"])
            one = neighbours.stored(neighbours.pod(random, f"other-{number}", on=nodes, space=space, likely=0.2))
            self.world.pods[uid(one)] = one, one["spec"]["nodeName"]

    def _group(self, random: Random, number: int, *, spreads: bool) -> list[JSON]:
        one = neighbours.pod(random, f"g{number}", likely=0.5)
        one = neighbours.stored(neighbours.spreads(random, one) if spreads else one)
        named = [{**one["metadata"], "name": f"g{number}-{index}"} for index in range(random.randint(1, 2))]
        return [{**one, "metadata": metadata} for metadata in named]

    def ours(self) -> dict[str, str] | None:
        """By pod its node."""
        surroundings = Surroundings()
        for name, labels in SPACES.items():
            surroundings.namespaces.put(name, "", labels)
        cluster = Cluster()
        cluster.obey(rules(cluster, surroundings, SchedulerConfiguration()))
        for one in self.world.nodes.values():
            cluster.node(msgspec.convert(one, NodeView))
        for one in (*(one for one, _ in self.world.pods.values()), *self.pods.values()):
            cluster.classes.speak_of(spoken(view(one).spec))
        for name, (one, node) in self.world.pods.items():
            pod = view(one)
            slot, leaves = cluster.slot_of[node], pod.metadata.deletion_timestamp is not None
            cluster.put(Placed(name, "$", name, cluster.classes.of(pod), slot, terminating=leaves))
        groups = tuple(
            Group(
                f"g{number}",
                len(group),
                (),
                tuple(Pending(uid(one), "$", one["metadata"]["name"], cluster.classes.of(view(one))) for one in group),
            )
            for number, group in enumerate(self.groups)
        )
        gang = Gang("$/gang", "gang", Scope("gang", Pack(self.required), KEYS, (), groups))
        answer = place(cluster, gang, Budget(100_000))
        assert [*cluster.recount()] == []
        if isinstance(answer, Found):
            assert not answer.left
            return {put.pod.uid: cluster.names[put.slot] for put in answer.puts}
        return None

    def exists(self, left: frozenset[str], *, only: dict[str, str] | None = None, domain: object = None) -> bool:
        """Whether the pods can come in some order, each where Kubernetes then lets it; `only` says where."""
        self._failed: set[object] = set()
        return self._exists(left, only, domain)

    def _exists(self, left: frozenset[str], only: dict[str, str] | None, domain: object) -> bool:
        state = (left, domain, *(self.world.pods[name][1] for name in self.pods if name in self.world.pods))
        if not left:
            return True
        if state in self._failed:
            return False
        for name in sorted(left):
            one = self.pods[name]
            for node in [only[name]] if only else self.world.nodes:
                there = self._domain(node)
                if there is None or (domain is not None and there != domain) or not self._may(one, node):
                    continue
                self.world.pods[name] = one, node
                found = self._exists(left - {name}, only, there)
                del self.world.pods[name]
                if found:
                    return True
        self._failed.add(state)
        return False

    def _may(self, one: JSON, node: str) -> bool:
        world = self.world
        return world.chosen(one, node) and world.tolerated(one, node) and node in world.allows(one)

    def _domain(self, node: str) -> object:
        """Of the required level, by its path; None: the node is in none."""
        labels = self.world.nodes[node]["metadata"]["labels"]
        if self.required is None:
            return "everywhere"
        if self.required not in labels:
            return None
        return tuple(labels.get(key) for key in KEYS[: KEYS.index(self.required) + 1])


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_a_gang_is_placed_where_and_only_where_its_pods_may_come_one_after_the_other(seed: int) -> None:
    tried = Try(Random(seed))
    pods = frozenset(tried.pods)
    found = tried.ours()
    if found is None:
        assert not tried.exists(pods)
    else:
        assert found.keys() == pods
        assert tried.exists(pods, only=found)

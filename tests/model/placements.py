"""Small clusters and gangs of every shape, and what is true of them by trying everything."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.gangs import Gang, Group, Pack, Pending, Scope
from grove.scheduler.placement.score import worth
from grove.scheduler.predicates.rule import Counts, Lenient
from tests.unit.scheduler.checker import path
from tests.unit.scheduler.fleets import group, node, occupy, pod, spec

BLOCK, RACK, HOST, ROW = "block", "rack", "kubernetes.io/hostname", "row"
KEYS = (BLOCK, RACK, HOST)
OTHER_KEYS = (ROW, HOST)
LONER, FOLLOWER, LEADER = "loner/one", "follower/one", "leader/one"
"""Resources by which pods tell what the rule below is to do with them."""


class Company(Lenient):
    """Loners do not share a rack with loners; followers need a leader in their rack."""

    name = "Company"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def is_dynamic(self, cls: PodClass) -> bool:
        return asks(self._cluster, cls, LONER) or asks(self._cluster, cls, FOLLOWER)

    def only_shrinks(self, cls: PodClass) -> bool:
        return not asks(self._cluster, cls, FOLLOWER)

    def limit(self, cls: PodClass) -> Counts | None:
        cluster = self._cluster
        wanted = LONER if asks(cluster, cls, LONER) else LEADER
        racks = {rack_of(cluster, pod.slot) for pod in cluster.pods.values() if asks(cluster, pod.cls, wanted)}
        found = np.zeros(cluster.size, np.int64)
        for slot in range(cluster.size):
            there = rack_of(cluster, slot) in racks
            found[slot] = (0 if there else 1) if wanted == LONER else (PLENTY if there else 0)
        return found


def asks(cluster: Cluster, cls: PodClass, resource: str) -> bool:
    row = cluster.resources.row(resource)
    return any(one == row for one, _ in cls.requests)


def rack_of(cluster: Cluster, slot: int) -> object:
    view = cluster.views[slot]
    labels = (view.metadata.labels if view is not None else None) or {}
    return labels.get(BLOCK), labels.get(RACK)


def a_cluster(dice: random.Random, *, company: bool = False, nodes: int = 6, shuffled: int = 0) -> Cluster:
    """Nodes with labels and without, and pods of others; `shuffled` changes only the order in which nodes come."""
    cluster = Cluster()
    if company:
        cluster.obey([Company(cluster)])
    more = {LONER: 99, FOLLOWER: 99, LEADER: 99} if company else {}
    names = [f"n{index}" for index in range(dice.randint(1, nodes))]
    dice.shuffle(names)
    views = []
    for name in names:
        labels = {BLOCK: f"b{dice.randint(0, 1)}", RACK: f"r{dice.randint(0, 2)}", ROW: f"w{dice.randint(0, 1)}"}
        for key in (BLOCK, RACK, ROW):
            if dice.random() < 0.06:
                del labels[key]
        views.append(node(name, labels, cpu=str(dice.randint(2, 6)), gpus=dice.choice((0, 1, 2, 2, 4)), **more))
    for view in sorted(views, key=lambda view: view.metadata.name, reverse=True) if shuffled else views:
        cluster.node(view)
    for _ in range(dice.randint(0, 2)):
        slot = cluster.slot_of[dice.choice(names)]
        wanted = spec(gpus=dice.randint(0, 1), cpu=str(dice.randint(1, 2)))
        if cluster.capacity(cluster.classes.of(pod("x", wanted)))[slot]:
            occupy(cluster, slot, wanted)
    return cluster


def a_gang(
    dice: random.Random, cluster: Cluster, *, company: bool = False, pods: int = 5, running: bool = True
) -> Gang:
    left = [dice.randint(1, pods)]
    number = [0]

    def a_group() -> Group:
        number[0] += 1
        count = dice.randint(1, max(1, left[0]))
        left[0] -= count
        kind = dice.random()
        more = {}
        if company and kind < 0.7:
            resource = dice.choice((LONER, FOLLOWER, LEADER))
            more = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", resource: 1}}}]}
        wanted = spec(gpus=dice.choice((0, 1, 1, 2)), cpu=str(dice.randint(1, 3)), **more)
        extras = dice.choice((0, 0, 0, 1, 2))
        made = group(cluster, f"g{number[0]}", count + extras, wanted, minimum=count)
        if running and dice.random() < 0.12:
            slot = dice.randrange(cluster.size)
            if cluster.capacity(made.waiting[0].cls)[slot]:
                first = made.waiting[0]
                placed = Placed(first.uid, first.namespace, first.name, first.cls, slot)
                cluster.put(placed)
                made = made._replace(placed=(placed,), waiting=made.waiting[1:])
        return made

    def a_scope(depth: int) -> Scope:
        number[0] += 1
        name = f"s{number[0]}"
        keys = OTHER_KEYS if dice.random() < 0.15 else KEYS
        required = dice.choice((None, None, *keys[:2], *keys))
        preferred = dice.choice((None, None, *keys))
        groups = [a_group() for _ in range(dice.choice((0, 1, 1, 2))) if left[0] > 0]
        scopes = [a_scope(depth + 1) for _ in range(dice.choice((0, 1, 2, 3))) if depth < 2 and left[0] > 0]
        if not groups and not scopes and left[0] > 0:
            groups = [a_group()]
        anchors = (dice.randrange(cluster.size),) if running and dice.random() < 0.05 else ()
        return Scope(name, Pack(required, preferred), keys, tuple(scopes), tuple(groups), anchors)

    root = a_scope(0)
    within = None
    if dice.random() < 0.1:
        within = np.array([dice.random() < 0.8 for _ in range(cluster.size)], np.bool_)
    return Gang("default/gang", "uid-gang", root, within=within)


class Truth:
    """Everything tried: the best quality of a placement, or that there is none."""

    def __init__(self, cluster: Cluster, gang: Gang) -> None:
        self.cluster = cluster
        self.gang = gang
        self.best = -1
        self.pods: list[tuple[Pending, list[Scope]]] = [*self._pods(gang.root, [])]
        self.free = [
            {row: int(cluster.free[row, slot]) for row in range(cluster.free.shape[0])} for slot in range(cluster.size)
        ]
        self.slots: list[int] = []
        self._try()

    def _pods(self, scope: Scope, around: list[Scope]) -> Iterator[tuple[Pending, list[Scope]]]:
        chain = [*around, scope]
        for one in scope.groups:
            for waiting in one.waiting[: one.missing]:
                yield waiting, chain
        for inner in scope.scopes:
            yield from self._pods(inner, chain)

    def _try(self) -> None:
        at = len(self.slots)
        if at == len(self.pods):
            if self._company():
                self.best = max(self.best, self.quality())
            return
        pod, chain = self.pods[at]
        first = 0
        if at and self.pods[at - 1][0].cls is pod.cls and self.pods[at - 1][1][-1] is chain[-1]:
            first = self.slots[-1]
        allowed = self.cluster.allowed(pod.cls)
        for slot in range(first, self.cluster.size):
            if not allowed[slot] or (self.gang.within is not None and not self.gang.within[slot]):
                continue
            free = self.free[slot]
            if any(free[row] < amount for row, amount in pod.cls.requests):
                continue
            self.slots.append(slot)
            if all(self._packed(scope) for scope in chain):
                for row, amount in pod.cls.requests:
                    free[row] -= amount
                self._try()
                for row, amount in pod.cls.requests:
                    free[row] += amount
            self.slots.pop()

    def _inside(self, scope: Scope) -> list[int]:
        return [
            slot for slot, (_, chain) in zip(self.slots, self.pods, strict=False) if any(one is scope for one in chain)
        ]

    def _pins(self, scope: Scope) -> list[int]:
        return [*scope.anchors, *(pod.slot for one in scope.all_groups() for pod in one.placed)]

    def _packed(self, scope: Scope) -> bool:
        key = scope.pack.required
        if key is None:
            return True
        new = {path(self.cluster, slot, scope.keys, key) for slot in self._inside(scope)}
        before = {path(self.cluster, slot, scope.keys, key) for slot in self._pins(scope)}
        if before - {None}:
            return new <= before - {None}
        if before:
            return True
        return None not in new and len(new) <= 1

    def quality(self) -> int:
        return sum(self._worth(scope) for scope in scopes(self.gang.root))

    def _worth(self, scope: Scope) -> int:
        if scope.pack.preferred is None:
            return 0
        slots = [*self._inside(scope), *self._pins(scope)]
        if not slots:
            return 0
        reached = -1
        preferred = scope.keys.index(scope.pack.preferred)
        if scope.pack.required is not None:
            preferred = max(preferred, scope.keys.index(scope.pack.required))
        for level, key in enumerate(scope.keys[: preferred + 1]):
            domains = {path(self.cluster, slot, scope.keys, key) for slot in slots}
            if len(domains) == 1 and None not in domains:
                reached = level
        weight = sum(len(one.placed) + one.missing for one in scope.all_groups())
        return weight * worth(preferred, reached)

    def _company(self) -> bool:
        """Whether the rule about company is kept at the end: then there is an order that keeps it all the way."""
        cluster = self.cluster
        if not cluster.rules:
            return True
        loners: list[object] = [
            rack_of(cluster, pod.slot) for pod in cluster.pods.values() if asks(cluster, pod.cls, LONER)
        ]
        new: list[object] = []
        leaders: set[object] = {
            rack_of(cluster, pod.slot) for pod in cluster.pods.values() if asks(cluster, pod.cls, LEADER)
        }
        followers: list[object] = []
        for (waiting, _), slot in zip(self.pods, self.slots, strict=True):
            rack = rack_of(cluster, slot)
            if asks(cluster, waiting.cls, LONER):
                new.append(rack)
            if asks(cluster, waiting.cls, LEADER):
                leaders.add(rack)
            if asks(cluster, waiting.cls, FOLLOWER):
                followers.append(rack)
        return len({*new}) == len(new) and not {*new} & {*loners} and {*followers} <= leaders


def scopes(scope: Scope) -> Iterator[Scope]:
    yield scope
    for inner in scope.scopes:
        yield from scopes(inner)

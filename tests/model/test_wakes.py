"""Nobody sleeps while there is a place: random events in small clusters, against trying out every placement."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster, Hold, Placed
from grove.scheduler.gangs import Gang, Group, Pack, Pending, Scope
from grove.scheduler.predicates.rule import Counts, Lenient
from grove.scheduler.queues import Queues
from grove.scheduler.verdicts import NotFound
from grove.scheduler.wakes import Wakes
from tests.unit.scheduler.fleets import HOST, KEYS, RACK, ZONE, gang, group, node, pod, spec

REFUSED = NotFound(proven=True, scope="gang", key="")


class Company(Lenient):
    """Pods that ask for two CPUs go to nodes without pods only, those that ask for three to nodes with an even number
    of pods, not without."""

    name = "Company"

    def __init__(self) -> None:
        self.counts = np.zeros(64, np.int64)

    def is_dynamic(self, cls: PodClass) -> bool:
        return cls.requests[0][1] in (2000, 3000)

    def limit(self, cls: PodClass) -> Counts:
        if cls.requests[0][1] == 2000:
            return np.where(self.counts > 0, 0, 1)
        return np.where((self.counts > 0) & (self.counts % 2 == 0), 1, 0)

    def placed(self, pod: Placed, sign: int) -> None:
        self.counts[pod.slot] += sign


def fleet(racks: int, nodes: int, gpus: int) -> Cluster:
    cluster = Cluster()
    cluster.obey([Company()])
    for rack, at in itertools.product(range(racks), range(nodes)):
        add_node(cluster, f"n{rack}-{at}", f"r{rack}", gpus)
    return cluster


def add_node(cluster: Cluster, name: str, rack: str, gpus: int) -> None:
    cluster.node(node(name, {ZONE: "z", RACK: rack}, gpus=gpus, cpu="8"))


def find(cluster: Cluster, wanted: Gang) -> dict[str, int] | None:
    """Where the pods of a gang's minimum, or one more pod of it, can go; by trying everything."""
    pods: list[tuple[Pending, tuple[Scope, ...]]] = []

    def collect(scope: Scope, above: tuple[Scope, ...]) -> None:
        for one in scope.groups:
            count = 1 if wanted.is_placed else one.missing
            pods.extend((pending, (*above, scope)) for pending in one.waiting[:count])
        for inner in scope.scopes:
            collect(inner, (*above, scope))

    collect(wanted.root, ())
    if wanted.is_placed:
        return next((found for one in pods if (found := _try(cluster, wanted, [one])) is not None), None)
    return _try(cluster, wanted, pods)


def _try(cluster: Cluster, wanted: Gang, pods: list[tuple[Pending, tuple[Scope, ...]]]) -> dict[str, int] | None:
    domains: dict[str, int] = {}

    def fill(at: int) -> dict[str, int] | None:
        if at == len(pods):
            return {}
        pending, scopes = pods[at]
        for slot in np.flatnonzero(cluster.capacity(pending.cls)).tolist():
            if wanted.within is not None and (slot >= len(wanted.within) or not wanted.within[slot]):
                continue
            mine = {}
            for scope in scopes:
                key = scope.pack.required
                if key in scope.keys:
                    domain = int(cluster.tree(scope.keys).levels[scope.keys.index(key)].domain_of[slot])
                    if domain < 0 or domains.get(scope.name, domain) != domain:
                        break
                    if scope.name not in domains:
                        mine[scope.name] = domain
            else:
                domains.update(mine)
                mark = cluster.mark()
                cluster.put(Placed(pending.uid, pending.namespace, pending.name, pending.cls, slot))
                rest = fill(at + 1)
                cluster.rollback(mark)
                if rest is not None:
                    return {pending.uid: slot} | rest
                for name in mine:
                    del domains[name]
        return None

    return fill(0)


class Shape(NamedTuple):
    """A gang but for its name."""

    groups: list[tuple[int, int, str]]
    """Count, GPUs and CPUs of each pod."""
    required: str | None
    inner: list[tuple[str | None, tuple[int, int, str]]]
    within: int
    """0 or 1: only every second slot counts."""
    priority: int


parts = st.tuples(st.integers(1, 2), st.integers(0, 3), st.sampled_from(["1", "1", "1", "2", "3"]))
keys = st.sampled_from([None, RACK, HOST])
shapes = st.builds(
    Shape,
    groups=st.lists(parts, min_size=1, max_size=2),
    required=keys,
    inner=st.lists(st.tuples(keys, parts), max_size=2),
    within=st.integers(0, 9),
    priority=st.integers(0, 1),
)


def build(cluster: Cluster, shape: Shape, name: str) -> Gang:
    def part(at: int, count: int, gpus: int, cpu: str) -> Group:
        return group(cluster, f"{name}-{at}", count, spec(gpus=gpus, cpu=cpu))

    inner = [
        Scope(f"{name}-s{at}", Pack(key), KEYS, (), (part(at + 5, *one),)) for at, (key, one) in enumerate(shape.inner)
    ]
    outer = [part(at, *one) for at, one in enumerate(shape.groups)]
    found = gang(*outer, required=shape.required, scopes=inner, name=name)._replace(priority=shape.priority)
    return found if shape.within > 1 else found._replace(within=np.arange(cluster.size) % 2 == shape.within)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nobody_sleeps_while_there_is_a_place(data: st.DataObject) -> None:  # noqa: C901
    cluster = fleet(data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2)), data.draw(st.integers(1, 4)))
    wakes = Wakes(cluster, Queues(cluster.resources))
    for slot in range(cluster.size):
        for at in range(data.draw(st.integers(0, 3))):
            put(cluster, f"first-{slot}-{at}", slot, data.draw(st.integers(0, 2)))
    waiting: dict[str, Gang] = {}
    known_shapes = data.draw(st.lists(shapes, min_size=1, max_size=3))
    numbers = itertools.count()
    moments = itertools.count(0, 10**9)

    def look(one: Gang) -> None:
        place = find(cluster, one)
        if place is None:
            known = wakes.known(one)
            assert known is None or known.scope == one.root.name
            wakes.park(one, REFUSED._replace(scope=one.root.name), 0.0)
            return
        assert wakes.known(one) is None
        wakes.forget(one.key)
        del waiting[one.key]
        for pending in (pending for part in one.groups() for pending in part.waiting):
            if pending.uid in place:
                cluster.put(Placed(pending.uid, "default", pending.name, pending.cls, place[pending.uid]))

    for _ in range(data.draw(st.integers(1, 12))):
        for _ in range(data.draw(st.integers(0, 3))):
            name = f"g{next(numbers)}"
            one = waiting[f"default/{name}"] = build(cluster, data.draw(st.sampled_from(known_shapes)), name)
            look(one)
        for _ in range(data.draw(st.integers(0, 3))):
            happen(data, cluster, next(numbers))
        while due := wakes.due(next(moments)):
            for one in [waiting[key] for key in due if key in waiting]:
                look(one)
        for one in waiting.values():
            assert find(cluster, one) is None, f"{one.key} sleeps"
            assert wakes.is_asleep(one.key)
        assert [*wakes._boards.recount()] == []


def put(cluster: Cluster, name: str, slot: int, gpus: int) -> None:
    wanted = pod(name, spec(gpus=gpus))
    cls = cluster.classes.of(wanted)
    if cluster.alive[slot] and cluster.capacity(cls)[slot]:
        cluster.put(Placed(wanted.metadata.uid or "", "default", name, cls, slot))


def happen(data: st.DataObject, cluster: Cluster, number: int) -> None:
    what = data.draw(st.sampled_from(["put", "take", "take", "take", "hold", "release", "node", "gone", "new"]))
    if what == "take" and cluster.pods:
        cluster.take(data.draw(st.sampled_from(sorted(cluster.pods))))
    elif what == "release" and cluster.holds:
        cluster.release(data.draw(st.sampled_from(sorted(cluster.holds))))
    elif what == "new":
        add_node(cluster, f"new-{number}", data.draw(st.sampled_from(["r0", "r9"])), data.draw(st.integers(0, 4)))
    elif cluster.slot_of:
        name = data.draw(st.sampled_from(sorted(cluster.slot_of)))
        slot = cluster.slot_of[name]
        if what == "put":
            put(cluster, f"more-{number}", slot, data.draw(st.integers(0, 2)))
        elif what == "hold":
            cluster.hold(Hold(f"someone-{number}", slot, ((0, 1000), (2, 1)), kind="head", until=0.0))
        elif what == "node":
            add_node(cluster, name, data.draw(st.sampled_from(["r0", "r1"])), data.draw(st.integers(0, 4)))
        elif what == "gone" and len(cluster.slot_of) > 1:
            cluster.node_gone(name)

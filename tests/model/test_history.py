"""Histories: lived through again they give the same decisions, and what is kept of them is what a count finds."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.schedulerconfig import SchedulerConfiguration, Starvation
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodView
from grove.scheduler import assembly, history, lines
from grove.scheduler.engine import Engine
from grove.scheduler.lines import Became, Decided, Line, Told
from grove.scheduler.registry import key_of
from grove.scheduler.snapshot import snapshot
from grove.scheduler.verdicts import Bind, Evict
from grove.scheduler.views import NamespaceView, PriorityClassView
from tests.unit.scheduler.fleets import RACK, node, pod, spec

CONFIGURATION = SchedulerConfiguration(starvation=Starvation(max_reserved_percent=100))
BEGIN = 1_900_000_000.0
NODES = [f"n{number}" for number in range(6)]
TOPOLOGY = {"metadata": {"name": "racks"}, "spec": {"levels": [{"domain": "rack", "key": RACK}]}}
PROBE = 3
"""Pods of the gang that is tried at the end."""


class World:
    """What an API server tells, and an engine that hears it; every word is kept."""

    def __init__(self) -> None:
        self.engine = assembly.engine(CONFIGURATION)
        self.lines: list[Line] = [lines.start(CONFIGURATION, BEGIN)]
        self.now = BEGIN
        self.nodes: set[str] = set()
        self.pods: dict[str, PodView] = {}
        self.gangs: dict[str, PodGang] = {}
        self.under_way: dict[str, tuple[str, str]] = {}
        """Pods that are assumed on nodes, by uid: their names, and the nodes."""
        self.going: list[str] = []
        """Names of pods that are evicted."""
        self.numbers = 0
        self.say(Told("topology", msgspec.convert(TOPOLOGY, ClusterTopologyBinding)))
        for name, value in (("low", 0), ("high", 100)):
            self.say(Told("priority_class", PriorityClassView(metadata=ObjectMeta(name=name), value=value)))

    def say(self, line: Line) -> Any:
        found = history.tell(self.engine, line)
        if isinstance(line, Decided) and found is not None:
            self.lines.append(msgspec.structs.replace(line, choices=lines.choices(found)))
        else:
            self.lines.append(line)
        return found

    def node(self, number: int, gpus: int) -> None:
        name = NODES[number]
        self.nodes.add(name)
        self.say(Told("node", node(name, {RACK: f"r{number // 3}"}, gpus=gpus)))

    def lose_node(self, number: int) -> None:
        if NODES[number] in self.nodes:
            self.nodes.remove(NODES[number])
            self.say(lines.node_gone(NODES[number]))

    def gang(self, count: int, gpus: int, priority: str, packed: bool) -> None:
        self.numbers += 1
        name = f"g{self.numbers}"
        members = [f"{name}-{index}" for index in range(count)]
        for member in members:
            view = pod(
                member, spec(gpus=gpus, priority=100 if priority == "high" else 0), labels={labels.POD_GANG: name}
            )
            self.tell_pod(view)
        group = {
            "name": "workers",
            "minReplicas": max(1, count - 1),
            "podReferences": [{"namespace": "default", "name": member} for member in members],
        }
        constraint = {"topologyConstraint": {"packConstraint": {"required": RACK}}} if packed else {}
        body = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"uid-{name}",
                "creationTimestamp": history_time(self.now),
            },
            "spec": {"podgroups": [group], "priorityClassName": priority} | constraint,
        }
        self.gangs[name] = msgspec.convert(body, PodGang)
        self.say(Told("gang", self.gangs[name]))

    def tell_pod(self, view: PodView) -> None:
        self.pods[view.metadata.name] = view
        self.say(Told("pod", view))

    def drop_pod(self, name: str) -> None:
        view = self.pods.pop(name, None)
        if view is not None:
            self.under_way.pop(view.metadata.uid or "", None)
            self.say(Told("pod", view, gone=True))

    def drop_gang(self, number: int) -> None:
        if self.gangs:
            name = sorted(self.gangs)[number % len(self.gangs)]
            self.say(Told("gang", self.gangs.pop(name), gone=True))
            for one in [one for one in self.pods if one.startswith(f"{name}-")]:
                self.drop_pod(one)

    def queue(self, number: int) -> None:
        body = {"metadata": {"name": f"q{number}"}, "spec": {"weight": number + 1}}
        self.say(Told("queue", msgspec.convert(body, Queue)))
        self.say(Told("namespace", NamespaceView(metadata=ObjectMeta(name="default", labels={labels.QUEUE: "q0"}))))

    def decide(self, seconds: float) -> None:
        self.now += seconds
        for decision in self.say(Decided(self.now, 1000)):
            if isinstance(decision, Bind):
                self.under_way |= {one.uid: (one.name, on) for one, on in decision.puts}
            elif isinstance(decision, Evict):
                self.going += [one.name for one in decision.victims]

    def carry_out(self, fails: bool) -> None:
        """The bindings that are under way, of which one may fail; and the evictions."""
        for uid, (name, on) in [*self.under_way.items()]:
            del self.under_way[uid]
            if fails:
                fails = False
                self.say(Became("bind_failed", uid, "Changed", "the node changed"))
            elif name in self.pods:
                self.say(Became("bound", uid))
                self.tell_pod(msgspec.structs.replace(self.pods[name], node_name=on))
        going, self.going = self.going, []
        for name in going:
            if fails and name in self.pods:
                fails = False
                self.say(Became("evict_failed", self.pods[name].metadata.uid or "", message="forbidden"))
            else:
                self.drop_pod(name)


def history_time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


small = st.integers(0, 5)
EVENTS = st.one_of(
    st.tuples(st.just("node"), small, st.sampled_from([0, 4, 8])),
    st.tuples(st.just("lose_node"), small),
    st.tuples(
        st.just("gang"), st.integers(1, 5), st.sampled_from([1, 4, 8]), st.sampled_from(["low", "high"]), st.booleans()
    ),
    st.tuples(st.just("drop_gang"), small),
    st.tuples(st.just("queue"), st.integers(0, 1)),
    st.tuples(st.just("decide"), st.sampled_from([0.1, 5.0, 400.0])),
    st.tuples(st.just("carry_out"), st.booleans()),
)


def lived(events: list[Any]) -> World:
    world = World()
    for number in range(3):
        world.node(number, 8)
    world.gang(3, 4, "low", packed=False)
    world.gang(2, 4, "low", packed=True)
    world.decide(1.0)
    world.carry_out(False)
    for name, *arguments in events:
        getattr(world, name)(*arguments)
    return world


def copied(found: list[Line]) -> list[Line]:
    """As they come out of a file."""
    return [lines.decode(lines.encode(line)) for line in found]


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=25))
def test_a_history_that_is_lived_through_again_gives_the_same_decisions(events: list[Any]) -> None:
    world = lived(events)
    world.decide(1.0)
    steps = list(history.replay(assembly.engine(CONFIGURATION), copied(world.lines)))
    assert [step for step in steps if step.differs] == []
    assert len(steps) == sum(isinstance(line, Decided) for line in world.lines)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=25))
def test_what_an_engine_keeps_count_of_is_what_a_count_finds(events: list[Any]) -> None:
    world = lived(events)
    world.decide(0.0)
    assert list(world.engine.cluster.recount()) == []
    assert list(world.engine.queues.recount()) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=25))
def test_a_snapshot_leads_another_engine_to_the_same_state(events: list[Any]) -> None:
    world = lived(events)
    world.decide(0.0)
    kept = copied(snapshot(world.engine, CONFIGURATION, world.now))
    other = assembly.engine(lines.configuration(kept[0]))
    for line in kept:
        history.tell(other, line)
    other.seats.tell_apart()
    assert state(other) == state(world.engine)
    world.engine.rethink = True  # the other one looks at everybody anew too
    first, second = world.engine.decide(world.now), other.decide(world.now)
    assert lines.choices(second) == lines.choices(first)
    probe(world, other)


def probe(world: World, other: Engine) -> None:
    """One more gang goes to the same place."""
    world.gang(PROBE, 4, "low", packed=True)
    key = key_of("default", f"g{world.numbers}")
    for line in world.lines[-PROBE - 1 :]:
        history.tell(other, line)
    world.now += 1
    mine = [one for one in lines.choices(world.engine.decide(world.now)) if one.gang == key]
    theirs = [one for one in lines.choices(other.decide(world.now)) if one.gang == key]
    assert theirs == mine


def state(engine: Engine) -> dict[str, Any]:
    """What decisions depend on, in words that do not depend on the order of what was told."""
    cluster = engine.cluster
    size, rows = cluster.size, len(cluster.resources)
    classes = {pod.metadata.name: cluster.classes.of(pod) for pod in engine.registry.pods.values()}
    return {
        "names": [name if alive else "" for name, alive in zip(cluster.names, cluster.alive, strict=False)],
        "free": cluster.free[:rows, :size].tolist(),
        "pods": {uid: (one.slot, one.priority, one.gang, one.terminating) for uid, one in cluster.pods.items()},
        "holds": {
            owner: sorted((one.slot, one.kind, one.until, one.requests) for one in kept)
            for owner, kept in cluster.holds.items()
        },
        "capacities": {name: cluster.capacity(cls).tolist() for name, cls in sorted(classes.items())},
        "plans": dict(engine.preempting.plans),
        "cases": dict(engine.preempting.ledger.cases),
        "starving": dict(engine.starving()),
        "said": {key: (one.reason, one.sentence) for key, one in engine.said().items()},
        "vacant": list(cluster.vacant),
    }

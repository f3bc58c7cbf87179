"""Rules about neighbours, against what Kubernetes says written out, while pods and nodes come and go."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.kube.objects import NodeView, PodView
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import PLENTY, Cluster, Placed
from grove.scheduler.predicates.affinity import InterPodAffinity
from grove.scheduler.predicates.crowds import Crowds
from grove.scheduler.predicates.nodeselection import NodeSelection
from grove.scheduler.predicates.rule import Counts
from grove.scheduler.predicates.selectors import spoken
from grove.scheduler.predicates.spread import PodTopologySpread
from grove.scheduler.predicates.taints import Taints
from grove.scheduler.surroundings import Surroundings
from tests.model import neighbours
from tests.model.neighbours import JSON, SPACES, World


def uid(one: JSON) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"


class Both:
    """The same world for the rules and for the text of Kubernetes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.surroundings = Surroundings()
        for name, labels in SPACES.items():
            self.surroundings.namespaces.put(name, "", labels)
        self.cluster = Cluster()
        chosen, taints = NodeSelection(self.cluster), Taints(self.cluster)
        self.crowds = Crowds(self.cluster, self.surroundings)
        self.affinity = InterPodAffinity(self.cluster, self.crowds)
        self.spread = PodTopologySpread(self.cluster, self.crowds, affinity=[chosen], taints=[taints])
        self.cluster.obey([taints, chosen, self.crowds, self.affinity, self.spread])
        self.world = World(neighbours.nodes(random))
        for one in self.world.nodes.values():
            self.cluster.node(msgspec.convert(one, NodeView))
        self.asked = [self._pod(f"asked-{number}") for number in range(4)]
        self.others = [neighbours.stored(self._other(number)) for number in range(14)]
        for one in (*self.asked, *self.others):
            self.cluster.classes.speak_of(spoken(self.view(one).spec))

    def _pod(self, name: str) -> JSON:
        found = neighbours.pod(self.random, name, likely=0.7)
        return neighbours.stored(neighbours.spreads(self.random, found) if self.random.random() < 0.5 else found)

    def _other(self, number: int) -> JSON:
        space = self.random.choice(sorted(SPACES))
        return neighbours.pod(self.random, f"other-{number}", on=[*self.world.nodes.values()], space=space)

    def view(self, one: JSON) -> PodView:
        return msgspec.convert({**one, "metadata": {**one["metadata"], "uid": uid(one)}}, PodView)

    def cls(self, one: JSON) -> PodClass:
        return self.cluster.classes.of(self.view(one))

    def put(self, one: JSON, node: str, *, nominated: bool = False) -> str:
        view = self.view(one)
        meta = view.metadata
        self.cluster.put(
            Placed(
                meta.uid or "",
                meta.namespace or "",
                meta.name,
                self.cls(one),
                self.cluster.slot_of[node],
                terminating=meta.deletion_timestamp is not None,
                nominated=nominated,
            )
        )
        self.world.pods[meta.uid or ""] = (one, node)
        return meta.uid or ""

    def take(self, uid: str) -> None:
        self.cluster.take(uid)
        del self.world.pods[uid]

    def allows(self, one: JSON) -> set[str]:
        """What the rules about neighbours say, without those about nodes."""
        cls = self.cls(one)
        slots = np.arange(self.cluster.size)
        found = np.ones(self.cluster.size, np.bool_)
        for rule in (self.affinity, self.spread):
            mask, limit = rule.static(cls, slots), rule.limit(cls)
            assert (mask is None) != rule.is_static(cls)
            assert (limit is None) != rule.is_dynamic(cls)
            refused = np.zeros(self.cluster.size, np.bool_)
            if mask is not None:
                refused |= ~mask
            if limit is not None:
                refused |= limit <= 0
            for slot in slots.tolist():
                assert bool(rule.explain(cls, slot)) == refused[slot]
            found &= ~refused
        return {self.cluster.names[slot] for slot in np.flatnonzero(found)}

    def agree(self) -> None:
        for one in self.asked:
            assert self.allows(one) == self.world.allows(one), one
        assert [*self.crowds.recount()] == []
        assert [*self.cluster.recount()] == []

    def limits(self) -> list[list[int]]:
        return [self.cluster.capacity(self.cls(one)).tolist() for one in self.asked]

    def anything(self) -> None:
        """A pod comes or goes, or a node changes."""
        waiting = [one for one in self.others if uid(one) not in self.world.pods]
        dice = self.random.random()
        if dice < 0.15:
            self.change_node()
        elif waiting and dice < 0.7:
            one = self.random.choice(waiting)
            self.put(one, one["spec"]["nodeName"])
        elif self.world.pods:
            self.take(self.random.choice(sorted(self.world.pods)))

    def change_node(self) -> None:
        name = self.random.choice(sorted(self.world.nodes))
        labels = {**self.world.nodes[name]["metadata"]["labels"]}
        key = self.random.choice([*neighbours.KEYS, "disk"])
        if self.random.random() < 0.3:
            labels.pop(key, None)
        else:
            labels[key] = self.random.choice(["a", "b", "ssd", "new"])
        taints = [{"key": "dedicated", "effect": "NoSchedule"}] if self.random.random() < 0.3 else []
        changed = {**self.world.nodes[name], "metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}
        self.world.nodes[name] = changed
        self.cluster.node(msgspec.convert(changed, NodeView))


@settings(max_examples=150)
@given(st.integers(0, 1 << 32))
def test_pods_go_where_kubernetes_lets_them_whatever_came_and_went_before(seed: int) -> None:
    both = Both(Random(seed))
    for _ in range(30):
        both.anything()
        if both.random.random() < 0.3:
            both.agree()
    both.agree()


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_a_trial_leaves_nothing_behind(seed: int) -> None:
    both = Both(Random(seed))
    for _ in range(15):
        both.anything()
    before, pods = both.limits(), dict(both.world.pods)
    mark = both.cluster.mark()
    for number in range(6):
        one = both.random.choice(both.asked)
        named = {**one, "metadata": {**one["metadata"], "name": f"trial-{number}"}}
        both.put(named, both.random.choice(sorted(both.world.nodes)))
        both.agree()
    both.cluster.rollback(mark)
    both.world.pods = pods
    assert both.limits() == before
    both.agree()


@settings(max_examples=100)
@given(st.integers(0, 1 << 32))
def test_a_limit_is_never_less_than_what_fits(seed: int) -> None:
    both = Both(Random(seed))
    for _ in range(20):
        both.anything()
    for one in both.asked:
        cls = both.cls(one)
        slot = both.random.randrange(both.cluster.size)
        mark = both.cluster.mark()
        promised = int(both.cluster.capacity(cls)[slot])
        fits = 0
        while fits < 8 and both.cluster.capacity(cls)[slot]:
            both.cluster.put(Placed(f"fit-{fits}", "$", f"fit-{fits}", cls, slot))
            fits += 1
        assert fits <= promised
        both.cluster.rollback(mark)


@settings(max_examples=200)
@given(st.integers(0, 1 << 32))
def test_pods_that_do_not_interact_use_up_their_own_limits_only(seed: int) -> None:
    both = Both(Random(seed))
    for _ in range(20):
        both.anything()
    rules = (both.affinity, both.spread)
    classes = list(dict.fromkeys(both.cls(one) for one in both.random.sample(both.asked, 2)))
    if both.cluster.interacts(classes):
        return
    for number in range(4):
        cls = both.random.choice(classes)
        slots = np.flatnonzero(both.cluster.capacity(cls))
        if not len(slots):
            return
        slot = int(both.random.choice(slots))
        before = {(rule, one): _copy(rule.limit(one)) for rule in rules for one in classes}
        both.cluster.put(Placed(f"new-{number}", "$", f"new-{number}", cls, slot))
        for (rule, one), known in before.items():
            now = rule.limit(one)
            if known is not None:
                if one is cls and known[slot] < PLENTY:
                    known[slot] -= 1
                assert now is not None
                assert now.tolist() == known.tolist()
            elif now is not None:
                assert now.min() == PLENTY


def _copy(limit: Counts | None) -> Counts | None:
    return None if limit is None else limit.copy()


@settings(max_examples=100)
@given(st.integers(0, 1 << 32))
def test_nobody_goes_where_kubernetes_refuses_with_or_without_those_that_are_nominated(seed: int) -> None:
    both = Both(Random(seed))
    for _ in range(15):
        both.anything()
    here = dict(both.world.pods)
    fresh = [one for one in both.others if uid(one) not in here and "deletionTimestamp" not in one["metadata"]][:3]
    without = [both.world.allows(one) for one in both.asked]
    mark = both.cluster.mark()
    for one in fresh:
        both.put(one, one["spec"]["nodeName"], nominated=True)
    for one, alone in zip(both.asked, without, strict=True):
        found = both.allows(one)
        both.world.pods = dict(here)
        assert found <= alone
        for node in found:  # kube-scheduler adds those that are nominated for the node that it looks at
            at = {uid(other): (other, node) for other in fresh if other["spec"]["nodeName"] == node}
            both.world.pods = here | at
            assert node in both.world.allows(one)
        both.world.pods = dict(here)
        if not fresh:
            assert found == alone
    assert [*both.crowds.recount()] == []
    both.cluster.rollback(mark)
    both.agree()

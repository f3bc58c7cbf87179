"""Histories of a PodClique: whatever schedulers, kubelets, users and a bad network do, in the end all is as wanted.

The controller is the real one; the API server behind it is made of memory and may refuse a write, or carry it out and
lose the answer. After each step what must never happen is checked, and at rest what must be.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grove.api import conditions
from grove.kube.errors import KubeError
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.operator import pods
from grove.operator.failures import StepError
from grove.operator.podclique import order, status
from grove.operator.resources import POD_CLIQUE_SETS
from grove.runtime.outcomes import RequeueAfter, Retry
from tests.unit.operator.builders import clique
from tests.unit.operator.podclique.simulated import Fault, Simulated

Step = tuple[Any, ...]

ROUNDS = 60
"""Within so many rounds, each of which moves every pod, everything is at rest."""

NUMBERS = st.integers(0, 7)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("bind"), NUMBERS),
    st.tuples(st.just("ready"), NUMBERS),
    st.tuples(st.just("ready"), NUMBERS),
    st.tuples(st.just("unready"), NUMBERS),
    st.tuples(st.just("crash"), NUMBERS),
    st.tuples(st.just("fail"), NUMBERS),
    st.tuples(st.just("evict"), NUMBERS),
    st.tuples(st.just("vanish"), NUMBERS),
    st.tuples(st.just("scale"), st.integers(0, 5)),
    st.tuples(st.just("template"), st.sampled_from(["a", "b", "c"])),
    st.tuples(st.just("strategy"), st.sampled_from(["RollingRecreate", "RollingRecreate", "OnDelete"])),
    st.tuples(st.just("fault"), st.sampled_from(["", "refused", "lost"])),
    st.tuples(st.just("deliver")),
    st.tuples(st.just("advance")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("wait"), st.sampled_from([0.3, 1.0, 7.0, 700.0])),
)


class History:
    """Plays steps, each followed by a reconcile, as the controller would be woken."""

    def __init__(self, replicas: int, budget: int, *, has_twins: bool = False) -> None:
        self.has_twins = has_twins
        self.found = Simulated(clique(replicas=replicas, least=1, hash="a", rollingUpdate={"maxUnavailable": budget}))
        self.budget = budget

    async def play(self, steps: list[Step]) -> None:
        await self._reconcile()
        for name, *arguments in steps:
            getattr(self, f"_{name}")(*arguments)
            await self._reconcile()

    # What happens

    def _of(self, number: int, fits: Callable[[PodView], bool]) -> str | None:
        names = sorted(one.metadata.name for one in self.found.pods if fits(one))
        return names[number % len(names)] if names else None

    def _bind(self, number: int) -> None:
        if name := self._of(number, lambda one: not one.node_name and one.status.phase == "Pending"):
            self.found.move(name, node="n")

    def _ready(self, number: int) -> None:
        if name := self._of(number, lambda one: bool(one.node_name) and one.status.phase in ("Pending", "Running")):
            self.found.move(name, ready=True)

    def _unready(self, number: int) -> None:
        if name := self._of(number, pods.is_ready):
            self.found.move(name, ready=False)

    def _crash(self, number: int) -> None:
        if name := self._of(number, pods.is_ready):
            self.found.move(name, code=1)

    def _fail(self, number: int) -> None:
        if name := self._of(number, lambda one: one.status.phase in ("Pending", "Running")):
            self.found.move(name, ready=False, phase="Failed")

    def _evict(self, number: int) -> None:
        if name := self._of(number, lambda one: not pods.is_terminating(one)):
            tree = self.found.server.trees[PODS.name, name]
            stamp = conditions.timestamp(self.found.clock.wall())
            marks = {"deletionTimestamp": stamp, "deletionGracePeriodSeconds": 30}
            self.found.server.put(PODS, {**tree, "metadata": {**tree["metadata"], **marks}})

    def _vanish(self, number: int) -> None:
        if name := self._of(number, pods.is_terminating):
            self.found.server.remove(PODS, name)

    def _scale(self, replicas: int) -> None:
        self.found.change(replicas=replicas)

    def _template(self, hash: str) -> None:
        self.found.change(hash=hash)

    def _strategy(self, strategy: str) -> None:
        tree = self.found.server.trees[POD_CLIQUE_SETS.name, "demo"]
        spec = {**tree["spec"], "updateStrategy": {"type": strategy}}
        self.found.server.put(POD_CLIQUE_SETS, {**tree, "spec": spec})

    def _advance(self) -> None:
        """Every pod gets as far as it can."""
        for one in self.found.pods:
            if pods.is_terminating(one):
                self.found.server.remove(PODS, one.metadata.name)
            elif pods.is_active(one) and not pods.is_ready(one):
                self.found.move(one.metadata.name, node="n", ready=True)

    def _fault(self, fault: Fault) -> None:
        self.found.server.faults.append(fault)

    def _deliver(self) -> None:
        self.found.server.deliver()

    def _restart(self) -> None:
        self.found.restart()

    def _wait(self, seconds: float) -> None:
        self.found.clock.seconds += seconds

    # What must never be

    async def _reconcile(self) -> bool:
        """Whether it did and asked for nothing."""
        server = self.found.server
        was_late = server.is_late
        before = {one.metadata.uid: one for one in self.found.pods}
        writes = len(server.writes)
        try:
            outcome = await self.found.reconcile()
        except (StepError, Retry, KubeError):
            return False
        if not was_late and not server.is_late and not self.has_twins:
            self._check_deletions(before)
            self._check_indices()
        assert outcome is None or isinstance(outcome, RequeueAfter)
        return outcome is None and len(server.writes) == writes

    def _check_deletions(self, before: Mapping[str | None, PodView]) -> None:
        held = self.found.clique
        target = (held.metadata.labels or {})["grove.io/pod-template-hash"]
        after = {one.metadata.uid: one for one in self.found.pods if pods.is_active(one)}
        active = [one for one in before.values() if pods.is_active(one)]
        gone = [one for one in active if one.metadata.uid not in after]
        kept = [one for one in active if one.metadata.uid in after]
        if len(active) > held.spec.replicas:
            excess = len(active) - held.spec.replicas
            first = {one.metadata.uid for one in order.first_to_go(active, target)[:excess]}
            assert first <= {one.metadata.uid for one in gone}, "others went than the order says"
            gone = [one for one in gone if one.metadata.uid not in first]
        assert not [one for one in gone if pods.template_hash(one) == target], "a pod of the newest template went"
        if any(map(pods.is_ready, gone)):
            unavailable = held.spec.replicas - sum(map(pods.is_ready, kept))
            assert unavailable <= self.budget, "more pods were taken away than the budget allows"

    def _check_indices(self) -> None:
        """Nobody else makes pods, so no index is there twice."""
        indices = [pods.index_of(one) for one in self.found.pods if pods.is_active(one)]
        assert len(set(indices)) == len(indices)

    # At rest

    async def settle(self) -> None:
        """The network is good again, and every pod is placed and becomes ready."""
        server = self.found.server
        server.faults.clear()
        server.deliver()
        for _ in range(ROUNDS):
            self._advance()
            if await self._reconcile():
                return
            self.found.clock.seconds += 30.0
        raise AssertionError(f"not at rest: {self.found.pods}")

    def check(self) -> None:
        held = self.found.clique
        labels = held.metadata.labels or {}
        target = labels["grove.io/pod-template-hash"]
        found = self.found.pods
        assert all(map(pods.is_active, found)), "what is over or going was left"
        assert len(found) == held.spec.replicas
        assert len({pods.index_of(one) for one in found}) == len(found)
        told = held.status
        assert told is not None
        assert (told.observed_generation, told.last_errors) == (held.metadata.generation, ())
        assert told.replicas == told.ready_replicas == told.scheduled_replicas == len(found)
        updated = [one for one in found if pods.template_hash(one) == target]
        assert told.updated_replicas == len(updated)
        assert told.phase == ("Running" if found else "Pending")
        assert [(one.type, one.status) for one in told.conditions] == [
            (status.SCHEDULED, "True"),
            (status.BREACHED, "False"),
            (status.UPDATING, "False"),
        ]
        progress = told.update_progress
        assert progress is None or progress.update_ended_at is not None
        if len(updated) < len(found):
            assert progress is not None, "old pods were left, and nobody had ended an update"
            assert progress.pod_template_hash == target


@given(replicas=st.integers(0, 5), budget=st.integers(1, 3), steps=st.lists(STEPS, max_size=40))
def test_every_history_ends_well(replicas: int, budget: int, steps: list[Step]) -> None:
    async def scene() -> None:
        history = History(replicas, budget)
        await history.play(steps)
        await history.settle()
        history.check()

    asyncio.run(scene())


@given(
    replicas=st.integers(1, 5),
    budget=st.integers(1, 3),
    steps=st.lists(STEPS, max_size=20),
    unrest=st.lists(STEPS.filter(lambda step: step[0] not in ("scale", "template", "strategy")), max_size=20),
)
def test_a_rolling_update_at_the_end_replaces_every_pod(
    replicas: int, budget: int, steps: list[Step], unrest: list[Step]
) -> None:
    async def scene() -> None:
        history = History(replicas, budget)
        await history.play([*steps, ("strategy", "RollingRecreate"), ("scale", replicas)])
        await history.settle()
        await history.play([("template", "last"), ("advance",), ("template", "very last"), *unrest])
        await history.settle()
        history.check()
        assert {pods.template_hash(one) for one in history.found.pods} == {"very last"}

    asyncio.run(scene())


@given(indices=st.lists(st.integers(0, 4), min_size=1, max_size=8), replicas=st.integers(0, 6))
def test_pods_with_one_index_are_healed_whoever_made_them(indices: list[int], replicas: int) -> None:
    async def scene() -> None:
        history = History(len(set(indices)), 1, has_twins=True)
        found = history.found
        await found.reconcile()
        pattern = found.server.all(PODS)[0] if found.pods else None
        assert pattern is not None
        for number, index in zip(itertools.count(), indices):
            marks = {**pattern["metadata"]["labels"], "grove.io/podclique-pod-index": str(index)}
            metadata = {**pattern["metadata"], "name": f"twin-{number}", "uid": f"twin-{number}", "labels": marks}
            found.server.put(PODS, {**pattern, "metadata": metadata})
        found.change(replicas=replicas)
        await history.settle()
        history.check()

    asyncio.run(scene())

"""Scaling groups, whatever happens to them: members, rollouts and replicas come right, and never at others' cost."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grove.api import labels
from grove.api.kinds.scaling import RollingUpdate
from grove.api.kinds.scalinggroup import PodCliqueScalingGroupStatus
from grove.kube.objects import PodView
from grove.operator import cliquesync, places
from grove.operator.scalinggroup import copies, plan, rollout, status
from grove.operator.scalinggroup.copies import Copy
from grove.operator.scalinggroup.rollout import Rollout, Situation, Turn
from grove.operator.scalinggroup.status import Observation
from grove.operator.tree import TEMPLATE_REPLICAS, CliquePlace, Tree
from grove.operator.views import PodCliqueView
from tests.unit.operator.scalinggroup.builders import (
    OWNER,
    PLACE,
    CliqueStore,
    after,
    clique,
    leader_and_worker,
    pod_clique_set,
    pods,
    scaling_group,
)

ROUNDS = 200

indices = st.sets(st.integers(0, 6))
members = st.sets(st.tuples(st.integers(0, 6), st.sampled_from(["leader", "worker"])))


class Simulation:
    """A scaling group whose members and pods come and go when the test says so."""

    def __init__(self, replicas: int, max_unavailable: int = 1) -> None:
        self.store = CliqueStore()
        self.pods: dict[str, tuple[PodView, ...]] = {}
        self.replicas = replicas
        self.budget = max_unavailable
        self.version = 0
        self.is_turn = True
        self.now = 0.0
        self.status = PodCliqueScalingGroupStatus()

    @property
    def tree(self) -> Tree:
        return Tree(leader_and_worker(image=f"server:v{self.version}"), {})

    def copies(self) -> list[Copy]:
        return copies.look(self.tree, PLACE, self.replicas, self.store.views(), self.pods_of)

    def pods_of(self, view: PodCliqueView) -> tuple[PodView, ...]:
        return self.pods.get(view.metadata.uid or "", ())

    def reconcile(self) -> Rollout:
        """One pass of the controller; what was decided about the copies."""
        self.now += 1
        tree, found = self.tree, self.copies()
        situation = Situation(
            hash=tree.generation_hash,
            known=self.status.current_pod_clique_set_generation_hash,
            held=self.status.update_progress,
            turn=Turn.SELECTED if self.is_turn else Turn.OTHERS,
            on_delete=False,
            pace=RollingUpdate(max_unavailable=self.budget),
            cliques=2,
        )
        decided = rollout.decide(found, situation, after(self.now))
        group = replace(scaling_group(self.replicas), status=self.status)
        seen = Observation(pcs="x", hash=tree.generation_hash, generation=1, copies=found, rollout=decided)
        self.status = status.status(group, seen, after(self.now))
        self.store.apply(self.plan(decided.replace))
        return decided

    def plan(self, leaving: tuple[int, ...] = ()) -> cliquesync.Plan:
        return plan.plan(self.tree, PLACE, self.replicas, self.store.views(), owner=OWNER, leaving=leaving)

    def come_up(self) -> None:
        """What is being deleted vanishes, and all pods are made and become ready."""
        self.store.sweep()
        for view in self.store.views():
            self.pods.setdefault(view.metadata.uid or "", pods(view))

    def settle(self) -> None:
        for _ in range(ROUNDS):
            if not self.reconcile().replace and not self.plan() and all(copy.is_updated for copy in self.copies()):
                return
            self.come_up()
        raise AssertionError("it never comes to rest")

    def indices(self) -> set[int | None]:
        return {places.copy_index(view.metadata) for view in self.store.views() if not cliquesync.is_going(view)}


# Members


@given(held=members, replicas=st.integers(0, 5))
def test_whatever_exists_the_members_come_to_be_those_that_are_wanted(
    held: set[tuple[int, str]], replicas: int
) -> None:
    group = Simulation(replicas)
    group.store = CliqueStore.of(group.tree, [CliquePlace(0, name, "sg", index) for index, name in sorted(held)])
    group.store.apply(group.plan())
    group.store.sweep()
    assert group.store.bodies.keys() == {
        f"x-0-sg-{index}-{name}" for index in range(replicas) for name in ("leader", "worker")
    }
    assert not group.plan()


@given(held=indices, replicas=st.integers(0, 5))
def test_scaling_in_takes_the_highest_copies_and_no_other(held: set[int], replicas: int) -> None:
    group = Simulation(replicas)
    group.store = CliqueStore.of(
        group.tree, [place for index in sorted(held) for place in group.tree.member_places(0, "sg", index)]
    )
    gone = {places.copy_index(view.metadata) for view in group.plan().deletes}
    assert gone == {index for index in held if index >= replicas}


@given(
    changes=st.lists(
        st.sampled_from(
            [
                {"spec": {"minAvailable": 2}},
                {"spec": {"roleName": "else"}},
                {"spec": {"startsAfter": ["x"]}},
                {"spec": {"rollingUpdate": {"maxUnavailable": 3}}},
                {"spec": {"podSpec": {"hostNetwork": True}}},
                {"spec": {"podSpec": {"containers": [{"name": "other", "image": "other"}]}}},
                {"metadata": {"labels": {labels.POD_GANG: "else", "theirs": "1"}}},
                {"metadata": {"labels": {labels.PART_OF: None}}},
                {"metadata": {"annotations": {TEMPLATE_REPLICAS: None, "theirs": "1"}}},
                {"metadata": {"finalizers": ["theirs"]}},
            ]
        )
    )
)
def test_what_drifted_is_as_before_after_one_pass_but_for_what_others_added(changes: list[dict[str, Any]]) -> None:
    group = Simulation(1)
    group.store.apply(group.plan())
    name = "x-0-sg-0-worker"
    before = group.store.view(name)
    for change in changes:
        group.store.patch(name, change)
    group.store.apply(group.plan())
    found = group.store.view(name)
    assert not group.plan()
    assert found.spec == before.spec
    assert (before.metadata.labels or {}).items() <= (found.metadata.labels or {}).items()
    assert (before.metadata.annotations or {}).items() <= (found.metadata.annotations or {}).items()
    assert set(before.metadata.finalizers) <= set(found.metadata.finalizers)
    theirs = [one for one in changes if "theirs" in str(one)]
    assert ("theirs" in str(found.metadata)) is bool(theirs)


# Rollouts


@given(replicas=st.integers(0, 6), budget=st.integers(1, 4), idle=indices)
def test_a_rollout_never_takes_more_copies_than_may_be_missing_and_ends(
    replicas: int, budget: int, idle: set[int]
) -> None:
    group = Simulation(replicas, budget)
    group.settle()
    group.version = 1
    for view in group.store.views():
        if places.copy_index(view.metadata) in idle:
            group.pods[view.metadata.uid or ""] = pods(view, ready=False)
    for _ in range(ROUNDS):
        before = {copy.index for copy in group.copies() if copy.is_available}
        taken = before & set(group.reconcile().replace)
        assert not taken or replicas - len(before) + len(taken) <= budget
        if all(copy.is_updated for copy in group.copies()):
            break
        group.come_up()
    group.settle()
    assert not rollout.is_running(group.status.update_progress)
    assert group.status.current_pod_clique_set_generation_hash == group.tree.generation_hash


@given(
    replicas=st.integers(1, 6), budget=st.integers(1, 3), before=st.integers(0, 4), changes=st.booleans(), idle=indices
)
def test_a_rollout_stands_still_while_it_is_another_replicas_turn(
    replicas: int, budget: int, before: int, changes: bool, idle: set[int]
) -> None:
    group = Simulation(replicas, budget)
    group.settle()
    group.version = 1
    for _ in range(before):
        group.reconcile()
        group.come_up()
    group.is_turn = False
    group.version += changes
    for view in group.store.views():
        if places.copy_index(view.metadata) in idle:
            group.pods[view.metadata.uid or ""] = pods(view, ready=False)
    held = {view.metadata.uid for view in group.store.views()}
    for _ in range(3):
        assert not group.reconcile().replace
        group.come_up()
        assert held <= {view.metadata.uid for view in group.store.views()}
    group.is_turn = True
    group.pods.clear()
    group.settle()


steps = st.lists(
    st.one_of(
        st.tuples(st.just("version"), st.integers(0, 3)),
        st.tuples(st.just("scale"), st.integers(0, 5)),
        st.tuples(st.just("turn"), st.booleans()),
        st.tuples(st.just("reconcile"), st.none()),
        st.tuples(st.just("sweep"), st.none()),
        st.tuples(st.just("ready"), st.integers(0, 9)),
        st.tuples(st.just("break"), st.integers(0, 9)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
    ),
    max_size=40,
)


@given(replicas=st.integers(0, 5), budget=st.integers(1, 3), course=steps)
def test_whatever_happens_a_group_comes_to_rest_with_the_newest_templates(
    replicas: int, budget: int, course: list[tuple[str, Any]]
) -> None:
    group = Simulation(replicas, budget)
    for what, value in course:
        views = group.store.views()
        match what:
            case "version":
                group.version = value
            case "scale":
                group.replicas = value
            case "turn":
                group.is_turn = value
            case "sweep":
                group.store.sweep()
            case "reconcile":
                _reconcile_and_check(group)
            case "ready" | "break" if views:
                view = views[value % len(views)]
                group.pods[view.metadata.uid or ""] = pods(view, ready=what == "ready")
            case "delete" if views:
                group.store.delete(views[value % len(views)].metadata.name)
    group.is_turn = True
    group.pods.clear()
    group.settle()
    assert group.indices() == set(range(group.replicas))
    assert not rollout.is_running(group.status.update_progress)
    assert group.status.current_pod_clique_set_generation_hash == group.tree.generation_hash
    assert not group.plan()


def _reconcile_and_check(group: Simulation) -> None:
    available = {copy.index for copy in group.copies() if copy.is_available}
    before = group.indices()
    decided = group.reconcile()
    taken = available & set(decided.replace)
    assert not taken or group.replicas - len(available) + len(taken) <= group.budget
    assert group.is_turn or not decided.replace
    assert before - group.indices() <= {index for index in before if index not in range(group.replicas)} | set(
        decided.replace
    )


# Replicas

actions = st.lists(
    st.tuples(st.sampled_from(["template", "scale"]), st.integers(1, 6), st.booleans()), min_size=1, max_size=12
)


@given(course=actions, autoscaled=st.booleans())
def test_a_users_scale_is_never_lost_and_a_template_reaches_what_nobody_scaled(
    course: list[tuple[str, int, bool]], autoscaled: bool
) -> None:
    def tree(replicas: int) -> Tree:
        scaling = {"autoScalingConfig": {"maxReplicas": 9}} if autoscaled else {}
        return Tree(pod_clique_set(clique("router", replicas=replicas, **scaling)), {})

    place, name, template = CliquePlace(0, "router"), "x-0-router", 2
    store = CliqueStore.of(tree(template), [place])
    scaled = False  # whether the count is one that somebody chose, other than the template's
    for what, value, follow in course:
        held = store.view(name).spec.replicas
        if what == "scale":
            store.patch(name, {"spec": {"replicas": value}})
            scaled = value != template
            continue
        template = value
        may_follow = functools.partial(_answer, follow)
        store.apply(cliquesync.plan(tree(value), [place], store.views(), owner=OWNER, may_follow_template=may_follow))
        assert store.view(name).spec.replicas == (held if scaled or autoscaled else value)
        scaled = store.view(name).spec.replicas != template


def _answer(follow: bool, _: CliquePlace) -> bool:
    return follow

"""What a PodCliqueSet is made of, its plans, its rollout and its status, over generated sets and courses of events."""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from grove.api import codec, labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus
from grove.kube.objects import PodView
from grove.operator import pods, startup
from grove.operator.podcliqueset import plan, replicas, rollout, status, termination
from grove.operator.podcliqueset.status import Outcome
from grove.operator.podcliqueset.termination import Decision
from grove.operator.tree import CliquePlace, GroupPlace, Tree
from tests.model.strategies import podcliquesets
from tests.unit.operator.podcliqueset.builders import JSON, Stage, at, clique, condition, decoded, group, pcs, pod


def stored(tree: JSON) -> PodCliqueSet:
    tree = {**tree, "metadata": {**tree["metadata"], "uid": "uid", "generation": 1, "resourceVersion": "1"}}
    return decoded(tree)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Sets whose scaling groups somebody has scaled."""
    found = stored(draw(podcliquesets()))
    copies = {
        (replica, one.name): draw(st.integers(0, 5))
        for replica in range(found.spec.replicas)
        for one in found.spec.template.pod_clique_scaling_groups
        if draw(st.booleans())
    }
    return Tree(found, copies)


def all_places(tree: Tree) -> list[CliquePlace]:
    """Where PodCliques are to stand, without a thought for gangs."""
    found = []
    for replica in range(tree.pcs.spec.replicas):
        found += tree.standalone_places(replica)
        for name in tree.groups:
            for copy in range(tree.copies(replica, name)):
                found += tree.member_places(replica, name, copy)
    return found


@given(trees())
def test_every_podclique_is_in_exactly_one_gang_that_there_is(tree: Tree) -> None:
    members = [place for gang in tree.gangs() for place in tree.gang_cliques(gang)]
    assert Counter(members) == Counter(all_places(tree))
    for gang in tree.gangs():
        assert tree.has_gang(gang)
        assert all(tree.gang_of(place) == gang for place in tree.gang_cliques(gang))


@given(trees())
def test_names_are_unique_within_their_kind(tree: Tree) -> None:
    for names in (
        [tree.clique_name(place) for place in all_places(tree)],
        [tree.gang_name(place) for place in tree.gangs()],
        [
            tree.group_name(GroupPlace(replica, name))
            for replica in range(tree.pcs.spec.replicas)
            for name in tree.groups
        ],
    ):
        assert len(names) == len(set(names))
        assert all(len(name) <= 63 for name in names)


@given(trees())
def test_parents_are_in_the_same_gang_and_nobody_waits_in_a_circle(tree: Tree) -> None:
    parents = {place: startup.parents(tree, place) for place in all_places(tree)}
    for place, found in parents.items():
        assert len(found) == len(set(found))
        assert all(tree.gang_of(one) == tree.gang_of(place) for one in found)
        assert not found or place.clique in startup.waits(tree)
    done: set[CliquePlace] = set()
    while len(done) < len(parents):
        free = {place for place, found in parents.items() if place not in done and done.issuperset(found)}
        assert free
        done |= free


@given(podcliquesets())
def test_a_plan_that_is_carried_out_leaves_nothing_to_plan(tree: JSON) -> None:
    stage = Stage(stored(tree))
    stage.settle()
    assert not plan.make(stage.snapshot(), lambda _: True)
    assert not plan.make(stage.snapshot(), lambda _: False)


@given(podcliquesets(), st.integers(0, 3), st.data())
def test_from_any_state_one_plan_leads_to_what_is_wanted(tree: JSON, count: int, data: st.DataObject) -> None:
    stage = Stage(stored(tree))
    stage.settle()
    for store in (stage.cliques, stage.services, stage.autoscalers, stage.roles, stage.role_bindings):
        for name in sorted(store):
            if data.draw(st.booleans()):
                del store[name]
    stage.pcs = stored({**tree, "spec": {**tree["spec"], "replicas": count}})
    stage.apply(plan.make(stage.snapshot(), lambda _: True))
    assert not plan.make(stage.snapshot(), lambda _: True)
    fresh = Stage(stage.pcs)
    fresh.settle()
    for kind in ("cliques", "groups", "services", "autoscalers", "roles", "role_bindings"):
        assert getattr(stage, kind).keys() == getattr(fresh, kind).keys()


# The rollout


class Course:
    """A set over time. The other controllers work as they promise, in the order that the test chooses."""

    def __init__(self, shape: JSON) -> None:
        self.shape = shape
        self.version = 1
        self.count = shape["replicas"]
        self.seconds = 0
        self.stage = Stage(self._pcs(None))
        self.stage.whole()
        self.ever_whole = set(range(self.count))
        self.operator()

    def _pcs(self, held: PodCliqueSetStatus | None) -> PodCliqueSet:
        shape, image = self.shape, f"main:v{self.version}"
        cliques = [clique(name, size, image=image) for name, size in shape["cliques"].items()]
        groups = []
        if shape["copies"]:
            cliques.append(clique("m", shape["members"], image=image))
            groups = [group("g", ["m"], replicas=shape["copies"], minAvailable=shape["least"])]
        return pcs(*cliques, groups=groups, replicas=self.count, status=held)

    # What happens

    def change_template(self) -> None:
        self.version += 1
        self.stage.pcs = self._pcs(self.stage.pcs.status)

    def scale(self, count: int) -> None:
        self.count = count
        self.stage.pcs = self._pcs(self.stage.pcs.status)
        self.ever_whole &= set(range(count))

    def operator(self) -> None:
        """One reconcile of the set: first the status, then the children."""
        self.seconds += 1
        stage = self.stage
        held, hash = stage.pcs.status or PodCliqueSetStatus(), stage.tree.generation_hash
        snapshot = stage.snapshot()
        standing = [replicas.standing(snapshot, one, Decision()) for one in range(self.count)]
        progress = rollout.progressed(stage.pcs.spec, stage.pcs.status, hash, standing, at(self.seconds))
        held = replace(held, current_generation_hash=hash, update_progress=progress)
        stage.pcs = replace(stage.pcs, status=held)
        stage.apply(plan.make(stage.snapshot(), lambda one: rollout.may_follow(stage.pcs.spec, held, one)))
        stage.make_members()
        self._forget_pods()

    def cliques(self) -> None:
        """Each PodClique replaces one old pod if none is missing, and makes those that are."""
        for name, one in (*self.stage.cliques.items(), *self.stage.members.items()):
            found = self.stage.pods.setdefault(name, [])
            hash = one["metadata"]["labels"][labels.POD_TEMPLATE_HASH]
            old = [held for held in found if pods.template_hash(held) != hash]
            size = one["spec"]["replicas"]
            idle = [held for held in old if not pods.is_ready(held)]
            if idle:
                found.remove(idle[0])
            elif old and sum(map(pods.is_ready, found)) == size:
                found.remove(old[0])
            elif len(found) < size:
                self.seconds += 1
                made = pod(one, self.seconds, hash, ready=False)
                found.append(made)

    def groups(self) -> None:
        """Each scaling group whose turn it is replaces one old copy if all are available."""
        stage, tree = self.stage, self.stage.tree
        held = stage.pcs.status or PodCliqueSetStatus()
        if held.current_generation_hash != tree.generation_hash:
            return
        for replica in range(self.count):
            if not tree.groups or not rollout.may_follow(stage.pcs.spec, held, replica):
                continue
            size = self.shape["copies"]
            copies = [tree.clique_name(CliquePlace(replica, "m", "g", copy)) for copy in range(size)]
            ready = {name for name in copies if self._is_ready(name)}
            old = [name for name in copies if self._hash(name) not in ("", tree.template_hashes["m"])]
            for name in [one for one in old if one not in ready] or (old[:1] if len(ready) == size else []):
                del stage.members[name]
                stage.pods.pop(name, None)
        stage.make_members()

    def nodes(self) -> None:
        """All pods become ready, and the statuses say so."""
        for name, found in self.stage.pods.items():
            one = self.stage.cliques.get(name) or self.stage.members[name]
            self.stage.pods[name] = [
                pod(one, int(held.metadata.name.rsplit("-", 2)[-2]), pods.template_hash(held)) for held in found
            ]
            if found:
                self.stage.tell(name, ready=len(found))
        snapshot = self.stage.snapshot()
        for replica in range(self.count):
            if replicas.standing(snapshot, replica, Decision()).is_available:
                self.ever_whole.add(replica)
                for _, held in snapshot.scaling_groups(replica):
                    if held is not None:
                        said = {"conditions": [condition("MinAvailableBreached", "False", 100)]}
                        self.stage.groups[held.metadata.name]["status"] = said

    # What is so

    def broken(self) -> set[int]:
        """Replicas that were whole once, and are not now."""
        snapshot = self.stage.snapshot()
        standing = [replicas.standing(snapshot, one, Decision()) for one in sorted(self.ever_whole)]
        return {one.index for one in standing if not one.is_available}

    def is_over(self) -> bool:
        snapshot = self.stage.snapshot()
        standing = [replicas.standing(snapshot, one, Decision()) for one in range(self.count)]
        return not rollout.is_running(self.stage.pcs.status) and all(one.is_done for one in standing)

    def _is_ready(self, name: str) -> bool:
        found = self.stage.pods.get(name, [])
        return len(found) == self.shape["members"] and all(map(pods.is_ready, found))

    def _hash(self, name: str) -> str:
        found = self.stage.members.get(name)
        return found["metadata"]["labels"][labels.POD_TEMPLATE_HASH] if found else ""

    def _forget_pods(self) -> None:
        names = self.stage.cliques.keys() | self.stage.members.keys()
        self.stage.pods = {name: found for name, found in self.stage.pods.items() if name in names}


shapes = st.fixed_dictionaries(
    {
        "replicas": st.integers(1, 3),
        "cliques": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 2), max_size=2),
        "copies": st.integers(1, 3),
        "members": st.integers(1, 2),
        "least": st.just(1),
    }
) | st.fixed_dictionaries(
    {
        "replicas": st.integers(1, 3),
        "cliques": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 2), min_size=1, max_size=2),
        "copies": st.just(0),
    }
)
events = st.lists(
    st.sampled_from(["operator", "operator", "cliques", "cliques", "groups", "groups", "nodes", "template", "scale"]),
    max_size=60,
)


@settings(max_examples=60)
@given(shapes, events, st.data())
def test_a_rollout_disrupts_one_replica_at_a_time_and_always_ends(
    shape: JSON, happens: list[str], data: st.DataObject
) -> None:
    course = Course(shape)
    course.change_template()
    for event in happens:
        if event == "template":
            course.change_template()
        elif event == "scale":
            course.scale(data.draw(st.integers(1, 4)))
        else:
            getattr(course, event)()
        assert len(course.broken()) <= 1
    for _ in range(200):
        if course.is_over():
            break
        for event in data.draw(st.permutations(["operator", "cliques", "groups", "nodes"])):
            getattr(course, event)()
            assert len(course.broken()) <= 1
    course.operator()
    assert course.is_over()
    assert not plan.make(course.stage.snapshot(), lambda _: True)


def test_what_was_taken_apart_is_put_together_first_when_the_template_changes_again() -> None:
    course = Course({"replicas": 3, "cliques": {"a": 1}, "copies": 0})
    course.change_template()
    while rollout.selected(course.stage.pcs.status) != 1 or not course.broken():
        for event in ("nodes", "operator", "cliques"):
            getattr(course, event)()
    course.change_template()
    for _ in range(4):
        for event in ("operator", "cliques", "operator", "cliques"):
            getattr(course, event)()
            assert course.broken() == {1}


# The status


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    """Sets of which some parts are missing and others are not ready."""
    stage = Stage(stored(draw(podcliquesets()))).whole()
    for name in sorted(stage.cliques | stage.members):
        fate = draw(st.sampled_from(["well", "well", "well", "unready", "old", "mute", "gone"]))
        store = stage.cliques if name in stage.cliques else stage.members
        if fate == "gone":
            del store[name]
        elif fate == "mute":
            store[name].pop("status")
        elif fate == "old":
            stage.pods[name] = [pod(store[name], index, "older") for index, _ in enumerate(stage.pods[name])]
        elif fate == "unready":
            stage.fill(name, ready=False)
    for name in sorted(stage.groups):
        if draw(st.integers(0, 3)) == 0:
            stage.groups[name]["status"] = {"availableReplicas": 0}
    return stage


@given(stages())
def test_the_status_agrees_with_a_recount(stage: Stage) -> None:
    tree = stage.tree
    available = updated = 0
    for replica in range(tree.pcs.spec.replicas):
        alone = [stage.cliques.get(tree.clique_name(place)) for place in tree.standalone_places(replica)]
        groups = [stage.groups[tree.group_name(GroupPlace(replica, name))] for name in tree.groups]
        copies = {
            name: [
                [stage.members.get(tree.clique_name(place)) for place in tree.member_places(replica, name, copy)]
                for copy in range(tree.copies(replica, name))
            ]
            for name in tree.groups
        }
        is_updated = (
            all(_follows(stage, one) and _serves(stage, one) for one in alone)
            and all(_follows(stage, one) for found in copies.values() for copy in found for one in copy)
            and all(
                sum(all(_serves(stage, one) for one in copy) for copy in copies[name]) >= config.min_available
                for name, config in tree.groups.items()
            )
        )
        updated += is_updated
        available += is_updated or (
            all(
                one is not None and one.get("status", {}).get("readyReplicas", 0) >= one["spec"]["minAvailable"]
                for one in alone
            )
            and all(one["status"]["availableReplicas"] >= one["spec"]["minAvailable"] for one in groups)
        )
    found = status.summary(
        stage.snapshot(),
        PodCliqueSetStatus(),
        Outcome(is_complete=True),
        termination.decide(stage.snapshot(), at(0)),
        topology_enabled=True,
        now=at(0),
    )
    assert (found.available_replicas, found.updated_replicas) == (available, updated)
    assert found.replicas == tree.pcs.spec.replicas
    assert msgspec.json.decode(codec.encode_json(found), type=PodCliqueSetStatus) == found


def _follows(stage: Stage, one: JSON | None) -> bool:
    hash = None if one is None else one["metadata"]["labels"][labels.POD_TEMPLATE_HASH]
    return one is not None and all(pods.template_hash(found) == hash for found in _pods(stage, one))


def _serves(stage: Stage, one: JSON | None) -> bool:
    return one is not None and sum(map(pods.is_ready, _pods(stage, one))) >= one["spec"]["minAvailable"]


def _pods(stage: Stage, one: JSON) -> list[PodView]:
    return stage.pods.get(one["metadata"]["name"], [])

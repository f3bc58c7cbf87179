"""PodGangs of any set: each pod in one gang, nothing written twice, nothing of others lost, statuses that can be
counted again."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grove.api import admission, codec, conditions, labels, statuses
from grove.api.kinds.meta import Condition
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang, PodGangStatus
from grove.operator import places, pods
from grove.operator.podgang import members, plan, status
from grove.operator.topology import levels
from grove.operator.tree import Copies, GangPlace
from tests.model.strategies import DOMAINS, JSON, POLICY, podcliquesets
from tests.unit.operator.podgang.builders import Cluster, patched, pod, stored

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
MADE = "2026-01-02T03:04:00Z"
maps = st.dictionaries(st.sampled_from(["app", "team", "x.io/y", "grove.io/custom"]), st.sampled_from("ab"), max_size=3)


@st.composite
def copies(draw: st.DrawFn, pcs: PodCliqueSet) -> Copies:
    """How often users have scaled the groups."""
    return {
        (replica, group.name): draw(st.integers(0, 5))
        for replica in range(pcs.spec.replicas)
        for group in pcs.spec.template.pod_clique_scaling_groups
        if draw(st.booleans())
    }


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """A set with some of its PodCliques and pods, the pods in any state."""
    tree = draw(podcliquesets())
    pcs = codec.decode(admission.review(tree, POLICY).admitted, PodCliqueSet)
    metadata = replace(pcs.metadata, namespace="ns", uid="set-uid")
    cluster = Cluster(replace(pcs, metadata=metadata), draw(copies(pcs)))
    for name in list(cluster.cliques):
        fate = draw(st.integers(0, 5))
        if fate == 0:
            del cluster.cliques[name]
        elif fate < 3:
            found = st.lists(pod_states(), max_size=4)
            cluster.pods[name] = [pod(f"{name}-{n}", **state) for n, state in enumerate(draw(found))]
    return cluster


def pod_states() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "gang": st.sampled_from(["set-0", "another"]),
            "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
            "restart": st.sampled_from(["Always", "Never"]),
            "node": st.sampled_from(["", "n1"]),
            "ready": st.booleans(),
            "metadata": st.sampled_from([{}, {"deletionTimestamp": MADE}]),
        }
    )


keys = st.dictionaries(st.sampled_from(DOMAINS), st.sampled_from(["example.com/a", "example.com/b"]))


def first(cluster: Cluster, place: GangPlace, known: levels.Keys) -> PodGang:
    return stored(plan.creation(cluster.tree, place, cluster.wanted(place, known)))


@given(clusters())
def test_each_active_pod_is_referenced_once(cluster: Cluster) -> None:
    referenced = Counter(
        reference.name
        for place in cluster.tree.gangs()
        for group in cluster.wanted(place).spec.podgroups
        for reference in group.pod_references
    )
    there = [one for name, found in cluster.pods.items() if name in cluster.cliques for one in found]
    assert referenced == Counter(one.metadata.name for one in there if pods.is_active(one))


@given(clusters())
def test_pods_stand_sorted_in_the_group_of_their_clique(cluster: Cluster) -> None:
    for place in cluster.tree.gangs():
        for group in cluster.wanted(place).spec.podgroups:
            found = [reference.name for reference in group.pod_references]
            assert found == sorted(found)
            assert set(found) <= {one.metadata.name for one in cluster.pods[group.name]}


@given(clusters())
def test_a_gang_is_whole_if_no_pod_of_it_is_missing(cluster: Cluster) -> None:
    for place in cluster.tree.gangs():
        found = {group.name: len(group.pod_references) for group in cluster.wanted(place).spec.podgroups}
        enough = all(
            name in cluster.cliques and number >= cluster.cliques[name].spec.replicas for name, number in found.items()
        )
        assert members.is_whole(cluster.members(place)) == enough


@given(clusters(), keys, keys, st.data())
def test_what_was_written_is_not_written_again(
    cluster: Cluster, known: levels.Keys, later: levels.Keys, data: st.DataObject
) -> None:
    for place in cluster.tree.gangs():
        held = first(cluster, place, known)
        assert plan.change(held, cluster.wanted(place, known)) is None
        for group in data.draw(st.lists(st.sampled_from(sorted(cluster.pods)), max_size=2)):
            cluster.pods[group] = cluster.pods[group][1:]
        change = plan.change(held, cluster.wanted(place, later))
        if change is not None:
            after = patched(held, change.patch)
            assert plan.change(after, cluster.wanted(place, later)) is None
            assert after.spec == cluster.wanted(place, later).spec


@given(clusters(), maps, maps, maps, maps)
def test_labels_and_annotations_of_others_survive(
    cluster: Cluster, theirs: JSON, notes: JSON, before: JSON, after: JSON
) -> None:
    """Whatever the set's own labels become; where both write a key, the set's is what counts."""
    pcs = cluster.tree.pcs

    def of(own: JSON) -> Cluster:
        return Cluster(replace(pcs, metadata=replace(pcs.metadata, labels=own, annotations=own)))

    for place in of(before).tree.gangs():
        held = first(of(before), place, {})
        added = {"labels": _without(theirs, before), "annotations": _without(notes, before)}
        held = patched(held, {"metadata": added})
        change = plan.change(held, of(after).wanted(place))
        written = held if change is None else patched(held, change.patch)
        wanted = of(after).wanted(place)
        assert written.metadata.labels == {**added["labels"], **wanted.labels}
        assert (written.metadata.annotations or {}) == {**added["annotations"], **wanted.annotations}


def _without(found: JSON, other: JSON) -> JSON:
    return {key: value for key, value in found.items() if key not in other}


def conditions_of_others() -> st.SearchStrategy[list[Condition]]:
    def made(type: str, state: Any) -> Condition:
        return Condition(type=type, status=state, reason="Theirs", message="", last_transition_time=MADE)

    types = st.sampled_from(["Unhealthy", "DisruptionTarget", "Scheduled", "Ready", "example.com/Other"])
    return st.lists(
        st.builds(made, types, st.sampled_from(["True", "False", "Unknown"])), unique_by=lambda one: one.type
    )


@given(conditions_of_others(), st.booleans(), st.sampled_from(["Pending", "Running", "Odd"]))
def test_conditions_of_others_survive(found: list[Condition], whole: bool, phase: str) -> None:
    held = PodGangStatus(phase=phase, conditions=tuple(found), placement_score=0.25)
    wanted = status.wanted(held, whole, None, NOW)
    assert wanted.conditions[:-1] == held.conditions
    assert (wanted.phase, wanted.placement_score) == (phase, 0.25)


@given(clusters(), st.lists(st.booleans(), min_size=1, max_size=4))
def test_statuses_agree_with_a_recount(cluster: Cluster, wholes: list[bool]) -> None:
    for place in cluster.tree.gangs():
        found = None
        for whole in wholes:
            found = status.wanted(found, whole, status.count(cluster.members(place)), NOW)
            assert statuses.patch(found, status.wanted(found, whole, status.count(cluster.members(place)), NOW)) is None
        assert found is not None
        assert status.is_initialized(found) == any(wholes)
        groups = cluster.wanted(place).spec.podgroups
        by_name = {one.metadata.name: one for one in cluster.all_pods()}
        placed = all(
            sum(1 for one in group.pod_references if by_name[one.name].node_name) >= group.min_replicas
            for group in groups
        )
        assert conditions.is_true(found.conditions, "Scheduled") == placed
        assert (found.phase != "Pending") == placed
        assert (found.phase == "Running") == conditions.is_true(found.conditions, "Ready")


@given(clusters(), keys)
def test_label_values_are_valid_and_lead_back_to_the_place(cluster: Cluster, known: levels.Keys) -> None:
    for place in cluster.tree.gangs():
        held = first(cluster, place, known)
        assert places.gang_of(cluster.tree, held.metadata) == place
        assert all(len(value) <= 63 for key, value in (held.metadata.labels or {}).items() if labels.is_groves(key))

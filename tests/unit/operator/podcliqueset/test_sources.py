"""Which changes bring a set's controller to work."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec.structs import replace

from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus, ReplicaUpdate, UpdateProgress
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodView
from grove.kube.store import Change
from grove.operator.podcliqueset import sources
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World
from tests.unit.operator.podcliqueset.builders import JSON, Stage, clique, condition, group, pcs, pod, read

DEMO = Key("default", "demo")


class Sets:
    """As much of a world as the mappings ask for."""

    def __init__(self, *sets: PodCliqueSet) -> None:
        self.sets = self
        self._sets = sets

    def get(self, name: str, namespace: str) -> PodCliqueSet | None:
        return next(
            (one for one in self._sets if (one.metadata.namespace, one.metadata.name) == (namespace, name)), None
        )

    def __iter__(self) -> Any:
        return iter(self._sets)


def world(*sets: PodCliqueSet) -> World:
    return cast(World, Sets(*sets))


def whole() -> Stage:
    return Stage(pcs(clique("a", 2, minAvailable=1), clique("b"), groups=[group("g", ["b"])])).whole()


def cliques(old: JSON | None, new: JSON | None) -> list[Key]:
    views = [None if one is None else read(one, PodCliqueView) for one in (old, new)]
    return list(sources._when(sources._of_clique)(Change(*views)))


def changed(obj: JSON, **status: Any) -> JSON:
    found: JSON = msgspec.json.decode(msgspec.json.encode(obj))
    found["status"] |= status
    return found


def test_a_set_concerns_itself_unless_only_its_status_changed() -> None:
    held = pcs(clique("a"))
    assert list(sources._of_set(Change(None, held))) == [DEMO]
    assert list(sources._of_set(Change(held, None))) == [DEMO]
    assert list(sources._of_set(Change(held, replace(held, status=PodCliqueSetStatus(replicas=1))))) == []
    triggered = replace(held.metadata, annotations={"grove.io/reconcile-trigger": "1"})
    assert list(sources._of_set(Change(held, replace(held, metadata=triggered)))) == [DEMO]


def test_counts_of_a_podclique_matter_where_they_reach_its_minimum() -> None:
    held = whole().cliques["demo-0-a"]
    assert cliques(None, held) == []
    assert cliques(held, None) == [DEMO]
    assert cliques(held, changed(held, readyReplicas=1)) == []
    assert cliques(held, changed(held, readyReplicas=0)) == [DEMO]
    assert cliques(held, changed(held, currentPodTemplateHash="other")) == [DEMO]
    assert cliques(held, changed(held, conditions=[condition("MinAvailableBreached", "True", 5)])) == [DEMO]


def test_what_somebody_does_to_a_child_is_looked_at() -> None:
    held = whole().cliques["demo-0-a"]
    for field in ("labels", "annotations"):
        other = changed(held)
        other["metadata"][field] = {**held["metadata"].get(field, {}), "theirs": "new"}
        assert cliques(held, other) == [DEMO]
    taken = changed(held)
    del taken["metadata"]["labels"]["app.kubernetes.io/part-of"]
    assert cliques(held, taken) == [DEMO]


def test_members_of_scaling_groups_are_told_of_by_their_group() -> None:
    stage = whole()
    held = stage.members["demo-0-g-0-b"]
    assert cliques(held, changed(held, readyReplicas=0)) == []
    assert cliques(held, changed(held, currentPodTemplateHash="other")) == [DEMO]
    assert cliques(held, None) == [DEMO]
    one = read(stage.groups["demo-0-g"], PodCliqueScalingGroup)
    two = read(changed(stage.groups["demo-0-g"], availableReplicas=0), PodCliqueScalingGroup)
    keys = sources._when(sources._of_group)
    assert list(keys(Change(one, two))) == [DEMO]
    assert list(keys(Change(one, one))) == []


def test_gangs_matter_by_their_phase_and_conditions() -> None:
    def gang(phase: str, score: float) -> PodGang:
        body: JSON = {
            "metadata": {"name": "demo-0", "namespace": "default", "labels": {"app.kubernetes.io/part-of": "demo"}},
            "spec": {"podgroups": []},
            "status": {"phase": phase, "placementScore": score},
        }
        return cast(PodGang, read(body, PodGang))

    keys = sources._when(sources._of_gang)
    assert list(keys(Change(gang("Pending", 0.5), gang("Running", 0.5)))) == [DEMO]
    assert list(keys(Change(gang("Running", 0.5), gang("Running", 1.0)))) == []


def test_pods_matter_in_the_replica_that_is_updated() -> None:
    stage = whole()
    progress = UpdateProgress(currently_updating=(ReplicaUpdate(replica_index=0),))
    updating = replace(stage.pcs, status=PodCliqueSetStatus(update_progress=progress))
    elsewhere = replace(progress, currently_updating=(ReplicaUpdate(replica_index=1),))
    held = stage.cliques["demo-0-a"]
    ready, unready = pod(held, 0, "h"), pod(held, 0, "h", ready=False)

    def keys(pcs: PodCliqueSet, old: PodView | None, new: PodView | None) -> list[Key]:
        return list(sources._of_pod(world(pcs), Change(old, new)))

    assert keys(updating, unready, ready) == [DEMO]
    assert keys(updating, ready, None) == [DEMO]
    assert keys(updating, ready, ready) == []
    assert keys(stage.pcs, unready, ready) == []
    assert keys(replace(stage.pcs, status=PodCliqueSetStatus(update_progress=elsewhere)), unready, ready) == []


def test_a_topology_concerns_the_sets_that_name_it() -> None:
    named = pcs(clique("a"), topologyConstraint={"topologyName": "t", "pack": {"required": "rack"}})
    other = pcs(clique("a"), name="other")

    def binding(*domains: str) -> ClusterTopologyBinding:
        levels = [{"domain": one, "key": f"example.com/{one}"} for one in domains]
        return cast(
            ClusterTopologyBinding,
            read({"metadata": {"name": "t"}, "spec": {"levels": levels}}, ClusterTopologyBinding),
        )

    def keys(old: ClusterTopologyBinding | None, new: ClusterTopologyBinding | None) -> list[Key]:
        return list(sources._of_topology(world(named, other), Change(old, new)))

    assert keys(None, binding("rack")) == [DEMO]
    assert keys(binding("rack"), binding("rack", "host")) == [DEMO]
    assert keys(binding("rack"), binding("rack")) == []
    assert keys(binding("rack"), None) == [DEMO]

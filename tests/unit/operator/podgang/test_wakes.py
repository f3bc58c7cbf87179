"""Which changes wake which gangs: those that matter, and nobody else."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from grove.api import codec, labels
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.kube.store import Change
from grove.operator.podgang.wakes import Wakes, sources
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS, SCALING_GROUPS
from grove.operator.tree import GroupPlace
from grove.operator.views import PodCliqueView
from grove.operator.world import Key
from grove.testing import virtualtime
from grove.testing.virtualtime import VirtualClock
from tests.unit.operator.podgang.builders import MADE, Cluster, clique, pcs, pod, with_metadata
from tests.unit.operator.podgang.stage import Stage, owned

PACKED = {"topologyConstraint": {"topologyName": "t", "pack": {"required": "zone"}}}
GROUP = {"name": "g", "cliqueNames": ["b"], "replicas": 3}
ALL = ["set-0", "set-0-g-0", "set-0-g-1"]


class Woken(Stage):
    """A set whose gangs are written, its scaling group, and who is woken by a change."""

    def __init__(self, clock: VirtualClock, policy: Policy | None = None) -> None:
        super().__init__(clock, policy)
        self.wakes = Wakes(self.world, self.backends)
        self.cluster = Cluster(pcs([clique("a", 2), clique("b")], [GROUP], template=PACKED))

    async def begin(self) -> None:
        self.show(self.cluster)
        for name in ALL:
            await self.reconcile(Key("ns", name))

    @property
    def group(self) -> PodCliqueScalingGroup:
        tree = self.cluster.tree
        place = GroupPlace(0, "g")
        metadata = {
            "name": "set-0-g",
            "namespace": "ns",
            "uid": "group-uid",
            "labels": tree.group_labels(place),
        }
        body = codec.decode({"metadata": metadata, "spec": tree.group_spec(place)}, PodCliqueScalingGroup)
        return codec.decode(owned(body, tree.pcs), PodCliqueScalingGroup)


def play(act: Callable[[Woken], Coroutine[Any, Any, None]], policy: Policy | None = None) -> None:
    async def main(clock: VirtualClock) -> None:
        stage = Woken(clock, policy)
        await stage.begin()
        await act(stage)

    virtualtime.run(main)


def names(keys: Iterable[Key]) -> list[str]:
    found = set(keys)
    assert {key.namespace for key in found} <= {"ns"}
    return sorted(key.name for key in found)


def test_a_pod_wakes_its_gang_when_it_comes_goes_or_is_lost() -> None:
    async def act(stage: Woken) -> None:
        one = pod("p")
        going = with_metadata(one, deletionTimestamp=MADE)
        lost = pod("p", phase="Failed")
        for change in ((None, one), (one, None), (one, going), (one, lost)):
            assert names(stage.wakes.of_pod(Change(*change))) == ["set-0"]

    play(act)


def test_pods_of_a_gang_that_is_not_written_wake_it_when_no_podclique_is_known_to_lack_others() -> None:
    async def act(stage: Woken) -> None:
        stage.take(POD_GANGS, "set-0")
        for name in ("set-0-a-p0", "set-0-a-p1", "set-0-g-0-b-p0"):
            stage.take(PODS, name)

        def made(name: str, clique: str) -> list[str]:
            found = stage.put(PODS, owned(pod(name), stage.cluster.cliques[clique]), PodView)
            return names(stage.wakes.of_pod(Change(None, found)))

        assert made("a1", "set-0-a") == [], "another one is missing"
        assert made("b1", "set-0-g-0-b") == [], "its own PodClique is whole, another is not"
        assert made("a2", "set-0-a") == ["set-0"]
        stage.take(PODS, "a1")
        assert made("b2", "set-0-g-0-b") == ["set-0"], "nobody has looked at that one again"

    play(act)


def test_a_podclique_that_is_scaled_or_goes_keeps_no_gang_from_being_woken() -> None:
    async def act(stage: Woken) -> None:
        stage.take(POD_GANGS, "set-0")
        stage.take(PODS, "set-0-a-p1")
        lacking = stage.world.cliques.get("set-0-a", "ns")
        assert lacking is not None
        first, other = stage.world.pods.get("set-0-a-p0", "ns"), stage.world.pods.get("set-0-g-0-b-p0", "ns")
        for change in (
            Change(lacking, replace(lacking, spec=replace(lacking.spec, replicas=1))),
            Change(lacking, None),
        ):
            assert names(stage.wakes.of_pod(Change(None, first))) == []
            assert names(stage.wakes.of_pod(Change(None, other))) == []
            assert names(stage.wakes.of_clique(change)) == ["set-0"]
            assert names(stage.wakes.of_pod(Change(None, other))) == ["set-0"]
        assert names(stage.wakes.of_pod(Change(None, first))) == []
        await stage.reconcile(Key("ns", "set-0"))
        assert names(stage.wakes.of_gang(Change(None, stage.gang))) == ["set-0"]
        assert names(stage.wakes.of_pod(Change(None, other))) == ["set-0"]

    play(act)


def test_a_pod_that_starts_wakes_its_gang_only_where_the_operator_reports_it() -> None:
    one, bound = pod("p"), pod("p", node="n")
    ready = pod("p", node="n", phase="Running", ready=True)

    def woken(stage: Woken, old: PodView, new: PodView) -> list[str]:
        return names(stage.wakes.of_pod(Change(old, new)))

    async def quiet(stage: Woken) -> None:
        assert woken(stage, one, bound) == woken(stage, bound, ready) == []

    async def reported(stage: Woken) -> None:
        assert woken(stage, one, bound) == woken(stage, bound, ready) == ["set-0"]
        assert woken(stage, bound, with_metadata(bound, annotations={"x": "y"})) == []

    play(quiet)
    play(reported, Policy(default_scheduler="default-scheduler"))


def test_a_stray_pod_wakes_the_gang_of_its_podclique_too() -> None:
    async def act(stage: Woken) -> None:
        stray = with_metadata(
            pod("p", gang="another"),
            ownerReferences=owned(pod("p"), stage.cluster.cliques["set-0-a"])["metadata"]["ownerReferences"],
        )
        assert names(stage.wakes.of_pod(Change(None, stray))) == ["another", "set-0"]

    play(act)


def test_a_podclique_wakes_its_gang_when_its_size_its_labels_or_its_existence_change() -> None:
    async def act(stage: Woken) -> None:
        def woken(old: PodCliqueView | None, new: PodCliqueView | None) -> list[str]:
            return names(stage.wakes.of_clique(Change(old, new)))

        held = stage.world.cliques.get("set-0-g-2-b", "ns")
        assert held is not None
        assert woken(None, held) == woken(held, None) == ["set-0-g-1"]
        assert woken(held, with_metadata(held, deletionTimestamp=MADE)) == ["set-0-g-1"]
        moved = with_metadata(held, labels={labels.POD_GANG: "set-0"})
        assert woken(held, moved) == ["set-0", "set-0-g-1"]
        assert woken(held, with_metadata(held, annotations={"x": "y"})) == []

    play(act)


def test_a_scaling_group_wakes_the_gangs_of_its_copies_and_the_base_gang() -> None:
    async def act(stage: Woken) -> None:
        group = stage.put(SCALING_GROUPS, stage.group, PodCliqueScalingGroup)
        for name in ("set-0-g-0-b", "set-0-g-1-b"):
            member = owned(stage.cluster.cliques[name], group)
            stage.put(POD_CLIQUES, member, PodCliqueView)
        assert names(stage.wakes.of_group(Change(None, group))) == ALL
        tree = codec.encode(group)
        scaled = codec.decode(tree | {"spec": {**tree["spec"], "replicas": 1}}, PodCliqueScalingGroup)
        assert names(stage.wakes.of_group(Change(group, scaled))) == ALL
        assert names(stage.wakes.of_group(Change(group, with_metadata(group, annotations={"x": "y"})))) == []
        stage.take(POD_GANGS, "set-0-g-1")
        assert names(stage.wakes.of_group(Change(group, None))) == ["set-0", "set-0-g-0"]

    play(act)


def test_a_gang_wakes_itself_but_not_when_its_scheduler_reports() -> None:
    async def act(stage: Woken) -> None:
        held = stage.gang
        assert held is not None

        def woken(new: PodGang | None) -> list[str]:
            return names(stage.wakes.of_gang(Change(held, new)))

        tree = codec.encode(held)
        running = codec.decode(tree | {"status": {"phase": "Running"}}, PodGang)
        assert woken(running) == []
        assert woken(None) == ["set-0"]
        assert woken(with_metadata(held, labels=None)) == ["set-0"]
        assert woken(with_metadata(held, generation=2)) == ["set-0"]
        since = {"reason": "", "message": "", "lastTransitionTime": MADE}
        whole = {"type": "Initialized", "status": "True", **since}
        said = codec.decode(tree | {"status": {"phase": "Pending", "conditions": [whole]}}, PodGang)
        assert woken(said) == ["set-0"]

    play(act)


def test_a_set_wakes_all_its_gangs_when_its_spec_or_labels_change() -> None:
    async def act(stage: Woken) -> None:
        held = stage.cluster.tree.pcs

        def woken(new: PodCliqueSet | None) -> list[str]:
            return names(stage.wakes.of_set(Change(held, new)))

        assert names(stage.wakes.of_set(Change(None, held))) == ALL
        assert woken(with_metadata(held, generation=2)) == ALL
        assert woken(with_metadata(held, labels={"x": "y"})) == ALL
        assert woken(with_metadata(held, annotations={"x": "y"})) == ALL
        assert woken(held) == []
        assert woken(None) == []

    play(act)


def test_gangs_that_are_not_written_yet_are_woken_by_their_podcliques() -> None:
    async def act(stage: Woken) -> None:
        for name in ALL:
            stage.take(POD_GANGS, name)
        assert names(stage.wakes.of_set(Change(None, stage.cluster.tree.pcs))) == ALL

    play(act)


@pytest.mark.parametrize(("name", "expected"), [("t", ALL), ("other", [])])
def test_a_topology_wakes_the_gangs_of_the_sets_that_name_it(name: str, expected: list[str]) -> None:
    def binding(key: str) -> ClusterTopologyBinding:
        spec = {"levels": [{"domain": "zone", "key": key}]}
        return codec.decode({"metadata": {"name": name}, "spec": spec}, ClusterTopologyBinding)

    async def act(stage: Woken) -> None:
        assert names(stage.wakes.of_topology(Change(None, binding("a")))) == expected
        assert names(stage.wakes.of_topology(Change(binding("a"), binding("b")))) == expected
        assert names(stage.wakes.of_topology(Change(binding("a"), None))) == expected
        assert names(stage.wakes.of_topology(Change(binding("a"), binding("a")))) == []

    play(act)


def test_every_cache_that_gangs_are_made_from_is_followed() -> None:
    async def act(stage: Woken) -> None:
        followed = [repr(one) for one in sources(stage.world, stage.backends)]
        assert len(followed) == 6
        assert all(
            any(resource.name in one for one in followed)
            for resource in (POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS, POD_GANGS)
        )

    play(act)

"""A PodGang while pods come and go, its controller is restarted, and writes fail: it is never told bit by bit, and in
the end it says what is there."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grove.api import codec, conditions, labels
from grove.api.kinds.podgang import PodGang
from grove.api.policy import Policy
from grove.kube.errors import Conflict, Unavailable
from grove.kube.objects import PodView
from grove.kube.resources import PODS, Resource
from grove.operator.failures import StepError
from grove.operator.podgang import status
from grove.operator.resources import POD_CLIQUES, POD_GANGS
from grove.operator.views import PodCliqueView
from grove.runtime.outcomes import Outcome, RequeueAfter, RequeueAt, Retry
from grove.testing import virtualtime
from grove.testing.virtualtime import EPOCH, VirtualClock
from tests.unit.operator.podgang.builders import Cluster, clique, pcs, pod, tree_of, view_of, with_metadata
from tests.unit.operator.podgang.stage import Stage, owned

MINIMUM = {"set-0-a": 2, "set-0-b": 1}
MADE = EPOCH.strftime("%Y-%m-%dT%H:%M:%SZ")
POLICIES = (Policy(), Policy(default_scheduler="default-scheduler"))

names = st.sampled_from(sorted(MINIMUM))
actions = st.one_of(
    st.tuples(st.just("come"), names, st.sampled_from(["set-0", "another"])),
    st.tuples(st.just("go"), names, st.integers(0, 5)),
    st.tuples(st.just("go all"), names, st.none()),
    st.tuples(st.just("scale"), names, st.integers(2, 5)),
    st.tuples(st.just("bind"), names, st.booleans()),
    st.tuples(st.just("wait"), st.none(), st.sampled_from([0.3, 1.0, 2.5, 6.0])),
    st.tuples(st.just("fail"), st.none(), st.sampled_from([Conflict("no", code=409), Unavailable("no", code=503)])),
    st.tuples(st.just("restart"), st.none(), st.none()),
    st.tuples(st.just("others"), st.none(), st.sampled_from(["Unhealthy", "DisruptionTarget"])),
)


class Life(Stage):
    """A stage that watches what is written of the gang."""

    def __init__(self, clock: VirtualClock, policy: Policy, *, complete: bool) -> None:
        super().__init__(clock, policy)
        self.clock = clock
        self.policy = policy
        self.numbers = 0
        cliques = [clique("a", 3, spec={"minAvailable": 2}), clique("b", 2, spec={"minAvailable": 1})]
        self.cluster = Cluster(pcs(cliques))
        for name, one in self.cluster.cliques.items():
            self.cluster.cliques[name] = with_metadata(one, creationTimestamp=MADE)
            if not complete:
                self.cluster.pods[name] = []
        self.show(self.cluster)

    def pods_of(self, name: str) -> list[PodView]:
        return [one for one in self.world.pods if one.metadata.name.startswith(name)]

    def clique_of(self, name: str) -> PodCliqueView:
        found = self.world.cliques.get(name, "ns")
        assert found is not None
        return found

    def named(self) -> dict[str, set[str]]:
        gang = self.gang
        groups = () if gang is None else gang.spec.podgroups
        return {group.name: {one.name for one in group.pod_references} for group in groups}

    async def patch(self, resource: Resource, held: Any, change: Any, *, type: type[Any], **options: Any) -> Any:
        before, gang = self.named(), self.gang
        was_initialized = gang is not None and status.is_initialized(gang.status)
        written = await super().patch(resource, held, change, type=type, **options)
        if resource is not POD_GANGS:
            return written
        after = self.named()
        grown = any(after[name] - before[name] for name in after)
        if grown and was_initialized:
            assert all(len(after[name]) >= least for name, least in MINIMUM.items()), "named bit by bit"
        if not was_initialized and status.is_initialized(written.status):
            for name, found in after.items():
                assert len(found) >= self.clique_of(name).spec.replicas, "initialized before it was whole"
        return written

    async def act(self, what: str, name: str | None, how: Any) -> None:
        if name is not None:
            self.move(what, name, how)
        elif what == "wait":
            await self.clock.sleep(how)
        elif what == "fail":
            self.fails = how
            with contextlib.suppress(Retry, StepError):
                await self.reconcile()
            self.fails = None
        elif what == "restart":
            self.restart()
        elif self.gang is not None:
            self.others(how)

    def move(self, what: str, name: str, how: Any) -> None:
        """What happens to a PodClique or its pods."""
        found = self.pods_of(name)
        if what == "come":
            self.numbers += 1
            self.put(PODS, owned(pod(f"{name}-n{self.numbers}", gang=how), self.clique_of(name)), PodView)
        elif what == "scale":
            tree = tree_of(self.clique_of(name))
            scaled = view_of(tree | {"spec": {**tree["spec"], "replicas": how}}, PodCliqueView)
            self.put(POD_CLIQUES, scaled, PodCliqueView)
        elif what == "bind":
            for one in found:
                bound = pod(one.metadata.name, node="n", phase="Running", ready=how)
                self.put(PODS, owned(bound, self.clique_of(name)), PodView)
        else:
            for one in found if what == "go all" else found[how : how + 1]:
                self.take(PODS, one.metadata.name)

    def others(self, type: str) -> None:
        """A scheduler sets a condition."""
        tree = codec.encode(self.gang) if self.gang is not None else {}
        found = tree.setdefault("status", {"phase": "Pending"}).setdefault("conditions", [])
        found[:] = [one for one in found if one["type"] != type]
        found.append({"type": type, "status": "True", "reason": "Odd", "message": "", "lastTransitionTime": MADE})
        self.put(POD_GANGS, tree, PodGang)

    async def settle(self) -> None:
        for _ in range(20):
            outcome: Outcome = await self.reconcile()
            match outcome:
                case RequeueAfter(seconds):
                    await self.clock.sleep(seconds)
                case RequeueAt(moment):
                    await self.clock.sleep((moment - self.clock.wall()).total_seconds())
                case None:
                    return
        raise AssertionError("it never comes to rest")


@settings(max_examples=300)
@given(st.lists(st.tuples(actions, st.booleans()), max_size=25), st.sampled_from(POLICIES), st.booleans())
def test_a_gang_is_never_told_bit_by_bit_and_comes_to_rest(
    happenings: list[tuple[tuple[str, str | None, Any], bool]], policy: Policy, complete: bool
) -> None:
    async def main(clock: VirtualClock) -> None:
        life = Life(clock, policy, complete=complete)
        others: set[str] = set()
        await life.reconcile()
        for (what, name, how), looks in happenings:
            if what == "others" and life.gang is not None:
                others.add(how)
            await life.act(what, name, how)
            if looks:
                await life.reconcile()
        await life.settle()
        writes = len(life.writes)
        assert await life.reconcile() is None
        assert len(life.writes) == writes, "written twice"
        _check(life, others)

    virtualtime.run(main)


def _check(life: Life, others: set[str]) -> None:
    gang = life.gang
    assert gang is not None
    assert gang.status is not None
    there = {name: {one.metadata.name for one in life.pods_of(name)} for name in MINIMUM}
    if all(len(there[name]) >= least for name, least in MINIMUM.items()):
        assert life.named() == there
    else:
        assert all(life.named()[name] <= there[name] for name in MINIMUM)
    assert {one.type for one in gang.status.conditions} >= others
    assert all((one.metadata.labels or {})[labels.POD_GANG] == "set-0" for one in life.world.pods)
    if not life.backends.of("").reports_gangs:
        placed = all(sum(1 for one in life.pods_of(name) if one.node_name) >= least for name, least in MINIMUM.items())
        assert conditions.is_true(gang.status.conditions, "Scheduled") == placed

"""The scheduler's mind: told what there is and what became of its decisions, it says what is to be done.

    engine.node(view); engine.pod(view); engine.gang(view)
    for decision in engine.decide(now):
        ...

Nothing here reads a clock or waits, and equal histories give equal decisions: the live loop, dry runs, replay and
benchmarks use the same engine. What it has decided it takes for done (a pod is assumed to be on its node) until it is
told otherwise. One thread owns an engine.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import NodeView, PodView
from grove.scheduler import model
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.placement.budget import Budget
from grove.scheduler.registry import Registry, is_lone
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.topologies import Topologies
from grove.scheduler.verdicts import Answer, Bind, Decision, Found, NotFound, Put, Reason, Refuse
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView

Place: TypeAlias = Callable[[Cluster, Gang, Budget], Answer]

INITIALIZED: Final = "Initialized"


class _Waits(NamedTuple):
    """Why a gang is not tried now."""

    reason: Reason
    message: str


class Engine:
    """See the top of the module."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        surroundings: Surroundings,
        place: Place,
        scheduler_names: Iterable[str],
        search_steps: int,
        replica_affinity: model.Affinity = "preferred",
    ) -> None:
        self.cluster = cluster
        self.surroundings = surroundings
        self.registry = Registry(frozenset(scheduler_names))
        self.topologies = Topologies()
        self._place = place
        self._search_steps = search_steps
        self._replica_affinity: model.Affinity = replica_affinity
        self._priorities: dict[str, tuple[int, str]] = {}
        self._elsewhere: dict[str, set[str]] = {}
        """Uids of pods by the name of a node that has not been seen."""
        self._nominated: dict[str, Placed] = {}
        """Pods of other schedulers that are about to come to a node."""
        self._ready: list[tuple[object, ...]] = []
        self._is_ready: set[str] = set()
        self._parked: dict[str, Refuse] = {}
        """What was said of gangs that wait."""
        self._freed = False

    # What there is

    def node(self, view: NodeView) -> None:
        """A node came or changed."""
        slot = self.cluster.node(view)
        for uid in self._elsewhere.pop(view.metadata.name, ()):
            pod = self.registry.pods.get(uid)
            if pod is not None:
                self._seat(pod)
        self._freed = True
        del slot

    def node_gone(self, name: str) -> None:
        """A node went. Its pods are nowhere until their objects go too, or it comes back."""
        for pod in self.cluster.node_gone(name):
            self._elsewhere.setdefault(name, set()).add(pod.uid)
            self._touch([pod.gang])

    def pod(self, view: PodView) -> None:
        """A pod came or changed."""
        changed = self.registry.put_pod(view)
        self._seat(view)
        self._touch(changed)

    def pod_gone(self, view: PodView) -> None:
        """A pod went."""
        changed = self.registry.drop_pod(view)
        uid = view.metadata.uid or ""
        self._unseat(uid)
        self._elsewhere.get(view.node_name, set()).discard(uid)
        self._touch(changed)

    def gang(self, view: PodGang) -> None:
        """A PodGang came or changed."""
        changed = self.registry.put_gang(view)
        for key in changed:
            self._reseat(key)
        self._touch(changed)

    def gang_gone(self, view: PodGang) -> None:
        """A PodGang went; its pods may stay a while."""
        changed = self.registry.drop_gang(view)
        for key in changed:
            self.cluster.release(key)
        self._touch(changed)

    def topology(self, view: ClusterTopologyBinding) -> None:
        if self.topologies.put(view):
            self._wake_all()

    def topology_gone(self, view: ClusterTopologyBinding) -> None:
        if self.topologies.drop(view):
            self._wake_all()

    def priority_class(self, view: PriorityClassView) -> None:
        self._priorities[view.metadata.name] = (view.value, view.preemption_policy)
        self._wake_all()

    def priority_class_gone(self, view: PriorityClassView) -> None:
        self._priorities.pop(view.metadata.name, None)

    def namespace(self, view: NamespaceView) -> None:
        self.surroundings.namespaces.put(view.metadata.name, "", view.metadata.labels or {})
        self._wake_all()

    def namespace_gone(self, view: NamespaceView) -> None:
        self.surroundings.namespaces.drop(view.metadata.name, "")

    def queue(self, view: Queue) -> None:
        self._wake_all()

    def queue_gone(self, view: Queue) -> None:
        self._wake_all()

    def budget(self, view: BudgetView) -> None:
        """What a disruption budget allows has changed."""

    def budget_gone(self, view: BudgetView) -> None:
        """A disruption budget went."""

    # What became of decisions

    def bound(self, uid: str) -> None:
        """A pod came to the node that was decided; the watch tells it too."""

    def bind_failed(self, uid: str, why: BindFailure) -> None:
        """A pod that was decided onto a node did not come there."""
        pod = self.registry.pods.get(uid)
        if pod is not None and pod.node_name:
            return  # it is on a node after all
        self._unseat(uid)
        self._touch([self.registry.gang_of(uid)])

    def evicted(self, uid: str) -> None:
        """A victim is on its way out."""

    def evict_failed(self, uid: str, why: str) -> None:
        """A victim stays."""

    def rejected(self, view: PodView) -> None:
        """A node has refused a pod of ours: somebody else was there first."""

    # What had been decided before

    def resume(self, key: str, puts: Sequence[tuple[str, str]]) -> Bind | None:
        """What an earlier leader had begun: uids of pods and the nodes that they were decided onto. Taken for done if
        every pod still waits and can go there; None: it is to be decided anew."""
        gang = self._gang(key)
        if gang is None:
            return None
        waiting = {pod.uid: pod for group in gang.groups() for pod in group.waiting}
        mark = self.cluster.mark()
        found: list[tuple[Pending, str]] = []
        for uid, node in puts:
            pod, slot = waiting.get(uid), self.cluster.slot_of.get(node)
            if pod is None or slot is None or self.cluster.capacity(pod.cls)[slot] < 1:
                self.cluster.rollback(mark)
                return None
            self._assume(key, Put(pod, slot), gang.priority)
            found.append((pod, node))
        self.cluster.commit(mark)
        left = len(waiting) - len(found)
        return Bind(gang, tuple(found), left, 1.0, (), bool(gang.missing))

    def unfit(self, uids: Collection[str]) -> Collection[str]:
        """Of pods that are assumed on nodes, those that are gone or cannot go there as things are now."""
        return [uid for uid in uids if not self._fits(uid)]

    def _fits(self, uid: str) -> bool:
        seat = self.cluster.pods.get(uid)
        pod = self.registry.pods.get(uid)
        if seat is None or pod is None or not (self.registry.is_waiting(pod) or pod.node_name):
            return False
        if not self.cluster.allowed(seat.cls)[seat.slot]:
            return False
        return all(self.cluster.free[row, seat.slot] >= 0 for row, _ in seat.requests)

    # What is to be done

    def next_wake(self, now: float) -> float | None:
        """When there is something to decide; None: not before something changes."""
        return now if self._ready or self._freed else None

    def decide(self, now: float, *, limit: int = 1000) -> list[Decision]:
        """The next decisions, of at most so many gangs. They are taken for done."""
        if self._freed:
            self._freed = False
            self._wake_all()
        decisions: list[Decision] = []
        considered = 0
        while self._ready and considered < limit:
            considered += 1
            key = str(heapq.heappop(self._ready)[-1])
            self._is_ready.discard(key)
            decisions += self._consider(key, now)
        return decisions

    def _consider(self, key: str, now: float) -> list[Decision]:
        gang = self._gang(key)
        if gang is None or not gang.waiting:
            self._parked.pop(key, None)
            return []
        waits = self._waits(gang)
        if waits is not None:
            return self._refuse(gang, waits)
        answer = self._search(gang)
        if isinstance(answer, NotFound):
            return self._refuse(gang, _Waits("Unschedulable" if answer.proven else "SearchEnded", _sentence(answer)))
        if not answer.puts:
            return self._refuse(gang, _Waits("Unschedulable", f"no room for {len(answer.left)} more pods"))
        return [self._bind(gang, answer)]

    def _search(self, gang: Gang) -> Answer:
        """With what is kept for the gang free, and with pods of other schedulers where they are about to come."""
        cluster = self.cluster
        mark = cluster.mark()
        cluster.release(gang.key)
        for pod in self._nominated.values():
            if pod.priority >= gang.priority and pod.uid not in cluster.pods:
                cluster.put(pod)
        answer = self._place(cluster, gang, Budget(self._search_steps))
        cluster.rollback(mark)
        return answer

    def _bind(self, gang: Gang, found: Found) -> Bind:
        self.cluster.release(gang.key)
        for put in found.puts:
            self._assume(gang.key, put, gang.priority)
        self._parked.pop(gang.key, None)
        if gang.missing:
            self._touch(self.registry.scaled(gang.key))
        names = self.cluster.names
        puts = tuple((put.pod, names[put.slot]) for put in found.puts)
        return Bind(gang, puts, len(found.left), found.score, found.domains, bool(gang.missing))

    def _assume(self, key: str, put: Put, priority: int) -> None:
        pod = put.pod
        gang = "" if is_lone(key) else key
        self.cluster.put(Placed(pod.uid, pod.namespace, pod.name, pod.cls, put.slot, gang=gang, priority=priority))

    def _refuse(self, gang: Gang, waits: _Waits) -> list[Decision]:
        refusal = Refuse(gang, waits.reason, waits.message)
        said = self._parked.get(gang.key)
        self._parked[gang.key] = refusal
        if said is not None and (said.reason, said.message) == (refusal.reason, refusal.message):
            return []
        return [refusal]

    def _waits(self, gang: Gang) -> _Waits | None:
        """Why there is no use in looking for a place yet."""
        view = self.registry.gangs.get(gang.key)
        if view is None:
            if is_lone(gang.key):
                return None
            return _Waits("WaitingForPods", f"there is no PodGang {gang.key}, which its pods name")
        conditions = () if view.status is None else view.status.conditions
        if any(one.type == INITIALIZED and one.status == "False" for one in conditions):
            return _Waits("WaitingForPods", "not all of its pods have been created yet")
        short = [group for group in gang.groups() if len(group.placed) + len(group.waiting) < group.minimum]
        if short:
            counts = ", ".join(
                f"{len(one.placed) + len(one.waiting)} of {one.minimum} of {one.name}" for one in short[:5]
            )
            return _Waits("WaitingForPods", f"too few of its pods can be placed: {counts}")
        if gang.base:
            base = self._gang(gang.base)
            if base is None or not base.is_placed:
                return _Waits("WaitingForBase", f"its base gang {gang.base} has no place yet")
        return None

    def _gang(self, key: str) -> Gang | None:
        """The gang as it is now; None: there is nothing of it."""
        view = self.registry.gangs.get(key)
        if view is None:
            return self._without_gang(key)
        if view.metadata.deletion_timestamp:
            return None
        base_key = model.base_key(view)
        base = self.registry.gangs.get(base_key) if base_key else None
        slots: list[int] = []
        if base is not None:
            slots = sorted(
                {
                    self.cluster.pods[uid].slot
                    for pod in self.registry.members(base_key)
                    if (uid := pod.metadata.uid or "") in self.cluster.pods
                }
            )
        return model.of_gang(
            view,
            member=self.registry.pod,
            state=self._state,
            priorities=self._priorities,
            topologies=self.topologies,
            base=base,
            base_slots=slots,
            replica_affinity=self._replica_affinity,
        )

    def _without_gang(self, key: str) -> Gang | None:
        members = [*self.registry.members(key)]
        if not members:
            return None
        if is_lone(key):
            return model.of_pod(members[0], self._state(members[0]))
        states = [self._state(pod) for pod in members]
        waiting = tuple(one for one in states if isinstance(one, Pending))
        return Gang(key, "", Scope(key, groups=(Group("", len(waiting), (), waiting),)))

    def _state(self, pod: PodView) -> model.State:
        uid = pod.metadata.uid or ""
        placed = self.cluster.pods.get(uid)
        if placed is not None:
            return placed
        if not self.registry.is_waiting(pod):
            return None
        meta = pod.metadata
        return Pending(uid, meta.namespace or "", meta.name, self.cluster.classes.of(pod))

    # Pods on nodes

    def _seat(self, pod: PodView) -> None:
        """The cluster has the pod where it is."""
        uid = pod.metadata.uid or ""
        if uid not in self.registry.pods:
            self._unseat(uid)
            return
        if not pod.node_name:
            return  # if it is assumed somewhere, it stays so until we hear what became of that
        slot = self.cluster.slot_of.get(pod.node_name)
        if slot is None:
            self._unseat(uid)
            self._elsewhere.setdefault(pod.node_name, set()).add(uid)
            return
        seat = self._placed(pod, slot)
        held = self.cluster.pods.get(uid)
        if held is not None:
            if _same(held, seat):
                return
            self.cluster.take(uid)
            self._freed = self._freed or held.requests != seat.requests or held.slot != seat.slot
        self.cluster.put(seat)

    def _placed(self, pod: PodView, slot: int) -> Placed:
        meta = pod.metadata
        uid = meta.uid or ""
        key = self.registry.gang_of(uid)
        held = self.cluster.pods.get(uid)
        return Placed(
            uid,
            meta.namespace or "",
            meta.name,
            self.cluster.classes.of(pod),
            slot,
            gang="" if is_lone(key) else key,
            priority=held.priority if held is not None else None,
            terminating=bool(meta.deletion_timestamp),
        )

    def _reseat(self, key: str) -> None:
        """Pods have come to belong to a gang, or no longer do."""
        for pod in self.registry.members(key):
            if pod.metadata.uid in self.cluster.pods:
                self._seat(pod)

    def _unseat(self, uid: str) -> None:
        if uid in self.cluster.pods:
            self.cluster.take(uid)
            self._freed = True

    # Who is to be tried

    def _touch(self, keys: Iterable[str]) -> None:
        for key in keys:
            if key and key not in self._is_ready:
                self._is_ready.add(key)
                heapq.heappush(self._ready, self._order(key))

    def _wake_all(self) -> None:
        self._touch([*self._parked])

    def _order(self, key: str) -> tuple[object, ...]:
        view = self.registry.gangs.get(key)
        if view is not None:
            named = self._priorities.get(view.spec.priority_class_name or "")
            priority = named[0] if named else max((pod.spec.priority for pod in self.registry.members(key)), default=0)
            return (-priority, bool(model.base_key(view)), view.metadata.creation_timestamp or "", key)
        pod = next(self.registry.members(key), None)
        if pod is None:
            return (0, False, "", key)
        return (-pod.spec.priority, False, pod.metadata.creation_timestamp or "", key)


def _same(held: Placed, seat: Placed) -> bool:
    return (held.slot, held.cls, held.gang, held.requests, held.terminating) == (
        seat.slot,
        seat.cls,
        seat.gang,
        seat.requests,
        seat.terminating,
    )


def _sentence(answer: NotFound) -> str:
    where = f"any {answer.key}" if answer.key else "the cluster"
    return f"{answer.scope} does not fit into {where}"

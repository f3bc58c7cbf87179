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
from typing import Any, Final, NamedTuple, TypeAlias

from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource
from grove.scheduler import model
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.crews import Crews
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.needs import LOOKED_AT, PodNeeds
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.placement.budget import Budget
from grove.scheduler.predicates.unsupported import unsupported
from grove.scheduler.preempting import Preempting
from grove.scheduler.preemption.running import Policy
from grove.scheduler.registry import Registry, is_lone, key_of
from grove.scheduler.seats import Seats
from grove.scheduler.surroundings import KEPT, Kept, Surrounding, Surroundings
from grove.scheduler.topologies import Topologies
from grove.scheduler.verdicts import Answer, Bind, Decision, Evict, Found, NotFound, Put, Reason, Refuse
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView

Place: TypeAlias = Callable[[Cluster, Gang, Budget], Answer]

INITIALIZED: Final = "Initialized"
PLAN_STEPS: Final = 200_000
"""What a plan of preemption may cost: about two seconds, in the worst case."""


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
        needs: PodNeeds,
        place: Place,
        scheduler_names: Iterable[str],
        search_steps: int,
        replica_affinity: model.Affinity = "preferred",
        preemption: Policy | None = Policy(),  # noqa: B008
    ) -> None:
        """`preemption` None: nobody is evicted."""
        self.cluster = cluster
        self.surroundings = surroundings
        self.registry = Registry(frozenset(scheduler_names))
        self.seats = Seats(cluster, self.registry, needs, moved=self._moved)
        self.topologies = Topologies()
        policy = preemption or Policy()
        self.crews = Crews(cluster, self.registry, foreign=policy.foreign_pods)
        self.preempting = Preempting(
            cluster, self.crews, place=place, policy=policy, steps=PLAN_STEPS, enabled=preemption is not None
        )
        self._place = place
        self._search_steps = search_steps
        self._replica_affinity: model.Affinity = replica_affinity
        self._priorities: dict[str, tuple[int, str]] = {}
        self._ready: list[tuple[object, ...]] = []
        self._is_ready: set[str] = set()
        self._parked: dict[str, Refuse] = {}
        """What was said of gangs that wait."""
        self._freed = False
        self._timers: list[tuple[float, str]] = []

    # What there is

    def node(self, view: NodeView) -> None:
        """A node came or changed."""
        self.seats.node(view)
        self._freed = True

    def node_gone(self, name: str) -> None:
        """A node went."""
        self._touch([pod.gang for pod in self.seats.node_gone(name)])

    def pod(self, view: PodView) -> None:
        """A pod came or changed."""
        changed = self.registry.put_pod(view)
        self.seats.see(view)
        uid = view.metadata.uid or ""
        if uid not in self.registry.pods:
            changed.add(self.preempting.gone(uid))
        self._touch(changed)

    def pod_gone(self, view: PodView) -> None:
        """A pod went."""
        changed = self.registry.drop_pod(view)
        self.seats.gone(view)
        self._touch([*changed, self.preempting.gone(view.metadata.uid or "")])

    def gang(self, view: PodGang) -> None:
        """A PodGang came or changed."""
        changed = self.registry.put_gang(view)
        for key in changed:
            self.seats.again(self.registry.members(key))
            self.crews.changed(key)
        self._touch(changed)

    def gang_gone(self, view: PodGang) -> None:
        """A PodGang went; its pods may stay a while."""
        changed = self.registry.drop_gang(view)
        for key in changed:
            self.crews.changed(key)
        self.preempting.placed(_key(view))
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

    def surrounding(self, resource: Resource, view: Surrounding) -> None:
        """A volume, a claim, or what they depend on came or changed."""
        self._kept(resource).put(view.metadata.name, view.metadata.namespace or "", view)
        self._surrounding_changed(resource, view)

    def surrounding_gone(self, resource: Resource, view: Surrounding) -> None:
        self._kept(resource).drop(view.metadata.name, view.metadata.namespace or "")
        self._surrounding_changed(resource, view)

    def _kept(self, resource: Resource) -> Kept[Any]:
        kept: Kept[Any] = getattr(self.surroundings, KEPT[resource])
        return kept

    def _surrounding_changed(self, resource: Resource, view: Surrounding) -> None:
        if resource in LOOKED_AT:
            meta = view.metadata
            pods = self.seats.claims_changed(resource, meta.namespace or "", meta.name)
            self._touch([self.registry.gang_of(pod.metadata.uid or "") for pod in pods])
        self._freed = True

    def queue(self, view: Queue) -> None:
        self._wake_all()

    def queue_gone(self, view: Queue) -> None:
        self._wake_all()

    def budget(self, view: BudgetView) -> None:
        """What a disruption budget allows has changed."""
        self.crews.budget(view)

    def budget_gone(self, view: BudgetView) -> None:
        """A disruption budget went."""
        self.crews.budget_gone(view)

    # What became of decisions

    def bound(self, uid: str) -> None:
        """A pod came to the node that was decided; the watch tells it too."""

    def bind_failed(self, uid: str, why: BindFailure) -> None:
        """A pod that was decided onto a node did not come there."""
        pod = self.registry.pods.get(uid)
        if pod is not None and pod.node_name:
            return  # it is on a node after all
        self.seats.take(uid)
        self._touch([self.registry.gang_of(uid)])

    def evicted(self, uid: str) -> None:
        """A victim is on its way out."""

    def evict_failed(self, uid: str, why: str) -> None:
        """A victim stays."""
        self._touch([self.preempting.failed(uid)])

    def rejected(self, view: PodView) -> None:
        """A node has refused a pod of ours: somebody else was there first."""

    # What had been decided before

    def resume(self, key: str, puts: Sequence[tuple[str, str]]) -> Bind | None:
        """What an earlier leader had begun: uids of pods and the nodes that they were decided onto. Taken for done if
        every pod still waits and can go there; None: it is to be decided anew."""
        gang = self._gang(key)
        if gang is None:
            return None
        self.seats.tell_apart()
        waiting = {pod.uid: pod for group in gang.groups() for pod in group.waiting}
        found: list[Put] = []
        mark = self.cluster.mark()
        for uid, node in puts:
            pod, slot = waiting.get(uid), self.cluster.slot_of.get(node)
            if pod is None or slot is None or self.cluster.capacity(pod.cls)[slot] < 1:
                break
            found.append(Put(pod, slot))
            self.cluster.put(_seat(gang, found[-1]))
        self.cluster.rollback(mark)
        if len(found) < len(puts):
            return None
        decided = dict(puts)
        return self._bind(gang, Found(tuple(found), tuple(pod for uid, pod in waiting.items() if uid not in decided)))

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
        if self._ready or self._freed:
            return now
        moments = [self._timers[0][0]] if self._timers else []
        expiry = self.preempting.next_expiry()
        if expiry is not None:
            moments.append(expiry)
        return min(moments, default=None)

    def decide(self, now: float, *, limit: int = 1000) -> list[Decision]:
        """The next decisions, of at most so many gangs. They are taken for done."""
        self.seats.tell_apart()
        self._on_time(now)
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
            return self._without_place(gang, answer, now)
        if not answer.puts:
            return self._refuse(gang, _Waits("Unschedulable", f"no room for {len(answer.left)} more pods"))
        return [self._bind(gang, answer)]

    def _without_place(self, gang: Gang, answer: NotFound, now: float) -> list[Decision]:
        """Others go for it, or it waits."""
        going = self.preempting.under_way(gang.key)
        if going is not None and going.victims:
            return self._refuse(gang, _Waits("Preempting", going.why))
        waits = _Waits("Unschedulable" if answer.proven else "SearchEnded", _sentence(answer))
        if not gang.missing:
            return self._refuse(gang, waits)
        plan = self.preempting.plan(gang, now)
        if isinstance(plan, Evict):
            if not plan.victims:
                return self._refuse(gang, _Waits("RoomHeld", plan.why))
            return [plan, *self._refuse(gang, _Waits("Preempting", plan.why))]
        if plan.again is not None:
            heapq.heappush(self._timers, (plan.again, gang.key))
        return self._refuse(gang, waits)

    def _on_time(self, now: float) -> None:
        self._touch(self.preempting.expire(now))
        while self._timers and self._timers[0][0] <= now:
            self._touch([heapq.heappop(self._timers)[1]])

    def _search(self, gang: Gang) -> Answer:
        """With what is kept for the gang free, and with pods of other schedulers where they are about to come."""
        cluster = self.cluster
        mark = cluster.mark()
        cluster.release(gang.key)
        for pod in self.seats.nominated.before(gang.priority):
            cluster.put(pod)
        answer = self._place(cluster, gang, Budget(self._search_steps))
        cluster.rollback(mark)
        return answer

    def _bind(self, gang: Gang, found: Found) -> Bind:
        self.preempting.placed(gang.key)
        for put in found.puts:
            self.seats.put(_seat(gang, put))
        self._parked.pop(gang.key, None)
        if gang.missing:
            self._touch(self.registry.scaled(gang.key))
        names = self.cluster.names
        puts = tuple((put.pod, names[put.slot]) for put in found.puts)
        return Bind(gang, puts, len(found.left), found.score, found.domains, bool(gang.missing))

    def _refuse(self, gang: Gang, waits: _Waits) -> list[Decision]:
        refusal = Refuse(gang, waits.reason, waits.message)
        said = self._parked.get(gang.key)
        self._parked[gang.key] = refusal
        if said is not None and (said.reason, said.message) == (refusal.reason, refusal.message):
            return []
        return [refusal]

    def _waits(self, gang: Gang) -> _Waits | None:
        """Why there is no use in looking for a place yet."""
        for group in gang.groups():
            for pod in group.waiting:
                why = unsupported(pod.cls.spec)
                if why:
                    return _Waits("Unsupported", f"{pod.name}: {why}")
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

    def _moved(self, pod: Placed, sign: int) -> None:
        """A pod came to a node or left it."""
        if sign < 0:
            self._freed = True
        self.crews.moved(pod)

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


def _key(view: PodGang) -> str:
    return key_of(view.metadata.namespace or "", view.metadata.name)


def _seat(gang: Gang, put: Put) -> Placed:
    pod = put.pod
    key = "" if is_lone(gang.key) else gang.key
    return Placed(pod.uid, pod.namespace, pod.name, pod.cls, put.slot, gang=key, priority=gang.priority)


def _sentence(answer: NotFound) -> str:
    where = f"any {answer.key}" if answer.key else "the cluster"
    return f"{answer.scope} does not fit into {where}"

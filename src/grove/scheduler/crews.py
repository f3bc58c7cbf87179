"""The gangs that run, as plans of preemption look at them. Called by the engine.

Each is made when it is first asked for and kept until something about it changes: with hundreds of gangs a plan would
otherwise cost more for looking than for planning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from grove.api.kinds.podgang import PodGang
from grove.kube.objects import PodView
from grove.scheduler import model
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.predicates.selectors import compiled, meets
from grove.scheduler.preemption import declared
from grove.scheduler.preemption.running import Crew, Guards, Member, Running, may_go
from grove.scheduler.registry import Registry, is_lone, lone_key
from grove.scheduler.views import BudgetView


class Crews:
    """See the top of the module."""

    def __init__(self, cluster: Cluster, registry: Registry, *, queue_of: Callable[[str], str], foreign: bool) -> None:
        """`foreign`: whether pods of other schedulers are among them."""
        self._queue_of: Final = queue_of
        self._cluster: Final = cluster
        self._registry: Final = registry
        self._foreign: Final = foreign
        self._known: dict[str, Running | None] = {}
        """None: it is to be made anew."""
        self._budgets: dict[tuple[str, str], BudgetView] = {}
        self._pods: dict[int, int] = {}
        """By priority how many pods are on nodes that could be made to go."""
        self._counted: dict[str, int] = {}
        """By uid the priority that a pod is counted with."""
        self.going: dict[str, None] = {}
        """Uids of pods that are on nodes and terminate."""
        self.version = 0
        """Grows when a plan could come out differently."""

    def changed(self, key: str) -> None:
        """Something about a gang of ours, or its pods, is different."""
        self.version += 1
        if key:
            self._known[key] = None

    def moved(self, pod: Placed, sign: int) -> None:
        """A pod came to a node (1) or left it (-1)."""
        self.version += 1
        if pod.terminating and sign > 0:
            self.going[pod.uid] = None
        else:
            self.going.pop(pod.uid, None)
        key = self._registry.gang_of(pod.uid) or pod.gang
        if not key and (self._foreign or pod.uid in self._counted):
            key = lone_key(pod.namespace, pod.name)
        if not key:
            return
        self._known[key] = None
        if sign > 0 and not pod.terminating:
            self._counted[pod.uid] = pod.priority
            self._pods[pod.priority] = self._pods.get(pod.priority, 0) + 1
        elif sign < 0 and pod.uid in self._counted:
            priority = self._counted.pop(pod.uid)
            self._pods[priority] -= 1
            if not self._pods[priority]:
                del self._pods[priority]

    def lowest(self) -> int | None:
        """The lowest priority of a pod that could be made to go; None: there is none."""
        return min(self._pods, default=None)

    def budget(self, view: BudgetView) -> None:
        self.version += 1
        self._budgets[view.metadata.namespace or "", view.metadata.name] = view

    def budget_gone(self, view: BudgetView) -> None:
        self.version += 1
        self._budgets.pop((view.metadata.namespace or "", view.metadata.name), None)

    def running(self) -> Mapping[str, Running]:
        """All gangs with pods on nodes, by key."""
        for key in sorted(key for key, one in self._known.items() if one is None):
            made = self._make(key)
            if made is None:
                del self._known[key]
            else:
                self._known[key] = made
        return {key: one for key, one in sorted(self._known.items()) if one is not None}

    def guards(self, running: Mapping[str, Running]) -> Guards:
        """The disruption budgets that pods of these gangs count in."""
        by_namespace: dict[str, list[BudgetView]] = {}
        for view in self._budgets.values():
            by_namespace.setdefault(view.metadata.namespace or "", []).append(view)
        found: dict[str, tuple[str, ...]] = {}
        for one in running.values() if by_namespace else ():
            for crew in one.crews:
                for member in crew.members:
                    named = self._guarded(member.pod, by_namespace.get(member.pod.namespace, ()))
                    if named:
                        found[member.pod.uid] = named
        allowed = {_name(view): view.status.disruptions_allowed for view in self._budgets.values()}
        return Guards(found, allowed)

    def _guarded(self, pod: Placed, budgets: Collection[BudgetView]) -> tuple[str, ...]:
        view = self._registry.pods.get(pod.uid)
        if view is None or not budgets:
            return ()
        found = view.metadata.labels or {}
        return tuple(
            _name(one)
            for one in budgets
            if (requirements := compiled(one.spec.selector)) is not None and meets(requirements, found)
        )

    def _make(self, key: str) -> Running | None:
        view = self._registry.gangs.get(key)
        if view is not None:
            return self._of_gang(key, view)
        if is_lone(key):
            namespace, _, name = key.partition("/pod:")
            pod = self._registry.pod(namespace, name)
            return None if pod is None else self._of_pod(key, pod)
        return None

    def _of_pod(self, key: str, pod: PodView) -> Running | None:
        member = self._member(pod)
        foreign = not self._registry.is_ours(pod)
        if member is None or not may_go(pod):
            return None
        return Running(
            key,
            member.pod.priority,
            (Crew(pod.metadata.name, 1, (member,)),),
            started=member.started,
            restart_cost=declared.restart_cost(pod.metadata.annotations),
            queue="" if foreign else self._queue_of(key),
            foreign=foreign,
        )

    def _of_gang(self, key: str, view: PodGang) -> Running | None:
        crews = []
        for group in view.spec.podgroups:
            pods = (self._registry.pod(one.namespace, one.name) for one in group.pod_references)
            members = tuple(found for pod in pods if pod is not None and (found := self._member(pod)) is not None)
            crews.append(Crew(group.name, group.min_replicas, members))
        on_nodes = [member for crew in crews for member in crew.members]
        if not on_nodes:
            return None
        annotations = view.metadata.annotations or {}
        started = min(member.started for member in on_nodes)
        return Running(
            key,
            max(member.pod.priority for member in on_nodes),
            tuple(crews),
            started=started,
            ends=declared.ends(annotations, started),
            base=model.base_key(view),
            set_replica=model.set_replica(view),
            restart_cost=declared.restart_cost(annotations),
            preemptible=declared.preemptible(annotations),
            queue=self._queue_of(key),
        )

    def _member(self, pod: PodView) -> Member | None:
        placed = self._cluster.pods.get(pod.metadata.uid or "")
        if placed is None or placed.terminating:
            return None
        started = model.seconds(pod.status.start_time or pod.metadata.creation_timestamp)
        return Member(placed, started, float(pod.spec.termination_grace_period_seconds))


def _name(view: BudgetView) -> str:
    return f"{view.metadata.namespace or ''}/{view.metadata.name}"

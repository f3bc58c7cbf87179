"""What the engine has been told: nodes, pods, gangs and all that surrounds them. The lower half of the engine.

Telling it something changes nothing but what it knows, and notes which gangs that may concern; the engine looks at them
when it is asked to decide. Everything it was told can be told again (`history.py`): `objects` has what still counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource
from grove.scheduler import model
from grove.scheduler.books import Books
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.crews import Crews
from grove.scheduler.gangs import Gang, Group, Pending, Scope
from grove.scheduler.needs import LOOKED_AT, PodNeeds
from grove.scheduler.queues import Queues
from grove.scheduler.registry import Registry, is_lone, key_of
from grove.scheduler.seats import Seats
from grove.scheduler.surroundings import KEPT, Kept, Surrounding, Surroundings
from grove.scheduler.topologies import Topologies
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView


class Knowledge:
    """See the top of the module."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        surroundings: Surroundings,
        needs: PodNeeds,
        scheduler_names: Iterable[str],
        replica_affinity: model.Affinity,
        evicts_foreign: bool,
        went: Callable[[Placed], None],
    ) -> None:
        """`went` is told of pods of ours that were on a node and are gone for good."""
        self.cluster: Final = cluster
        self.surroundings: Final = surroundings
        self.registry: Final = Registry(frozenset(scheduler_names))
        self.seats: Final = Seats(cluster, self.registry, needs, moved=self._moved)
        self.topologies: Final = Topologies()
        self.queues: Final = Queues(cluster.resources)
        self.books: Final = Books(self.queues, cluster, self.registry, surroundings)
        self.crews: Final = Crews(cluster, self.registry, queue_of=self.books.queue_of, foreign=evicts_foreign)
        self.priorities: Final[dict[str, tuple[int, str]]] = {}
        """By name of a PriorityClass its value and whether its pods preempt."""
        self.successors: Final[dict[str, str]] = {}
        """By key of a gang the one that takes over its place."""
        self.changed: Final[dict[str, None]] = {}
        """Gangs that something was told of since they were last looked at."""
        self.rethink = False
        """Whether something was told that may concern every gang."""
        self.stirred = False
        """Whether something was told that may concern gangs with volumes or claims."""
        self.freed = False
        """Whether room has become free."""
        self._replica_affinity: Final = replica_affinity
        self._went: Final = went
        self._small: dict[tuple[str, str, str], Any] = {}
        """Objects of which only some parts are kept elsewhere, by kind, namespace and name."""

    # Nodes, pods and gangs

    def node(self, view: NodeView) -> None:
        """A node came or changed."""
        self.seats.node(view)
        self.freed = True

    def node_gone(self, name: str) -> None:
        """A node went."""
        self._concern(self.cluster.holders(self.cluster.slot_of[name]))
        self._concern(pod.gang for pod in self.seats.node_gone(name))

    def pod(self, view: PodView) -> None:
        """A pod came or changed. Most changes are of how it fares, and concern nobody here."""
        uid = view.metadata.uid or ""
        old, seat = self.registry.pods.get(uid), self.cluster.pods.get(uid)
        changed = self.registry.put_pod(view)
        self.seats.see(view)
        if seat is not None and uid not in self.registry.pods and self._is_ours(changed):
            self._went(seat)
        sits = seat is not None and self.cluster.pods.get(uid) is seat
        if len(changed) > 1 or not (sits or (old is not None and _is_alike(old, view))):
            self._concern(changed)

    def pod_gone(self, view: PodView) -> None:
        """A pod went."""
        seat = self.cluster.pods.get(view.metadata.uid or "")
        changed = self.registry.drop_pod(view)
        self.seats.gone(view)
        if seat is not None and self._is_ours(changed):
            self._went(seat)
        self._concern(changed)

    def _is_ours(self, changed: set[str]) -> bool:
        return bool(changed)  # pods of others concern no gang

    def gang(self, view: PodGang) -> None:
        """A PodGang came or changed."""
        key = key_of(view.metadata.namespace or "", view.metadata.name)
        changed = self.registry.put_gang(view)
        reuse = view.spec.reuse_reservation_ref
        if reuse is not None:
            self.successors[key_of(reuse.namespace, reuse.name)] = key
        for one in changed:
            self.seats.again(self.registry.members(one))
            self.crews.changed(one)
        self.books.moved_queue(key)
        self._concern(changed)

    def gang_gone(self, view: PodGang) -> None:
        """A PodGang went; its pods may stay a while."""
        key = key_of(view.metadata.namespace or "", view.metadata.name)
        changed = self.registry.drop_gang(view)
        for replaced in [one for one, successor in self.successors.items() if key in (one, successor)]:
            del self.successors[replaced]
        for one in changed:
            self.crews.changed(one)
        self.cluster.release(key)
        self._concern(changed)

    # What surrounds them

    def topology(self, view: ClusterTopologyBinding) -> None:
        self._keep("topology", view)
        self.rethink = self.topologies.put(view) or self.rethink

    def topology_gone(self, view: ClusterTopologyBinding) -> None:
        self._forget("topology", view)
        self.rethink = self.topologies.drop(view) or self.rethink

    def priority_class(self, view: PriorityClassView) -> None:
        self._keep("priority_class", view)
        self.priorities[view.metadata.name] = (view.value, view.preemption_policy)
        self.rethink = True

    def priority_class_gone(self, view: PriorityClassView) -> None:
        """Gangs that name it keep what their pods say."""
        self._forget("priority_class", view)
        self.priorities.pop(view.metadata.name, None)
        self.rethink = True

    def namespace(self, view: NamespaceView) -> None:
        name, found = view.metadata.name, view.metadata.labels or {}
        old = self.surroundings.namespaces.get(name)
        if old == found:
            return
        self._keep("namespace", view)
        self.surroundings.namespaces.put(name, "", found)
        if (old or {}).get(labels.QUEUE) != found.get(labels.QUEUE):
            for key in [one for one in self.registry.all_keys() if one.startswith(f"{name}/")]:
                self.books.moved_queue(key)
        self.rethink = True

    def namespace_gone(self, view: NamespaceView) -> None:
        self._forget("namespace", view)
        self.surroundings.namespaces.drop(view.metadata.name, "")

    def queue(self, view: Queue) -> None:
        old = self._small.get(("queue", "", view.metadata.name))
        self._keep("queue", view)
        if old is None or old.spec != view.spec:
            self._queues_changed()

    def queue_gone(self, view: Queue) -> None:
        self._forget("queue", view)
        self._queues_changed()

    def _queues_changed(self) -> None:
        self.queues.put(self.queue_objects())
        self.books.queues_changed()
        self.rethink = True

    def queue_objects(self) -> list[Queue]:
        return [view for (kind, _, _), view in self._small.items() if kind == "queue"]

    def budget(self, view: BudgetView) -> None:
        """What a disruption budget allows has changed."""
        self._keep("budget", view)
        self.crews.budget(view)

    def budget_gone(self, view: BudgetView) -> None:
        """A disruption budget went."""
        self._forget("budget", view)
        self.crews.budget_gone(view)

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
            self._concern(self.registry.gang_of(pod.metadata.uid or "") for pod in pods)
        self.stirred = True

    # What it knows

    def find(self, key: str) -> Gang | None:
        """The gang as it is now; None: there is nothing of it."""
        view = self.registry.gangs.get(key)
        if view is None:
            return self._without_gang(key)
        if view.metadata.deletion_timestamp:
            return None
        base_key = model.base_key(view)
        base = self.registry.gangs.get(base_key) if base_key else None
        gang = model.of_gang(
            view,
            member=self.registry.pod,
            state=self.state,
            priorities=self.priorities,
            topologies=self.topologies,
            base=base,
            base_slots=self.slots(base_key) if base is not None else (),
            replica_affinity=self._replica_affinity,
        )
        queue = self.books.queue_of(key)
        return gang._replace(queue=queue) if queue else gang

    def slots(self, key: str) -> list[int]:
        """Where pods of a gang are."""
        seats = (self.cluster.pods.get(pod.metadata.uid or "") for pod in self.registry.members(key))
        return sorted({seat.slot for seat in seats if seat is not None})

    def _without_gang(self, key: str) -> Gang | None:
        members = [*self.registry.members(key)]
        if not members:
            return None
        if is_lone(key):
            gang = model.of_pod(members[0], self.state(members[0]))
            queue = self.books.queue_of(key)
            return gang._replace(queue=queue) if queue else gang
        states = [self.state(pod) for pod in members]
        waiting = tuple(one for one in states if isinstance(one, Pending))
        return Gang(key, "", Scope(key, groups=(Group("", len(waiting), (), waiting),)))

    def state(self, pod: PodView) -> model.State:
        """What a pod is to us: on a node, waiting for one, or neither."""
        uid = pod.metadata.uid or ""
        placed = self.cluster.pods.get(uid)
        if placed is not None:
            return placed
        if not self.registry.is_waiting(pod):
            return None
        meta = pod.metadata
        return Pending(uid, meta.namespace or "", meta.name, self.cluster.classes.of(pod))

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

    def objects(self) -> Iterator[tuple[str, Any]]:
        """All that was told and still counts, by kind, in an order in which it can be told again."""
        for view in self.cluster.views:
            if view is not None:
                yield "node", view
        for (kind, _, _), view in self._small.items():
            yield kind, view
        for resource in KEPT:
            for view in self._kept(resource):
                yield resource.name, view
        for pod in self.registry.pods.values():
            yield "pod", pod
        for gang in self.registry.gangs.values():
            yield "gang", gang

    # How

    def _concern(self, keys: Iterable[str]) -> None:
        self.changed.update((key, None) for key in keys if key)

    def _moved(self, pod: Placed, sign: int) -> None:
        if sign < 0:
            self.freed = True
        self.books.moved(pod, sign)
        self.crews.moved(pod, sign)

    def _keep(self, kind: str, view: Surrounding) -> None:
        self._small[_name(kind, view.metadata)] = view

    def _forget(self, kind: str, view: Surrounding) -> None:
        self._small.pop(_name(kind, view.metadata), None)


def _is_alike(old: PodView, new: PodView) -> bool:
    """Whether nothing is different that decides whether and where a pod may be put on a node."""
    before, after = old.metadata, new.metadata
    return (
        old.spec == new.spec
        and old.node_name == new.node_name
        and before.deletion_timestamp == after.deletion_timestamp
        and before.labels == after.labels
        and before.annotations == after.annotations
        and old.status.phase == new.status.phase
        and old.status.resource_claim_statuses == new.status.resource_claim_statuses
    )


def _name(kind: str, meta: ObjectMeta) -> tuple[str, str, str]:
    return kind, meta.namespace or "", meta.name

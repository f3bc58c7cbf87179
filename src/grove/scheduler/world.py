"""What the scheduler sees of the cluster: one cache a resource, and the questions that are asked of them.

`live.py` tells the engine of every change; what writes statuses and takes gangs back asks here. Reads never wait.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any, Final

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.operatorconfig import GROVE_SCHEDULER
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.cache import Cache
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import (
    DISRUPTION_BUDGETS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    Resource,
)
from grove.kube.store import Change
from grove.scheduler.kinds import POD_GANGS, QUEUES, TOPOLOGY_BINDINGS
from grove.scheduler.surroundings import VIEWS
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView

NOT_ENDED: Final = "status.phase!=Succeeded,status.phase!=Failed"
SUCCEEDED: Final = "status.phase=Succeeded"
_READ: Final = {"status.phase": lambda pod: pod.status.phase}
_REFERENCE: Final = "reference"


class World:
    """See the top of the module."""

    def __init__(
        self,
        client: Client,
        *,
        scheduler_names: Collection[str],
        has_devices: bool = True,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        """`scheduler_names`: those of the pods that are ours to place. `has_devices`: whether the API server knows
        claims to devices."""
        self._names = frozenset(scheduler_names)
        self.caches = Caches(client, clock=clock, rng=rng)
        self.ended = Caches(client, clock=clock, rng=rng)
        """Apart, since they hold pods too."""
        add = self.caches.add
        self.nodes = add(NODES, type=NodeView)
        self.pods = add(PODS, type=PodView, fields=NOT_ENDED, read=_READ)
        self.gangs = add(POD_GANGS, type=PodGang, indexes={_REFERENCE: _references})
        self.topologies = add(TOPOLOGY_BINDINGS, type=ClusterTopologyBinding)
        self.queues = add(QUEUES, type=Queue)
        self.priority_classes = add(PRIORITY_CLASSES, type=PriorityClassView)
        self.budgets = add(DISRUPTION_BUDGETS, type=BudgetView)
        self.namespaces = add(NAMESPACES, type=NamespaceView)
        self.surroundings: Final[dict[Resource, Cache[Any]]] = {
            resource: add(resource, type=view)
            for resource, view in VIEWS.items()
            if has_devices or resource.group != RESOURCE_CLAIMS.group
        }
        """Volumes, claims, and what they depend on."""
        self.done = self.ended.add(PODS, type=PodView, labels=labels.POD_GANG, fields=SUCCEEDED, read=_READ)
        """Pods of gangs that have succeeded: they have no place any more, and count as ready."""

    async def synced(self) -> None:
        await self.caches.synced()
        await self.ended.synced()

    # Whose is what

    def is_our_pod(self, pod: PodView) -> bool:
        return pod.spec.scheduler_name in self._names

    def is_our_gang(self, gang: PodGang) -> bool:
        """By its label, else by its pods; one without either is nobody's."""
        name = (gang.metadata.labels or {}).get(labels.SCHEDULER_NAME)
        if name is not None:
            return name in self._names
        return any(self.is_our_pod(pod) for _, _, pods in self.members(gang) for pod in pods)

    def is_ours_to_tell(self, gang: PodGang) -> bool:
        """Whether we say how it fares: of gangs that are made for another scheduler the operator does, also where we
        have taken over the pods of that one."""
        name = (gang.metadata.labels or {}).get(labels.SCHEDULER_NAME, GROVE_SCHEDULER)
        return name == GROVE_SCHEDULER and self.is_our_gang(gang)

    # Gangs by key: `namespace/name`

    def gang(self, key: str) -> PodGang | None:
        namespace, _, name = key.partition("/")
        return self.gangs.get(name, namespace)

    def key_of_pod(self, pod: PodView) -> str:
        """The gang of a pod: the one that its label names, else the one that refers to it; empty: none."""
        metadata = pod.metadata
        namespace, label = metadata.namespace or "", (metadata.labels or {}).get(labels.POD_GANG)
        if label:
            return f"{namespace}/{label}"
        found = self.gangs.find(_REFERENCE, (namespace, metadata.name))
        return key_of(found[0].metadata) if found else ""

    def members(self, gang: PodGang) -> Iterator[tuple[str, int, list[PodView]]]:
        """Of each group its name, its minimum, and the pods of it that there are, those that are done included."""
        for group in gang.spec.podgroups:
            pods = []
            for reference in group.pod_references:
                pod = self.pods.get(reference.name, reference.namespace) or self.done.get(
                    reference.name, reference.namespace
                )
                if pod is not None:
                    pods.append(pod)
            yield group.name, group.min_replicas, pods

    # Whom a change concerns

    def keys_of_gang(self, change: Change[PodGang]) -> Iterable[str]:
        held = change.new or change.old
        return () if held is None else (key_of(held.metadata),)

    def keys_of_pod(self, change: Change[PodView]) -> Iterable[str]:
        """The gang of a pod with which something has become different that a gang's status or place depends on."""
        held = change.new or change.old
        if held is None or (change.old is not None and change.new is not None and _gist(change.old) == _gist(held)):
            return ()
        key = self.key_of_pod(held)
        return (key,) if key else ()


def key_of(metadata: ObjectMeta) -> str:
    return f"{metadata.namespace or ''}/{metadata.name}"


def is_ready(pod: PodView) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


def _gist(pod: PodView) -> object:
    return pod.node_name, is_ready(pod), pod.metadata.deletion_timestamp is None, bool(pod.spec.scheduling_gates)


def _references(_: ObjectMeta, gang: PodGang) -> Iterable[Hashable]:
    return [(one.namespace, one.name) for group in gang.spec.podgroups for one in group.pod_references]

"""Pods on nodes: what was seen, what is assumed, and what is known of neither yet. Called by the engine.

The cluster has of every pod that has not ended where it is. A pod that was decided onto a node is there until its bind
is known to have failed; one on a node that nobody has seen is nowhere until the node comes. A pod's class can change
without the pod: with its claims, or when a selector asks for labels that none asked for before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from grove.kube.objects import NodeView, PodSpec, PodView
from grove.kube.resources import Resource
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.needs import PodNeeds
from grove.scheduler.predicates.nominated import Nominated
from grove.scheduler.predicates.selectors import spoken
from grove.scheduler.registry import Registry, is_lone
from grove.scheduler.resources import is_resized, used

_MOST_SPECS: Final = 1 << 16


class Seats:
    """See the top of the module."""

    def __init__(
        self,
        cluster: Cluster,
        registry: Registry,
        needs: PodNeeds,
        *,
        moved: Callable[[Placed, int], None] | None = None,
    ) -> None:
        """`moved` is told of every pod that comes to a node (1) or leaves it (-1), trials left out."""
        self._cluster = cluster
        self._registry = registry
        self._needs = needs
        self._moved = moved or (lambda _pod, _sign: None)
        self._elsewhere: dict[str, dict[str, None]] = {}
        """Uids of pods by the name of a node that has not been seen."""
        self._heard: dict[int, PodSpec] = {}
        """Specs whose selectors are known, by identity."""
        self._mixed = False
        """Whether pods may be of classes that are too coarse."""
        self.nominated = Nominated(cluster)

    # Nodes

    def node(self, view: NodeView) -> None:
        """A node came or changed."""
        self._cluster.node(view)
        for uid in self._elsewhere.pop(view.metadata.name, ()):
            pod = self._registry.pods.get(uid)
            if pod is not None:
                self.see(pod)

    def node_gone(self, name: str) -> list[Placed]:
        """A node went; gives the pods that were on it: they are nowhere until their objects go, or it comes back."""
        pods = self._cluster.node_gone(name)
        for pod in pods:
            self._elsewhere.setdefault(name, {})[pod.uid] = None
            self._moved(pod, -1)
        return pods

    # Pods

    def see(self, pod: PodView) -> None:
        """A pod came or changed; the registry knows it already, or not any more if it has ended."""
        uid = pod.metadata.uid or ""
        if uid not in self._registry.pods:
            self.gone(pod)
            return
        self._hear(pod)
        if not self._registry.is_ours(pod):
            self.nominated.see(pod)
        if not pod.node_name:
            return  # if it is assumed somewhere, it stays so until we hear what became of that
        slot = self._cluster.slot_of.get(pod.node_name)
        if slot is None:
            self.take(uid)
            self._elsewhere.setdefault(pod.node_name, {})[uid] = None
        else:
            self._seat(pod, slot)

    def gone(self, pod: PodView) -> None:
        """A pod went or has ended."""
        meta = pod.metadata
        uid = meta.uid or ""
        self.take(uid)
        self.nominated.gone(uid)
        self._needs.forget(meta.namespace or "", meta.name)
        waiting = self._elsewhere.get(pod.node_name)
        if waiting is not None:
            waiting.pop(uid, None)

    def put(self, pod: Placed) -> None:
        """A pod is assumed on a node from now on."""
        self._cluster.put(pod)
        self._moved(pod, 1)

    def take(self, uid: str) -> Placed | None:
        """A pod is on no node any more; None: it was on none."""
        if uid not in self._cluster.pods:
            return None
        pod = self._cluster.take(uid)
        self._moved(pod, -1)
        return pod

    def again(self, pods: Iterable[PodView]) -> None:
        """Something that a seat is made of may have changed: the gang, the claims."""
        for pod in pods:
            held = self._cluster.pods.get(pod.metadata.uid or "")
            if held is not None:
                self._seat(pod, held.slot)

    def claims_changed(self, resource: Resource, namespace: str, name: str) -> list[PodView]:
        """An object came, changed or went that claims of pods depend on; gives those pods."""
        found = [self._registry.pod(*one) for one in self._needs.stale(resource, namespace, name)]
        pods = [one for one in found if one is not None]
        self.again(pods)
        return pods

    def tell_apart(self) -> bool:
        """All pods are classed anew if a selector has asked for something new; before anything is decided. Whether
        they were."""
        if not self._mixed:
            return False
        self._mixed = False
        self.again([self._registry.pods[uid] for uid in [*self._cluster.pods]])
        return True

    def _hear(self, pod: PodView) -> None:
        """What the selectors of a pod ask for decides which pods are alike."""
        spec = pod.spec
        if self._heard.get(id(spec)) is spec:
            return
        if len(self._heard) >= _MOST_SPECS:
            self._heard.clear()
        self._heard[id(spec)] = spec
        keys = spoken(spec)
        if keys and self._cluster.classes.speak_of(keys):
            self._mixed = True

    def _seat(self, pod: PodView, slot: int) -> None:
        seat = self._placed(pod, slot)
        held = self._cluster.pods.get(seat.uid)
        if held is not None:
            if _same(held, seat):
                return
            self.take(seat.uid)
        self.put(seat)

    def _placed(self, pod: PodView, slot: int) -> Placed:
        meta = pod.metadata
        uid = meta.uid or ""
        key = self._registry.gang_of(uid)
        held = self._cluster.pods.get(uid)
        cls = self._cluster.classes.of(pod)
        requests = self._cluster.resources.vector(used(pod)) if is_resized(pod) else None
        if requests is not None and cls.wishes is not None:
            requests = self._cluster.classes.with_wishes(requests, cls.wishes)
        return Placed(
            uid,
            meta.namespace or "",
            meta.name,
            cls,
            slot,
            gang="" if is_lone(key) else key,
            requests=requests,
            priority=held.priority if held is not None else None,
            terminating=bool(meta.deletion_timestamp),
        )


def _same(held: Placed, seat: Placed) -> bool:
    return (
        held.slot == seat.slot
        and held.cls is seat.cls
        and held.gang == seat.gang
        and held.requests == seat.requests
        and held.terminating == seat.terminating
    )

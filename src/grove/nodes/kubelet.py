"""The kubelets of all simulated nodes in one: reconciles a pod that is bound to one of them.

What a pod's life is now is decided by `life.py`; here it is looked at, written where the API does not have it yet, and
looked at again when something changes next. Lives are in memory, as containers are on a real node; a process that was
started again takes them up from the statuses of the pods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.cache import Cache
from grove.kube.cachedclient import CachedClient
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import Recorder, Regarding
from grove.kube.resources import PODS
from grove.kube.store import Change
from grove.nodes import admission, happenings, life, marks, plans, statuses
from grove.nodes.addresses import lowest_free
from grove.nodes.behaviour import Problem
from grove.nodes.failure import failure
from grove.nodes.life import Life, PodPlan
from grove.nodes.moments import seconds
from grove.nodes.objects import ContainerSpec, NodeRecord, PodRecord
from grove.nodes.plans import Defaults
from grove.nodes.statuses import View
from grove.nodes.waiters import Key, Run, Waiters
from grove.runtime.outcomes import Outcome, RequeueAfter

BY_NODE: Final = "node"
MISREAD: Final = "SimulationMisread"
"""Reason of the Event that tells of an annotation that was not understood."""


def by_node(_: ObjectMeta, pod: PodRecord) -> Iterable[Hashable]:
    """An index of pods by the node that they are bound to."""
    return (pod.spec.node_name,)


@dataclasses.dataclass
class Held:
    """What is known of a pod beside what the API has."""

    uid: str
    life: Life | None = None
    is_lost: bool = False
    """Whether its node has been without power since we looked at it."""
    told: frozenset[Problem] = frozenset()


class KubeletStatistics(msgspec.Struct, frozen=True):
    """What the nodes run, and what was written since they were started."""

    pods: int
    waiters: int
    statuses: int
    deletions: int
    rejections: int


class Kubelet:
    """See the top of the module. Its caches are synced before it is asked for anything."""

    def __init__(
        self,
        *,
        pods: Cache[PodRecord],
        nodes: Cache[NodeRecord],
        client: CachedClient,
        waiters: Waiters,
        recorder: Recorder,
        now: Callable[[], float],
        defaults: Defaults,
    ) -> None:
        """`pods` has the index BY_NODE. `now` gives seconds since the epoch and never goes back."""
        self._pods = pods
        self._nodes = nodes
        self._client = client
        self._waiters = waiters
        self._recorder = recorder
        self._now = now
        self._defaults = defaults
        self._held: dict[Key, Held] = {}
        self._statuses = self._deletions = self._rejections = 0

    def statistics(self) -> KubeletStatistics:
        return KubeletStatistics(
            pods=len(self._held),
            waiters=len(self._waiters),
            statuses=self._statuses,
            deletions=self._deletions,
            rejections=self._rejections,
        )

    # What needs a look

    def keys_of_pod(self, change: Change[PodRecord]) -> Iterator[Key]:
        pod = change.new or change.old
        if pod is not None:
            yield key_of(pod)

    def keys_of_node(self, change: Change[NodeRecord]) -> Iterator[Key]:
        """All pods of a node that came, went, was told something else or is registered now; not of one that is
        merely alive."""
        old, new = change.old, change.new
        if old is None or new is None or _heard(old) != _heard(new):
            node = new or old
            assert node is not None
            yield from map(key_of, self._pods.find(BY_NODE, node.metadata.name))

    # A look

    async def reconcile(self, key: Key) -> Outcome:
        pod = self._pods.get(key[1], key[0])
        node = None if pod is None else self._nodes.get(pod.spec.node_name)
        held = self._held.get(key)
        if held is not None and (pod is None or node is None or held.uid != pod.metadata.uid):
            self._waiters.leave(held.uid)
            del self._held[key]
            held = None
        if pod is None or node is None or not _is_registered(node):
            return None
        if held is None:
            held = self._held[key] = Held(pod.metadata.uid or "")
        match failure(node):
            case "dead":
                held.is_lost = True
                self._waiters.leave(held.uid)
                return None
            case "unreachable":
                return None
        return await self._live(pod, node, held)

    async def _live(self, pod: PodRecord, node: NodeRecord, held: Held) -> Outcome:
        now = self._now()
        plan, problems = plans.of_pod(pod, node.metadata.annotations or {}, self._defaults)
        before = held.life
        lived, wake = self._lived(pod, node, plan, held, now)
        held.life, held.is_lost = lived, False
        self._tell(pod, problems, held, happenings.between(before, lived, plan, pod))
        self._waiters.want(pod, self._runs(pod, plan, lived))
        await self._write(View(pod, node, plan, lived, now))
        return None if wake is None else RequeueAfter(max(0.0, wake - self._now()))

    def _lived(
        self, pod: PodRecord, node: NodeRecord, plan: PodPlan, held: Held, now: float
    ) -> tuple[Life, float | None]:
        """The life up to now, with what came from outside since the last look."""
        lived = held.life or statuses.taken_up(pod, plan) or self._taken_in(pod, node, plan, now)
        lived, _ = life.step(lived, plan, now)
        if held.is_lost:
            lived = life.rebooted(lived, plan, now)
        for run in self._runs(pod, plan, lived):
            if (result := self._waiters.result(run)) is not None:
                lived = life.finished(lived, ("init", run.container), run.number, now, *result)
        if pod.metadata.deletion_timestamp is not None:
            lived = life.stopped(lived, since=now, deadline=seconds(pod.metadata.deletion_timestamp) or now)
        return life.step(lived, plan, now)

    def _taken_in(self, pod: PodRecord, node: NodeRecord, plan: PodPlan, now: float) -> Life:
        """The beginning of a life, or its end: the pod may not fit."""
        others = [one for one in self._pods.find(BY_NODE, node.metadata.name) if self._is_taken_in(one, pod)]
        rejection = admission.judge(pod, node, others)
        if rejection is not None:
            self._rejections += 1
            return life.rejected(plan, at=now, reason=rejection.reason, message=rejection.message)
        taken = {address for one in others if (address := self._address(one))}
        ip = node.host_ip if pod.spec.host_network else lowest_free(_pod_range(node), taken)
        return life.begun(plan, admitted=now, ip=ip or node.host_ip)

    def _is_taken_in(self, other: PodRecord, pod: PodRecord) -> bool:
        if other is pod:
            return False
        held = self._held.get(key_of(other))
        if held is not None and held.life is not None and held.uid == other.metadata.uid:
            return held.life.over is None
        return other.status.start_time is not None and other.status.phase not in ("Succeeded", "Failed")

    def _address(self, pod: PodRecord) -> str:
        held = self._held.get(key_of(pod))
        return pod.status.pod_ip if held is None or held.life is None else held.life.ip

    def _runs(self, pod: PodRecord, plan: PodPlan, lived: Life) -> dict[Run, ContainerSpec]:
        """The runs of containers that really do their work, and do now."""
        return {
            Run(pod.metadata.uid or "", index, container.run): spec
            for index, (container, wanted, spec) in enumerate(
                zip(lived.init, plan.init, pod.spec.init_containers, strict=True)
            )
            if wanted.ends_from_outside and container.is_running
        }

    # What comes of it

    async def _write(self, view: View) -> None:
        """Brings the API to what is. A pod that has gone or come anew meanwhile is looked at when the watch says so."""
        try:
            if not view.life.is_gone:
                await self._write_status(view)
                return
            if view.pod.metadata.finalizers:  # who holds it back may want to know how it ended
                await self._write_status(view)
            if view.pod.metadata.deletion_grace_period_seconds != 0:
                await self._delete(view.pod)
        except (NotFound, Conflict):
            return

    async def _write_status(self, view: View) -> None:
        change = statuses.difference(view)
        if change is None:
            return
        metadata = view.pod.metadata
        await self._client.patch(
            PODS,
            metadata.name,
            change,
            namespace=metadata.namespace or "",
            subresource="status",
            form="strategic",
            type=PodRecord,
        )
        self._statuses += 1

    async def _delete(self, pod: PodRecord) -> None:
        metadata = pod.metadata
        await self._client.delete(
            PODS, metadata.name, namespace=metadata.namespace or "", grace_period=0, uid=metadata.uid or ""
        )
        self._deletions += 1

    def _tell(
        self,
        pod: PodRecord,
        problems: tuple[Problem, ...],
        held: Held,
        happened: Iterable[happenings.Happening],
    ) -> None:
        regarding = Regarding("v1", "Pod", pod.metadata.namespace or "", pod.metadata.name, pod.metadata.uid or "")
        for problem in problems:
            if problem not in held.told:
                self._recorder.record(regarding, "Warning", MISREAD, str(problem))
        held.told = frozenset(problems)
        for one in happened:
            self._recorder.record(regarding, "Warning", one.reason, one.message)


def _heard(node: NodeRecord) -> Hashable:
    """What of a node its pods go by."""
    return _is_registered(node), node.host_ip, frozenset((node.metadata.annotations or {}).items())


def _is_registered(node: NodeRecord) -> bool:
    """Whether it is known where the node is and what it has; until then its pods wait."""
    return bool(node.host_ip) and node.status.allocatable is not None


def _pod_range(node: NodeRecord) -> str:
    return node.spec.pod_cidr or (node.metadata.annotations or {}).get(marks.POD_RANGE, "")


def key_of(pod: PodRecord) -> Key:
    return pod.metadata.namespace or "", pod.metadata.name

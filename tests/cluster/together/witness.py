"""What a witness of all pods has to say of gangs and nodes. Pure: it is told every state of every pod, in order.

A gang is torn while some of its pods are on nodes and others that make up its minimum are not. It must be torn for the
time of a burst of binds alone, or while pods that were lost are replaced. A node is over-committed while the pods on it
that have not ended ask for more than it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grove.api import labels, quantities

JSON = dict[str, Any]
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Pod:
    """What is asked of a pod."""

    uid: str
    name: str
    gang: str
    clique: str
    node: str
    gpus: int
    milli: int
    counts: bool
    """Not asked to go, and not over."""
    occupies: bool
    """Not over: it has what it asks for until it is gone."""

    @classmethod
    def of(cls, pod: JSON) -> Pod:
        meta, spec = pod["metadata"], pod["spec"]
        found = meta.get("labels") or {}
        asks = [one.get("resources", {}).get("requests", {}) for one in spec["containers"]]
        is_over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        return cls(
            uid=meta["uid"],
            name=meta["name"],
            gang=found.get(labels.POD_GANG, ""),
            clique=found.get(labels.POD_CLIQUE, ""),
            node=spec.get("nodeName", ""),
            gpus=sum(quantities.whole(one.get(GPU, 0)) for one in asks),
            milli=sum(quantities.milli(one.get("cpu", 0)) for one in asks),
            counts=not is_over and "deletionTimestamp" not in meta,
            occupies=not is_over,
        )


@dataclass
class _Gang:
    minimum: dict[str, int] = field(default_factory=dict)
    placed: dict[str, set[str]] = field(default_factory=dict)
    torn_since: float | None = None
    was_whole: bool = False


class Witness:
    """See the top of the module. Times are those at which the states were seen."""

    def __init__(self, nodes: Mapping[str, tuple[int, int]]) -> None:
        """`nodes`: by name, GPUs and thousandths of a CPU."""
        self._nodes = dict(nodes)
        self._used: dict[str, list[int]] = {name: [0, 0] for name in nodes}
        self._pods: dict[str, Pod] = {}
        self._gangs: dict[str, _Gang] = {}
        self.torn: list[tuple[str, float]] = []
        """Gangs that had never been whole, and for how many seconds they were torn."""
        self.overcommitted: list[str] = []

    def gang(self, name: str, minimum: Mapping[str, int]) -> None:
        """A PodGang came or changed: how many pods of each PodClique it needs."""
        self._gangs.setdefault(name, _Gang()).minimum = dict(minimum)

    def gang_gone(self, name: str) -> None:
        self._gangs.pop(name, None)

    def pod(self, pod: Pod, now: float, *, is_gone: bool) -> None:
        """A pod as it was stored; the last state if it is gone."""
        before = self._pods.pop(pod.uid, None)
        if before is not None:
            self._leave(before)
        if not is_gone:
            self._pods[pod.uid] = pod
            self._enter(pod)
        for name in {pod.gang, before.gang if before else ""} - {""}:
            self._judge(name, now)

    def _enter(self, pod: Pod) -> None:
        if not pod.node:
            return
        if pod.occupies and pod.node in self._nodes:
            used, has = self._used[pod.node], self._nodes[pod.node]
            used[0] += pod.gpus
            used[1] += pod.milli
            if used[0] > has[0] or used[1] > has[1]:
                self.overcommitted.append(f"{pod.node} has {has}, and {pod.name} makes it {tuple(used)}")
        if pod.counts and pod.gang:
            self._gangs.setdefault(pod.gang, _Gang()).placed.setdefault(pod.clique, set()).add(pod.uid)

    def _leave(self, pod: Pod) -> None:
        if not pod.node:
            return
        if pod.occupies and pod.node in self._nodes:
            self._used[pod.node][0] -= pod.gpus
            self._used[pod.node][1] -= pod.milli
        if pod.counts and pod.gang and pod.gang in self._gangs:
            self._gangs[pod.gang].placed.get(pod.clique, set()).discard(pod.uid)

    def _judge(self, name: str, now: float) -> None:
        gang = self._gangs.get(name)
        if gang is None or not gang.minimum:
            return
        counts = {clique: len(gang.placed.get(clique, ())) for clique in gang.minimum}
        is_whole = all(counts[clique] >= least for clique, least in gang.minimum.items())
        is_torn = any(counts.values()) and not is_whole
        if is_torn and gang.torn_since is None:
            gang.torn_since = now
        elif not is_torn and gang.torn_since is not None:
            if not gang.was_whole:
                self.torn.append((name, now - gang.torn_since))
            gang.torn_since = None
        gang.was_whole = (gang.was_whole or is_whole) and any(counts.values())

    def longest_tear(self) -> float:
        """Of a gang on its way to be whole for the first time."""
        return max((seconds for _, seconds in self.torn), default=0.0)

    def torn_now(self) -> list[str]:
        return sorted(name for name, gang in self._gangs.items() if gang.torn_since is not None)

"""Taints: nodes keep pods off that do not tolerate them. Pure.

NoSchedule and NoExecute refuse, PreferNoSchedule is a matter of taste. A node that is cordoned is as one with the taint
`node.kubernetes.io/unschedulable:NoSchedule`, as for kube-scheduler. Beyond that, NoExecute that a pod tolerates only
for a time is disliked too: the pod would be evicted again.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from grove.kube.objects import Taint, Toleration
from grove.kube.taints import told, tolerates
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.distinct import Distinct
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots

TASTE: Final = 300
"""The most that taints count as a matter of taste: the weight that kube-scheduler gives them."""
CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
REFUSING: Final = ("NoSchedule", "NoExecute")

Tolerations: TypeAlias = tuple[Toleration, ...]
TaintSet: TypeAlias = tuple[Taint, ...]

_MOST_KNOWN: Final = 1024


class Taints(Lenient):
    """What nodes' `taints` and `unschedulable` say, and pods' tolerations."""

    name = "Taints"

    def __init__(self, cluster: Cluster, *, compares: bool = False) -> None:
        self._cluster = cluster
        self._compares = compares
        self._sets: Distinct[TaintSet] = Distinct(())
        self._penalties: dict[Tolerations, tuple[int, Counts]] = {}

    @property
    def sets(self) -> list[TaintSet]:
        """All sets of taints that there have been; the first is empty."""
        return self._sets.values

    def node_changed(self, slot: int) -> None:
        view = self._cluster.views[slot]
        if view is None:
            self._sets.put(slot, ())
            return
        spec = view.spec
        found = [Taint(key=one.key, effect=one.effect, value=one.value) for one in spec.taints]
        if spec.unschedulable and CORDONED not in found:
            found.append(CORDONED)
        self._sets.put(slot, tuple(found))

    def is_static(self, cls: PodClass) -> bool:
        return True

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        if len(self._sets.values) == 1:
            return None
        tolerations = cls.spec.tolerations
        refused = self._sets.table(
            ("refuses", tolerations), lambda taints: self._first(taints, tolerations, REFUSING) is not None
        )
        return np.equal(refused[self._sets.codes[slots]], 0)

    def penalty(self, cls: PodClass) -> Counts | None:
        tolerations = cls.spec.tolerations
        disliked = self._sets.table(("dislikes", tolerations), lambda taints: self._disliked(taints, tolerations))
        most = int(disliked.max())
        if not most:
            return None
        now = self._cluster.reshaped.position
        known = self._penalties.get(tolerations)
        if known is None or known[0] != now:
            if len(self._penalties) >= _MOST_KNOWN:
                self._penalties.clear()
            found = (disliked * TASTE // most)[self._sets.codes[: self._cluster.size]]
            known = self._penalties[tolerations] = (now, found)
        return known[1]

    def explain(self, cls: PodClass, slot: int) -> str:
        taint = self._first(self._sets.says(slot), cls.spec.tolerations, REFUSING)
        if taint is None:
            return ""
        if taint == CORDONED:
            return "unschedulable"
        return f"taint {told(taint)} is not tolerated"

    def _first(self, taints: TaintSet, tolerations: Tolerations, effects: tuple[str, ...]) -> Taint | None:
        """The first of the taints that refuses a pod with such tolerations."""
        return next((one for one in taints if one.effect in effects and not self._tolerated(one, tolerations)), None)

    def _disliked(self, taints: TaintSet, tolerations: Tolerations) -> int:
        lasting = tuple([one for one in tolerations if one.toleration_seconds is None])
        return sum(
            one.effect == "PreferNoSchedule" or (one.effect == "NoExecute" and self._tolerated(one, tolerations))
            for one in taints
            if not self._tolerated(one, lasting)
        )

    def _tolerated(self, taint: Taint, tolerations: Tolerations) -> bool:
        return any(tolerates(one, taint, compares=self._compares) for one in tolerations)

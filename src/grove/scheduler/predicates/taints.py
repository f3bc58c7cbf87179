"""Taints: nodes keep pods off that do not tolerate them. Pure.

NoSchedule and NoExecute refuse, PreferNoSchedule is a matter of taste. A node that is cordoned is as one with the taint
`node.kubernetes.io/unschedulable:NoSchedule`, as for kube-scheduler.
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


class Taints(Lenient):
    """What nodes' `taints` and `unschedulable` say, and pods' tolerations."""

    name = "Taints"

    def __init__(self, cluster: Cluster, *, compares: bool = False) -> None:
        self._cluster = cluster
        self._compares = compares
        self._sets: Distinct[TaintSet] = Distinct(())

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
        return np.logical_not(refused[self._sets.codes[slots]])

    def penalty(self, cls: PodClass) -> Counts | None:
        tolerations = cls.spec.tolerations
        disliked = self._sets.table(("dislikes", tolerations), lambda taints: self._disliked(taints, tolerations))
        most = int(disliked.max())
        return disliked[self._sets.codes[: self._cluster.size]] * TASTE // most if most else None

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
        mild = [one for one in tolerations if one.effect in ("", "PreferNoSchedule")]
        return sum(one.effect == "PreferNoSchedule" and not self._tolerated(one, tuple(mild)) for one in taints)

    def _tolerated(self, taint: Taint, tolerations: Tolerations) -> bool:
        return any(tolerates(one, taint, compares=self._compares) for one in tolerations)

"""What a rule about pods and nodes gives to the cluster. Each rule of Kubernetes is one of these, in its own module.

A rule speaks of classes of pods and of nodes by their slots (`cluster.py`). What depends on the node and the class
alone is static; what depends on who else is there is a limit. Rules keep what they count when they are told of pods
that come and go, also of those that a trial puts and takes back: `placed` with 1 and with -1 undo each other exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from grove.scheduler.classes import PodClass
from grove.scheduler.columns import Column

if TYPE_CHECKING:
    from grove.scheduler.cluster import Placed

Slots: TypeAlias = npt.NDArray[np.int64]
"""Indices of nodes."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Counts: TypeAlias = npt.NDArray[np.int64]
Array: TypeAlias = npt.NDArray[Any]


class Rule(Protocol):
    """One rule of Kubernetes. Most need only some of these: `Lenient` has the rest."""

    @property
    def name(self) -> str:
        """As people know it: `NodeSelector`, `Taints`, `PodAntiAffinity`."""
        ...

    @property
    def epoch(self) -> int:
        """Grows when what `static` gave may have changed for another reason than a node."""
        ...

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        """For each of the slots whether the rule lets pods of the class there; None: it has nothing against any.

        What it refuses cannot be cured by removing pods.
        """
        ...

    def is_static(self, cls: PodClass) -> bool:
        """Whether `static` can refuse anything to the class: asked once a class and epoch."""
        ...

    def is_dynamic(self, cls: PodClass) -> bool:
        """Whether `limit` can say anything of the class, now: asked at every turn, so it must be quick.

        A class that no rule is dynamic for is plain: its capacity counts pods exactly.
        """
        ...

    def limit(self, cls: PodClass) -> Counts | None:
        """For every slot how many more pods of the class the rule allows there now.

        Exact about one more pod (zero or not); about several an upper bound, each alone considered. Do not change it.
        """
        ...

    def only_shrinks(self, cls: PodClass) -> bool:
        """Whether pods that come, of whatever class, never raise the limit: so of ports and anti-affinity, not of
        affinity and spread. Then it bounds what a gang can do, and is part of the proof that it has no place."""
        ...

    def apart(self, cls: PodClass) -> Sequence[Column]:
        """Labels in whose domains there is never more than one pod of the class: it bounds how many find a place."""
        ...

    def interacts(self, classes: Sequence[PodClass]) -> bool:
        """Whether pods of these classes constrain one another, so that they must be placed one by one.

        Where not, `limit` is exact about several pods of each while only such pods come: one that is placed uses up one
        of what its class has there, and changes nothing else. It is asked before the first of them is placed, when none
        of them may be dynamic yet.
        """
        ...

    def penalty(self, cls: PodClass) -> Counts | None:
        """For every slot what is against it as a matter of taste: preferred affinity and the like. Lower is better."""
        ...

    def placed(self, pod: Placed, sign: int) -> None:
        """A pod came to `pod.slot` (1) or left it (-1)."""
        ...

    def node_changed(self, slot: int) -> None:
        """A node came, changed or went. Pods on it have been taken away before, and are placed again after it."""
        ...

    def explain(self, cls: PodClass, slot: int) -> str:
        """Why the rule refuses this slot to the class now, in a few words without names of nodes; empty: it does not.

        Equal reasons are counted together: `3 nodes: taint nvidia.com/gpu=present:NoSchedule is not tolerated`.
        """
        ...


class Lenient:
    """A rule that has nothing to say; the base of those that have something."""

    name = ""
    epoch = 0

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        return None

    def is_static(self, cls: PodClass) -> bool:
        return False

    def is_dynamic(self, cls: PodClass) -> bool:
        return False

    def limit(self, cls: PodClass) -> Counts | None:
        return None

    def only_shrinks(self, cls: PodClass) -> bool:
        return False

    def apart(self, cls: PodClass) -> Sequence[Column]:
        return ()

    def interacts(self, classes: Sequence[PodClass]) -> bool:
        return any(self.is_dynamic(cls) for cls in classes)  # unless it knows better

    def penalty(self, cls: PodClass) -> Counts | None:
        return None

    def placed(self, pod: Placed, sign: int) -> None:
        return

    def node_changed(self, slot: int) -> None:
        return

    def explain(self, cls: PodClass, slot: int) -> str:
        return ""

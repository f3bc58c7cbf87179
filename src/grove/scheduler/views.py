"""Kinds of Kubernetes as far as the scheduler reads them, beyond pods, nodes, volumes and devices."""

from __future__ import annotations

from grove.api.fields import Struct
from grove.api.kinds.meta import ObjectMeta
from grove.kube.affinity import LabelSelector


class NamespaceView(Struct, frozen=True, kw_only=True):
    """A namespace: selectors ask for its labels."""

    metadata: ObjectMeta


class PriorityClassView(Struct, frozen=True, kw_only=True):
    """How important pods and gangs are that name it."""

    metadata: ObjectMeta
    value: int = 0
    preemption_policy: str = ""
    global_default: bool = False
    """Whether it is that of pods which name none."""


class BudgetSpec(Struct, frozen=True, kw_only=True):
    """Whom a budget is for."""

    selector: LabelSelector | None = None


class BudgetStatus(Struct, frozen=True, kw_only=True):
    """What it allows now."""

    disruptions_allowed: int = 0


class BudgetView(Struct, frozen=True, kw_only=True):
    """A PodDisruptionBudget: how many of its pods may be evicted now."""

    metadata: ObjectMeta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

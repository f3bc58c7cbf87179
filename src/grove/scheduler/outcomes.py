"""What became of the decision to put a pod on a node. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from grove.kube.objects import PodView

Reason: TypeAlias = Literal[
    "Gone",  # the pod, or the gang, is not there any more
    "Foreign",  # somebody else has put it on another node
    "Gated",  # somebody holds it back
    "Changed",  # the node cannot take it any more; nothing was tried
    "NotPrepared",  # its volumes or devices could not be had
    "Refused",  # the API server, or an admission webhook, does not want it
    "Unreachable",  # the API server could not be asked for long
]


class Bound(NamedTuple):
    """It is there."""


class Again(NamedTuple):
    """It is nowhere yet: another try may help."""


class BindFailure(NamedTuple):
    """It is not there, and will not come there by this decision."""

    reason: Reason
    message: str = ""


Outcome: TypeAlias = Bound | Again | BindFailure


def judge(pod: PodView | None, uid: str, node: str, *, refused: bool) -> Outcome:
    """By the pod as the API server has it after a binding whose fate is not known, or that was `refused`."""
    if pod is None or pod.metadata.uid != uid:
        return BindFailure("Gone")
    if pod.node_name == node:
        return Bound()
    if pod.node_name:
        return BindFailure("Foreign", f"it is on {pod.node_name}")
    if pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Succeeded", "Failed"):
        return BindFailure("Gone")
    if pod.spec.scheduling_gates:
        return BindFailure("Gated", ", ".join(gate.name for gate in pod.spec.scheduling_gates))
    return BindFailure("Refused") if refused else Again()

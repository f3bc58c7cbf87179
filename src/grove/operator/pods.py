"""How the pods of a clique fare. Pure; every controller counts with these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from grove.api import labels
from grove.kube.objects import Condition, ContainerStatus, PodView

TERMINAL: Final = ("Succeeded", "Failed")
STARTING: Final = ("", "ContainerCreating", "PodInitializing")
"""What a container waits for that will start by itself."""


def is_terminating(pod: PodView) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_done(pod: PodView) -> bool:
    """Whether a pod has succeeded and is to stay so: it counts as one of its clique, and is not run again."""
    return not is_terminating(pod) and pod.status.phase == "Succeeded" and pod.spec.restart_policy != "Always"


def is_active(pod: PodView) -> bool:
    """Whether a pod counts as one of its clique: it is not on its way out, and not over unless it is done."""
    return not is_terminating(pod) and (pod.status.phase not in TERMINAL or is_done(pod))


def is_lost(pod: PodView) -> bool:
    """Whether a pod is over and must be replaced."""
    return not is_terminating(pod) and not is_active(pod)


def is_scheduled(pod: PodView) -> bool:
    return bool(pod.node_name)


def is_gated(pod: PodView) -> bool:
    """Whether any gate, ours or another's, holds it back from being scheduled."""
    return bool(pod.spec.scheduling_gates)


def has_our_gate(pod: PodView) -> bool:
    return any(gate.name == labels.SCHEDULING_GATE for gate in pod.spec.scheduling_gates)


def is_ready(pod: PodView) -> bool:
    for one in pod.status.conditions:  # written out: every count of every pod asks
        if one.type == "Ready":
            return one.status == "True"
    return False


def has_crashed(pod: PodView) -> bool:
    """Whether a container ended badly the last time, and the pod is not ready again."""
    return not is_ready(pod) and any(
        ended is not None and ended.exit_code != 0
        for status in _containers(pod)
        for ended in (status.last_state.terminated, status.state.terminated)
    )


def is_unready_though_started(pod: PodView) -> bool:
    """Whether a container has started, and is not ready."""
    return not is_ready(pod) and any(one.started and not one.ready for one in pod.status.container_statuses)


def is_unschedulable(pod: PodView) -> bool:
    """Whether its scheduler says that there is no room for a pod."""
    return any(map(_is_refusal, pod.status.conditions))


def why_unschedulable(pod: PodView) -> str:
    """What its scheduler says of a pod for which there is no room; empty for any other."""
    return next((one.message for one in pod.status.conditions if _is_refusal(one)), "")


def _is_refusal(condition: Condition) -> bool:
    return condition.type == "PodScheduled" and condition.reason == "Unschedulable"


def is_in_trouble(pod: PodView) -> bool:
    """Whether a pod that comes up needs somebody to look at it: there is no room for it, or a container of it fails."""
    return (
        is_unschedulable(pod)
        or any(one.state.waiting is not None and one.state.waiting.reason not in STARTING for one in _containers(pod))
        or has_crashed(pod)
    )


def _containers(pod: PodView) -> tuple[ContainerStatus, ...]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


def template_hash(pod: PodView) -> str:
    """The hash of the template that a pod was made from."""
    return (pod.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH, "")


def index_of(pod: PodView) -> int | None:
    """The pod's index in its clique; None where the label is missing or no number."""
    text = (pod.metadata.labels or {}).get(labels.POD_CLIQUE_POD_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None


class Counts(msgspec.Struct, frozen=True):
    """The active pods of a clique, by how they fare."""

    active: int = 0
    scheduled: int = 0
    gated: int = 0
    ready: int = 0
    serving: int = 0
    """Ready, or done what they were for."""
    broken: int = 0
    """Scheduled, and crashed or started without being ready."""

    @property
    def healthy(self) -> int:
        """Scheduled and ready, or still on their way there."""
        return self.scheduled - self.broken


def count(pods: Iterable[PodView]) -> Counts:
    """Counts the active ones: what is on its way out serves nobody."""
    active = scheduled = gated = ready = serving = broken = 0
    for pod in pods:
        if not is_active(pod):
            continue
        active += 1
        gated += is_gated(pod)
        is_well = is_ready(pod)
        ready += is_well
        is_over = is_done(pod)
        serving += is_well or is_over
        if is_scheduled(pod):
            scheduled += 1
            broken += not (is_well or is_over) and (has_crashed(pod) or is_unready_though_started(pod))
    return Counts(active, scheduled, gated, ready, serving, broken)


def made_from(pods: Iterable[PodView], hash: str) -> int:
    """How many active pods were made from the template with this hash."""
    return sum(1 for pod in pods if is_active(pod) and template_hash(pod) == hash)

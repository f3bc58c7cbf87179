"""Pods that this scheduler leaves alone, whatever the node. Pure."""

from __future__ import annotations

from grove.kube.objects import PodSpec


def unsupported(spec: PodSpec) -> str:
    """Why a pod is refused before any node is looked at; empty: it is not."""
    if spec.scheduling_group is not None:
        return (
            f"spec.schedulingGroup (podGroupName {spec.scheduling_group.pod_group_name}) asks kube-scheduler to place "
            "the pod with its group: leave it out, PodGangs do that here"
        )
    return ""

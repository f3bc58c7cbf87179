"""What the scheduler may do in a cluster: every right with its reason. Data; `grove.install` renders it."""

from __future__ import annotations

from typing import Final

from grove.kube.resources import (
    CORE_EVENTS,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DEVICE_CLASSES,
    DISRUPTION_BUDGETS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from grove.runtime.permission import FOLLOW, Permission, of
from grove.scheduler.kinds import POD_GANGS, QUEUES, TOPOLOGY_BINDINGS

STORAGE: Final = (STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, CSI_STORAGE_CAPACITIES, VOLUME_ATTACHMENTS)

PERMISSIONS: Final = (
    of(PODS, (*FOLLOW, "get", "delete"), "counts what nodes hold; takes back gangs that are half on nodes"),
    of(PODS, ("create",), "puts pods on nodes", subresource="binding"),
    of(PODS, ("create",), "makes room for what is more important, within disruption budgets", subresource="eviction"),
    of(PODS, ("patch",), "says why a pod waits, where it will go, and for whom it was evicted", subresource="status"),
    of(POD_GANGS, (*FOLLOW, "patch"), "reads which pods belong together, and writes down what it decides of them"),
    of(POD_GANGS, ("patch",), "says how gangs fare", subresource="status"),
    of(QUEUES, FOLLOW, "shares the cluster"),
    of(QUEUES, ("patch",), "says what queues use, and what is their share", subresource="status"),
    of(TOPOLOGY_BINDINGS, FOLLOW, "knows the levels of topologies"),
    of(NODES, FOLLOW, "knows where there is room"),
    of(NAMESPACES, FOLLOW, "knows the labels that selectors over namespaces ask for"),
    of(PRIORITY_CLASSES, FOLLOW, "knows what is more important"),
    of(DISRUPTION_BUDGETS, FOLLOW, "evicts only what may be disrupted"),
    of(PERSISTENT_VOLUME_CLAIMS, (*FOLLOW, "patch"), "knows the volumes of pods, and has them made where the pods go"),
    of(PERSISTENT_VOLUMES, (*FOLLOW, "patch"), "gives volumes to claims that wait for the place of their pod"),
    *(of(one, FOLLOW, "knows where volumes can be had") for one in STORAGE),
    of(RESOURCE_CLAIMS, (*FOLLOW, "patch"), "knows the claims of pods to devices"),
    of(RESOURCE_CLAIMS, ("patch",), "gives devices to claims", subresource="status"),
    Permission(
        RESOURCE_CLAIMS.group,
        ("resourceclaims/binding",),
        ("patch",),
        "may say which devices a claim has been given",
        by_request=False,
    ),
    *(of(one, FOLLOW, "knows which devices there are") for one in (RESOURCE_SLICES, DEVICE_CLASSES)),
    of(CORE_EVENTS, ("create", "patch"), "tells what happened, for kubectl describe"),
    Permission(
        "coordination.k8s.io",
        ("leases",),
        ("get", "create", "update"),
        "one replica decides, the others stand by",
        where="own namespace",
    ),
)
